"""Which result answers which call, the same for every reader of a session: the fold, the replay, the views. Total.

Calls and results meet by their id. A provider may use an id again, in the same breath or turns later, so every call gets a name
of its own (`c1`, then `c1~2`), and a result answers the earliest open call of its id: of this turn where there is one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call as it was begun."""

    unique: str
    """Its name in this session; no other call has it."""
    call_id: str
    """The id it was made with."""
    tool: str
    args: Any
    turn: int
    """The turn it was made in; 0 before the first."""


@dataclass(slots=True, eq=False)
class Calls:
    """The calls of a session, as its events come by."""

    open: dict[str, PendingCall] = field(default_factory=dict)
    """Calls without a result, by their own names, in order."""
    turn: int = 0
    _by_id: dict[str, list[PendingCall]] = field(default_factory=dict)
    _times: dict[str, int] = field(default_factory=dict)

    def next_turn(self) -> None:
        """A user message has come: what is open now belongs to a turn that is over."""
        self.turn += 1

    def begin(self, data: dict[str, Any]) -> PendingCall:
        """Take a `tool_call`."""
        call_id = text_of(data.get("call_id"))
        call = PendingCall(
            self._unique(call_id), call_id, text_of(data.get("name")), data.get("args"), self.turn
        )
        self.open[call.unique] = call
        self._by_id.setdefault(call_id, []).append(call)
        return call

    def end(self, data: dict[str, Any]) -> PendingCall | None:
        """Take a `tool_result`: the call it answers, None where there is none."""
        candidates = self._by_id.get(text_of(data.get("call_id")))
        if not candidates:
            return None
        here = (place for place, call in enumerate(candidates) if call.turn == self.turn)
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
    """A text as it is, a small number as its digits; empty for anything else, which no text can be made of for certain."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= 64:
        return str(value)
    return ""
