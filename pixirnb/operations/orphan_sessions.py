"""Child sessions that their dead engine left open: they are closed with evidence before the run continues.

Source: contract.md §7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from pixirnb.errors import LogWriteFailed, StateUnusable
from pixirnb.history.agent_events import PERMISSION_DECIDED, PERMISSION_REQUESTED
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Event, SubagentEvent
from pixirnb.history.run_state import RunState
from pixirnb.history.validation import well_formed
from pixirnb.ids import attempt_name
from pixirnb.protocols.ports import RunLog, SessionLog
from pixirnb.sessions.state import SessionState, fold_session
from pixirnb.sessions.unclean_end import closing
from pixirnb.store.private_files import read_output

_PARTIAL_LIMIT: Final = 128 * 1024
_WHY: Final = {
    "owner_died": "The process that drove this session died.",
    "owner_unreachable": "The host that drove this session is considered dead; the state of the agent is unknown.",
}


def close_left(
    log: RunLog,
    run: RunState,
    known: Iterable[Event],
    wall: Callable[[], str],
    *,
    is_elsewhere: bool,
) -> list[EventDraft]:
    """Close the session of every active attempt, durably; return the events for the run's log.

    Idempotent: a session whose end is in `known` gives no event. `is_elsewhere`: the owner ran on another host, where
    no process can be ended from here. Raises LogWriteFailed.
    """
    reason = "owner_unreachable" if is_elsewhere else "owner_died"
    ends = [event for event in well_formed(known, "subagent_event") if _is_end(event)]
    ended = {event.data["session_id"] for event in ends}
    message = []
    for step, state in run.steps.items():
        if state.stage in {"scheduled", "running"}:
            result = _closed(log, attempt_name(step, state.attempt), wall, reason)
            if result is not None and attempt_name(step, state.attempt) not in ended:
                message.append(_terminal(result, step, state.attempt, state.timeout_ms, reason))
    return message


def _is_end(event: Event) -> bool:
    return (
        event.data.get("event") not in {PERMISSION_REQUESTED, PERMISSION_DECIDED}
        and "session_id" in event.data
    )


def _closed(
    log: RunLog, session_id: str, wall: Callable[[], str], reason: str
) -> SessionState | None:
    """Return the state of the closed session; None if it had not begun."""
    try:
        session = log.session(session_id)
    except LogWriteFailed:
        return SessionState(started={"session_id": session_id})  # damaged: it takes no evidence
    try:
        if not session.held:
            return None
        state = fold_session(session.held)
        if not state.is_closed:
            drafts = closing(
                state,
                status="interrupted",
                error_kind=reason,
                message=_WHY[reason],
                reason=reason,
                partial_text=_cut_off(log, session, session_id),
                timeout_ms=(state.started or {}).get("timeout_ms"),
            )
            at = wall()
            session.append(
                [
                    Event(session.count + n, at, kind, data)
                    for n, (kind, data) in enumerate(drafts, 1)
                ]
            )
            for kind, data in drafts:
                state.take(kind, data)
        return state
    finally:
        session.close()


def _cut_off(log: RunLog, session: SessionLog, session_id: str) -> str:
    """Return the agent's output after its last message, as far as its output log has it."""
    if log.folder is None:
        return ""
    path = log.folder / "output" / f"{session_id}.log"
    try:
        printed = read_output(path).decode("utf-8", errors="replace")
    except StateUnusable:
        return ""
    last = _last_message(session.held)
    if last:
        _, result, printed = printed.rpartition(last)
        printed = printed if result else ""
    return printed[-_PARTIAL_LIMIT:]


def _last_message(events: Iterable[Event]) -> str:
    message = [str(e.data.get("text", "")) for e in events if e.kind == "assistant_message"]
    return message[-1] if message else ""


def _terminal(
    state: SessionState, step: str, attempt: int, timeout_ms: int | None, reason: str
) -> EventDraft:
    started: dict[str, Any] = state.started or {}
    event = "detached" if reason == "owner_unreachable" else "interrupted"
    data: SubagentEvent = {
        "event": event,
        "step": step,
        "attempt": attempt,
        "agent": started.get("agent"),
        "runner": str(started.get("runner", "")),
        "session_id": attempt_name(step, attempt),
        "turn": state.turn,
        "status": event,
        "summary": str((state.report or {}).get("summary") or "")[:2000],
        "timeout_ms": timeout_ms,
        "reason": reason,
        "next_actions": ["inspect_session"],
        "usage": dict(state.usage),
    }
    return EventDraft("subagent_event", data)
