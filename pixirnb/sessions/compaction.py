"""How a conversation that has grown too long goes on: its beginning as a summary, its end as it was. Pure and deterministic.

No model is asked. The summary keeps what was asked, which tools were used to what end, and the head of what the agent said; it
is made from the log, which keeps everything, so that a summary is never made of a summary. Source: contract.md §7.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pixirnb.history.events import Event
from pixirnb.planning.prompts.quoting import quote
from pixirnb.sessions.events import Pair, conversation_of
from pixirnb.sessions.provider_input import Block, Item, Pairing, blocks, provider_bytes, replay
from pixirnb.sessions.tool_calls import text_of

_HEAD: Final = 240
"""Characters of one message of the agent that a summary keeps."""
_LEAST: Final = 400
"""Characters below which a summary is not made shorter."""
_EARLIER: Final = "an earlier summary of this conversation"
_DATA: Final = "this conversation, shortened"


def compact(
    events: Iterable[Event | Pair], *, limit: int, keep: int, model: str | None = None
) -> Pair | None:
    """A `compaction` event to append where the replay for `model` is larger than `limit` bytes; None where it is not.

    The last items, `keep` bytes of them at most, stay as they are, and the last response in any case where it leaves room. A
    call and its result are never parted. None as well where nothing would be gained.
    """
    told = conversation_of(events)
    found = blocks(told, model=model)
    size = _size([item for block in found for item in block.items])
    if size <= limit:
        return None
    cut = _cut(found, limit=limit, keep=keep, end=len(told))
    if cut is None:
        return None
    count, tail = cut
    summary = _Summary(told, count)
    best: tuple[int, Pair] | None = None
    room = max(_LEAST, (limit - tail) // 2)
    while True:
        data = {"text": summary.text(room), "events": count}
        after = _size(replay([*told, ("compaction", data)], model=model))
        if best is None or after < best[0]:
            best = (after, ("compaction", data))
        if after <= limit or room <= _LEAST:
            break
        room = max(_LEAST, room // 2)
    return best[1] if best[0] < size else None


def _size(items: list[Item]) -> int:
    return len(provider_bytes(items))


def _cut(found: list[Block], *, limit: int, keep: int, end: int) -> tuple[int, int] | None:
    """How many events to replace, and the bytes of what stays."""
    sizes = [_size(block.items) for block in found]
    starts = [block.start for block in found] + [end]
    tail = sum(sizes)
    for place in range(1, len(found) + 1):
        if found[place - 1].is_open:
            return None  # its results are still to come
        tail -= sizes[place - 1]
        # The last response is what the next one answers: it goes only where it takes the room of all the rest.
        bound = max(keep, limit // 2) if place == len(found) - 1 else keep
        if tail <= bound:
            return starts[place], tail
    return None


class _Summary:
    """What is left of the first `count` events of a conversation."""

    def __init__(self, told: list[Pair], count: int) -> None:
        self._first = ""
        self._entries: list[tuple[str, str]] = []
        """Whose words, and a line, or for the user's the text."""
        self._tools: list[str] = []
        pairing = Pairing(told)
        has_first = False
        for place in range(count):
            kind, data = told[place]
            if kind == "tool_call":
                call = pairing.calls[place]
                _, result = pairing.results.get(call.unique, (-1, None))
                self._tools.append(f"{_line(call.tool, 60)} {_how(result)}")
                continue
            if kind in {"tool_result", "reasoning"}:
                continue
            self._flush()
            text = text_of(data.get("text"))
            if kind == "user_message" and not has_first:
                self._first, has_first = text, True
            elif kind == "user_message":
                self._entries.append(("user", text))
            elif kind == "assistant_message":
                if text.strip():
                    self._entries.append((_DATA, f"said: {_line(text, _HEAD)}"))
            elif kind != "compaction":
                self._entries.append((_whose(data), _line(text or data.get("summary"), _HEAD)))
            elif place == 0:  # what it stands for is in another log
                self._entries += [(_EARLIER, line) for line in text.splitlines()]
        self._flush()

    def text(self, room: int) -> str:
        """About `room` characters of it: half for the first message, what came last of the rest."""
        first = _head(self._first, room // 2)
        left = room - len(first)
        kept: list[tuple[str, str]] = []
        for whose, text in reversed(self._entries):
            entry = (whose, _head(text, max(_HEAD, room // 8)) if whose == "user" else text)
            left -= len(entry[1]) + 2
            if left < 0:
                break
            kept.append(entry)
        dropped = len(self._entries) - len(kept)
        parts = [
            "The beginning of this conversation has been shortened. It began with this message:"
        ]
        parts.append(first)
        if dropped:
            parts.append(f"[{dropped} entries that followed are left out]")
        parts += _sections(kept[::-1])
        parts.append("What comes next is the conversation as it was.")
        return "\n\n".join(part for part in parts if part)

    def _flush(self) -> None:
        """The tools used since anything was said, those in a row that did alike counted."""
        counted: list[list[Any]] = []
        for used in self._tools:
            if counted and counted[-1][0] == used:
                counted[-1][1] += 1
            else:
                counted.append([used, 1])
        self._tools = []
        for start in range(0, len(counted), 8):
            words = [
                f"{used} ×{times}" if times > 1 else used
                for used, times in counted[start : start + 8]
            ]
            self._entries.append((_DATA, f"used: {', '.join(words)}"))


def _sections(entries: list[tuple[str, str]]) -> list[str]:
    """What the user said as it is, all else as data, neighbours of one origin together."""
    parts: list[str] = []
    lines: list[str] = []
    for place, (whose, text) in enumerate(entries):
        if whose == "user":
            parts.append(f"Then this message came:\n\n{text}")
            continue
        lines.append(text)
        if place + 1 == len(entries) or entries[place + 1][0] != whose:
            parts.append(quote(whose, "\n".join(lines)))
            lines = []
    return parts


def _whose(data: dict[str, Any]) -> str:
    return f"session {text_of(data.get('session_id'))}".strip()


def _how(result: dict[str, Any] | None) -> str:
    if result is None or result.get("synthetic"):
        return "without a result"
    return "ok" if result.get("ok") is True else "failed"


def _line(value: Any, limit: int) -> str:
    words = " ".join(text_of(value).split())
    return words if len(words) <= limit else f"{words[:limit]}…"


def _head(text: str, limit: int) -> str:
    left = len(text) - limit
    return text if left <= 0 else f"{text[:limit]}\n[{left} more characters]"
