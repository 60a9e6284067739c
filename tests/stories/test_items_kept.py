"""Items of lists in the cases that were once got wrong: what is kept, said before, waited for, and found by its name."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from harness.auditor.audit import audit
from pixirnb import api
from pixirnb.errors import InvalidArguments
from tests.stories.filestory import isolated, repository
from tests.stories.storyline import (
    effects,
    ended,
    mark,
    over,
    python,
    shell,
    spec,
    statuses,
    until,
)

pytestmark = pytest.mark.story


def test_a_file_named_by_an_item_is_found_whatever_its_name_and_names_no_repository(
    tmp_path: Path,
) -> None:
    names = ["x,y", "[1].csv", "*", "repos.other:z"]
    run, outcome = ended(
        tmp_path,
        over(
            "make",
            names,
            "touch ./{{ item }}",
            artifacts=["{{ item }}"],
            verify=[{"file_exists": "{{ item }}"}],
        ),
    )
    assert outcome.status == "completed"
    for number, name in enumerate(names):
        bundle = run.bundle(f"make@{number}")
        assert bundle is not None
        assert [each["path"] for each in bundle["artifacts"]] == [name]
    log = (run.folder / "log.jsonl").read_bytes()
    assert audit(log, outcome=outcome.document()) == []


def test_what_follows_a_skipped_item_in_a_pipeline_is_skipped_with_it(tmp_path: Path) -> None:
    run, outcome = ended(
        tmp_path,
        over("get", [1, 2], "echo {{ item }}", when="{{ item }} > 1"),
        over("use", {"same_as": "get"}, mark("{{ item }}", "echo {{ item }}")),
        over("last", {"same_as": "use"}, "echo {{ steps.use.output }}"),
        over("none", {"same_as": "get"}, "true", when="{{ item }} > 2"),
        over("behind", {"same_as": "none"}, mark("never")),
        shell("after", "cat {{ steps.last.output_path }}", "last"),
    )
    assert outcome.status == "completed"
    assert (run.value("last"), run.value("after")) == ([None, "2"], 'null\n"2"')
    assert outcome.step("last").summary == "1 of 1 items ready"
    assert [each.step_id for each in outcome.steps if each.skipped] == [
        *("get@0", "use@0", "last@0", "none", "none@0", "none@1"),
        *("behind", "behind@0", "behind@1"),
    ]
    assert audit((run.folder / "log.jsonl").read_bytes(), outcome=outcome.document()) == []
    assert api.resume(run).is_no_op


@pytest.mark.parametrize("left_out", ["get", "use"])
def test_a_step_left_out_whose_items_are_stale_is_not_kept(tmp_path: Path, left_out: str) -> None:
    find = shell("find", "echo '[1, 2]'", output={"type": "array"}, reuse="never")
    text = "echo {{ item }} {{ inputs.word }}"
    run, _ = ended(
        tmp_path,
        find,
        over("get", {"items": "{{ steps.find.output }}", "require": "any"}, text, "find"),
        over("use", {"same_as": "get"}, "echo {{ steps.get.output }}"),
        shell("after", "cat {{ steps.use.output_path }}", "use"),
        inputs={"word": "old"},
    )
    same = api.resume(run, until="find").wait()
    assert (same.status, same.step("get").attempt) == ("completed", 1)
    again = api.resume(run, inputs={"word": "new"}, until={"get": "find", "use": "get"}[left_out])
    assert again.wait().status == "partial"
    assert run.outcome.step(left_out).held_by == {"kind": "not_selected", "step": None}
    assert run.outcome.step("after").checkpoint_status == "held"
    assert api.resume(run).wait().status == "completed"
    assert run.value("after") == '"1 new"\n"2 new"'
    log = (run.folder / "log.jsonl").read_bytes()
    assert audit(log, outcome=run.outcome.document()) == []


def test_a_key_that_is_added_runs_nothing_again_and_no_resume_stops_after_an_item(
    tmp_path: Path,
) -> None:
    run, _ = ended(tmp_path, over("each", ["a", "b"], mark("{{ item }}")))
    keyed = over("each", {"items": ["a", "b"], "key": "{{ item }}"}, mark("{{ item }}"))
    again = api.resume(run, spec={"name": "story", "steps": [keyed]})
    assert again.wait().status == "completed"
    assert sorted(effects(tmp_path)) == ["a", "b"]
    with pytest.raises(InvalidArguments, match="does not stop after an item such as `each@1`"):
        api.resume(run, until="each@1")


def test_an_item_with_a_comma_in_its_key_is_run_again_by_its_key(tmp_path: Path) -> None:
    run, _ = ended(tmp_path, over("each", ["x,y", "z"], mark("{{ index }}")), shell("b", "true"))
    assert api.resume(run, from_step="each@x,y").wait().status == "completed"
    assert sorted(effects(tmp_path)) == ["0", "0", "1"]
    assert api.resume(run, from_step="each@z,b").wait().status == "completed"
    assert sorted(effects(tmp_path)) == ["0", "0", "1", "1"]


def test_a_dry_run_says_what_a_selection_does_with_items_and_knows_the_items_that_stand(
    tmp_path: Path,
) -> None:
    run, _ = ended(
        tmp_path,
        over("get", {"items": ["a", "b"], "require": "any"}, "test {{ item }} = a"),
        over("use", {"same_as": "get"}, mark("{{ item }}")),
    )

    def said(**selection: Any) -> dict[str, tuple[str, str]]:
        entries = api.plan_resume(run, **selection)
        return {e["step_id"]: (e["action"], e["reason"]) for e in entries if "@" in e["step_id"]}

    assert said() == {"use@0": ("reuse", "ready"), "use@1": ("hold", "held")}  # behind `get@1`
    assert said(from_step="use") == {"use@0": ("rerun", "selected"), "use@1": ("hold", "held")}
    assert said(only="use@0") == {"use@0": ("rerun", "selected"), "use@1": ("hold", "not_selected")}
    assert api.resume(run, from_step="use").wait().step("use@0").attempt == 2
    assert api.resume(run).wait().step("use@0").attempt == 2
    assert api.resume(run, only="use@0").wait().step("use@0").attempt == 3


@pytest.mark.parametrize("require", ["all", "any"])
def test_a_pipeline_goes_on_with_the_answers_to_the_items_at_its_beginning(
    tmp_path: Path, require: str
) -> None:
    partial = {"report": {"checkpoint_status": "partial", "summary": "half"}}
    ready = {"report": {"checkpoint_status": "checkpoint_ready", "summary": "done"}}
    agents = {"worker": {"script": {"do@0": [[ready]], "do": [[partial]]}}}
    do = {"id": "do", "task": "Do {{ item }}.", "agent": "worker", "posture": "read_only"}
    run, outcome = ended(
        tmp_path,
        {**do, "for_each": {"items": ["a", "b", "c"], "require": require}},
        over("use", {"same_as": "do"}, mark("{{ item }}")),
        over("next", {"same_as": "use"}, mark("next-{{ item }}")),
        shell("after", mark("after"), "next"),
        agents=agents,
    )
    found = statuses(outcome)
    assert (found["use"], found["use@1"], found["next"]) == ("held", "held", "held")
    assert outcome.step("use").held_by == {"kind": "dependency", "step": "use@1"}
    assert [each for each in outcome.reasons if each["step"] in {"do@1", "do@2"}] != []
    run.accept("do@1")
    assert run.wait().step("next@1").checkpoint_status == "checkpoint_ready"
    run.accept("do@2")
    assert run.wait().status == "completed"
    done = [*"abc", "next-a", "next-b", "next-c", "after"]
    assert sorted(effects(tmp_path)) == sorted(done)
    log = (run.folder / "log.jsonl").read_bytes()
    assert audit(log, outcome=run.outcome.document()) == []


def test_an_item_in_a_copy_runs_again_if_the_files_that_came_with_its_list_have_changed(
    tmp_path: Path,
) -> None:
    home = repository(tmp_path / "home", {"base.txt": "base\n"})
    seed = tmp_path / "seed"
    seed.write_text("old")
    run, outcome = ended(
        home,
        isolated(
            "find",
            f"cat {seed} > data.txt; echo '[1]'",
            write_set=["data.txt"],
            output={"type": "array"},
            reuse="never",
        ),
        isolated(
            "each",
            "cat data.txt",
            "find",
            for_each="{{ steps.find.output }}",
            write_set=["{{ item }}"],
        ),
    )
    assert (outcome.status, run.value("each")) == ("completed", ["old"])
    seed.write_text("new")
    again = api.resume(run)
    assert again.wait().status == "completed"
    assert again.value("each") == ["new"]
    log = (run.folder / "log.jsonl").read_bytes()
    assert audit(log, outcome=again.outcome.document()) == []
    third = api.resume(run)
    assert third.wait().step("each@0").attempt == 2


def test_an_item_in_flight_at_a_death_is_asked_about_and_a_dry_run_says_so(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").write_text(
        """
