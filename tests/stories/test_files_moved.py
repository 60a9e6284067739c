"""A project is moved as a whole: what stands half merged is taken back there, and what cannot go on says what to do."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.stories.filestory import isolated, plant, said, tree
from tests.stories.storyline import python, spec

pytestmark = pytest.mark.story

DIES = """
import os, signal, sys
from pixirnb import api

spoken = iter(range(9))


def die(event, arguments):
    # The second word of the journal would be that all is done: every file is in place.
    if event == "os.rename" and str(arguments[1]).endswith("m1.json") and next(spoken):
        os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(die)
api.open_run(sys.argv[1], state=".pixirnb").merge()
"""


def project(home: Path) -> tuple[str, dict[str, str]]:
    """A completed run with a change that is not merged; its id, and the files."""
    plant(home, {"a.txt": "1\n", ".gitignore": "story.json\n"})
    (home / "story.json").write_text(
        json.dumps(spec(isolated("one", "echo 2 > a.txt", write_set=["a.txt"])))
    )
    code, document = said(home, "run", "story.json")
    assert (code, document["status"]) == (0, "completed")
    return document["run_id"], tree(home)


def test_half_a_merge_of_a_completed_run_is_taken_back_where_its_folder_was_moved_to(
    tmp_path: Path,
) -> None:
    run_id, before = project(tmp_path / "home")
    child = python("-c", DIES, run_id, cwd=tmp_path / "home")
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    home = (tmp_path / "home").rename(tmp_path / "moved")
    assert (home / "a.txt").read_text() == "2\n"
    code, other = said(home, "run", "story.json")
    assert code == 3
    [step] = other["outcome"]["steps"] if "outcome" in other else other["steps"]
    assert step["error"]["kind"] == "merge_unfinished"
    assert f"`pixirnb resume {run_id}`" in step["error"]["message"]
    assert said(home, "resume", run_id)[0] == 0
    assert tree(home) == before
    assert not [path for path in home.iterdir() if path.name.startswith(".pixirnb-merge")]
    assert said(home, "resume", other["run_id"])[1]["status"] == "completed"


def test_a_run_whose_folder_was_moved_says_so_and_goes_on_where_a_link_leads_there(
    tmp_path: Path,
) -> None:
    run_id, before = project(tmp_path / "home")
    home = (tmp_path / "home").rename(tmp_path / "moved")
    for words in (
        ("merge", run_id),
        ("merge", run_id, "--preview"),
        ("resume", run_id, "--from", "one"),
    ):
        code, document = said(home, *words)
        assert code != 0
        assert document["error"]["code"] == "workspace_missing"
        assert str(tmp_path / "home") in document["error"]["message"]
        assert "ln -s" in document["error"]["fix"]
    assert said(home, "diff", run_id)[0] == 0
    assert tree(home) == before
    (tmp_path / "home").symlink_to(home)
    assert said(home, "merge", run_id)[1]["status"] == "merged"
    assert (home / "a.txt").read_text() == "2\n"
