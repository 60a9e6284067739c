"""What a resume keeps, repeats and holds, and why; and what then happens."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.errors import InvalidArguments
from pixirnb.machine.resume import Selection, is_no_op, plan_resume
from pixirnb.testing.generators.file_facts import captured, change, merged
from pixirnb.testing.generators.histories import Rehearsal, plan_of

CHAIN: list[dict[str, Any]] = [
    {"id": "a", "run": "x"},
    {"id": "b", "run": "x", "depends_on": ["a"]},
    {"id": "c", "run": "x", "depends_on": ["b"]},
]


def flow(*steps: dict[str, Any], **keys: Any) -> dict[str, Any]:
    return {"name": "t", "steps": list(steps), **keys}


def begun(*steps: dict[str, Any], **keys: Any) -> Rehearsal:
    return Rehearsal(plan_of(flow(*steps, **keys))).begin()


def done() -> Rehearsal:
    """The chain, completed."""
    return begun(*CHAIN).end("a", value=1).end("b", value=2).end("c", value=3)


def test_a_completed_unchanged_run_has_nothing_to_do() -> None:
    play = done()
    assert set(play.entries().values()) == {("reuse", "ready")}
    assert is_no_op(plan_resume(play.plan, play.board.run, Selection()))


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"status": "failed"}, "failed"),
        ({"status": "failed", "artifacts": [{"path": "p"}]}, "partial"),
        ({"status": "timed_out"}, "failed"),
    ],
)
def test_what_is_not_ready_runs_again_and_what_it_held_too(how: Any, reason: str) -> None:
    play = begun(*CHAIN).end("a").end("b", **how)
    assert play.entries() == {
        "a": ("reuse", "ready"),
        "b": ("rerun", reason),
        "c": ("rerun", "held"),
    }


def test_a_step_in_flight_at_a_death_runs_again_and_its_attempts_go_on_counting() -> None:
    play = begun({"id": "a", "run": "x", "retry": {"max_attempts": 2, "delay": "0s"}})
    assert play.entries()["a"] == ("rerun", "in_flight")
    again = play.resume()
    assert again.starts[0].attempt == 2
    again.end("a", "failed", error="exit")
    assert [start.attempt for start in again.starts] == [2, 3]
    again.end("a", "failed", error="exit")
    assert again.is_over


def test_a_death_in_flight_is_asked_about_until_somebody_answers() -> None:
    play = begun(
        {"id": "a", "run": "x", "rerun": "ask"}, {"id": "b", "run": "x", "depends_on": ["a"]}
    )
    asked = play.resume()
    assert asked.data_of("decision_requested")[0]["reason"] == "in_flight"
    assert asked.outcome().status == "needs_orchestrator"
    assert asked.entries()["a"] == ("rerun", "in_flight")
    still = asked.resume()
    assert (still.starts, still.outcome().status) == ([], "needs_orchestrator")
    accepted = still.resume(Selection(is_decision=True), facts=[still.decision("a")])
    assert accepted.running == ["b"]
    assert accepted.state("a").limitations == ["accepted_by_human (ada)"]
    assert still.resume(Selection(from_step="a")).running == ["a"]


def test_an_end_whose_verdict_was_torn_off_is_not_done_twice() -> None:
    play = begun(*CHAIN).end("a")
    cut = next(event.seq for event in play.events if event.kind == "attempt_ended")
    torn = play.resume(upto=cut)
    assert torn.running == ["b"]
    assert torn.started() == ["b"]


def test_an_edited_step_runs_again_and_an_equal_result_ends_the_wave_there() -> None:
    play = done()
    edited = plan_of(flow({**CHAIN[0], "run": "y"}, *CHAIN[1:]))
    assert play.entries(plan=edited) == {
        "a": ("rerun", "spec_changed"),
        "b": ("rerun", "upstream_changed"),
        "c": ("rerun", "upstream_changed"),
    }
    same = play.resume(plan=edited).end("a", value=1)
    assert same.started() == ["a"]
    assert [d["step"] for d in same.data_of("checkpoint_decided") if d.get("reused")] == ["b", "c"]
    assert same.outcome().ok
    other = play.resume(plan=edited).end("a", value=9)
    assert other.running == ["b"]
    other.end("b", value=2)
    assert other.started() == ["a", "b"]
    assert other.outcome().ok


def test_a_step_that_may_be_kept_is_not_ready_until_that_is_known() -> None:
    play = done()
    again = play.resume(plan=plan_of(flow({**CHAIN[0], "run": "y"}, *CHAIN[1:])))
    assert again.statuses() == {"a": None, "b": None, "c": None}
    assert again.outcome().document()["usable_checkpoints"] == []


def test_added_and_removed_steps_and_edges() -> None:
    play = done()
    added = plan_of(flow(*CHAIN, {"id": "d", "run": "x", "depends_on": ["a"]}))
    assert play.entries(plan=added)["d"] == ("rerun", "spec_changed")
    assert play.entries(plan=added)["b"] == ("reuse", "ready")
    removed = play.resume(plan=plan_of(flow(*CHAIN[:2])))
    assert [step.step_id for step in removed.outcome().steps] == ["a", "b"]
    assert removed.outcome().ok
    edge = plan_of(flow(*CHAIN[:2], {**CHAIN[2], "depends_on": ["b", "a"]}))
    assert play.entries(plan=edge)["c"] == ("rerun", "spec_changed")


def test_only_the_inputs_a_step_refers_to_can_make_it_stale() -> None:
    steps: list[dict[str, Any]] = [
        {"id": "a", "run": ["x", "{{ inputs.n.k }}"]},
        {"id": "b", "run": "x"},
    ]
    inputs = {"n": {"type": "object", "default": {"k": 1, "l": 1}}}
    play = begun(*steps, inputs=inputs)
    play.record(*play.ending("a"), *play.ending("b"))
    assert play.entries(inputs={"n": {"k": 2, "l": 1}}) == {
        "a": ("rerun", "input_changed"),
        "b": ("reuse", "ready"),
    }
    assert play.entries(inputs={"n": {"k": 1, "l": 2}})["a"] == ("reuse", "ready")


def test_a_step_that_a_course_with_other_inputs_held_is_kept_where_it_would_see_what_it_has_seen() -> (
    None
):
    steps: list[dict[str, Any]] = [
        {"id": "a", "run": ["x", "{{ inputs.n }}"]},
        {"id": "b", "run": "x"},
    ]
    play = begun(*steps, inputs={"n": {"type": "integer", "default": 1}})
    play.record(*play.ending("a"), *play.ending("b", "failed"))
    other = play.resume(Selection(from_step="b"), inputs={"n": 2}).end("b", "failed")
    assert other.statuses()["a"] == "held"
    assert other.entries(inputs={"n": 1})["a"] == ("reuse", "ready")
    assert other.entries(inputs={"n": 3})["a"] == ("rerun", "input_changed")
    assert other.entries()["a"] == ("rerun", "input_changed")


def test_a_value_that_may_not_be_loaded_is_made_again() -> None:
    assert done().entries(unusable={"b": "value_not_trusted"}) == {
        "a": ("reuse", "ready"),
        "b": ("rerun", "value_not_trusted"),
        "c": ("rerun", "upstream_changed"),
    }


@pytest.mark.parametrize(
    ("selection", "rerun", "held"),
    [
        (Selection(from_step="b"), {"b", "c"}, set()),
        (Selection(only="b"), {"b"}, {"c"}),
        (Selection(from_step="a", until="b"), {"a", "b"}, {"c"}),
        (Selection(until="b"), set(), set()),
    ],
)
def test_flags_say_what_runs_and_what_is_left_out(selection: Any, rerun: Any, held: Any) -> None:
    found = done().entries(selection)
    assert {name for name, (action, _) in found.items() if action == "rerun"} == rerun
    assert {name for name, entry in found.items() if entry == ("hold", "not_selected")} == held
    assert all(found[name] == ("rerun", "selected") for name in rerun)


def test_from_a_step_runs_what_its_followers_need_besides() -> None:
    play = begun(
        {"id": "s", "run": "x"},
        {"id": "u", "run": "x"},
        {"id": "t", "run": "x", "depends_on": ["s", "u"]},
        {"id": "far", "run": "x"},
    )
    play.record(*play.ending("s"), *play.ending("u", "failed"), *play.ending("far", "failed"))
    assert play.entries(Selection(from_step="s")) == {
        "s": ("rerun", "selected"),
        "u": ("rerun", "failed"),
        "t": ("rerun", "selected"),
        "far": ("hold", "not_selected"),
    }


def test_what_was_left_out_is_kept_if_it_still_fits_and_else_held() -> None:
    play = done()
    same = play.resume(Selection(only="a")).end("a", value=1)
    assert same.outcome().ok
    other = play.resume(Selection(only="a")).end("a", value=9)
    told = other.outcome()
    assert told.step("b").held_by == {"kind": "not_selected", "step": None}
    assert (told.status, told.reasons[0]) == ("partial", {"code": "step_not_selected", "step": "b"})


def test_a_when_that_was_false_does_not_spoil_a_selected_rerun() -> None:
    play = begun(
        {"id": "a", "run": "x", "when": "1 == 2"},
        {"id": "b", "run": "x", "depends_on": ["a"]},
        {"id": "c", "run": "x"},
    ).end("c")
    assert play.outcome().ok
    assert play.resume(Selection(only="c")).end("c").outcome().ok


@pytest.mark.parametrize(
    "selection",
    [
        Selection(only="zz"),
        Selection(only="a", from_step="b"),
        Selection(until="zz"),
        Selection(from_step="c", until="a"),
    ],
)
def test_a_selection_that_makes_no_sense_is_refused(selection: Selection) -> None:
    with pytest.raises(InvalidArguments):
        done().entries(selection)


def test_reuse_never_runs_again_each_time() -> None:
    play = begun({**CHAIN[0], "reuse": "never"}).end("a")
    assert play.entries()["a"] == ("rerun", "never")


def test_reuse_never_stands_where_a_selection_leaves_it_out() -> None:
    lone = {"id": "z", "run": "x"}
    play = begun({**CHAIN[0], "reuse": "never"}, *CHAIN[1:], lone)
    for name in ("a", "b", "c", "z"):
        play.end(name, value=1)
    only = Selection(only="z")
    assert [play.entries(only)[name] for name in "abc"] == [("reuse", "ready")] * 3
    assert play.resume(only).end("z").outcome().ok
    assert play.resume(only).end("z").entries()["a"] == ("rerun", "never")


def test_a_failure_whose_verdict_was_torn_off_is_not_tried_again_by_a_decision() -> None:
    again = {"max_attempts": 2, "delay": "0s"}
    gate = {"id": "gate", "ask": {"question": "?"}}
    play = begun({"id": "a", "run": "x", "retry": again}, gate).end("a", "failed", error="exit")
    cut = next(e.seq for e in play.events if e.kind == "attempt_ended")
    later = play.resume(
        Selection(is_decision=True), upto=cut, facts=[play.decision("gate", "accept")]
    )
    assert later.started() == []
    assert later.state("a").checkpoint_status == "failed"


def test_a_run_that_a_failure_stopped_says_so_when_the_failure_was_accepted() -> None:
    play = begun(
        {"id": "a", "task": "x", "agent": "w"},
        {"id": "d", "run": "x"},
        {"id": "c", "run": "x"},
        agents={"w": {}},
        on_failure="stop",
        max_concurrency=2,
    ).end("a", report={"checkpoint_status": "partial"})
    told = play.decide("a").end("d").outcome()
    assert play.started() == ["a", "d"]
    assert told.status == "partial"
    assert told.reasons == [{"code": "step_run_stopped", "step": "c"}]


def test_what_a_failed_edit_held_is_kept_when_the_edit_is_taken_back() -> None:
    steps: list[dict[str, Any]] = [
        {"id": "a", "run": "x"},
        {"id": "b", "run": "x", "depends_on": ["a"]},
    ]
    play = begun(*steps, {"id": "c", "run": "x", "depends_on": ["b"]})
    for name in "abc":
        play.end(name, value=name)
    typo = plan_of(
        flow({"id": "a", "run": "typo"}, steps[1], {"id": "c", "run": "x", "depends_on": ["b"]})
    )
    broken = play.resume(plan=typo).end("a", "failed", error="exit")
    assert broken.statuses() == {"a": "failed", "b": "held", "c": "held"}
    assert broken.outcome().step("b").summary == ""
    assert broken.entries(plan=play.plan)["b"] == ("rerun", "upstream_changed")
    mended = broken.resume(plan=play.plan).end("a", value="a")
    assert mended.started() == ["a"]
    assert set(mended.statuses().values()) == {"checkpoint_ready"}
    other = broken.resume(plan=play.plan).end("a", value="other")
    assert other.started() == ["a", "b"]


def test_what_was_left_out_and_held_is_reused_when_nothing_had_changed_after_all() -> None:
    play = begun(
        {"id": "a", "run": "x"},
        {"id": "b", "run": "x", "depends_on": ["a"]},
        {"id": "c", "run": "x"},
    )
    play.end("a", value=1).end("c", value=1).end("b", value=1)
    edited = plan_of(
        flow(
            {"id": "a", "run": "y"},
            {"id": "b", "run": "x", "depends_on": ["a"]},
            {"id": "c", "run": "x"},
        )
    )
    left = play.resume(Selection(only="c"), plan=edited).end("c", value=1)
    assert left.statuses() == {"a": "held", "b": "held", "c": "checkpoint_ready"}
    assert left.entries(plan=play.plan)["b"] == ("reuse", "ready")
    back = left.resume(plan=play.plan)
    assert back.started() == []
    assert set(back.statuses().values()) == {"checkpoint_ready"}


def test_behind_a_verdict_that_was_torn_off_nothing_is_said_to_be_reused_before_it_is_known() -> (
    None
):
    chain: list[dict[str, Any]] = [
        {"id": "a", "run": "x"},
        {"id": "b", "run": "x", "depends_on": ["a"]},
    ]
    play = begun(*chain).end("a", value=1).end("b", value=1)
    again = play.resume(Selection(from_step="a", until="a")).end("a", value=2)
    cut = max(e.seq for e in again.events if e.kind == "attempt_ended")
    torn = Rehearsal(play.plan, again.events[:cut])
    assert torn.entries()["b"] == ("rerun", "upstream_changed")


def test_a_merge_step_whose_merge_was_taken_back_reruns_as_not_ready_and_was_never_held() -> None:
    made = {"id": "a", "run": "x", "workspace": "isolated", "write_set": ["a"]}
    story = begun(made, {"id": "land", "merge": ["a"], "depends_on": ["a"]})
    story.record(captured("a", files=[change("a")])).end("a")
    story.record(merged("land.1", ["a"], step="land", by="land")).end("land")
    story.record(merged("m2", [], undoes="land.1"))

    entry = plan_resume(story.plan, story.board.run, Selection())[1]
    assert (entry["step_id"], entry["action"], entry["reason"]) == ("land", "rerun", "partial")


@pytest.mark.parametrize(
    "selection", [Selection(only="x"), Selection(until="x"), Selection(from_step="x")]
)
def test_what_waits_for_a_person_goes_on_waiting_while_a_resume_leaves_it_out(
    selection: Selection,
) -> None:
    partial = {"checkpoint_status": "partial", "summary": "half"}
    play = begun(
        {"id": "x", "run": "x"},
        {"id": "u", "task": "x", "agent": "w"},
        {"id": "gate", "ask": {"question": "?"}},
        {"id": "after", "run": "x", "depends_on": ["u"]},
        agents={"w": {}},
    )
    play.end("x", value=1).end("u", report=partial)
    alone = play.resume(selection)
    assert alone.entries()["u"] == ("rerun", "partial")
    assert (alone.state("u").awaits_human, alone.state("gate").awaits_human) == (True, True)
    alone.end("x", value=1) if alone.running else None
    assert alone.outcome().status == "needs_orchestrator"
    decided = alone.resume(Selection(is_decision=True), facts=[alone.decision("u", "accept")])
    assert decided.state("u").limitations == ["accepted_by_human (ada)"]
    assert decided.resume().started() == ["after"]