name: asks
steps:
  - {id: each, for_each: [a], rerun: ask, run: "echo {{ item }} >> effects.txt; sleep 600"}
"""
    )
    child = python("-m", "pixirnb", "run", "flow.yaml", cwd=tmp_path)
    until(lambda: effects(tmp_path) == ["a"] or child.poll() is not None)
    [folder] = (tmp_path / ".pixirnb" / "runs").iterdir()
    child.send_signal(signal.SIGKILL)
    child.communicate()
    run = api.open_run(folder.name, workspace=tmp_path)
    said = {entry["step_id"]: entry for entry in api.plan_resume(run, workspace=tmp_path)}
    assert said["each@0"]["asks"]
    again = api.resume(run, workspace=tmp_path)
    assert again.wait().step("each@0").checkpoint_status == "needs_orchestrator"
    assert effects(tmp_path) == ["a"]


def test_a_list_that_is_too_short_says_how_many_items_are_required(tmp_path: Path) -> None:
    _, outcome = ended(tmp_path, over("each", {"items": [], "require": 5}, "true"))
    error = outcome.step("each").error
    assert error is not None
    assert error["message"] == "0 of 0 items ready, 5 required"


def test_an_item_is_merged_by_its_key(tmp_path: Path) -> None:
    home = repository(tmp_path, {"src/a.txt": "a"})
    edit = isolated(
        "edit", "echo {{ item }} > src/{{ item }}.txt", for_each=["x", "y"], write_set=["src/**"]
    )
    run, _ = ended(home, edit)
    assert "edit@0" in str(run.diff("edit"))
    run.merge("edit@y")
    assert (home / "src/y.txt").exists()
    assert not (home / "src/x.txt").exists()


def test_a_resume_from_several_steps_is_audited_as_what_it_was_asked_for(tmp_path: Path) -> None:
    run, _ = ended(
        tmp_path, over("each", ["x", "y", "z"], mark("{{ item }}")), shell("b", mark("b"))
    )
    outcome = api.resume(run, from_step="each@0,b").wait()
    assert effects(tmp_path)[4:] in (["x", "b"], ["b", "x"])
    log = (run.folder / "log.jsonl").read_bytes()
    assert audit(log, outcome=outcome.document()) == []


def test_an_item_that_failed_in_a_ready_list_is_offered_to_whom_it_holds(tmp_path: Path) -> None:
    run, outcome = ended(
        tmp_path,
        over("a", {"items": ["x", "y"], "require": "any"}, "test {{ item }} != y || test -e fixed"),
        over("b", {"same_as": "a"}, "true"),
    )
    assert outcome.status == "partial"
    cells = [action["cell"] for action in outcome.document()["next_actions"]]
    again = f"%pixir resume {run.id} --from a@1"
    assert again in cells
    assert not any(
        each["action"] == "retry_failed_steps" for each in outcome.document()["next_actions"]
    )
    (tmp_path / "fixed").touch()
    assert api.resume(run.id, from_step="a@1", workspace=tmp_path).wait().status == "completed"


def test_a_value_that_is_no_json_is_called_that_where_a_list_is_needed(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text("def values():\n    return [1, float('nan')]\n")
    _, outcome = ended(
        tmp_path,
        {"id": "a", "call": "odd:values"},
        over("b", "{{ steps.a.output }}", "true", "a"),
    )
    error = outcome.step("b").error
    assert error is not None
    assert error["message"] == "`for_each` needs JSON values; what `a` returned is not JSON"


def test_a_list_of_what_json_has_no_form_for_is_told_what_to_return(tmp_path: Path) -> None:
    (tmp_path / "paths.py").write_text(
        "from pathlib import Path\n\n\ndef values():\n    return [Path('a')]\n"
    )
    _, outcome = ended(
        tmp_path,
        {"id": "a", "call": "paths:values"},
        over("b", "{{ steps.a.output }}", "true", "a"),
    )
    error = outcome.step("b").error
    assert error is not None
    assert error["message"] == (
        "`for_each`: the value of `a` cannot be loaded; return JSON values: text, numbers, lists, mappings"
    )


def test_a_name_that_is_not_unicode_is_written_with_escapes_and_is_no_json(tmp_path: Path) -> None:
    (tmp_path / "names.py").write_text("def values():\n    return ['bad\\udcff.txt']\n")
    run, outcome = ended(
        tmp_path,
        {"id": "a", "call": "names:values"},
        shell("shown", "printf %s {{ steps.a.output }}", "a"),
        shell("chosen", "true", "a", when="{{ steps.a.output }} != ''"),
        over("b", "{{ steps.a.output }}", "true", "a"),
    )
    assert run["shown"].value == '["bad\\udcff.txt"]'
    assert statuses(outcome)["chosen"] == "checkpoint_ready"
    error = outcome.step("b").error
    assert error is not None
    assert error["message"] == "`for_each` needs JSON values; what `a` returned is not JSON"


@pytest.mark.parametrize("other", [None, "{{ item }} != 'b'"])
def test_an_item_that_an_edited_when_lets_in_runs_and_what_is_behind_sees_it(
    tmp_path: Path, other: str | None
) -> None:
    def written(when: str | None) -> list[dict[str, Any]]:
        named = {} if when is None else {"when": when}
        return [
            over("get", ["a", "b"], mark("{{ item }}", "echo {{ item }}"), **named),
            shell("after", "cat {{ steps.get.output_path }}", "get"),
        ]

    run, outcome = ended(tmp_path, *written("{{ item }} != 'a'"))
    assert (outcome.status, run.value("after")) == ("completed", 'null\n"b"')
    again = api.resume(run, spec=spec(*written(other))).wait()
    assert again.status == "completed"
    assert effects(tmp_path) == ["b", "a"]
    assert run.value("after") == ('"a"\n"b"' if other is None else '"a"\nnull')
    assert audit((run.folder / "log.jsonl").read_bytes(), outcome=again.document()) == []
    assert api.resume(run).is_no_op


def test_an_item_skipped_by_a_large_value_is_not_asked_again_by_a_resume_that_changes_nothing(
    tmp_path: Path,
) -> None:
    large = """printf '{"no": "b", "rest": "%0200000d"}' 0"""
    run, outcome = ended(
        tmp_path,
        shell("find", large, output={"type": "object"}),
        over("use", ["a", "b"], "true", "find", when="{{ item }} != {{ steps.find.output.no }}"),
    )
    assert outcome.status == "completed"
    assert outcome.step("use@1").skipped
    assert api.resume(run).is_no_op


@pytest.mark.parametrize(
    ("when", "status"),
    [
        ("{{ item }} != {{ steps.find.output.also }}", "completed"),
        ("{{ item }} != {{ steps.find.output.misspelt }}", "partial"),
    ],
)
def test_an_edited_when_is_asked_again_whose_value_is_large_or_missing(
    tmp_path: Path, when: str, status: str
) -> None:
    large = """printf '{"no": "b", "also": "c", "rest": "%0200000d"}' 0"""

    def written(when: str) -> list[dict[str, Any]]:
        find = shell("find", large, output={"type": "object"})
        return [find, over("use", ["a", "b"], mark("{{ item }}", "true"), "find", when=when)]

    run, outcome = ended(tmp_path, *written("{{ item }} != {{ steps.find.output.no }}"))
    assert outcome.step("use@1").skipped
    again = api.resume(run, spec=spec(*written(when))).wait()
    assert again.status == status
    assert sorted(effects(tmp_path)) == (["a", "b"] if status == "completed" else ["a"])
    assert audit((run.folder / "log.jsonl").read_bytes(), outcome=again.document()) == []
    assert api.resume(run).is_no_op == (status == "completed")
