"""Where there is no git, steps that share the workspace run, and those that take copies or merge are refused in the plan."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from tests.stories.filestory import isolated, land, plant, tree
from tests.stories.filestory import said as with_git
from tests.stories.storyline import facts, shell, spec

pytestmark = pytest.mark.story


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A PATH on which there is no git."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "cat"):
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    return folder


def said(home: Path, tools: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Exit code and document of a command that finds no git."""
    with pytest.MonkeyPatch.context() as without:
        without.setenv("PATH", str(tools))
        return with_git(home, *words)


def test_copies_and_merges_are_refused_in_the_plan_and_nothing_runs(
    tmp_path: Path, tools: Path
) -> None:
    home = plant(tmp_path / "home", {"a.txt": "a\n"})
    steps = (shell("first", "echo 1 > one.txt"), isolated("one", "cat a.txt"), land("one"))
    (home / "story.json").write_text(json.dumps(spec(*steps)))
    before = tree(home)
    code, document = said(home, tools, "plan", "story.json")
    assert (code, document["ok"]) == (2, False)
    told = [(error["code"], error["path"]) for error in document["errors"]]
    assert told == [("git_missing", "steps[1]"), ("git_missing", "steps[2]")]
    assert "workspace: shared" in document["errors"][0]["fix"]
    assert said(home, tools, "run", "story.json")[0] == 2
    assert tree(home) == before
    assert with_git(home, "plan", "story.json")[0] == 0


def test_steps_that_share_the_workspace_run_and_what_they_had_not_claimed_is_told(
    tmp_path: Path, tools: Path
) -> None:
    home = plant(tmp_path / "home", {"a.txt": "a\n"})
    steps = (
        shell("one", "echo 1 > one.txt", write_set=["one.txt"]),
        shell("two", "echo 2 > two.txt; echo more >> a.txt", "one", write_set=["two.txt"]),
    )
    (home / "story.json").write_text(json.dumps(spec(*steps)))
    code, document = said(home, tools, "run", "story.json")
    assert (code, document["status"]) == (0, "completed")
    run = api.open_run(document["run_id"], state=home / ".pixirnb")
    outside = {fact["step"]: fact.get("outside") for fact in facts(run, "attempt_ended")}
    assert outside == {"one": None, "two": {"paths": ["a.txt"], "count": 1}}


def test_where_git_went_a_step_that_takes_it_says_so_and_goes_on_when_it_is_back(
    tmp_path: Path, tools: Path
) -> None:
    home = plant(tmp_path / "home", {"a.txt": "a\n", ".gitignore": "story.json\n"})
    steps = (
        isolated("one", "echo 1 > one.txt", write_set=["one.txt"]),
        isolated("both", "cat one.txt", "one", posture="read_only"),
    )
    (home / "story.json").write_text(json.dumps(spec(*steps)))
    code, document = with_git(home, "run", "story.json")
    assert (code, document["status"]) == (0, "completed")
    run = api.open_run(document["run_id"], state=home / ".pixirnb")
    assert said(home, tools, "resume", run.id, "--from", "both")[0] == 1
    error = facts(run, "attempt_ended")[-1]["error"]
    assert (error["kind"], "install git 2.38 or later" in error["message"]) == ("git_missing", True)
    code, told = said(home, tools, "merge", run.id)
    assert told["error"]["code"] == "git_missing"
    assert not (home / "one.txt").exists()
    assert with_git(home, "resume", run.id)[0] == 0
    assert with_git(home, "merge", run.id)[0] == 0
    assert (home / "one.txt").read_text() == "1\n"
