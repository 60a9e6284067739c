"""The fold of what a log says of files: any of it, in any order, damaged anyhow, is folded, shown and gone on from."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Kind
from pixirnb.history.run_state import fold
from pixirnb.machine.advance import advance
from pixirnb.machine.board import Board
from pixirnb.machine.outcome import outcome
from pixirnb.machine.resume import Selection, plan_resume
from pixirnb.testing.generators.histories import Rehearsal, events_of, plan_of, run_started
from tests.sweeps import examples

PLAN = plan_of(
    {
        "name": "files",
        "steps": [
            {"id": "a", "run": "x", "workspace": "isolated", "write_set": ["a/**"]},
            {"id": "b", "run": "x", "workspace": "isolated", "depends_on": ["a"], "seams": ["n"]},
            {"id": "m", "merge": ["a", "b"], "depends_on": ["a", "b"]},
        ],
    }
)
STEPS = ("a", "b", "m")
JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [None, 0, -1, "", "s1", "m1", [], {}, [None], [[]], {"a": None}, 1.5, True]
)
FILE = {"path": "c", "change": "added", "added": 1, "deleted": 0}
CHANGES = {"patch": "b2:p", "files": [FILE], "count": 1, "more": None}
TREES = {"root": ".", "folder": "/w", "method": "git", "seen": "1", "base": "1", "left": "2"}


def _facts(step: str, other: str) -> list[tuple[Kind, dict[str, Any]]]:
    """Every event about files, and what may lie between them."""
    error = {"kind": "merge_conflict", "message": "", "details": {}}
    about: dict[str, Any] = {"step": step, "attempt": 1}
    captured = {**about, "roots": [TREES], "built_on": [other], "changes": CHANGES}
    merge = {
        "merge": "m1", "step": "m", "by": "ada", "steps": [step], "attempts": {step: 1},
        "roots": [{"root": ".", "folder": "/w", "method": "git", "before": "1", "after": "2"}],
        "changes": CHANGES, "undoes": None,
    }  # fmt: skip
    sides = {"between": [other, step], "count": 1}
    clash = {**about, **sides, "steps": [other], "files": [], "roots": []}
    seam = {**sides, "id": "s1", "reason": "met", "paths": ["c"], "note": ""}
    ended = {**about, "status": "failed", "error": error, "elapsed_ms": 0, "summary": ""}
    stands = {"status": "checkpoint_ready", "subagent_status": "completed"}
    verdict = {**about, **stands, "error": None, "limitations": [], "digest": "d"}
    again = {"delay_ms": 0, "timeout_ms": None, "retry_class": "merge_conflict", "error": error}
    word = {"verdict": "accept", "value": step, "note": "", "by": "ada", "request_id": "q"}
    intent = {"wave": 0, "timeout_ms": 1, "workspace": "isolated", "fingerprint": {}}
    return [
        ("step_scheduled", {**about, **intent}),
        ("workspace_captured", captured),
        ("workspace_captured", {**captured, "outside": {"paths": ["q"], "count": 1}}),
        ("attempt_ended", ended),
        ("attempt_ended", {**ended, "status": "completed", "error": None}),
        ("checkpoint_decided", verdict),
        ("checkpoint_decided", {**verdict, "status": "needs_orchestrator", "error": error}),
        ("decision_recorded", {**about, **word}),
        ("retry_planned", {**about, "attempt": 2, **again}),
        ("merge_conflicted", clash),
        ("merge_conflicted", {**clash, "step": None, "attempt": None, "request_id": "q2"}),
        ("merge_applied", merge),
        ("merge_applied", {**merge, "merge": "m2", "step": None, "undoes": "m1"}),
        ("seam_opened", seam),
        ("seam_opened", {**seam, "id": "s2", "reason": "declared", "note": "n"}),
        ("seam_resolved", {"id": "s1", "by": "ada", "note": "It fits."}),
    ]


FACTS = [fact for step in STEPS for other in STEPS for fact in _facts(step, other)]


@st.composite
def facts(draw: st.DrawFn) -> EventDraft:
    """One of them, as a rule whole; else one member, at any depth, is gone or something else."""
    kind, known = draw(st.sampled_from(FACTS))
    data: Any = copy.deepcopy(known)
    place: Any = data
    while draw(st.integers(0, 4)) == 0 and place:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if isinstance(place[key], dict | list) and draw(st.booleans()):
            place = place[key]
        elif isinstance(place, dict) and draw(st.booleans()):
            del place[key]
        else:
            place[key] = draw(JUNK)
            break
    return EventDraft(kind, data)


@settings(deadline=None, derandomize=True, max_examples=examples(400))
@given(st.lists(facts(), max_size=14))
def test_what_a_log_says_of_files_is_folded_whatever_it_says(told: list[EventDraft]) -> None:
    begun = Rehearsal(PLAN).begin().events
    events = [*begun, *events_of(told, after=len(begun))]
    run = fold(events)
    shown = outcome(PLAN, run, is_live=False)
    assert shown.document()["run_id"] == run.run_id
    assert shown.ok is (shown.status == "completed")
    assert not (shown.ok and any(s["state"] == "open" for s in shown.seam_obligations))
    entries = plan_resume(PLAN, run, Selection())
    assert [entry["step_id"] for entry in entries] == list(STEPS)


@settings(deadline=None, derandomize=True, max_examples=examples(200))
@given(st.lists(facts(), max_size=14))
def test_the_machine_goes_on_from_whatever_a_log_says_of_files(told: list[EventDraft]) -> None:
    begun = Rehearsal(PLAN).begin().events
    board = Board(PLAN, fold(begun), 0.0)
    for event in events_of(told, after=len(begun)):
        board.run.apply(event)
    again = Board(PLAN, board.run, 0.0)
    assert all(draft.kind for draft in advance(PLAN, again, 1.0).events)


@pytest.mark.parametrize(
    "steps",
    [None, 5, [5], [{"id": []}], [{"id": "m", "merge": 5}], [{"id": "m", "merge": [{}]}], {"m": 1}],
)
def test_an_undo_is_folded_whatever_a_foreign_log_has_for_a_workflow(steps: Any) -> None:
    about: dict[str, Any] = {"step": "m", "attempt": 1}
    intent = {**about, "wave": 0, "timeout_ms": 1, "workspace": "shared", "fingerprint": {}}
    ended = {**about, "status": "completed", "error": None, "elapsed_ms": 0, "summary": ""}
    undo: dict[str, Any] = {
        "merge": "m2",
        "step": None,
        "by": "ada",
        "steps": ["a"],
        "attempts": {"a": 1},
    }
    undo |= {"roots": [], "changes": CHANGES, "undoes": "m1"}
    begin: dict[str, Any] = {**run_started(PLAN).data}
    begin["spec"] = {"steps": steps}
    told: list[tuple[Kind, Any]] = [
        ("run_started", begin),
        ("step_scheduled", intent),
        ("attempt_ended", ended),
        ("merge_applied", undo),
    ]
    run = fold(events_of(EventDraft(kind, data) for kind, data in told))
    assert (run.step("m").stage, len(run.merges)) == ("ended", 1)


def test_an_undo_of_an_item_that_no_event_has_told_of_makes_no_state_of_it() -> None:
    undo: dict[str, Any] = {"merge": "m2", "step": None, "by": "ada", "steps": ["each@7"]}
    undo |= {"attempts": {"each@7": 1}, "roots": [], "changes": CHANGES, "undoes": "m1"}
    told: list[tuple[Kind, Any]] = [
        ("run_started", run_started(PLAN).data),
        ("step_expanded", {"step": "each", "items": [], "reused": []}),
        ("merge_applied", undo),
    ]
    run = fold(events_of(EventDraft(kind, data) for kind, data in told))
    assert len(run.merges) == 1
    assert "each@7" not in run.steps
