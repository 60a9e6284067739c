"""What the doctor finds, from values alone: each trouble under its own code, with what to run next."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.history.codec import Damage
from pixirnb.history.events import Event
from pixirnb.history.run_state import fold
from pixirnb.machine.diagnosis import Diagnosis, DiagnosisInput, LostBlob, findings
from pixirnb.machine.findings import Finding
from pixirnb.machine.outcome import outcome
from pixirnb.planning.plan import Plan
from pixirnb.testing.generators.histories import RUN_ID, Rehearsal, plan_of
from tests.operations.household import PAIR, completed, cut_off, edited, failed, parked

AGENT = """
name: agents
agents: {worker: {runner: scripted, script: {}}}
steps:
  - {id: look, task: "Look.", agent: worker}
"""
LEASE = {
    "host": "here",
    "pid": 42,
    "started": 1.0,
    "instance": "i",
    "since": "2026-11-21T00:00:00Z",
}
BLOB = "b2:" + "5d" * 32


def found_in(plan: Plan, events: list[Event], **around: Any) -> tuple[Finding, ...]:
    run = fold(events)
    surroundings = DiagnosisInput(**around)
    standing = outcome(plan, run, is_live=surroundings.is_held)
    return findings(plan, run, standing, surroundings)


def found(story: Rehearsal, **around: Any) -> tuple[Finding, ...]:
    return found_in(story.plan, story.events, **around)


def codes(these: tuple[Finding, ...]) -> list[tuple[str, str, str | None]]:
    return [(finding.code, finding.severity, finding.step) for finding in these]


def cells(these: tuple[Finding, ...]) -> list[str | None]:
    return [None if f.next_action is None else f.next_action["cell"] for f in these]


def test_nothing_speaks_against_a_sound_run() -> None:
    assert found(completed()) == ()
    assert Diagnosis(RUN_ID, ()).status == "ready"


def test_a_failed_step_is_an_outcome_and_no_finding() -> None:
    assert found(failed()) == ()


@pytest.mark.parametrize(
    "code",
    ["chain_broken", "not_contiguous", "not_canonical", "version", "blob_missing", "blob_damaged"],
)
def test_damage_of_the_log_blocks_and_offers_nothing_to_run(code: Any) -> None:
    these = found(completed(), damage=Damage(code, 7, "line 7 was edited"))
    assert codes(these) == [(code, "blocked", None)]
    assert cells(these) == [None]
    assert these[0].evidence == {"line": 7}


def test_a_torn_tail_only_warns() -> None:
    these = found(cut_off(), damage=Damage("torn_tail", 3, "half a line"))
    assert codes(these)[0] == ("torn_tail", "warning", None)
    assert cells(these)[0] == f"%pixir resume {RUN_ID}"


@pytest.mark.parametrize(
    ("standing", "code", "severity"),
    [
        ("stale", "lease_stale", "warning"),
        ("reused", "pid_reused", "warning"),
        ("left_behind", "lock_left_behind", "blocked"),
        ("unsigned", "lock_unsigned", "blocked"),
    ],
)
def test_each_way_a_lease_can_be_wrong_has_its_code(
    standing: Any, code: str, severity: str
) -> None:
    these = found(completed(), lease=LEASE, standing=standing)
    assert codes(these) == [(code, severity, None)]


def test_another_hosts_record_is_to_be_taken_over() -> None:
    these = found(cut_off(), lease=LEASE, standing="elsewhere", is_held=True)
    assert codes(these) == [("lease_elsewhere", "warning", None)]
    assert cells(these) == [f"%pixir resume {RUN_ID} --take-over"]


def test_a_live_run_has_nothing_against_it_for_being_on_its_way() -> None:
    assert found(cut_off(), lease=LEASE, standing="live", is_held=True, requests=("0" * 16,)) == ()


def test_an_owner_that_died_leaves_steps_in_flight() -> None:
    these = found(cut_off())
    assert codes(these) == [("owner_died", "warning", None), ("in_flight", "warning", "make")]
    assert cells(these) == [f"%pixir resume {RUN_ID}"] * 2


def test_strays_are_told_with_their_ids() -> None:
    [finding] = found(completed(), strays=tuple(range(100, 112)))
    assert (finding.code, finding.severity) == ("strays_alive", "warning")
    assert finding.evidence == {"pids": list(range(100, 108)), "and_more": 4}


def test_a_search_for_strays_that_was_not_complete_is_told() -> None:
    [finding] = found(completed(), strays=None)
    assert (finding.code, finding.severity) == ("strays_unknown", "warning")


def test_an_open_question_names_the_cell_that_answers_it() -> None:
    these = found(parked())
    assert codes(these) == [("decision_open", "warning", "gate")]
    assert cells(these) == [f"%pixir decide {RUN_ID} gate accept"]
    assert these[0].evidence == {"question": "Go on?"}


def test_a_decision_nobody_acted_on_is_told() -> None:
    story = parked()
    said = story.decision("gate")
    events = [
        *story.events,
        Event(len(story.events) + 1, story.events[-1].at, said.kind, said.data),
    ]
    assert codes(found_in(story.plan, events)) == [("decided_not_resumed", "warning", None)]


def test_a_time_out_asks_for_more_time() -> None:
    story = Rehearsal(plan_of(PAIR)).begin().end("make", "timed_out")
    these = found(story)
    assert codes(these) == [("timed_out", "warning", "make")]
    assert these[0].next_action == {
        "action": "raise_timeout",
        "step": "make",
        "cell": f"%pixir resume {RUN_ID} --spec FILE",
        "command": f"pixirnb resume {RUN_ID} --spec FILE",
    }


def test_what_is_partial_is_preserved_and_told_once() -> None:
    report = {"checkpoint_status": "partial", "summary": "half"}
    story = Rehearsal(plan_of(AGENT)).begin().end("look", report=report)
    these = found(story)
    assert codes(these) == [("partial_preserved", "warning", "look")]
    assert cells(these) == [f"%pixir resume {RUN_ID} --from look"]


def test_a_ready_step_without_an_ended_attempt_blocks() -> None:
    story = completed()
    events = [e for e in story.events if e.kind != "attempt_ended" or e.data["step"] != "use"]
    assert codes(found_in(story.plan, events)) == [("evidence_missing", "blocked", "use")]


def test_a_ready_step_whose_attempt_failed_blocks() -> None:
    story = completed()
    events = edited(story.events, "attempt_ended", lambda data: data.update(status="failed"))
    assert codes(found_in(story.plan, events)) == [
        ("evidence_missing", "blocked", "make"),
        ("evidence_missing", "blocked", "use"),
    ]


def test_a_decided_step_needs_no_attempt_as_evidence() -> None:
    story = parked().resume(facts=[parked().decision("gate")])
    assert story.statuses() == {"gate": "checkpoint_ready"}
    assert found(story) == ()


def test_a_lost_blob_blocks_where_a_step_stands_on_it_and_warns_where_none_does() -> None:
    story = completed()
    lost = (
        LostBlob(BLOB, "blob_missing", "make", 1),
        LostBlob(BLOB, "blob_damaged", "make", 0),
    )
    these = found(story, lost_blobs=lost)
    assert codes(these) == [
        ("blob_missing", "blocked", "make"),
        ("blob_damaged", "warning", "make"),
    ]
    assert cells(these) == [f"%pixir resume {RUN_ID} --from make", None]


def test_a_fork_says_where_a_copy_of_a_lost_blob_may_lie() -> None:
    story = completed()
    data = {"run_id": "r-other", "checkpoint": "c", "seq": len(story.events)}
    events = [*story.events, Event(len(story.events) + 1, story.events[-1].at, "run_forked", data)]
    these = found_in(story.plan, events, lost_blobs=(LostBlob(BLOB, "blob_missing", "make", 1),))
    assert next(f for f in these if f.code == "blob_missing").evidence["forked_from"] == "r-other"


def test_what_lies_in_the_folder_is_told() -> None:
    these = found(
        completed(),
        lost_outputs=(("make", 1, "output/make.1.log"),),
        requests=("0" * 16,),
        exposed=(("log.jsonl", "0644"),),
        planted=("blobs/link",),
        has_workspace=False,
        untrusted=("use",),
    )
    assert codes(these) == [
        ("output_missing", "warning", "make"),
        ("requests_waiting", "warning", None),
        ("mode_wide", "warning", None),
        ("symlink_refused", "blocked", None),
        ("workspace_missing", "warning", None),
        ("value_not_trusted", "warning", "use"),
    ]
    assert these[2].evidence == {"paths": [{"path": "log.jsonl", "mode": "0644"}]}


def test_events_that_could_not_be_read_are_told() -> None:
    story = completed()
    events = edited(story.events, "run_finished", lambda data: data.pop("counts"))
    these = found_in(story.plan, events)
    assert ("events_unread", "warning", None) in codes(these)


def test_the_worst_finding_is_the_status() -> None:
    warning, blocked = Finding("w", "warning", "w"), Finding("b", "blocked", "b")
    assert Diagnosis("r", (warning,)).status == "ready_with_warnings"
    assert Diagnosis("r", (warning, blocked)).status == "blocked"
    assert Diagnosis("r", (warning,)).document() == {
        "run_id": "r",
        "status": "ready_with_warnings",
        "findings": [
            {
                "code": "w",
                "severity": "warning",
                "message": "w",
                "step": None,
                "evidence": {},
                "next_action": None,
            }
        ],
    }


def test_a_ready_step_that_changed_what_it_had_not_claimed_is_a_warning() -> None:
    flow = {"name": "t", "steps": [{"id": "a", "run": "x", "write_set": ["b.py"]}]}
    story = Rehearsal(plan_of(flow)).begin()
    story.end("a", outside={"paths": ["a.py"], "count": 1})
    [stray] = found(story)
    assert (stray.code, stray.severity) == ("writes_outside_write_set", "warning")
    assert stray.message == "a is ready, but a.py changed while it ran, outside its write_set."
