"""A repository that is another folder in an edited workflow: what was done in the first is done anew, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.auditor.audit import audit
from pixirnb import api
from pixirnb.machine.outcome import RunOutcome
from pixirnb.operations.run import Run
from pixirnb.protocols.trees import FILE
from pixirnb.testing.repositories import make_repository
from tests.stories.storyline import shell, spec

pytestmark = pytest.mark.story

STEPS = (
    shell("here", "echo here >> here.txt"),
    shell("look", "cat name", cwd="repos.app"),
    shell("by_variable", 'cat "$PIXIRNB_REPO_APP/name"'),
    shell(
        "change",
        "cat name; echo changed > name",
        cwd="repos.app",
        workspace="isolated",
        write_set=["repos.app:name"],
    ),
    {"id": "land", "merge": ["change"], "depends_on": ["change"]},
    shell("after", "cat name", "land", cwd="repos.app", read_set=["repos.app:name"]),
)


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    for name in ("w", "r1", "r2"):
        make_repository(tmp_path / name, {"name": (FILE, f"{name}\n".encode())})
    return tmp_path


def written(repo: str, *steps: dict[str, Any]) -> dict[str, Any]:
    return spec(*(steps or STEPS), repos={"app": f"../{repo}"})


def ran(folders: Path) -> Run:
    run = api.start(written("r2"), workspace=folders / "w")
    assert run.wait().ok
    return run


def resumed(run: Run, folders: Path, **how: Any) -> RunOutcome:
    return api.resume(run.id, workspace=folders / "w", **how).wait()


def breaches(run: Run) -> list[Any]:
    log = (run.folder / "log.jsonl").read_bytes()
    return audit(log, outcome=run.outcome.document())


def plan(run: Run, folders: Path, **how: Any) -> dict[str, tuple[str, str]]:
    steps = api.plan_resume(run.id, workspace=folders / "w", **how)
    return {step["step_id"]: (step["action"], step["reason"]) for step in steps}


def test_what_was_done_in_the_folder_before_is_done_in_the_new_one(folders: Path) -> None:
    run = ran(folders)
    assert (folders / "r2/name").read_text() == "changed\n"
    planned = plan(run, folders, spec=written("r1"))
    assert planned.pop("here") == ("reuse", "ready")
    assert set(planned.values()) == {("rerun", "spec_changed")}
    assert resumed(run, folders, spec=written("r1")).ok
    assert (folders / "r1/name").read_text() == "changed\n"
    assert (run.value("look"), run.value("change"), run.value("after")) == ("r1", "r1", "changed")
    assert (folders / "w/here.txt").read_text() == "here\n"
    assert run.state.repos == {"app": "../r1"}
    assert breaches(run) == []


def test_later_resumes_go_on_in_the_new_folder(folders: Path) -> None:
    run = ran(folders)
    assert resumed(run, folders, spec=written("r1")).ok
    assert api.resume(run.id, workspace=folders / "w").is_no_op
    (folders / "r1/name").write_text("later\n")
    assert resumed(run, folders, from_step="look").ok
    assert run.value("look") == "later"
    assert resumed(run, folders, spec=written("r2"), only="look").ok is False
    assert run.value("look") == "changed"
    assert breaches(run) == []


def test_a_step_that_was_left_out_when_the_folder_changed_is_done_anew_later(folders: Path) -> None:
    run = ran(folders)
    assert not resumed(run, folders, spec=written("r1"), only="look").ok
    assert plan(run, folders)["change"] == ("rerun", "spec_changed")
    assert resumed(run, folders).ok
    assert (folders / "r1/name").read_text() == "changed\n"
    assert breaches(run) == []


def test_a_fork_works_in_the_folder_of_its_workflow(folders: Path) -> None:
    run = ran(folders)
    run.checkpoint("done")
    fork = run.fork("done", spec=written("r1"))
    assert fork.wait().ok
    assert (fork.value("look"), (folders / "r1/name").read_text()) == ("r1", "changed\n")


def test_a_folder_that_no_step_uses_repeats_nothing(folders: Path) -> None:
    run = api.start(written("r2", STEPS[0]), workspace=folders / "w")
    assert run.wait().ok
    assert plan(run, folders, spec=written("r1", STEPS[0])) == {"here": ("reuse", "ready")}
