"""A step whose `when` is false is skipped, and so is what only skipped steps hold: nothing of it is missing."""

from __future__ import annotations

from typing import Any

from pixirnb.machine.required_steps import add_skipped, required_steps, skipped_steps
from pixirnb.machine.resume import Selection
from pixirnb.testing.generators.histories import Rehearsal, plan_of
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.picture.drawing import drawing
from pixirnb.views.run.explain import explain
from pixirnb.views.run.outcome_view import outcome_blocks, progress_line

SPEC: Any = {
    "name": "t",
    "inputs": {"n": {"type": "integer", "default": 1}},
    "steps": [
        {"id": "last", "run": "x", "depends_on": ["after"]},
        {"id": "after", "run": "x", "depends_on": ["maybe"]},
        {"id": "a", "run": "x"},
        {"id": "maybe", "run": "x", "depends_on": ["a"], "when": "{{ inputs.n }} > 1"},
        {"id": "both", "run": "x", "depends_on": ["maybe", "b"]},
        {"id": "b", "run": "x"},
    ],
}
SKIPPED = ["last", "after", "maybe"]


def rehearsed(b: str) -> Rehearsal:
    """A run whose `maybe` is skipped, and whose `b` ended so."""
    return Rehearsal(plan_of(SPEC)).begin({"n": 1}).end("a").end("b", b)


def test_what_a_false_when_alone_holds_is_skipped_and_what_a_failure_holds_too_is_held() -> None:
    play = rehearsed("failed")
    plan, run = play.plan, play.board.run
    assert [plan.steps[i].id for i in sorted(skipped_steps(plan, run))] == SKIPPED
    assert [plan.steps[i].id for i in required_steps(plan, run)] == ["a", "both", "b"]
    outcome = play.outcome()
    assert [step.step_id for step in outcome.steps if step.skipped] == SKIPPED
    assert outcome.counts == {"skipped": 3, "checkpoint_ready": 1, "held": 1, "failed": 1}
    document = outcome.document()
    assert document["held_steps"] == ["last", "after", "maybe", "both"]  # as the log says it
    assert document["skipped_steps"] == SKIPPED
    assert outcome.summary == "1 of 6 steps ready, 1 failed, 1 held, 3 skipped."


def test_a_step_that_settles_early_is_skipped_once_all_that_holds_it_is() -> None:
    play = rehearsed("completed")
    plan, run = play.plan, play.board.run
    skipped: set[int] = set()
    assert add_skipped(plan, run, [plan.index["last"]], skipped) == []
    assert add_skipped(plan, run, [plan.index["after"]], skipped) == []
    added = add_skipped(plan, run, [plan.index["maybe"]], skipped)
    assert {plan.steps[i].id for i in added} == {*SKIPPED, "both"}


def test_a_completed_run_reads_as_ready_and_skipped_and_waits_for_nothing() -> None:
    outcome = rehearsed("completed").outcome()
    assert outcome.ok
    assert outcome.summary == "2 ready, 4 skipped."
    text = draw_text(outcome_blocks(outcome.document()))
    assert "held" not in text
    assert "waits for" not in text
    assert "`when` is false: 1 > 1" in text
    assert "upstream `maybe` was skipped" in text
    assert "2 ready, 4 skipped" in progress_line(outcome.document())
    assert drawing(None, outcome.document()).holds == []


def test_a_skipped_step_says_why_in_a_sentence() -> None:
    play = rehearsed("completed")
    first = [explain(play.plan, play.board.run, name)[0] for name in ("maybe", "after")]
    assert first == [
        "`maybe` was skipped: `when` is false: 1 > 1, from {{ inputs.n }} > 1.",
        "`after` was skipped: upstream `maybe` was skipped.",
    ]


def test_a_skipped_step_was_left_out_by_no_selection() -> None:
    items = {"id": "items", "run": "x", "for_each": [1], "when": "{{ inputs.n }} > 1"}
    spec = {**SPEC, "steps": [*SPEC["steps"], items]}
    play = Rehearsal(plan_of(spec)).begin({"n": 1}).end("a").end("b", "failed")
    play = play.resume(Selection(only="a"), inputs={"n": 0}).end("a")
    document = play.outcome().document()
    assert {reason["step"] for reason in document["reasons"]} == {"b", "both"}
    held_by = {
        step["step_id"]: step["held_by"] for step in document["steps"] if step.get("skipped")
    }
    assert held_by["after"] == {"kind": "dependency", "step": "maybe"}
    assert held_by["items"] == {"kind": "when", "step": None, "seen": "no item"}
    assert explain(play.plan, play.board.run, "after")[0].endswith("upstream `maybe` was skipped.")
