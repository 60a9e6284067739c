"""The state of a session: the fold of its events, one at a time or all at once. Total: no event raises.

`completed` needs clean evidence: a whole final message of the agent after the last user message, no message or call
after it, every call answered, no failure. The end of a process or a stream, or visible text, is no evidence. Source:
contract.md §7.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field

from pixirnb.history.events import Event
from pixirnb.json_types import JsonObject
from pixirnb.sessions.events import Pair, TurnState, as_pairs
from pixirnb.sessions.tool_calls import Calls, text_of

_FAILURES: Final[dict[str, TurnState]] = {
    "partial_failed": "partial_failed",
    "interrupted": "interrupted",
    "timed_out": "timed_out",
}


class SessionState(Struct, eq=False):
    """All known facts of a session."""

    started: JsonObject | None = None
    """Data of `session_started`."""
    turns: int = 0
    calls: Calls = field(default_factory=Calls)
    final: str | None = None
    """The clean final message of the last turn."""
    partial: str | None = None
    """Text of the last turn that was cut off."""
    failed: JsonObject | None = None
    """Data of the `turn_failed` that ended the last turn."""
    report: JsonObject | None = None
    """The last structured report."""
    open_requests: dict[str, JsonObject] = field(default_factory=dict)
    """Unanswered permission requests, by id."""
    barred: set[str] = field(default_factory=set)
    """Ids of calls of this turn whose permission was requested and not given: they did not act."""
    orphans: int = 0
    """Calls that the harness closed."""
    unacted: int = 0
    """Orphans that were never allowed."""
    usage: dict[str, int] = field(default_factory=dict)
    """Tokens and requests, summed."""
    events: int = 0
    _requests: dict[str, str] = field(default_factory=dict)

    @property
    def open_calls(self) -> dict[str, str]:
        """Return calls without a result, of any turn: unique name to tool name."""
        return {unique: call.tool for unique, call in self.calls.open.items()}

    @property
    def is_closed(self) -> bool:
        """Return whether the log holds the end of the last turn, and no call is open: `closing` would add nothing."""
        return self.turn != "running" and not self.calls.open

    @property
    def turn(self) -> TurnState:
        """Return the state of the last turn; `running` before the first."""
        if self.failed is not None:
            return _FAILURES.get(text_of(self.failed.get("terminal_status")), "failed")
        if self.final is not None and not self.calls.open:
            return "completed"
        return "running"

    def apply(self, event: Event) -> None:
        """Apply one more event."""
        self.take(event.kind, event.data)

    def take(self, kind: str, data: JsonObject) -> None:
        """Apply an event that has no position in a log yet."""
        self.events += 1
        match kind:
            case "session_started":
                self.started = data
            case "user_message":
                self.turns += 1
                self.calls.next_turn()
                self.final = self.partial = self.failed = None
                self.barred.clear()
            case "assistant_message":
                self._record(text_of(data.get("text")), data)
            case "tool_call":
                # Earlier messages did not end the turn.
                self.final = None
                self.calls.begin(data)
            case "tool_result":
                self._end_call(data)
            case "checkpoint_reported":
                self.report = data
            case "permission_requested":
                self.open_requests[text_of(data.get("request_id"))] = data
                self._requests[text_of(data.get("request_id"))] = text_of(data.get("call_id"))
                self.barred.add(text_of(data.get("call_id")))
            case "permission_decided":
                if data.get("verdict") != "unattended":
                    self.open_requests.pop(text_of(data.get("request_id")), None)
                if data.get("verdict") == "allow":
                    request = text_of(data.get("request_id"))
                    self.barred.discard(self._requests.get(request, ""))
            case "provider_usage":
                self._count(data)
            case "turn_failed":
                self.failed = data
            case _:
                pass

    def _end_call(self, data: JsonObject) -> None:
        answered = self.calls.end(data)
        is_orphan = answered is not None and bool(data.get("synthetic"))
        self.orphans += is_orphan
        self.unacted += is_orphan and self.is_barred(data)
        self.barred.discard(text_of(data.get("call_id")))

    def is_barred(self, result: JsonObject) -> bool:
        """Return whether the call of this synthetic result was never allowed."""
        error = result.get("error")
        details = error.get("details") if isinstance(error, dict) else None
        is_known_inactive = isinstance(details, dict) and details.get("did_act") is False
        return is_known_inactive or text_of(result.get("call_id")) in self.barred

    def _record(self, text: str, data: JsonObject) -> None:
        """Record a message; the last of several is the final one."""
        self.final = None
        if data.get("partial"):
            self.partial = text
        elif data.get("final"):
            self.final = text

    def _count(self, data: JsonObject) -> None:
        for name in ("input_tokens", "output_tokens", "requests"):
            value = data.get(name, 1 if name == "requests" else 0)
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                self.usage[name] = self.usage.get(name, 0) + value


def fold_session(events: Iterable[Event | Pair]) -> SessionState:
    """Return the state after `events`, from an empty session."""
    state = SessionState()
    for kind, data in as_pairs(events):
        state.take(kind, data)
    return state
