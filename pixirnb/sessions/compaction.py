"""Compaction of a conversation that has grown too long: its beginning becomes a summary, its end stays.

Pure and deterministic.

No model is called. The summary keeps the user's messages, the tools used and their targets, and the head of the
agent's texts; it is made from the log, which keeps everything, never from an earlier summary. Source: contract.md §7.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pixirnb.history.events import Event
from pixirnb.json_types import JsonObject
from pixirnb.planning.prompts.quoting import quote
from pixirnb.sessions.events import Pair, conversation_of
from pixirnb.sessions.provider_input import Block, Item, Pairing, blocks, provider_bytes, replay
from pixirnb.sessions.tool_calls import text_of

_HEAD: Final = 240
"""Maximum number of characters of an agent's message in a summary."""
_LEAST: Final = 400
"""Number of characters below which a summary is not shortened."""
_EARLIER: Final = "an earlier summary of this conversation"
_DATA: Final = "this conversation, shortened"


def compact(
    events: Iterable[Event | Pair], *, limit: int, keep: int, model: str | None = None
) -> Pair | None:
    """Return a `compaction` event to append if the replay for `model` is larger than `limit` bytes, else None.

    The last items, at most `keep` bytes, stay unchanged; the last response stays in any case if there is room. A call
    and its result are never separated. Also None if nothing would be gained.
    """
    conversation = conversation_of(events)
    items = blocks(conversation, model=model)
    size = _size([item for block in items for item in block.items])
    if size <= limit:
        return None
    cut = _cut(items, limit=limit, keep=keep, end=len(conversation))
    if cut is None:
        return None
    count, tail = cut
    summary = _Summary(conversation, count)
    best: tuple[int, Pair] | None = None
    room = max(_LEAST, (limit - tail) // 2)
    while True:
        data = {"text": summary.text(room), "events": count}
        after = _size(replay([*conversation, ("compaction", data)], model=model))
        if best is None or after < best[0]:
            best = (after, ("compaction", data))
        if after <= limit or room <= _LEAST:
            break
        room = max(_LEAST, room // 2)
    return best[1] if best[0] < size else None


def _size(items: list[Item]) -> int:
    return len(provider_bytes(items))


def _cut(items: list[Block], *, limit: int, keep: int, end: int) -> tuple[int, int] | None:
    """Return the number of events to replace, and the bytes of the rest."""
    sizes = [_size(block.items) for block in items]
    starts = [block.start for block in items] + [end]
    tail = sum(sizes)
    for index in range(1, len(items) + 1):
        if items[index - 1].is_open:
            return None  # its results are still to come
        tail -= sizes[index - 1]
        # The next response answers the last one: it is dropped only if it takes the room of all others.
        bound = max(keep, limit // 2) if index == len(items) - 1 else keep
        if tail <= bound:
            return starts[index], tail
    return None


class _Summary:
    """A summary of the first `count` events of a conversation."""

    def __init__(self, conversation: list[Pair], count: int) -> None:
        self._first = ""
        self._entries: list[tuple[str, str]] = []
        """Author and a line each; for the user the whole text."""
        self._tools: list[str] = []
        pairing = Pairing(conversation)
        has_first = False
        for index in range(count):
            kind, data = conversation[index]
            if kind == "tool_call":
                call = pairing.calls[index]
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
            elif index == 0:  # what it stands for is in another log
                self._entries += [(_EARLIER, line) for line in text.splitlines()]
        self._flush()

    def text(self, room: int) -> str:
        """Return about `room` characters of the summary: half for the first message, the rest for the latest entries."""
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
        parts = ["The beginning of this conversation was shortened. It began with this message:"]
        parts.append(first)
        if dropped:
            parts.append(f"[{dropped} following entries omitted]")
        parts += _sections(kept[::-1])
        parts.append("The conversation continues unchanged below.")
        return "\n\n".join(part for part in parts if part)

    def _flush(self) -> None:
        """Write the tools used since the last message, similar ones in a row as a count."""
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
    """Return the user's texts unchanged and all others as data, neighbours of one origin together."""
    parts: list[str] = []
    lines: list[str] = []
    for index, (whose, text) in enumerate(entries):
        if whose == "user":
            parts.append(f"Then this message followed:\n\n{text}")
            continue
        lines.append(text)
        if index + 1 == len(entries) or entries[index + 1][0] != whose:
            parts.append(quote(whose, "\n".join(lines)))
            lines = []
    return parts


def _whose(data: JsonObject) -> str:
    return f"session {text_of(data.get('session_id'))}".strip()


def _how(result: JsonObject | None) -> str:
    if result is None or result.get("synthetic"):
        return "without a result"
    return "ok" if result.get("ok") is True else "failed"


def _line(value: Any, limit: int) -> str:
    words = " ".join(text_of(value).split())
    return words if len(words) <= limit else f"{words[:limit]}…"


def _head(text: str, limit: int) -> str:
    left = len(text) - limit
    return text if left <= 0 else f"{text[:limit]}\n[{left} more characters omitted]"
