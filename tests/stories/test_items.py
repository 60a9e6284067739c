"""A step for each item of a list: what runs, what a resume reuses, what a failure holds, and what is left after a death."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.errors import InvalidArguments
from pixirnb.operations.run import Run
from tests.stories.filestory import isolated, land, repository
from tests.stories.storyline import (
    effects,
    ended,
    facts,
    mark,
    over,
    python,
    shell,
    started,
    statuses,
    until,
)

pytestmark = pytest.mark.story


def reused(run: Run, step: str) -> list[int]:
    """The items of a step that its last list reused."""
    lists = [each["reused"] for each in facts(run, "step_expanded") if each["step"] == step]
    return list(lists[-1])


def attempts(run: Run) -> dict[str, int]:
    """Step to number of attempts, of items alone."""
    return {each.step_id: each.attempt for each in run.outcome.steps if "@" in each.step_id}


def test_an_item_is_a_step_and_the_step_has_the_values_in_the_order_of_the_list(
    tmp_path: Path,
) -> None:
    run, outcome = ended(
        tmp_path,
        over("say", ["one", "it's two", "$(three)"], "echo {{ index }}: {{ item }}"),
        shell("lines", "cat {{ steps.say.output_path }}", "say"),
    )
    assert outcome.status == "completed"
    values = ["0: one", "1: it's two", "2: $(three)"]
    assert run.value("say") == values
    assert [json.loads(line) for line in run.value("lines").splitlines()] == values
    assert [each.step_id for each in outcome.steps] == ["say", "say@0", "say@1", "say@2", "lines"]
    assert outcome.summary == "2 of 2 steps ready."
    assert outcome.step("say").summary == "3 of 3 items ready"


def test_a_list_comes_from_an_input_or_from_the_output_of_a_step_and_a_mapping_has_keys_and_values(
    tmp_path: Path,
) -> None:
    find = shell("find", """echo '{"a": 1, "b": [2, 3]}'""", output={"type": "object"})
    size = over("size", "{{ steps.find.output }}", "echo {{ item.key }} {{ item.value }}", "find")
    run, outcome = ended(
        tmp_path,
        find,
        size,
        over("twice", "{{ inputs.numbers }}", "expr {{ item }} '*' 2"),
        inputs={"numbers": [4]},
        given={"numbers": [5, 6]},
    )
    assert outcome.status == "completed"
    assert run.value("size") == ["a 1", "b [2,3]"]
    assert run.value("twice") == ["10", "12"]


@pytest.mark.parametrize(
    ("items", "error"),
    [
        ("{{ steps.first.output }}", ("not_a_list", "`for_each` needs a list, got a text")),
        (
            {"items": [{"n": 1}, {"n": 1}], "key": "{{ item.n }}"},
            ("not_a_list", "two items have the key `1`"),
        ),
    ],
)
def test_what_is_no_list_fails_the_step_and_holds_what_follows(
    tmp_path: Path, items: Any, error: tuple[str, str]
) -> None:
    _, outcome = ended(
        tmp_path,
        shell("first", "echo text"),
        over("each", items, "true", "first"),
        shell("after", "true", "each"),
    )
    assert statuses(outcome) == {"first": "checkpoint_ready", "each": "failed", "after": "held"}
    failure = outcome.step("each").error
    assert failure is not None
    assert (failure["kind"], failure["message"]) == error


def test_an_empty_list_is_ready_at_once(tmp_path: Path) -> None:
    run, outcome = ended(
        tmp_path,
        over("each", [], mark("never")),
        shell("after", "echo {{ steps.each.output }}", "each"),
    )
    assert outcome.status == "completed"
    assert (run.value("each"), run.value("after"), effects(tmp_path)) == ([], "[]", [])


def test_claims_are_those_of_the_item_and_no_character_of_it_is_a_wildcard(tmp_path: Path) -> None:
    text = "until test -e go-{{ index }}; do sleep 0.02; done; touch {{ item }}"
    run = started(
        tmp_path, over("write", ["a*", "ab"], text, write_set=["{{ item }}"]), max_concurrency=2
    )
    until(lambda: [each["step"] for each in facts(run, "step_scheduled")] == ["write@0", "write@1"])
    (tmp_path / "go-0").touch()
    (tmp_path / "go-1").touch()
    assert run.wait().status == "completed"
    assert run.outcome.step("write@0").write_set == [r"a\*"]
    _, clash = ended(tmp_path, over("write", ["x", "x"], "true", write_set=["{{ item }}"]))
    assert "conflicts_serialized" in clash.proof_states
    _, outside = ended(tmp_path, over("write", ["../x"], mark("never"), write_set=["{{ item }}"]))
    failure = outside.step("write").error
    assert failure is not None
    assert failure["kind"] == "bad_glob"
    assert effects(tmp_path) == []


def test_an_item_passes_a_pipeline_though_another_waits(tmp_path: Path) -> None:
    run = started(
        tmp_path,
        over("get", ["slow", "quick"], "until test -e {{ item }}; do sleep 0.02; done"),
        over("use", {"same_as": "get"}, mark("{{ item }}")),
    )
    (tmp_path / "quick").touch()
    until(lambda: effects(tmp_path) == ["quick"])
    assert run.outcome.step("get@0").checkpoint_status is None
    (tmp_path / "slow").touch()
    assert run.wait().status == "completed"
    assert effects(tmp_path) == ["quick", "slow"]


def test_with_one_slot_an_item_passes_the_whole_pipeline_before_the_next_begins(
    tmp_path: Path,
) -> None:
    _, outcome = ended(
        tmp_path,
        over("get", ["a", "b"], mark("get-{{ item }}", "echo {{ item }}")),
        over("use", {"same_as": "get"}, mark("use-{{ steps.get.output }}")),
        max_concurrency=1,
    )
    assert outcome.status == "completed"
    assert effects(tmp_path) == ["get-a", "use-a", "get-b", "use-b"]


def test_at_most_so_many_items_run_at_a_time(tmp_path: Path) -> None:
    text = f"echo $(ls running | wc -l) >> {tmp_path}/counts; rm running/{{{{ index }}}}"
    run, outcome = ended(
        tmp_path,
        shell("folder", "mkdir running"),
        over(
            "each",
            {"items": list(range(12)), "max_parallel": 2},
            f"touch running/{{{{ index }}}}; sleep 0.05; {text}",
            "folder",
        ),
        max_concurrency=8,
    )
    assert outcome.status == "completed"
    assert max(map(int, (tmp_path / "counts").read_text().split())) == 2
    assert len(run.value("each")) == 12


@pytest.mark.parametrize(
    ("require", "status", "after"),
    [
        ("all", "partial", "held"),
        ("any", "checkpoint_ready", "checkpoint_ready"),
        (2, "checkpoint_ready", "checkpoint_ready"),
        ("67%", "partial", "held"),
        ("66%", "checkpoint_ready", "checkpoint_ready"),
    ],
)
def test_so_many_items_must_be_ready_and_the_others_are_named(
    tmp_path: Path, require: Any, status: str, after: str
) -> None:
    text = "test {{ item }} != 2 && echo {{ item }}"
    run, outcome = ended(
        tmp_path,
        over("each", {"items": [1, 2, 3], "require": require}, text),
        shell("after", "echo {{ steps.each.output }}", "each"),
    )
    found = statuses(outcome)
    assert (found["each@1"], found["each"], found["after"]) == ("failed", status, after)
    assert outcome.ok == (after == "checkpoint_ready")
    bundle = run.bundle("each")
    assert bundle is not None
    assert bundle["produced"]["value"] == ["1", None, "3"]
    assert bundle["known_limitations"] == ["items_missing: 1 without a value (null): `each@1`"]
    if outcome.ok:
        assert (outcome.reasons, run.value("after")) == ([], '["1",null,"3"]')
    else:
        assert [each["step"] for each in outcome.reasons] == ["each", "each@1"]


def test_skipped_items_do_not_count_and_a_step_of_skipped_items_alone_is_skipped(
    tmp_path: Path,
) -> None:
    some = over("some", [1, 2, 3], "echo {{ item }}", when="{{ item }} > 1")
    none = over("none", [1, 2], "echo {{ item }}", when="{{ item }} > 2")
    run, outcome = ended(tmp_path, some, none, shell("after", "true", "none"))
    assert outcome.status == "completed"
    assert run.value("some") == [None, "2", "3"]
    assert [each.step_id for each in outcome.steps if each.skipped] == [
        *("some@0", "none", "none@0", "none@1"),
        "after",
    ]


def test_a_failed_item_holds_its_followers_and_no_others(tmp_path: Path) -> None:
    run, outcome = ended(
        tmp_path,
        over("get", [1, 2], "test {{ item }} = 1"),
        over("use", {"same_as": "get", "require": "any"}, mark("{{ item }}")),
        shell("after", mark("after"), "use"),
    )
    assert effects(tmp_path) == ["1", "after"]
    found = statuses(outcome)
    assert (found["get"], found["use@1"], found["use"]) == ("partial", "held", "checkpoint_ready")
    assert run.outcome.step("use@1").held_by == {"kind": "dependency", "step": "get@1"}


def test_a_resume_runs_what_failed_and_what_is_new_and_keeps_each_number(tmp_path: Path) -> None:
    steps = [
        over(
            "each", "{{ inputs.names }}", mark("{{ item }}", "test {{ item }} != b || test -e ok")
        ),
        over("next", {"same_as": "each"}, mark("next-{{ item }}")),
    ]
    run, outcome = ended(tmp_path, *steps, inputs={"names": ["a", "b", "c"]})
    assert outcome.status == "partial"
    (tmp_path / "ok").touch()
    before = len(effects(tmp_path))
    preview = api.plan_resume(run, inputs={"names": ["c", "d", "b"]})
    assert {each["step_id"]: (each["action"], each["reason"]) for each in preview} == {
        "each": ("rerun", "partial"),
        "next": ("rerun", "partial"),
        "each@2": ("reuse", "ready"),
        "each@3": ("rerun", "spec_changed"),
        "each@1": ("rerun", "failed"),
        "each@0": ("hold", "gone"),
        "next@2": ("reuse", "ready"),
        "next@3": ("rerun", "spec_changed"),
        "next@1": ("rerun", "held"),
        "next@0": ("hold", "gone"),
    }
    again = api.resume(run, inputs={"names": ["c", "d", "b"]})
    assert again.wait().status == "completed"
    assert sorted(effects(tmp_path)[before:]) == ["b", "d", "next-b", "next-d"]
    assert (reused(again, "each"), reused(again, "next")) == ([2], [2])
    assert attempts(again) == {
        "each@2": 1,
        "each@3": 1,
        "each@1": 2,
        "next@2": 1,
        "next@3": 1,
        "next@1": 1,
    }
    assert api.resume(again).is_no_op


def test_an_item_of_a_list_that_a_step_finds_runs_again_only_if_it_is_new(tmp_path: Path) -> None:
    (tmp_path / "list").write_text('["a", "b"]')
    find = shell("find", "cat list", output={"type": "array"}, reuse="never")
    run, _ = ended(
        tmp_path, find, over("each", "{{ steps.find.output }}", mark("{{ item }}"), "find")
    )
    (tmp_path / "list").write_text('["c", "a", "b"]')
    again = api.resume(run)
    assert again.wait().status == "completed"
    assert sorted(effects(tmp_path)) == ["a", "b", "c"]
    assert reused(again, "each") == [0, 1]


def test_one_item_is_run_again_by_its_number_or_its_key(tmp_path: Path) -> None:
    run, _ = ended(
        tmp_path,
        over("each", ["x", "y"], mark("{{ item }}", "date +%s%N")),
        over("next", {"same_as": "each"}, mark("next-{{ item }}")),
    )
    again = api.resume(run, from_step="each@y")
    assert again.wait().status == "completed"
    assert sorted(effects(tmp_path)) == ["next-x", "next-y", "next-y", "x", "y", "y"]
    alone = api.resume(run, only="each@0")
    assert alone.wait().step("each@0").attempt == 2
    assert effects(tmp_path).count("x") == 2
    assert effects(tmp_path).count("next-x") == 1
    assert facts(alone, "run_resumed")[-1]["flags"] == {"only": "each@0"}
    assert run["each@y"].value == run.value("each@1")
    with pytest.raises(InvalidArguments, match="unknown step `each@z`"):
        api.resume(run, only="each@z")


def test_a_definition_that_changed_runs_all_items_again_and_a_step_by_its_name_does(
    tmp_path: Path,
) -> None:
    run, _ = ended(tmp_path, over("each", [1, 2], mark("{{ item }}")))
    edited = {"name": "story", "steps": [over("each", [1, 2], mark("new-{{ item }}"))]}
    assert api.resume(run, spec=edited).wait().status == "completed"
    assert sorted(effects(tmp_path)) == ["1", "2", "new-1", "new-2"]
    assert api.resume(run, from_step="each").wait().status == "completed"
    assert sorted(effects(tmp_path)) == ["1", "2", *["new-1"] * 2, *["new-2"] * 2]


def test_each_item_asks_for_itself_and_answers_are_values(tmp_path: Path) -> None:
    ask = {"id": "each", "for_each": ["a", "b"], "ask": "Ship {{ item }}?"}
    run = started(tmp_path, ask, shell("after", "echo {{ steps.each.output }}", "each"))
    until(lambda: statuses(run.outcome).get("each@1") == "needs_orchestrator")
    assert [each.summary for each in run.outcome.steps[1:3]] == ["Ship a?", "Ship b?"]
    run.decide("each@b", "accept", "later")
    run.accept("each@0", "now")
    assert run.wait().status == "completed"
    assert run.value("after") == '["now","later"]'


def test_a_word_on_an_agents_item_goes_on_with_the_step(tmp_path: Path) -> None:
    partial = {"report": {"checkpoint_status": "partial", "summary": "half"}}
    ready = {"report": {"checkpoint_status": "checkpoint_ready", "summary": "done"}}
    agents = {"worker": {"script": {"each@0": [[ready]], "each": [[partial]]}}}
    task = {
        "id": "each",
        "for_each": ["a", "b"],
        "task": "Do {{ item }}.",
        "agent": "worker",
        "posture": "read_only",
    }
    run, outcome = ended(tmp_path, task, shell("after", "true", "each"), agents=agents)
    found = statuses(outcome)
    assert (found["each@0"], found["each@1"], found["each"]) == (
        "checkpoint_ready",
        "partial",
        "held",
    )
    assert outcome.step("each").held_by == {"kind": "dependency", "step": "each@1"}
    run.accept("each@1")
    assert run.wait().status == "completed"
    assert attempts(run) == {"each@0": 1, "each@1": 1}


def test_values_that_are_no_json_are_gathered_in_a_process(tmp_path: Path) -> None:
    (tmp_path / "sets.py").write_text(
        "def pair(n):\n    return {n, n + 1}\n\n\ndef union(sets):\n    return sorted(set.union(*sets))\n"
    )
    run, outcome = ended(
        tmp_path,
        {"id": "each", "for_each": [1, 5], "call": "sets:pair", "with": {"n": "{{ item }}"}},
        {
            "id": "all",
            "call": "sets:union",
            "with": {"sets": "{{ steps.each.output }}"},
            "depends_on": ["each"],
        },
    )
    assert outcome.status == "completed"
    assert (run.value("each"), run.value("all")) == ([{1, 2}, {5, 6}], [1, 2, 5, 6])


def test_items_in_copies_are_merged_by_the_name_of_their_step(tmp_path: Path) -> None:
    home = repository(tmp_path / "home", {"base.txt": "base\n"})
    edit = isolated(
        "edit",
        "echo {{ item }} > {{ item }}.txt",
        for_each=["a", "b"],
        write_set=["{{ item }}.txt"],
    )
    run, outcome = ended(home, edit, land("edit"))
    assert outcome.status == "completed"
    assert [(home / f"{name}.txt").read_text() for name in "ab"] == ["a\n", "b\n"]
    assert sorted(facts(run, "merge_applied")[0]["steps"]) == ["edit@0", "edit@1"]


def test_what_was_ready_at_a_death_is_not_run_again(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(
        """
name: long
max_concurrency: 2
steps:
  - id: each
    for_each: [a, b, c, d]
    run: |
      echo {{ item }} >> effects.txt
      test -e go || test {{ item }} = a || sleep 600
  - {id: after, run: "echo after >> effects.txt", depends_on: [each]}
"""
    )
    child = python("-m", "pixirnb", "run", "flow.yaml", cwd=tmp_path)
    until(lambda: sorted(effects(tmp_path)) == ["a", "b", "c"] or child.poll() is not None)
    [folder] = (tmp_path / ".pixirnb" / "runs").iterdir()
    child.send_signal(signal.SIGKILL)
    child.communicate()
    run = api.open_run(folder.name, workspace=tmp_path)
    assert run.outcome.status == "interrupted"
    (tmp_path / "go").touch()
    assert api.resume(run, workspace=tmp_path).wait().status == "completed"
    done = effects(tmp_path)
    assert (done.count("a"), done.count("d"), done.count("after")) == (1, 1, 1)
    assert reused(run, "each") == [0]
