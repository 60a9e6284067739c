"""What an auditor tried: nothing that is missing, torn, misspelt or endless may pass for success."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.errors import InvalidArguments, InvalidSpec
from tests.stories.storyline import ended, python, shell, until

pytestmark = pytest.mark.story


def two(workspace: Path) -> Any:
    run, outcome = ended(workspace, shell("a", "echo one"), shell("b", "echo two", "a"))
    assert outcome.status == "completed"
    return run


def log_of(run: Any) -> Path:
    return Path(run.folder) / "log.jsonl"


def test_an_edited_log_says_so_wherever_the_run_is_shown(tmp_path: Path) -> None:
    run = two(tmp_path)
    log = log_of(run)
    lines = log.read_bytes().splitlines(keepends=True)
    last = lines[-1].replace(b'"completed"', b'"Completed"')
    log.write_bytes(b"".join([*lines[:-1], last]))
    outcome = api.open_run(run.folder).outcome
    assert outcome.status != "completed"
    assert outcome.reasons[0]["code"] == "log_damaged"
    assert [warning["code"] for warning in outcome.warnings] == ["chain_broken"]
    assert not outcome.next_actions, "a damaged run cannot be resumed"
    assert api.runs(workspace=tmp_path)[0]["status"] != "completed"


def test_lines_after_the_end_do_not_leave_a_run_completed(tmp_path: Path) -> None:
    run = two(tmp_path)
    log = log_of(run)
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines, lines[-1]]))
    outcome = api.open_run(run.folder).outcome
    assert (outcome.status, outcome.ok) == ("interrupted", False)


def test_a_torn_end_is_named_even_when_there_is_nothing_to_resume(tmp_path: Path) -> None:
    run = two(tmp_path)
    with log_of(run).open("ab") as log:
        log.write(b'{"at":"2026-')
    assert api.open_run(run.folder).outcome.warnings[0]["code"] == "torn_tail"
    assert api.resume(run.id, workspace=tmp_path).is_no_op
    again = api.open_run(run.folder)
    assert again.damage is None
    assert [warning["code"] for warning in again.outcome.warnings] == ["torn_tail"]


def test_a_misspelt_field_in_when_fails_the_step_and_does_not_skip_it(tmp_path: Path) -> None:
    fields = shell("c", "echo '{\"ok\": true}'", output={"type": "object"})
    asks = shell("d", "echo done", "c", when="{{ steps.c.output.okk }} == true")
    _, outcome = ended(tmp_path, fields, asks, shell("e", "echo after", "d"))
    assert outcome.status == "partial"
    assert outcome.step("d").checkpoint_status == "failed"
    assert ((at := outcome.step("d").error) and at["kind"]) == "reference_missing"
    assert outcome.step("e").checkpoint_status == "held"


@pytest.mark.parametrize("said", ["held", "done", "checkpoint_ready!"])
def test_an_agent_s_unknown_status_earns_nothing(tmp_path: Path, said: str) -> None:
    agents = {"w": {"script": {"t": [[{"say": f"checkpoint_status: {said}"}]]}}}
    step = {"id": "t", "task": "do", "agent": "w", "verify": [{"output_contains": "status"}]}
    _, outcome = ended(tmp_path, step, agents=agents, readiness="lenient")
    assert outcome.step("t").checkpoint_status == "partial"


def test_a_pattern_that_backtracks_for_ever_ends_with_its_step_s_time_out(tmp_path: Path) -> None:
    check = {"output_matches": "(x+x+)+y"}
    endless = shell("a", f"echo {'x' * 60}", timeout=1, verify=[check])
    _, outcome = ended(tmp_path, endless)
    assert outcome.step("a").subagent_status == "timed_out"


def test_a_run_folder_can_be_looked_at_wherever_it_is_moved(tmp_path: Path) -> None:
    run = two(tmp_path)
    moved = tmp_path / "elsewhere" / run.id
    shutil.copytree(run.folder, moved)
    opened = api.open_run(moved)
    assert opened.status == "completed"
    assert opened.value("b") == "two"


def test_numbers_that_no_log_can_hold_are_not_json(tmp_path: Path) -> None:
    _, outcome = ended(
        tmp_path,
        shell("nan", "echo '{\"n\": NaN}'", output={"type": "object"}),
        shell("vast", "echo 1e400", output={"type": "number"}),
    )
    kinds = [step.error["kind"] for step in outcome.steps if step.error is not None]
    assert kinds == ["output_invalid", "output_invalid"]


def test_a_step_put_back_into_the_spec_is_the_step_it_was(tmp_path: Path) -> None:
    run = two(tmp_path)
    whole = {"name": "story", "steps": [shell("a", "echo one"), shell("b", "echo two", "a")]}
    less = {"name": "story", "steps": [shell("a", "echo one")]}
    api.resume(run.id, spec=less, workspace=tmp_path).wait()
    back = api.plan_resume(run.id, spec=whole, workspace=tmp_path)
    assert [entry["action"] for entry in back] == ["reuse", "reuse"]


def test_empty_text_is_a_workflow_that_says_nothing_not_a_folder() -> None:
    with pytest.raises(Exception, match="the text is empty → write `name:` and `steps:`"):
        api.load("")


def test_runs_and_bundles_show_themselves(tmp_path: Path) -> None:
    run = two(tmp_path)
    rows, bundle = api.runs(workspace=tmp_path), run.bundle("b")
    assert run.id in repr(rows)
    assert "<table" in rows._repr_mimebundle_()["text/html"]
    assert "two" in repr(bundle)
    assert bundle._repr_mimebundle_()["text/html"]


def test_a_resume_does_not_change_its_folder(tmp_path: Path) -> None:
    from pixirnb.verbs.answers import Desk
    from pixirnb.verbs.app import perform

    words = ["run", "x.yaml", "--resume", "r-20261121-220344-000000", "--workspace", str(tmp_path)]
    (tmp_path / "x.yaml").write_text("name: x\nsteps: [{id: a, run: 'true'}]\n")
    words[1] = str(tmp_path / "x.yaml")
    with pytest.raises(InvalidArguments):
        perform(Desk(), words)


def test_a_schema_s_pattern_that_backtracks_for_ever_ends_with_its_step_s_time_out(
    tmp_path: Path,
) -> None:
    endless = shell(
        "a",
        f"printf '\"{'x' * 40}!\"'",
        timeout=1,
        output={"type": "string", "pattern": "^(x+x+)+$"},
    )
    _, outcome = ended(tmp_path, endless)
    assert outcome.step("a").subagent_status == "timed_out"


def test_a_check_that_can_never_pass_is_said_by_the_plan() -> None:
    step = shell("a", "exit 3", verify=[{"exit_code": 3}], posture="read_only", read_set=[])
    warnings = api.plan({"name": "story", "steps": [step]}).warnings
    assert [warning.code for warning in warnings] == ["check_never_passes"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"run": "echo a\0b"}, "bad_text"),
        ({"run": ["echo", "a\0b"]}, "bad_text"),
        ({"run": "echo \ud800"}, "bad_text"),
        ({"run": "true", "env": {"A=B": "x"}}, "bad_env"),
        ({"run": "true", "env": {"": "x"}}, "bad_env"),
        ({"run": "true", "env": {"A": "x\0"}}, "bad_text"),
    ],
)
def test_what_no_system_can_be_handed_is_a_mistake_of_the_spec(
    fields: dict[str, Any], code: str
) -> None:
    with pytest.raises(InvalidSpec) as refused:
        api.load({"name": "story", "steps": [{"id": "a", **fields}]})
    assert [problem.code for problem in refused.value.problems] == [code]


def test_a_run_that_may_write_what_another_process_writes_says_so(tmp_path: Path) -> None:
    writes = shell("w", "echo started; sleep 30", write_set=["out/**"])
    (tmp_path / "one.json").write_text(json.dumps({"name": "one", "steps": [writes]}))
    other = python("-m", "pixirnb", "run", "one.json", "--json", cwd=tmp_path)
    try:
        until(lambda: api.runs(workspace=tmp_path))
        until(lambda: api.runs(workspace=tmp_path)[0]["counts"].get("running") == 1)
        _, near = ended(tmp_path, shell("n", "true", write_set=["out/a"]))
        _, apart = ended(tmp_path, shell("n", "true", write_set=["elsewhere/**"]))
    finally:
        other.terminate()
        other.communicate()
    assert [warning["code"] for warning in near.warnings] == ["workspace_shared"]
    assert apart.warnings == []
