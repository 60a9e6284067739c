"""What the doctor finds about child sessions, from values alone: each trouble under its own code, with what to run next."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.history.codec import Damage
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.run_state import fold
from pixirnb.machine.diagnosis import DiagnosisInput, findings
from pixirnb.machine.findings import Finding
from pixirnb.machine.outcome import outcome
from pixirnb.machine.session_diagnosis import SILENT_MS, SeenSession
from pixirnb.testing.generators.histories import RUN_ID, Rehearsal, plan_of

AGENT = """
name: agents
agents: {worker: {}}
steps:
  - {id: look, task: "Look.", agent: worker}
"""
READY = {"checkpoint_status": "checkpoint_ready", "summary": "done"}
TIMED_OUT = {
    "timeout_ms": 1000,
    "elapsed_ms": 1001,
    "reason": "timeout",
    "child_session_id": "look.1",
}
LOOK = f"%pixir show {RUN_ID} --session look.1"


def seen(**keys: Any) -> SeenSession:
    return SeenSession(**{"session_id": "look.1", "step": "look", "attempt": 1, **keys})


def ready() -> Rehearsal:
    return Rehearsal(plan_of(AGENT)).begin().end("look", report=READY)


def failed() -> Rehearsal:
    return Rehearsal(plan_of(AGENT)).begin().end("look", "failed", error="exit")


def running() -> Rehearsal:
    return Rehearsal(plan_of(AGENT)).begin()


def found(story: Rehearsal, *sessions: SeenSession, **around: Any) -> tuple[Finding, ...]:
    run = fold(story.events)
    surroundings = DiagnosisInput(sessions=sessions, **around)
    standing = outcome(story.plan, run, is_live=surroundings.is_held)
    return findings(story.plan, run, standing, surroundings)


def told(these: tuple[Finding, ...]) -> list[tuple[str, str, str | None]]:
    return [
        (f.code, f.severity, None if f.next_action is None else f.next_action["cell"])
        for f in these
    ]


def test_sound_sessions_have_nothing_against_them() -> None:
    assert found(ready(), seen(turn="completed")) == ()
    assert found(failed(), seen(turn="failed", failed={"terminal_status": "failed"})) == ()


def test_a_session_that_is_not_there_blocks_where_a_ready_step_stands_on_it() -> None:
    again = f"%pixir resume {RUN_ID} --from look"
    gone = seen(is_there=False)
    assert told(found(ready(), gone)) == [("session_missing", "blocked", again)]
    assert told(found(failed(), gone)) == [("session_missing", "warning", again)]
    earlier = seen(session_id="look.0", attempt=0, is_there=False)
    assert told(found(ready(), earlier)) == [("session_missing", "warning", again)]


@pytest.mark.parametrize("code", ["chain_broken", "not_contiguous", "blob_missing"])
def test_a_damaged_session_is_told_with_line_and_damage(code: Any) -> None:
    these = found(ready(), seen(damage=Damage(code, 4, "line 4 was edited"), turn="completed"))
    assert told(these) == [("session_damaged", "blocked", LOOK)]
    assert these[0].evidence == {
        "session_id": "look.1",
        "attempt": 1,
        "damage": code,
        "line": 4,
    }


def test_a_torn_end_only_warns() -> None:
    torn = seen(damage=Damage("torn_tail", 4, "half a line"), turn="completed")
    assert told(found(ready(), torn)) == [("session_torn", "warning", LOOK)]
    assert found(running(), torn, is_held=True, standing="live") == ()


def test_a_turn_that_nothing_ended_is_no_evidence() -> None:
    open_turn = seen(turn="running", open_calls=("write",))
    these = found(ready(), open_turn)
    assert told(these) == [("turn_without_evidence", "blocked", LOOK)]
    assert these[0].evidence["open_calls"] == ["write"]
    assert told(found(failed(), open_turn)) == [("turn_without_evidence", "warning", LOOK)]


def test_a_retried_attempt_must_show_its_end_as_well() -> None:
    look = f"%pixir show {RUN_ID} --session look.0"
    earlier = seen(session_id="look.0", attempt=0, turn="running")
    these = found(ready(), earlier, seen(turn="completed"))
    assert told(these) == [("turn_without_evidence", "warning", look)]


def test_a_time_out_must_say_all_of_how_it_ended() -> None:
    story = Rehearsal(plan_of(AGENT)).begin().end("look", "timed_out")
    whole = seen(turn="timed_out", failed=TIMED_OUT)
    assert [f.code for f in found(story, whole)] == ["timed_out"]
    for key in TIMED_OUT:
        these = found(story, seen(turn="timed_out", failed={**TIMED_OUT, key: None}))
        assert told(these)[1:] == [("turn_evidence_incomplete", "warning", LOOK)]
        assert these[1].evidence["missing"] == [key]


def test_text_that_was_cut_off_is_told_until_the_step_is_ready() -> None:
    half = seen(turn="partial_failed", partial=120, failed={"terminal_status": "partial_failed"})
    these = found(failed(), half)
    assert told(these) == [("partial_text_kept", "warning", LOOK)]
    assert these[0].evidence["characters"] == 120
    assert found(ready(), half) == ()


def test_calls_closed_by_the_harness_are_told_once_a_step() -> None:
    first = seen(session_id="look.0", attempt=0, turn="interrupted", orphans=2)
    these = found(ready(), first, seen(turn="completed", orphans=1))
    assert told(these) == [("orphan_calls_closed", "warning", LOOK)]
    assert these[0].evidence == {
        "sessions": ["look.0", "look.1"],
        "calls": 3,
        "never_allowed": 0,
    }
    assert these[0].message.startswith("In the sessions look.0, look.1, 3 tool calls were closed")


def test_an_agent_whose_process_is_gone_is_told_while_its_run_lives() -> None:
    these = found(running(), seen(is_process_gone=True), is_held=True, standing="live")
    assert told(these) == [("agent_gone", "warning", f"%pixir cancel {RUN_ID} look")]


@pytest.mark.parametrize(
    ("silent_ms", "codes"), [(SILENT_MS - 1, []), (SILENT_MS, ["agent_silent"])]
)
def test_an_agent_that_says_nothing_for_long_is_told(silent_ms: int, codes: list[str]) -> None:
    these = found(running(), seen(silent_ms=silent_ms), is_held=True, standing="live")
    assert [f.code for f in these] == codes


def asking() -> list[EventDraft]:
    data: Any = {
        "event": "permission_requested",
        "step": "look",
        "attempt": 1,
        "agent": "worker",
        "session_id": "look.1",
        "request_id": f"{RUN_ID}/look.1.1",
        "tool": "write",
        "args": {"path": "o"},
        "digest": "d",
        "why": "",
    }
    return [EventDraft("subagent_event", data)]


def test_an_open_request_for_a_permission_names_the_cell_that_answers_it() -> None:
    story = running()
    story.record(*asking())
    silent = seen(silent_ms=SILENT_MS)
    these = found(story, silent, is_held=True, standing="live")
    approve = f"%pixir approve {RUN_ID}/look.1.1"
    assert told(these) == [("permission_open", "warning", approve)]
    assert these[0].evidence["tool"] == "write"
