"""A dry run of a resume promises to run what the resume then runs: what cannot start is held or skipped, and says why."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

import pixirnb


@pytest.fixture
def gate(tmp_path: Path) -> Any:
    def make(*steps: dict[str, Any], inputs: dict[str, Any] | None = None) -> pixirnb.Run:
        spec = {"name": "flow", "steps": list(steps), **({"inputs": inputs} if inputs else {})}
        run = pixirnb.start(spec, workspace=tmp_path)
        run.wait(60)
        return run

    return make


def actions(run: pixirnb.Run) -> dict[str, tuple[Any, ...]]:
    return {
        entry["step_id"]: (
            "skip" if entry.get("skipped") else "may" if entry.get("awaits") else entry["action"],
            *entry["because"],
        )
        for entry in pixirnb.plan_resume(run)
    }


SHIP = {"ship": {"type": "boolean", "default": False}}


def test_what_a_rejected_step_blocks_is_held(gate: Any) -> None:
    run = gate(
        {"id": "a", "run": "true"},
        {"id": "gate", "ask": "Ship?", "depends_on": ["a"]},
        {"id": "land", "run": "true", "depends_on": ["gate"]},
        {"id": "told", "run": "true", "depends_on": ["land"]},
    )
    run.decide("gate", "reject", resume=False)
    expected = {
        "a": ("reuse",),
        "gate": ("reuse",),
        "land": ("hold", "gate"),
        "told": ("hold", "land"),
    }
    assert actions(run) == expected
    assert "would reuse 1, keep 1 rejected and hold 2." in repr(pixirnb.plan_resume(run))
    resumed = pixirnb.resume(run.folder)
    resumed.wait(60)
    assert resumed.outcome.document()["held_steps"] == ["land", "told"]
    assert actions(resumed) == expected


def test_a_condition_whose_values_are_known_is_decided(gate: Any) -> None:
    run = gate(
        {"id": "bad", "run": "false"},
        {"id": "ship", "run": "true", "when": "{{ inputs.ship }}"},
        {"id": "after", "run": "true", "depends_on": ["ship"]},
        inputs=SHIP,
    )
    assert actions(run) == {"bad": ("rerun",), "ship": ("skip",), "after": ("skip", "ship")}
    shown = repr(pixirnb.plan_resume(run))
    assert "would run 1 and skip 2." in shown
    assert "`when` is false" in shown


def test_a_condition_on_a_reused_step_is_decided(gate: Any) -> None:
    run = gate(
        {"id": "made", "run": "echo 3"},
        {
            "id": "bad",
            "run": "false",
            "when": "{{ steps.made.output }} == '3'",
            "depends_on": ["made"],
        },
        {
            "id": "other",
            "run": "true",
            "when": "{{ steps.made.output }} == '4'",
            "depends_on": ["made"],
        },
    )
    assert actions(run) == {"made": ("reuse",), "bad": ("rerun",), "other": ("skip",)}


def test_a_step_behind_a_condition_without_its_values_only_may_run(gate: Any) -> None:
    run = gate(
        {"id": "bad", "run": "false"},
        {
            "id": "ship",
            "run": "true",
            "when": "{{ steps.bad.output }} == 'x'",
            "depends_on": ["bad"],
        },
        {"id": "after", "run": "true", "depends_on": ["ship"]},
    )
    assert actions(run) == {"bad": ("rerun",), "ship": ("may",), "after": ("may",)}
    assert "would run 1 and maybe run 2." in repr(pixirnb.plan_resume(run))


def test_a_completed_run_with_a_skipped_step_would_run_nothing(gate: Any) -> None:
    run = gate(
        {"id": "a", "run": "true"},
        {"id": "ship", "run": "true", "when": "{{ inputs.ship }}"},
        inputs=SHIP,
    )
    assert "everything is up to date" in repr(pixirnb.plan_resume(run))


def test_a_list_whose_items_are_all_skipped_is_skipped_with_what_is_behind_it(gate: Any) -> None:
    each = {"run": "true", "for_each": [1, 2], "when": "{{ inputs.ship }}"}
    run = gate(
        {"id": "each", **each},
        {"id": "same", "run": "true", "for_each": {"same_as": "each"}, "depends_on": ["each"]},
        {"id": "after", "run": "true", "depends_on": ["same"]},
        {"id": "some", **each, "when": "{{ item }} == {{ inputs.n }}"},
        inputs={**SHIP, "n": {"type": "integer", "default": 1}},
    )
    skips = {"each": ("skip",), "same": ("skip", "each"), "after": ("skip", "same")}
    assert actions(run) == {**skips, "some": ("reuse",)}
    assert "everything is up to date" in repr(pixirnb.plan_resume(run))
    items = {"some@0": "skipped", "some@1": "rerun"}
    again = pixirnb.plan_resume(run, inputs={"n": 2})
    assert {
        entry["step_id"]: "skipped" if entry.get("skipped") else entry["action"]
        for entry in again
        if entry["step_id"] in items
    } == items
    again = pixirnb.plan_resume(run, inputs={"n": 3})
    assert again[3].get("skipped")
    resumed = pixirnb.resume(run.folder, inputs={"n": 3}).wait(60)
    assert resumed.step("some").skipped


def test_an_item_behind_a_condition_whose_value_is_not_loaded_only_may_run(gate: Any) -> None:
    large = """printf '{"no": 1, "rest": "%0200000d"}' 0"""
    when = "{{ item }} != {{ steps.large.output.no }}"
    run = gate(
        {"id": "large", "run": large, "output": {"type": "object"}},
        {"id": "each", "run": "true", "for_each": [1, 2], "when": when, "depends_on": ["large"]},
    )
    again = pixirnb.plan_resume(run, from_step="each")
    assert [entry.get("awaits") for entry in again[-2:]] == [["each@0"], ["each@1"]]
    assert "maybe run 2." in repr(again)


def test_a_list_whose_condition_or_items_are_not_known_only_may_run(gate: Any) -> None:
    each = {"run": "true", "for_each": [1, 2], "when": "{{ steps.a.output }} == '9'"}
    run = gate(
        {"id": "a", "run": "echo {{ inputs.n }}"},
        {"id": "each", **each, "depends_on": ["a"]},
        {"id": "after", "run": "true", "depends_on": ["each"]},
        inputs={"n": {"type": "integer", "default": 1}},
    )
    again = {entry["step_id"]: entry for entry in pixirnb.plan_resume(run, inputs={"n": 2})}
    assert again["each"].get("awaits") == again["after"].get("awaits") == ["each"]


def test_items_of_which_one_list_or_the_other_skips_each_are_skipped(gate: Any) -> None:
    follow = {"for_each": {"same_as": "lead"}, "when": "{{ item }} < 2", "depends_on": ["lead"]}
    run = gate(
        {"id": "lead", "run": "true", "for_each": [0, 2], "when": "{{ item }} > 0"},
        {"id": "follow", "run": "true", **follow},
        {"id": "after", "run": "true", "depends_on": ["follow"]},
    )
    assert "everything is up to date" in repr(pixirnb.plan_resume(run))


def test_an_item_behind_what_failed_is_held(gate: Any) -> None:
    lead = {"items": [0, 2], "require": 1}
    run = gate(
        {"id": "lead", "run": "test {{ item }} = 0", "for_each": lead},
        {"id": "follow", "run": "true", "for_each": {"same_as": "lead"}, "depends_on": ["lead"]},
    )
    found = actions(run)
    assert (found["lead"], found["follow"]) == (("reuse",), ("rerun",))
    assert (found["follow@0"], found["follow@1"]) == (("reuse",), ("hold", "lead@1"))


def test_only_a_step_whose_dependencies_are_up_to_date_is_run_alone(gate: Any) -> None:
    run = gate(
        {"id": "a", "run": "echo {{ inputs.n }}"},
        {"id": "never", "run": "true", "reuse": "never"},
        {"id": "mid", "run": "true", "depends_on": ["a"]},
        {"id": "b", "run": "true", "depends_on": ["mid", "never"]},
        inputs={"n": {"type": "integer", "default": 1}},
    )
    with pytest.raises(pixirnb.InvalidArguments) as refused:
        pixirnb.resume(run, only="b", inputs={"n": 2})
    assert refused.value.code == "dependency_not_ready"
    assert "`b` needs `a`, which is not up to date" in str(refused.value)
    assert pixirnb.open_run(run.folder).status == "completed"
    again = pixirnb.resume(run.folder, only="b").wait(60)
    assert (again.status, again.step("b").attempt) == ("completed", 2)


def test_an_item_is_run_alone_only_behind_items_that_are_up_to_date(gate: Any) -> None:
    run = gate(
        {"id": "lead", "run": "echo {{ item }} {{ inputs.n }}", "for_each": [1, 2]},
        {"id": "follow", "run": "true", "for_each": {"same_as": "lead"}},
        {"id": "collect", "run": "true", "depends_on": ["follow"]},
        inputs={"n": {"type": "integer", "default": 1}},
    )
    with pytest.raises(pixirnb.InvalidArguments) as refused:
        pixirnb.resume(run, only="follow@0", inputs={"n": 2})
    assert refused.value.code == "dependency_not_ready"
    assert "`follow@0` needs `lead@0`, which is not up to date" in str(refused.value)
    assert refused.value.fix == "use `--from lead@0`"
    again = pixirnb.resume(run, only="follow@0").wait(60)
    assert (again.status, again.step("follow@0").attempt) == ("completed", 2)
    anew = pixirnb.resume(run.folder, from_step="lead@0", inputs={"n": 2}).wait(60)
    assert (anew.status, anew.step("lead@1").attempt) == ("completed", 2)


def test_a_step_is_run_alone_behind_one_that_is_skipped_only_if_it_is_skipped_again(
    gate: Any,
) -> None:
    run = gate(
        {"id": "maybe", "run": "true", "when": "{{ inputs.ship }}"},
        {"id": "after", "run": "true", "depends_on": ["maybe"]},
        inputs=SHIP,
    )
    skipped = pixirnb.resume(run, only="after").wait(60)
    assert (skipped.status, skipped.step("after").skipped) == ("completed", True)
    with pytest.raises(pixirnb.InvalidArguments) as refused:
        pixirnb.resume(run.folder, only="after", inputs={"ship": True})
    assert refused.value.code == "dependency_not_ready"
    assert "`after` needs `maybe`, which has not run" in str(refused.value)
    assert pixirnb.open_run(run.folder).status == "completed"


def test_what_is_left_out_behind_a_step_that_runs_may_stay_ready(gate: Any) -> None:
    run = gate(
        {"id": "a", "run": "echo A"},
        {"id": "b", "run": "echo {{ steps.a.output }}", "depends_on": ["a"]},
        {"id": "c", "run": "echo C", "depends_on": ["b"]},
        {"id": "other", "run": "echo O", "reuse": "never"},
        {"id": "broken", "run": "false"},
    )
    planned = pixirnb.plan_resume(run, only="a")
    assert {entry["step_id"]: entry["because"] for entry in planned} == {
        "a": [],
        "b": ["a"],
        "c": ["b"],
        "other": [],
        "broken": [],
    }
    shown = repr(planned)
    assert "would reuse 1, run 1, hold 2 if their inputs change and hold 1." in shown
    assert "not selected, after a" in shown
    assert pixirnb.resume(run, only="a").wait(60).step("b").checkpoint_status == "checkpoint_ready"


def test_what_a_when_on_a_large_value_skipped_stays_skipped_in_a_completed_run(gate: Any) -> None:
    run = gate(
        {"id": "big", "run": "head -c 200000 /dev/zero | tr '\\0' x"},
        {
            "id": "maybe",
            "run": "true",
            "when": "{{ steps.big.output }} == 'y'",
            "depends_on": ["big"],
        },
        {"id": "after", "run": "true", "depends_on": ["maybe"]},
    )
    assert actions(run) == {"big": ("reuse",), "maybe": ("skip",), "after": ("skip",)}
    assert "everything is up to date" in repr(pixirnb.plan_resume(run))
    assert pixirnb.resume(run.folder).is_no_op


def test_what_an_open_question_blocks_only_may_run(gate: Any) -> None:
    run = gate(
        {"id": "asked", "ask": "Ship?"},
        {"id": "land", "run": "true", "depends_on": ["asked"]},
        {"id": "told", "run": "true", "depends_on": ["land"]},
    )
    assert actions(run) == {"asked": ("rerun",), "land": ("may",), "told": ("may",)}
    shown = repr(pixirnb.plan_resume(run))
    assert "would run 1 and maybe run 2." in shown
    assert "depends on the answer to asked" in shown


def test_an_interrupted_step_and_one_left_out_are_named_as_they_were(tmp_path: Path) -> None:
    steps = [
        {"id": "slow", "run": "sleep 600"},
        {"id": "late", "run": "sleep 600", "timeout": 0.2},
        {"id": "other", "run": "true"},
    ]
    spec = {"name": "flow", "steps": steps}
    run = pixirnb.start(spec, workspace=tmp_path, targets=["slow", "late"])
    while run.state.step("late").checkpoint_status is None:
        time.sleep(0.02)
    run.cancel()
    run.wait(60)
    shown = " ".join(repr(pixirnb.plan_resume(run)).split())
    assert "canceled before slow" in shown
    assert "timed out before late" in shown
    assert "not selected before other" in shown
    assert "failed before" not in shown
