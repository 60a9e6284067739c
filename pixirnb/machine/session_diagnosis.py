"""Findings about the child sessions of a run, decided from the evidence of each. Decides, and reads nothing itself.

    SeenSession        one session's log, as it was read and folded
    of_sessions(…)     findings of a step's sessions, oldest attempt first

Source: contract.md §7 (diagnostics of sessions).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct, field

from pixirnb.history.codec import Damage
from pixirnb.history.step_state import StepState
from pixirnb.json_types import JsonObject
from pixirnb.machine.findings import Finding, Severity, rest_of
from pixirnb.machine.next_actions import offer
from pixirnb.machine.outcome_documents import NextAction
from pixirnb.wording import join_names

SILENT_MS: Final = 5 * 60_000
"""Milliseconds without any output after which a session is reported as silent."""
_EVIDENCE: Final = ("timeout_ms", "elapsed_ms", "reason", "child_session_id")
"""Keys that the end of a turn must have that ran out of time or was interrupted."""
_LISTED: Final = 8


class SeenSession(Struct, frozen=True):
    """A session that the run names, or that lies in its folder, as it was read."""

    session_id: str
    step: str
    attempt: int
    is_there: bool = True
    damage: Damage | None = None
    turn: str = "running"
    """State of its last turn; `running` where no record shows an end."""
    partial: int = 0
    """Characters of text that was cut off and kept."""
    orphans: int = 0
    """Tool calls that the harness closed."""
    unacted: int = 0
    """Orphans that were never allowed, and so did not act."""
    open_calls: tuple[str, ...] = ()
    """Tools that were called and whose result is recorded nowhere."""
    failed: JsonObject = field(default_factory=dict)
    """Data of the last turn's `turn_failed`."""
    silent_ms: int | None = None
    """Milliseconds since its last output, where it is under way; None where that was not checked."""
    is_process_gone: bool = False
    """True if it is under way, and its process is gone."""


def of_sessions(
    run_id: str,
    step: str,
    state: StepState,
    seen: Sequence[SeenSession],
    *,
    is_held: bool,
    may_run: bool,
) -> Iterator[Finding]:
    """Yield the findings of one step's sessions. `may_run`: True if a cell that goes on with the run may be offered."""
    again = offer("rerun_step", step, f"%pixir resume {run_id} --from {step}") if may_run else None
    is_ready = state.checkpoint_status == "checkpoint_ready"
    for session in seen:
        is_last = session.attempt == state.attempt
        is_under_way = is_last and is_held and state.stage in {"scheduled", "running"}
        look = offer(
            "inspect_session", step, f"%pixir show {run_id} --session {session.session_id}"
        )
        yield from _of_the_log(session, again, look, stands=is_last and is_ready, live=is_under_way)
        if not session.is_there:
            continue
        if is_under_way:
            yield from _of_the_child(session, state, run_id, look)
        else:
            yield from _of_the_evidence(session, look, stands=is_last and is_ready)
            if is_held or is_last:
                yield from _of_the_turn(session, look, is_ready=is_ready)
    yield from _orphans(run_id, step, seen)


def _of_the_log(
    session: SeenSession,
    again: NextAction | None,
    look: NextAction,
    *,
    stands: bool,
    live: bool,
) -> Iterator[Finding]:
    evidence: JsonObject = {"session_id": session.session_id, "attempt": session.attempt}
    name = session.session_id
    severity: Severity = "blocked" if stands else "warning"
    if not session.is_there:
        message = f"The log of the session {name} is missing."
        yield Finding("session_missing", severity, message, session.step, evidence, again)
    elif session.damage is not None and not live:
        damage = session.damage
        evidence |= {"damage": damage.code, "line": damage.line}
        if damage.code == "torn_tail":
            message = f"The last line of the session {name} is incomplete; all earlier lines are readable."
            yield Finding("session_torn", "warning", message, session.step, evidence, look)
        else:
            message = (
                f"The session {name} is damaged: {damage.message}. pixirnb can read it up to there."
            )
            yield Finding("session_damaged", severity, message, session.step, evidence, look)


