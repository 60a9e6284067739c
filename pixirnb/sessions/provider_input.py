"""The input of a provider: the fold of a session's conversation, independent of providers. Pure and total.

    events ──▶ blocks(…) ──▶ replay(…) ──▶ items ──▶ provider_bytes(…)

    {"role": "user", "text"}
    {"role": "assistant", "parts": [{"kind": "text", "text"} | {"kind": "reasoning", "text", "opaque"?}
                                    | {"kind": "call", "call_id", "name", "args"}]}
    {"role": "tool", "call_id", "name", "ok", "output"}

Every call is followed by its result, next to the response it was made in: a result that came later moves up to it, a call that
has none is given one, and a result of nothing is left out. Audit events are not looked at, so none can change a byte.
Source: contract.md §7.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from msgspec import Struct, field

from pixirnb.history.events import Event
from pixirnb.json_types import JsonObject
from pixirnb.planning.prompts.quoting import quote
from pixirnb.sessions.events import Pair, conversation_of
from pixirnb.sessions.tool_calls import Calls, PendingCall, text_of
from pixirnb.sessions.unclean_end import orphan_output

Item = JsonObject


class Block(Struct, frozen=True):
    """Items that belong together: one user item, or a response with the results of its calls."""

    items: list[Item]
    start: int
    """Index of its first event in the conversation, from 0."""
    is_open: bool = False
    """True if a call of the last turn has no result yet."""


def replay(events: Iterable[Event | Pair], *, model: str | None = None) -> list[Item]:
    """Return the provider's input. `model` is the reader; reasoning of any other model is left out."""
    kept_blocks = blocks(conversation_of(events), model=model)
    return [item for block in kept_blocks for item in block.items]


def provider_bytes(items: list[Item]) -> bytes:
    """Return the input as canonical JSON: equal input, equal bytes. Accepts NaN and lone surrogates too."""
    text = json.dumps(items, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def blocks(conversation: list[Pair], *, model: str | None = None) -> list[Block]:
    """Return the input in pieces that can be left out one by one. `conversation`: see `events.conversation_of`."""
    return list(_Fold(Pairing(conversation), model).blocks())


@dataclass(slots=True, init=False)
class Pairing:
    """The pairs of calls and results in a conversation, by their positions in it."""

    conversation: list[Pair]
    calls: dict[int, PendingCall]
    """Calls by their position."""
    results: dict[str, tuple[int, JsonObject]]
    """By a call's unique name: position and data of its result, in the turn of the call."""
    turn: int
    """The last turn."""

    def __init__(self, conversation: list[Pair]) -> None:
        self.conversation = conversation
        self.calls = {}
        self.results = {}
        seen = Calls()
        for position, (kind, data) in enumerate(conversation):
            match kind:
                case "user_message":
                    seen.next_turn()
                case "tool_call":
                    self.calls[position] = seen.begin(data)
                case "tool_result":
                    call = seen.end(data)
                    # The next turn was sent the information that there was no result: a later one comes too late.
                    if call is not None and call.turn == seen.turn:
                        self.results[call.unique] = (position, data)
                case _:
                    pass
        self.turn = seen.turn


def replaced_by(conversation: list[Pair], position: int) -> int:
    """Return how many events the compaction at `position` replaces: all before it, unless it gives a number."""
    count = conversation[position][1].get("events")
    if isinstance(count, int) and not isinstance(count, bool) and 0 < count <= position:
        return count
    return position


class _Fold(Struct):
    """One pass over the conversation after compaction; `response` holds the model's output since the last other event."""

    pairing: Pairing
    model: str | None
    parts: list[Item] = field(default_factory=list)
    called: list[PendingCall] = field(default_factory=list)
    start: int = -1

    def blocks(self) -> Iterator[Block]:
        conversation = self.pairing.conversation
        begin = 0
        positions = [
            position for position, (kind, _) in enumerate(conversation) if kind == "compaction"
        ]
        if positions:
            begin = replaced_by(conversation, positions[-1])
            text = text_of(conversation[positions[-1]][1].get("text"))
            yield Block([{"role": "user", "text": text}], 0)
        answers = {position for position, _ in self.pairing.results.values()}
        for position in range(begin, len(conversation)):
            kind, data = conversation[position]
            if kind in {"reasoning", "assistant_message", "tool_call"}:
                if self.start < 0:
                    self.start = position
                self._speak(position, kind, data)
            elif kind == "compaction":
                pass  # one that the last has replaced
            elif kind != "tool_result":
                yield from self._response()
                yield Block([_of_others(kind, data)], position)
            elif position in answers:
                yield from self._response()
        yield from self._response()

    def _speak(self, position: int, kind: str, data: JsonObject) -> None:
        text = text_of(data.get("text"))
        if kind == "tool_call":
            call = self.pairing.calls[position]
            self.called.append(call)
            part = {"kind": "call", "call_id": call.unique, "name": call.tool, "args": call.args}
            self.parts.append(part)
        elif kind == "assistant_message":
            if text:
                self.parts.append({"kind": "text", "text": text})
        elif self.model is not None and data.get("model") == self.model:
            opaque = data.get("opaque")
            if text or opaque:
                kept = {"opaque": opaque} if isinstance(opaque, dict) else {}
                self.parts.append({"kind": "reasoning", "text": text, **kept})

    def _response(self) -> Iterator[Block]:
        """Yield the model's output and the results of its calls."""
        parts, called, start = self.parts, self.called, self.start
        self.parts, self.called, self.start = [], [], -1
        # Providers that number related items refuse reasoning without an answer.
        while parts and parts[-1]["kind"] == "reasoning":
            parts.pop()
        if not parts:
            return
        items: list[Item] = [{"role": "assistant", "parts": parts}]
        is_open = False
        for call in called:
            _, result = self.pairing.results.get(call.unique, (-1, None))
            is_open |= result is None and call.turn == self.pairing.turn
            items.append(_tool(call, result))
        yield Block(items, start, is_open)


def _tool(call: PendingCall, result: JsonObject | None) -> Item:
    is_ok = result is not None and result.get("ok") is True
    output = orphan_output(call) if result is None else text_of(result.get("output"))
    return {
        "role": "tool",
        "call_id": call.unique,
        "name": call.tool,
        "ok": is_ok,
        "output": output,
    }


def _of_others(kind: str, data: JsonObject) -> Item:
    """Return an item for texts of others: the user's unchanged, those of other runs and sessions as data."""
    if kind == "user_message":
        return {"role": "user", "text": text_of(data.get("text"))}
    session = text_of(data.get("session_id"))
    if kind == "branch_summary":
        whose, text = f"session {session}".strip(), text_of(data.get("text"))
    else:
        agent = text_of(data.get("agent"))
        whose = " ".join(word for word in ("subagent", agent, session) if word)
        status = text_of(data.get("status")) or text_of(data.get("event"))
        text = f"status: {status}\n{text_of(data.get('summary'))}"
    return {"role": "user", "text": quote(whose, text)}
