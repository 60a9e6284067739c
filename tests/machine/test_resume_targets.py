"""Targets of a run: only they and what they need run; the others are held as not selected, until a resume runs them."""

from __future__ import annotations

import pytest

from pixirnb.errors import InvalidArguments
from pixirnb.history.run_state import fold
from pixirnb.machine.resume import Selection, plan_resume
from pixirnb.operations.start_options import StartOptions, not_selected
from pixirnb.testing.generators.histories import Rehearsal, plan_of

FLOW = """
name: pick
steps:
  - {id: a, run: "true"}
  - {id: b, run: "true", depends_on: [a]}
  - {id: c, run: "true", depends_on: [b]}
  - {id: d, ask: {question: "Go?"}}
"""


def of_b() -> Rehearsal:
    return Rehearsal(plan_of(FLOW)).begin(options=StartOptions(targets=["b"]))


def test_only_a_target_and_what_it_needs_run_and_the_others_are_held_as_not_selected() -> None:
    story = of_b()
    assert story.running == ["a"]
    story.end("a").end("b")
    assert story.is_over
    ended = story.outcome()
    assert ended.ids("checkpoint_ready") == ["a", "b"]
    assert {step.step_id: step.held_by for step in ended.steps if step.held_by} == {
        name: {"kind": "not_selected", "step": None} for name in ("c", "d")
    }


def test_a_run_of_targets_is_partial_for_it_did_not_do_all_that_its_workflow_asks() -> None:
    ended = of_b().end("a").end("b").outcome()
    assert (ended.status, ended.ok) == ("partial", False)
    assert ended.reasons == [
        {"code": "step_not_selected", "step": "c"},
        {"code": "step_not_selected", "step": "d"},
    ]


def test_a_resume_runs_what_was_left_out_and_keeps_what_was_ready() -> None:
    story = of_b().end("a").end("b")
    entries = plan_resume(story.plan, fold(story.events), Selection())
    assert [entry["action"] for entry in entries] == ["reuse", "reuse", "rerun", "rerun"]
    later = story.resume()
    assert later.running == ["c"]
    assert later.state("d").stage == "asking"


def test_a_decision_continues_a_run_of_targets_without_the_steps_that_it_left_out() -> None:
    text = FLOW + '  - {id: e, run: "true", depends_on: [d]}\n'
    story = Rehearsal(plan_of(text)).begin(options=StartOptions(targets=["e"]))
    assert story.is_over
    later = story.resume(Selection(is_decision=True), facts=[story.decision("d")])
    later.end("e")
    assert later.outcome().ids("checkpoint_ready") == ["d", "e"]
    assert later.outcome().ids("held") == ["a", "b", "c"]


def test_steps_left_out_are_named_in_the_order_of_the_workflow() -> None:
    steps = plan_of(FLOW).workflow.steps
    assert not_selected(steps, ["b"]) == ["c", "d"]
    assert not_selected(steps, ["d", "a"]) == ["b", "c"]
    assert not_selected(steps, []) == []


def test_an_unknown_target_is_refused_with_the_steps_there_are() -> None:
    with pytest.raises(InvalidArguments, match="unknown step `x`") as refused:
        not_selected(plan_of(FLOW).workflow.steps, ["a", "x"])
    assert refused.value.code == "unknown_step"
    with pytest.raises(InvalidArguments, match="must be a list"):
        not_selected(plan_of(FLOW).workflow.steps, "a")
