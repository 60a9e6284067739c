"""How a run stands, and what it offers next: the first status that holds, proofs, held steps, actions."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.machine.resume import Selection, plan_resume
from pixirnb.testing.generators.histories import Rehearsal, plan_of

FILES = [{"path": "a", "blob": "b2:x", "bytes": 1}]


def half_done() -> Rehearsal:
    """A run of two steps, the first of which has ended."""
    steps = [{"id": "a", "run": "x"}, {"id": "b", "run": "x", "depends_on": ["a"]}]
    return Rehearsal(plan_of({"name": "t", "steps": steps})).begin().end("a")


def run_of(ends: dict[str, dict[str, Any]], **keys: Any) -> Rehearsal:
    """A finished run of unconnected steps that ended so; `ask` makes a step a question nobody answers."""
    steps = [
        {"id": name, "ask": {"question": "?"}} if "ask" in how else {"id": name, "run": "x"}
        for name, how in ends.items()
    ]
    play = Rehearsal(plan_of({"name": "t", "steps": steps, **keys})).begin()
    facts = [d for name, how in ends.items() if "ask" not in how for d in play.ending(name, **how)]
    return play.record(*facts)


@pytest.mark.parametrize(
    ("ends", "status"),
    [
        ({"a": {}, "b": {}}, "completed"),
        ({"a": {}, "b": {"ask": 1}}, "needs_orchestrator"),
        ({"a": {"status": "failed"}, "b": {"ask": 1}}, "needs_orchestrator"),
        ({"a": {}, "b": {"status": "failed"}}, "partial"),
        ({"a": {"status": "failed", "artifacts": FILES}, "b": {"status": "timed_out"}}, "partial"),
        ({"a": {"status": "failed"}, "b": {"status": "timed_out"}}, "timed_out"),
        ({"a": {"status": "failed"}}, "failed"),
    ],
)
def test_the_first_status_that_holds_is_the_runs(ends: Any, status: str) -> None:
    told = run_of(ends).outcome()
    assert told.status == status
    assert told.ok == (status == "completed")
    assert told.document()["ok"] == told.ok
    assert told.proof_states[-1] == (
        "completion_ready" if status == "completed" else "partial_outcome_ready"
    )


def test_how_long_a_live_run_has_taken_only_the_process_that_drives_it_knows() -> None:
    play = Rehearsal(plan_of({"name": "t", "steps": [{"id": "a", "run": "x"}]})).begin()
    assert play.outcome(is_live=True).elapsed_ms is None


def test_a_run_whose_owner_died_is_interrupted_and_one_with_an_owner_runs() -> None:
    play = half_done()
    assert play.outcome(is_live=True).status == "running"
    assert play.outcome(is_live=True).proof_states[-1] != "completion_ready"
    told = play.outcome()
    assert (told.status, told.reasons[0]["code"]) == ("interrupted", "owner_died")
    assert told.proof_states[-1] == "partial_outcome_ready"


def test_a_log_whose_last_line_alone_is_missing_is_completed_and_says_what_is_missing() -> None:
    play = half_done().end("b")
    assert play.outcome().warnings == []
    del play.events[-1]
    told = play.outcome()
    assert told.status == "completed"
    assert [warning["code"] for warning in told.warnings] == ["end_not_recorded"]


def test_proofs_are_read_from_what_happened() -> None:
    play = Rehearsal(
        plan_of(
            {
                "name": "t",
                "steps": [
                    {"id": "a", "run": "x", "write_set": ["x"]},
                    {"id": "b", "run": "x", "write_set": ["x"]},
                    {"id": "c", "run": "x", "depends_on": ["a"]},
                ],
            }
        )
    ).begin()
    assert play.outcome(is_live=True).proof_states == ["workflow_validated", "steps_scheduled"]
    play.end("a")
    assert "dependencies_resolved" in play.outcome(is_live=True).proof_states
    play.end("b").end("c")
    assert play.outcome().proof_states == [
        "workflow_validated",
        "steps_scheduled",
        "dependencies_resolved",
        "conflicts_serialized",
        "summaries_collected",
        "completion_ready",
    ]
    again = play.resume(plan=plan_of({**_edited(play, "a")})).end("a")
    assert again.data_of("checkpoint_decided")[-1]["reused"]
    assert "dependencies_resolved" in again.outcome().proof_states


def _edited(play: Rehearsal, step: str) -> dict[str, Any]:
    workflow = play.plan.workflow.canonical()
    steps = [{**s, "run": "y"} if s["id"] == step else s for s in workflow["steps"]]
    return {**workflow, "steps": steps}


def test_what_is_held_below_a_step_is_named_under_it() -> None:
    steps = [
        {"id": "a", "run": "x"},
        {"id": "b", "run": "x", "depends_on": ["a"]},
        {"id": "c", "run": "x", "depends_on": ["b"]},
        {"id": "d", "run": "x"},
    ]
    play = Rehearsal(plan_of({"name": "t", "steps": steps})).begin()
    play.record(*play.ending("a", "failed"), *play.ending("d"))
    told = play.outcome()
    assert told.held_dependents == {"a": ["b", "c"]}
    assert told.step("c").held_by == {"kind": "dependency", "step": "b"}
    assert told.document()["usable_checkpoints"] == ["d"]


def _actions(play: Rehearsal, *, is_live: bool = False) -> list[tuple[str, str | None]]:
    return [(a["action"], a["step"]) for a in play.outcome(is_live=is_live).next_actions]


def test_next_actions_follow_from_how_the_run_stands() -> None:
    assert _actions(run_of({"a": {}})) == []
    assert _actions(half_done(), is_live=True) == [("abort", None)]
    assert _actions(run_of({"a": {"status": "failed"}})) == [("retry_failed_steps", None)]
    assert _actions(run_of({"a": {"status": "timed_out"}})) == [
        ("raise_timeout", "a"),
        ("retry_failed_steps", None),
    ]
    assert _actions(run_of({"a": {"status": "interrupted"}})) == [("resume_run", None)]
    assert _actions(run_of({"a": {"status": "failed", "artifacts": FILES}})) == [
        ("resume_run", None),
        ("decide_step", "a"),
        ("synthesize_from_partial", None),
    ]
    rejected = run_of({"a": {"status": "failed", "artifacts": FILES}})
    rejected = rejected.resume(facts=[rejected.decision("a", "reject")])
    assert _actions(rejected) == [("rerun_step", "a")]


def test_a_parked_run_offers_its_decision_and_no_resume_that_would_only_ask_again() -> None:
    play = run_of({"q": {"ask": 1}, "after": {"depends_on": ["q"]}})
    assert _actions(play) == [("decide_step", "q")]
    entry, _ = plan_resume(play.plan, play.board.run, Selection())
    assert (entry["action"], entry["reason"]) == ("rerun", "waiting")


def test_accepting_what_a_time_out_left_asks_for_no_more_time() -> None:
    play = run_of({"a": {"status": "timed_out", "artifacts": FILES}, "q": {"ask": 1}})
    again = play.resume(facts=[play.decision("a")])
    assert again.statuses()["a"] == "checkpoint_ready"
    assert ("raise_timeout", "a") not in _actions(again)


def test_a_script_without_a_word_for_a_step_is_named_as_the_reason() -> None:
    flow = {
        "name": "t",
        "agents": {"r": {"script": {"z": [[]]}}},
        "steps": [{"id": "a", "task": "x", "agent": "r"}],
    }
    error = Rehearsal(plan_of(flow)).begin().end("a").outcome().step("a").error
    assert error is not None
    assert error["message"] == "the script of `r` has nothing for step `a`"
