"""Items of a list as they begin: none before its turn, none that is left out, and never more at once than may be."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.machine.resume import Selection
from pixirnb.testing.generators.histories import Rehearsal, plan_of, run_resumed


def each(items: Any, **said: Any) -> dict[str, Any]:
    return {"id": "a", "for_each": items, "run": "echo {{ item }}", **said}


def shares(**said: Any) -> dict[str, Any]:
    return {"id": "f", "for_each": {"same_as": "a"}, "run": "echo {{ item }}", **said}


def begun(*steps: dict[str, Any], **said: Any) -> Rehearsal:
    return Rehearsal(plan_of(spec(*steps, **said))).begin()


def spec(*steps: dict[str, Any], **said: Any) -> dict[str, Any]:
    return {"name": "t", "steps": list(steps), **said}


def all_ready(play: Rehearsal) -> Rehearsal:
    while play.running:
        play.end(play.running[0], value=1)
    return play


def test_a_list_that_is_edited_is_read_again_and_only_what_is_new_runs() -> None:
    play = all_ready(begun(each(["x", "y"])))
    edited = plan_of(spec(each(["y", "z"])))
    assert play.entries(plan=edited) == {"a": ("rerun", "spec_changed")}
    again = play.resume(plan=edited)
    assert again.running == ["a@2"]
    assert again.data_of("step_expanded")[0]["reused"] == [1]


def test_a_step_that_shares_another_list_than_before_runs_again() -> None:
    lists = each(["x"]), {"id": "b", "for_each": ["x"], "run": "echo b"}
    play = all_ready(begun(*lists, shares()))
    other = plan_of(spec(*lists, shares(for_each={"same_as": "b"})))
    assert play.entries(plan=other)["f"] == ("rerun", "spec_changed")


def test_items_of_a_step_that_is_left_out_do_not_begin() -> None:
    play = begun(each(["x", "y"]), {"id": "b", "run": "true"}).end("a@0", value=1)
    later = play.resume(Selection(only="b"))
    assert later.running == ["b"]
    assert later.statuses() == {"a": "held", "b": None, "a@0": "checkpoint_ready", "a@1": "held"}
    assert later.end("b").resume().running == ["a@1"]


def pipeline(items: list[str]) -> dict[str, Any]:
    return spec(each(items), shares(run="echo {{ steps.a.output }}"))


@pytest.mark.parametrize(
    "selection",
    [Selection(only="a@0"), Selection(only="a"), Selection(from_step="a@0", until="a")],
)
def test_a_step_left_out_that_shares_the_list_of_one_that_runs_again_keeps_its_items(
    selection: Selection,
) -> None:
    before = all_ready(begun(*pipeline(["x", "y", "z"])["steps"]))
    play = all_ready(before.resume(selection))
    assert play.statuses() == before.statuses()
    assert play.resume(Selection(from_step="a@1")).running == ["a@1"]


def test_an_item_that_is_left_out_is_held_where_the_item_before_it_left_something_else() -> None:
    play = all_ready(begun(*pipeline(["x", "y"])["steps"])).resume(Selection(only="a@0"))
    left = all_ready(play.end("a@0", value=2)).statuses()
    assert [left[name] for name in ("f", "f@0", "f@1")] == ["held", "held", "checkpoint_ready"]
    assert all_ready(play).resume().running == ["f@0"]


@pytest.mark.parametrize("items", [["y", "x"], ["x", "z"], ["x"]])
def test_a_step_left_out_is_not_ready_with_another_list_than_the_one_it_shares(
    items: list[str],
) -> None:
    other = plan_of(pipeline(items))
    play = all_ready(begun(*pipeline(["x", "y"])["steps"]))
    play = all_ready(play.resume(Selection(only="a"), plan=other))
    assert play.statuses()["f"] == "held"
    again = play.resume(plan=other)
    assert again.running == ["f@2"] if "z" in items else ["f"]
    ended = all_ready(again)
    assert [name for name in ended.statuses() if name.startswith("f@")] == [
        name.replace("a", "f") for name in ended.statuses() if name.startswith("a@")
    ]


def test_items_run_again_where_the_step_of_their_list_left_other_artifacts() -> None:
    def split(play: Rehearsal, *blobs: str) -> Rehearsal:
        files = [{"path": name, "blob": name} for name in blobs]
        return play.end("s", value=["x"], artifacts=files)

    inputs = {"n": {"type": "integer", "default": 1}}
    splits = {"id": "s", "run": "split {{ inputs.n }}"}
    reads = each("{{ steps.s.output }}", depends_on=["s"])
    play = all_ready(split(begun(splits, reads, inputs=inputs), "b2:1"))
    again = split(play.resume(inputs={"n": 2}), "b2:1")
    assert (again.data_of("step_expanded")[0]["reused"], again.running) == ([0], [])
    assert split(again.resume(inputs={"n": 3}), "b2:2").running == ["a@0"]
    assert split(again.resume(inputs={"n": 4})).running == ["a@0"]


def test_an_empty_list_that_is_shared_is_collected_only_behind_what_its_step_depends_on() -> None:
    play = begun(each([]), {"id": "x", "run": "true"}, shares(depends_on=["x"]))
    assert play.running == ["a", "x"]
    assert play.end("x").running == ["a", "f"]


def test_an_empty_list_is_not_collected_behind_what_failed() -> None:
    play = begun(each([]), {"id": "x", "run": "true"}, shares(depends_on=["x"])).end("a", value=[])
    play.end("x", "failed", error="exit")
    assert play.state("f").held_by == {"kind": "dependency", "step": "x"}


def test_the_first_items_of_a_list_are_no_more_than_may_run_at_once() -> None:
    play = begun(each({"items": ["x", "y", "z"], "max_parallel": 2}), max_concurrency=8)
    assert play.running == ["a@0", "a@1"]
    assert play.end("a@1", value=1).running == ["a@0", "a@2"]


def test_items_that_are_tried_again_together_are_no_more_than_may_run_at_once() -> None:
    again = {"max_attempts": 2, "delay": "5s", "jitter": 0}
    play = begun(each({"items": ["x", "y"], "max_parallel": 1}, retry=again))
    play.end("a@0", "failed", error="exit").end("a@1", "failed", error="exit")
    assert play.turn(6).running == ["a@0"]
    assert play.end("a@0", value=1).running == ["a@1"]


def test_an_item_is_not_reused_whose_item_before_runs_again() -> None:
    inputs = {"n": {"type": "integer", "default": 1}}
    leads = each(["x", "y"], run="echo {{ item }} {{ inputs.n }}")
    play = all_ready(begun(leads, shares(run="echo {{ steps.a.output }}"), inputs=inputs))
    again = play.resume(inputs={"n": 2})
    assert [each["reused"] for each in again.data_of("step_expanded")] == [[], []]
    assert again.running == ["a@0", "a@1"]
    again.end("a@0", value=1)
    assert again.data_of("checkpoint_decided")[-1]["step"] == "f@0"
    assert again.end("a@1", value=2).running == ["a", "f@1"]


def test_items_of_a_step_that_is_never_reused_run_again_whatever_it_failed_of() -> None:
    play = begun(each(["x", "y"], reuse="never")).end("a@0", value=1)
    play.end("a@1", "failed", error="exit").end("a")
    assert play.entries() == {"a": ("rerun", "partial")}
    assert play.resume().running == ["a@0", "a@1"]


def test_all_items_of_a_selected_step_run_again_though_the_value_of_one_is_lost() -> None:
    play = all_ready(begun(each(["x", "y"])))
    lost: Any = {"a@1": "blob_missing"}
    entries = play.entries(Selection(from_step="a"), unusable=lost)
    assert entries == {"a": ("rerun", "selected"), "a@1": ("rerun", "blob_missing")}
    again = play.resume(Selection(from_step="a"), unusable=lost)
    assert again.running == ["a@0", "a@1"]


def test_a_thread_of_an_item_outlasts_a_resume_under_the_name_of_its_item() -> None:
    work = {"call": "m:f", "process": False, "write_set": ["x/{{ item }}"]}
    step = {"id": "a", "for_each": ["x", "y"], **work}
    play = begun(step).end("a@0", value=1).end("a@1", "detached")
    later = Rehearsal(play.plan, play.events)
    later.board.detach("a@1", 1)
    entries: Any = [{"step_id": "a", "action": "rerun", "reason": "partial", "because": []}]
    later.record(run_resumed(play.plan, play.board.run, entries, Selection()))
    assert later.board.left_threads == {"a@1": 1}
    assert later.running == []
    assert later.release("a@1").running == ["a@1"]


def test_the_items_of_a_mapping_are_in_the_order_in_which_a_log_keeps_it() -> None:
    inputs = {"sizes": {"type": "object", "default": {"b": 2, "a": 1}}}
    play = begun(each("{{ inputs.sizes }}"), inputs=inputs)
    items = play.data_of("step_expanded")[0]["items"]
    assert [item["value"] for item in items] == [
        {"key": "a", "value": 1},
        {"key": "b", "value": 2},
    ]


def test_a_step_that_is_left_out_is_not_kept_before_its_items_are() -> None:
    source = {"id": "s", "run": "echo"}
    play = begun(source, each(["x", "y"], depends_on=["s"])).end("s", value=1)
    all_ready(play)
    again = play.resume(Selection(only="s")).end("s", value=1)
    assert [data["step"] for data in again.data_of("checkpoint_decided")] == [
        "s",
        "a@0",
        "a@1",
        "a",
    ]


def test_a_step_that_was_accepted_and_set_back_begins_its_partial_items_again() -> None:
    source = {"id": "s", "run": "echo"}
    agent = {"task": "Look at {{ item }}.", "agent": "w", "posture": "read_only"}
    step = {"id": "a", "for_each": ["x", "y"], "depends_on": ["s"], **agent}
    play = begun(source, step, agents={"w": {}}).end("s", value=1)
    play.end("a@0", report={"checkpoint_status": "checkpoint_ready"})
    play.end("a@1", report={"checkpoint_status": "failed"}).end("a").decide("a")
    accepted = play.resume(Selection(is_decision=True))
    assert accepted.statuses()["a"] == "checkpoint_ready"
    other = plan_of(spec({**source, "run": "echo other"}, step, agents={"w": {}}))
    again = accepted.resume(plan=other).end("s", value=2)
    again.end("a@0", report={"checkpoint_status": "checkpoint_ready"})
    again.end("a@1", report={"checkpoint_status": "partial"})
    assert again.state("a").held_by == {"kind": "dependency", "step": "a@1"}
    assert again.entries()["a"] == ("rerun", "upstream_changed")
    assert again.resume().running == ["a@1"]


def test_a_step_that_shared_a_list_numbers_its_own_without_it() -> None:
    own = {"id": "f", "for_each": ["x"], "run": "echo {{ item }}"}
    play = all_ready(begun(each(["y"]), own))
    shared = all_ready(play.resume(plan=plan_of(spec(each(["y"]), shares()))))
    again = shared.resume(plan=plan_of(spec(each(["y"]), {**own, "for_each": ["x", "y"]})))
    items = again.data_of("step_expanded")[0]["items"]
    assert [(item["key"], item["number"]) for item in items] == [("x", 0), ("y", 1)]


@pytest.mark.parametrize("between", [0, 1, 2])
def test_a_run_says_whose_decision_a_list_waits_for_through_lists_that_are_ready(
    between: int,
) -> None:
    enough = [
        shares(id=f"b{n}", for_each={"same_as": f"b{n - 1}" if n else "a", "require": "any"})
        for n in range(between)
    ]
    last = shares(id="z", for_each={"same_as": f"b{between - 1}" if between else "a"})
    play = begun(each({"items": ["x", "y"], "require": "any"}), *enough, last)
    play = all_ready(play.end("a@1", "failed", error="permission_required"))
    assert play.is_over
    assert play.statuses()["z"] == "held"
    finished = play.data_of("run_finished")[0]
    assert finished["reasons"] == [{"code": "step_needs_decision", "step": "a@1"}]
