"""Matching of tool results and calls, one rule for the fold, the replay and the views. Total.

Calls and results match by their id. A provider may reuse an id, in one response or turns later, so every call gets a
unique name (`c1`, then `c1~2`), and a result answers the earliest open call of its id, of this turn if there is one.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from pixirnb.json_types import JsonObject


class PendingCall(Struct, frozen=True):
    """A call without a result."""

    unique: str
    """Its unique name in this session."""
    call_id: str
    """The id given by the provider."""
    tool: str
    args: Any
    turn: int
    """The turn of the call; 0 before the first."""


class Calls(Struct, eq=False):
    """The calls of a session, fed event by event."""

    open: dict[str, PendingCall] = field(default_factory=dict)
    """Calls without a result, by their unique names, in order."""
    turn: int = 0
    _by_id: dict[str, list[PendingCall]] = field(default_factory=dict)
    _times: dict[str, int] = field(default_factory=dict)

    def next_turn(self) -> None:
        """Begin a turn: a user message has come, open calls belong to an earlier turn."""
        self.turn += 1

    def begin(self, data: JsonObject) -> PendingCall:
        """Apply a `tool_call`."""
        call_id = text_of(data.get("call_id"))
        call = PendingCall(
            self._unique(call_id), call_id, text_of(data.get("name")), data.get("args"), self.turn
        )
        self.open[call.unique] = call
        self._by_id.setdefault(call_id, []).append(call)
        return call

    def end(self, data: JsonObject) -> PendingCall | None:
        """Apply a `tool_result`: return the call it answers, None if there is none."""
        candidates = self._by_id.get(text_of(data.get("call_id")))
        if not candidates:
            return None
        here = (index for index, call in enumerate(candidates) if call.turn == self.turn)
        call = candidates.pop(next(here, 0))
        del self.open[call.unique]
        return call

    def _unique(self, call_id: str) -> str:
        base = call_id or "call"
        name = base
        while name in self._times:
            self._times[base] += 1
            name = f"{base}~{self._times[base]}"
        self._times[name] = 1
        return name


def text_of(value: Any) -> str:
    """Return a text unchanged and a small number as its digits; empty for anything else, which has no certain text form."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= 64:
        return str(value)
    return ""
