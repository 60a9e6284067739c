"""Doctored logs, section 7: each breaks the promise of one rule about sessions and permissions, and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from harness.auditor.breaches import Sighting
from pixirnb.history.event_draft import EventDraft
from pixirnb.machine.resume import Selection
from pixirnb.testing.generators.histories import RUN_ID, events_of
from tests.harness.auditor.doctoring import Exhibit, at
from tests.harness.auditor.taped_runs import Tape, begun, log_of
from tests.harness.auditor.workflows_on_trial import shell, spec, task

Trial = tuple[str, str, Callable[[], Exhibit], Callable[[Exhibit], object]]

REQUEST = f"{RUN_ID}/a.1.1"
_READY = {"checkpoint_status": "checkpoint_ready"}
_WHOSE: dict[str, Any] = {"step": "a", "session_id": "a.1", "agent": "worker"}
_END = at("subagent_event", event="finished")
_ASK = at("subagent_event", event="permission_requested")
_WORD = at("subagent_event", event="permission_decided")


def told(event: str, attempt: int = 1, **said: Any) -> EventDraft:
    """What the run's log has of a session."""
    whose = {**_WHOSE, "attempt": attempt, "session_id": f"a.{attempt}"}
    return EventDraft("subagent_event", cast("Any", {"event": event, **whose, **said}))


def finished(attempt: int = 1) -> EventDraft:
    return told("finished", attempt, turn="completed", status="completed", runner="scripted")


def asks() -> EventDraft:
    args = {"command": "make"}
    return told("permission_requested", request_id=REQUEST, tool="shell", args=args, digest="b2:d")


def answers(verdict: str = "allow") -> EventDraft:
    said: dict[str, Any] = {"request_id": REQUEST, "verdict": verdict, "by": "ada", "note": ""}
    said["request"] = "r1"
    return told("permission_decided", **said)


def ends(tape: Tape, attempt: int = 1, status: str = "completed", **said: Any) -> Tape:
    """The attempt of the agent, its session told of just before it."""
    event = finished(attempt) if status == "completed" else told(status, attempt, turn=status)
    tape.record(event)
    tape.end("a", status, session_id=f"a.{attempt}", **said)
    return tape


def delegated() -> Tape:
    """An agent reports that it is ready."""
    return ends(begun(spec(task("a"))), report=_READY)


def allowed() -> Tape:
    """An agent asks, is allowed, and is ready."""
    tape = begun(spec(task("a"))).record(asks()).record(answers())
    return ends(tape, report=_READY)


def parked() -> Tape:
    """An agent asks where nobody is; while another step runs it is allowed, and begins again."""
    tape = begun(spec(task("a"), shell("b"))).record(asks())
    ends(tape, status="failed", error="permission_required")
    tape.record(answers())
    ends(tape, 2, report=_READY)
    tape.end("b")
    return tape


def resumed() -> Tape:
    """The same, allowed once the run had come to rest."""
    tape = begun(spec(task("a"))).record(asks())
    ends(tape, status="failed", error="permission_required")
    later = tape.resume(Selection(is_decision=True), facts=[answers()])
    return ends(later, 2, report=_READY)


def session(*, allows: bool = False) -> dict[str, bytes]:
    """The log of the session itself."""
    drafts: list[tuple[str, dict[str, Any]]] = [("user_message", {"text": "Look."})]
    if allows:
        said = {"request_id": REQUEST, "verdict": "allow", "by": "ada", "note": ""}
        drafts.append(("permission_decided", said))
    drafts.append(("assistant_message", {"text": "x", "partial": False, "final": True}))
    return {
        "a.1": log_of(
            events_of([EventDraft(cast("Any", kind), cast("Any", data)) for kind, data in drafts])
        )
    }


def kept(tape: Callable[[], Tape], *, allows: bool = False) -> Callable[[], Exhibit]:
    """The tape with the log of its session."""

    def made() -> Exhibit:
        exhibit = Exhibit.of(tape())
        exhibit.sessions = session(allows=allows)
        return exhibit

    return made


def of(tape: Callable[[], Tape]) -> Callable[[], Exhibit]:
    return lambda: Exhibit.of(tape(), shown=True)


TRIALS: list[Trial] = [
    ("session_end_told", "nothing told", of(delegated), lambda x: x.drop(_END)),
    (
        "session_end_told",
        "told twice",
        of(delegated),
        lambda x: x.insert(x.place(_END) + 1, x.events[x.place(_END)]),
    ),
    (
        "session_end_told",
        "told too late",
        of(delegated),
        lambda x: x.insert(x.place(at("attempt_ended")) + 1, x.events.pop(x.place(_END))),
    ),
    (
        "session_end_agrees",
        "it failed and its attempt did not",
        of(delegated),
        lambda x: x.change(_END, event="failed"),
    ),
    (
        "session_end_agrees",
        "another end than its attempt's",
        of(parked),
        lambda x: x.change(at("subagent_event", event="failed"), event="timed_out"),
    ),
    (
        "readiness_by_turn",
        "a turn that was broken off",
        of(delegated),
        lambda x: x.change(_END, turn="interrupted"),
    ),
    (
        "permission_by_person",
        "the agent's own word",
        of(allowed),
        lambda x: x.change(_WORD, by="agent a.1 of r-1"),
    ),
    ("permission_by_person", "nobody's word", of(resumed), lambda x: x.change(_WORD, by="")),
    ("permission_by_person", "nobody asked", of(allowed), lambda x: x.drop(_ASK)),
    (
        "permission_by_person",
        "another word",
        of(allowed),
        lambda x: x.change(_WORD, verdict="perhaps"),
    ),
    (
        "permission_by_person",
        "answered twice",
        of(allowed),
        lambda x: x.insert(x.place(_WORD) + 1, x.events[x.place(_WORD)]),
    ),
    (
        "parked_goes_on_by_leave",
        "it was denied",
        of(parked),
        lambda x: x.change(_WORD, verdict="deny"),
    ),
    (
        "parked_goes_on_by_leave",
        "it was made to wait",
        of(parked),
        lambda x: x.change(at("retry_planned"), delay_ms=1),
    ),
    (
        "session_log_agrees",
        "a turn that its session does not have",
        kept(delegated),
        lambda x: x.sessions.update({"a.1": log_of(events_of([]))}),
    ),
    (
        "session_log_agrees",
        "a damaged session",
        kept(delegated),
        lambda x: x.sessions.update({"a.1": session()["a.1"][:-20] + b"}\n"}),
    ),
    (
        "session_log_agrees",
        "allowed in the session alone",
        kept(allowed, allows=True),
        lambda x: x.drop(_WORD),
    ),
    (
        "word_of_no_step",
        "it followed from a request that was forged",
        of(allowed),
        lambda x: x.sightings.append(Sighting("forged", 1, 0.0, detail="r1")),
    ),
]