def _of_the_evidence(session: SeenSession, look: NextAction, *, stands: bool) -> Iterator[Finding]:
    """Yield findings on how each attempt ended that is over, the retried ones too."""
    if session.turn != "running" or session.damage is not None:
        return
    message = f"The session {session.session_id} does not show how its turn ended."
    shown: JsonObject = {
        "session_id": session.session_id,
        "attempt": session.attempt,
        "open_calls": list(session.open_calls[:_LISTED]),
    }
    shown |= rest_of(session.open_calls, _LISTED)
    severity: Severity = "blocked" if stands else "warning"
    yield Finding("turn_without_evidence", severity, message, session.step, shown, look)


def _of_the_turn(session: SeenSession, look: NextAction, *, is_ready: bool) -> Iterator[Finding]:
    evidence: JsonObject = {"session_id": session.session_id, "attempt": session.attempt}
    name = session.session_id
    lacking = [key for key in _EVIDENCE if session.failed.get(key) in {None, ""}]
    if session.turn in {"timed_out", "interrupted"} and lacking:
        message = f"The session {name} ended as {session.turn} without complete evidence."
        shown = evidence | {"turn": session.turn, "missing": lacking}
        yield Finding("turn_evidence_incomplete", "warning", message, session.step, shown, look)
    if session.partial and not is_ready:
        message = f"The interrupted text of {session.step} is kept in the session {name}."
        shown = evidence | {"characters": session.partial, "turn": session.turn}
        yield Finding("partial_text_kept", "warning", message, session.step, shown, look)


def _of_the_child(
    session: SeenSession, state: StepState, run_id: str, look: NextAction
) -> Iterator[Finding]:
    evidence: JsonObject = {"session_id": session.session_id, "attempt": session.attempt}
    cancel = offer("abort", session.step, f"%pixir cancel {run_id} {session.step}")
    if session.is_process_gone:
        message = f"{session.step} is recorded as running, but its process {state.pid} is gone."
        shown = evidence | {"pid": state.pid}
        yield Finding("agent_gone", "warning", message, session.step, shown, cancel)
    elif session.silent_ms is not None and session.silent_ms >= SILENT_MS:
        if state.open_requests:
            return  # it waits for a person, and says so elsewhere
        message = f"{session.step} has been silent for {session.silent_ms // 60_000} min."
        shown = evidence | {"silent_ms": session.silent_ms}
        yield Finding("agent_silent", "warning", message, session.step, shown, look)


def _orphans(run_id: str, step: str, seen: Sequence[SeenSession]) -> Iterator[Finding]:
    sessions = [session for session in seen if session.orphans]
    if not sessions:
        return
    count, unacted = (sum(s.orphans for s in sessions), sum(s.unacted for s in sessions))
    calls = "1 tool call was" if count == 1 else f"{count} tool calls were"
    names = join_names([session.session_id for session in sessions], _LISTED)
    where = f"In the session{'' if len(sessions) == 1 else 's'} {names}"
    message = f"{where}, {calls} closed without a result: {_acted(count, unacted)}."
    evidence = {
        "sessions": [session.session_id for session in sessions[:_LISTED]],
        "calls": count,
        "never_allowed": unacted,
    } | rest_of(sessions, _LISTED)
    last = sessions[-1].session_id
    look = offer("inspect_session", step, f"%pixir show {run_id} --session {last}")
    yield Finding("orphan_calls_closed", "warning", message, step, evidence, look)


def _acted(count: int, unacted: int) -> str:
    """Return a text on whether calls without a result may have acted."""
    they = "it" if count == 1 else "they"
    if unacted == count:
        return "not approved, not executed"
    if not unacted:
        return f"{they} may have been executed"
    return f"{unacted} not approved and not executed, the others may have been executed"
