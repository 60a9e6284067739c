"""What a provider is sent of a session: the fold of its conversation, in words of no provider. Pure and total.

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
from dataclasses import dataclass, field
from typing import Any

from pixirnb.history.events import Event
from pixirnb.planning.prompts.quoting import quote
from pixirnb.sessions.events import Pair, conversation_of
from pixirnb.sessions.tool_calls import Calls, PendingCall, text_of
from pixirnb.sessions.unclean_end import orphan_output

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Block:
    """Items that belong together: one user item, or a response with the results of its calls."""

    items: list[Item]
    start: int
    """Which event of the conversation it begins with, counted from 0."""
    is_open: bool = False
    """Whether it has a call of the last turn without a result: one may still come."""


def replay(events: Iterable[Event | Pair], *, model: str | None = None) -> list[Item]:
    """The provider's input. `model`: who will read it; reasoning of any other is left out."""
    found = blocks(conversation_of(events), model=model)
    return [item for block in found for item in block.items]


def provider_bytes(items: list[Item]) -> bytes:
    """Canonical JSON of the input: equal bytes, equal input. Takes whatever a program can say, NaN and lone surrogates too."""
    text = json.dumps(items, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def blocks(conversation: list[Pair], *, model: str | None = None) -> list[Block]:
    """The same in pieces that can be left out one by one. `conversation`: see `events.conversation_of`."""
    return list(_Fold(Pairing(conversation), model).blocks())


@dataclass(slots=True, init=False)
class Pairing:
    """Which results of a conversation answer which calls, by their places in it."""

    conversation: list[Pair]
    calls: dict[int, PendingCall]
    """By the place of the call."""
    results: dict[str, tuple[int, dict[str, Any]]]
    """By the call's own name: place and data of what answers it, in the turn it was made in."""
    turn: int
    """The last."""

    def __init__(self, conversation: list[Pair]) -> None:
        self.conversation = conversation
        self.calls = {}
        self.results = {}
        seen = Calls()
        for place, (kind, data) in enumerate(conversation):
            match kind:
                case "user_message":
                    seen.next_turn()
                case "tool_call":
                    self.calls[place] = seen.begin(data)
                case "tool_result":
                    call = seen.end(data)
                    # The next turn has been told that there was no result: what comes then comes too late.
                    if call is not None and call.turn == seen.turn:
                        self.results[call.unique] = (place, data)
                case _:
                    pass
        self.turn = seen.turn


def replaced_by(conversation: list[Pair], place: int) -> int:
    """How many events of the conversation the compaction at `place` stands for: all before it where it does not say."""
    told = conversation[place][1].get("events")
    if isinstance(told, int) and not isinstance(told, bool) and 0 < told <= place:
        return told
    return place


@dataclass(slots=True)
class _Fold:
    """One pass over what is not compacted; `response` is what the model has said since anything else happened."""

    pairing: Pairing
    model: str | None
    parts: list[Item] = field(default_factory=list)
    called: list[PendingCall] = field(default_factory=list)
    start: int = -1

    def blocks(self) -> Iterator[Block]:
        told = self.pairing.conversation
        begin = 0
        places = [place for place, (kind, _) in enumerate(told) if kind == "compaction"]
        if places:
            begin = replaced_by(told, places[-1])
            text = text_of(told[places[-1]][1].get("text"))
            yield Block([{"role": "user", "text": text}], 0)
        answers = {place for place, _ in self.pairing.results.values()}
        for place in range(begin, len(told)):
            kind, data = told[place]
            if kind in {"reasoning", "assistant_message", "tool_call"}:
                if self.start < 0:
                    self.start = place
                self._speak(place, kind, data)
            elif kind == "compaction":
                pass  # one that the last has replaced
            elif kind != "tool_result":
                yield from self._response()
                yield Block([_of_others(kind, data)], place)
            elif place in answers:
                yield from self._response()
        yield from self._response()

    def _speak(self, place: int, kind: str, data: dict[str, Any]) -> None:
        text = text_of(data.get("text"))
        if kind == "tool_call":
            call = self.pairing.calls[place]
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
        """What the model has said, and what came of its calls."""
        parts, called, start = self.parts, self.called, self.start
        self.parts, self.called, self.start = [], [], -1
        # Thoughts that led to nothing are refused by providers that number what belongs together.
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


def _tool(call: PendingCall, result: dict[str, Any] | None) -> Item:
    is_ok = result is not None and result.get("ok") is True
    output = orphan_output(call) if result is None else text_of(result.get("output"))
    return {
        "role": "tool",
        "call_id": call.unique,
        "name": call.tool,
        "ok": is_ok,
        "output": output,
    }


def _of_others(kind: str, data: dict[str, Any]) -> Item:
    """What is not the model's own: the user's words as they are, those of other runs and sessions as data."""
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
