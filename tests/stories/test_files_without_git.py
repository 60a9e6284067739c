"""Where there is no git, files flow and come back all the same; two changes of one file then always ask a person."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from tests.stories.filestory import isolated, land, lines, plant, tree
from tests.stories.filestory import said as with_git
from tests.stories.storyline import facts, python, spec

pytestmark = pytest.mark.story


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A PATH on which there is no git."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "cat", "sed", "sleep"):
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    return folder


def said(home: Path, tools: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Exit code and document of a command that finds no git."""
    line = ("-m", "pixirnb", *words, "--json")
    out, err = (child := python(*line, cwd=home, env={"PATH": str(tools)})).communicate()
    assert "Traceback" not in err
    return child.returncode, json.loads(out)


def test_files_flow_and_come_back_and_are_taken_back(tmp_path: Path, tools: Path) -> None:
    home = plant(tmp_path / "home", {"a.txt": "a\n", ".gitignore": "story.json\n"})
    steps = (
        isolated("one", "echo 1 > one.txt", write_set=["one.txt"]),
        isolated("two", "echo 2 >> a.txt", write_set=["a.txt"]),
        isolated("both", "cat one.txt a.txt", "one", "two", posture="read_only"),
        land("one", "two", after=("both",)),
    )
    (home / "story.json").write_text(json.dumps(spec(*steps)))
    before = tree(home)
    code, document = said(home, tools, "run", "story.json")
    assert (code, document["status"]) == (0, "completed")
    run = api.open_run(document["run_id"], state=home / ".pixirnb")
    assert run.value("both") == "1\na\n2"
    methods = {
        root["method"] for fact in facts(run, "workspace_captured") for root in fact["roots"]
    }
    assert methods == {"copy"}
    assert tree(home) == before | {"a.txt": "a\n2\n", "one.txt": "1\n"}
    (home / "mine.txt").write_text("mine\n")
    assert said(home, tools, "merge", run.id, "--undo")[1]["status"] == "undone"
    assert tree(home) == before | {"mine.txt": "mine\n"}


def test_two_changes_of_one_file_conflict_wherever_they_are_and_a_person_settles_it(
    tmp_path: Path, tools: Path
) -> None:
    text = lines("one", "two", "three", "four", "five")
    home = plant(tmp_path / "home", {"a.txt": text, ".gitignore": "story.json\n"})
    steps = (
        isolated("top", "sed -i 1s/one/ONE/ a.txt", write_set=["a.txt"]),
        isolated("end", "sed -i s/five/FIVE/ a.txt", write_set=["a.txt"]),
        land("top", "end"),
    )
    (home / "story.json").write_text(json.dumps(spec(*steps)))
    code, document = said(home, tools, "run", "story.json")
    assert (code, document["status"]) == (4, "needs_orchestrator")
    assert (home / "a.txt").read_text() == text
    both = text.replace("one", "ONE").replace("five", "FIVE")
    (home / "a.txt").write_text(both)
    code, document = said(home, tools, "decide", document["run_id"], "land", "accept")
    assert (code, document["status"]) == (0, "completed")
    assert (home / "a.txt").read_text() == both


def test_a_run_that_began_without_git_goes_on_without_it_when_git_is_there(
    tmp_path: Path, tools: Path
) -> None:
    home = plant(tmp_path / "home", {"a.txt": "a\n", ".gitignore": "story.json\ngo\n"})
    steps = (
        isolated("one", "echo 1 > one.txt", write_set=["one.txt"]),
        isolated("beside", "echo 2 > two.txt", write_set=["two.txt"]),
        isolated("both", f"test -e {home}/go && cat one.txt", "one", posture="read_only"),
        land("one", "beside", after=("both",)),
    )
    (home / "story.json").write_text(json.dumps(spec(*steps)))
    before = tree(home)
    code, document = said(home, tools, "run", "story.json")
    assert (code, document["status"]) == (1, "partial")
    (home / "go").touch()
    child = python("-m", "pixirnb", "resume", document["run_id"], "--json", cwd=home)
    out, _ = child.communicate()
    assert (child.returncode, json.loads(out)["status"]) == (0, "completed")
    run = api.open_run(document["run_id"], state=home / ".pixirnb")
    kinds = ("workspace_captured", "merge_applied")
    methods = {r["method"] for kind in kinds for fact in facts(run, kind) for r in fact["roots"]}
    assert methods == {"copy"}
    brought = {"one.txt": "1\n", "two.txt": "2\n", "go": ""}
    assert tree(home) == before | brought
    assert api.open_run(run.id, state=home / ".pixirnb").merge(undo=True).status == "undone"
    assert tree(home) == before | {"go": ""}


def test_where_git_went_each_step_is_made_again_by_the_command_that_is_named(
    tmp_path: Path, tools: Path
) -> None:
    home = plant(tmp_path / "home", {"a.txt": "a\n", ".gitignore": "story.json\n"})
    steps = (
        isolated("one", "echo 1 > one.txt", write_set=["one.txt"]),
        isolated("two", "echo 2 > two.txt", write_set=["two.txt"]),
        isolated("both", "cat one.txt two.txt", "one", "two", posture="read_only"),
    )
    (home / "story.json").write_text(json.dumps(spec(*steps)))
    code, document = with_git(home, "run", "story.json")
    assert (code, document["status"]) == (0, "completed")
    run = api.open_run(document["run_id"], state=home / ".pixirnb")
    said(home, tools, "resume", run.id, "--from", "both")
    error = facts(run, "attempt_ended")[-1]["error"]
    assert error["kind"] == "git_missing"
    for step in ("one", "two"):
        assert f"`resume {run.id} --from {step}`" in error["message"]
        code, document = said(home, tools, "resume", run.id, "--from", step)
        error = facts(run, "attempt_ended")[-1]["error"]
    assert (code, document["status"]) == (0, "completed")
