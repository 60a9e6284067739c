"""A process dies in the middle of a merge: nobody looks past what it left, and whoever takes it back says so."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.stories.filestory import isolated, plant, said, tree
from tests.stories.storyline import python, spec
from tests.verbs.command import command

pytestmark = pytest.mark.story

DIES = """
import os, signal, sys
from pixirnb import api

spoken = iter(range(9))


def die(event, arguments):
    what = str(arguments[1:2] if event == "os.rename" else arguments[:1])
    if sys.argv[2] == "done":
        # All is in place and the journal says so: what came out goes.
        if event == "os.rmdir" and ".pixirnb-merge-" in what:
            os.kill(os.getpid(), signal.SIGKILL)
    # The second word of the journal would be that all is done: every file is in place.
    elif event == "os.rename" and ".json'" in what and "/merges/" in what:
        if next(spoken):
            os.kill(os.getpid(), signal.SIGKILL)


sys.addaudithook(die)
run = api.open_run(sys.argv[1], state=".pixirnb")
run.merge(undo=sys.argv[2] == "undo")
"""
TAKEN_BACK = "3 files restored"


def dies(home: Path, run_id: str, how: str = "merge") -> None:
    child = python("-c", DIES, run_id, how, cwd=home)
    child.communicate()
    assert child.returncode == -signal.SIGKILL


def began(home: Path, step: str, text: str) -> str:
    """A completed run with three changes that are not merged; its id."""
    changes = "; ".join(f"echo {text} > {step}{n}.txt" for n in range(3))
    (home / "story.json").write_text(json.dumps(spec(isolated(step, changes))))
    code, document = said(home, "run", "story.json")
    assert (code, document["status"]) == (0, "completed")
    run_id: str = document["run_id"]
    return run_id


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return plant(
        tmp_path / "home",
        {**{f"a{n}.txt": "1\n" for n in range(3)}, ".gitignore": "story.json\n"},
    )


def warnings(document: dict[str, Any]) -> list[str]:
    return [each["message"] for each in document["warnings"] if each["code"] == "merge_taken_back"]


def test_who_only_looks_or_takes_back_is_told_of_half_a_merge_and_touches_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id, other = began(home, "a", "2"), began(home, "b", "2")
    before = tree(home)
    dies(home, run_id)
    half = tree(home)
    assert half != before
    for words in (
        ("merge", run_id, "--preview"),
        ("merge", run_id, "--undo"),
        ("merge", other, "--preview"),
    ):
        code, document = said(home, *words)
        assert (code, document["error"]["code"]) == (5, "merge_unfinished")
        assert f"`pixirnb resume {run_id}`" in document["error"]["fix"]
        assert tree(home) == half
    _, document = said(home, "doctor", run_id)
    [found] = [each for each in document["findings"] if each["code"] == "merge_unfinished"]
    assert "3 of your files are changed" in found["message"]
    assert found["next_action"]["cell"] == f"%pixir resume {run_id}"
    assert tree(home) == half

    monkeypatch.chdir(home)
    out = command("resume", run_id).out
    assert TAKEN_BACK in out
    assert "nothing has changed" not in out
    assert tree(home) == before
    _, document = said(home, "resume", run_id)
    assert len(warnings(document)) == 1, "said once, and kept in the log"
    out = command("resume", run_id).out
    assert "nothing has changed" in out
    assert "merge_unfinished" not in json.dumps(said(home, "doctor", run_id)[1])
    assert said(home, "merge", run_id, "--preview")[1]["status"] == "clean"


def test_half_a_merge_that_another_merge_takes_back_is_told_by_it(home: Path) -> None:
    run_id, other = began(home, "a", "2"), began(home, "b", "2")
    before = tree(home)
    dies(home, run_id)
    assert said(home, "merge", other)[1]["status"] == "merged"
    assert tree(home) == before | {f"b{n}.txt": "2\n" for n in range(3)}
    [told] = warnings(said(home, "show", other)[1])
    assert run_id in told
    assert TAKEN_BACK in told


def test_half_a_merge_that_the_next_merge_of_its_run_takes_back_is_told(home: Path) -> None:
    run_id = began(home, "a", "2")
    dies(home, run_id)
    (home / "a0.txt").write_text("a person's\n")
    assert said(home, "merge", run_id)[1]["status"] == "conflict"
    assert tree(home)["a0.txt"] == "a person's\n"
    assert tree(home)["a1.txt"] == "1\n"
    [told] = warnings(said(home, "show", run_id)[1])
    assert "2 files restored, 1 edited since and not restored" in told


def test_half_a_merge_taken_back_is_not_overlooked_where_nothing_is_left_to_merge(
    home: Path,
) -> None:
    run_id = began(home, "a", "2")
    assert said(home, "merge", run_id)[1]["status"] == "merged"
    merged = tree(home)
    dies(home, run_id, "undo")
    code, document = said(home, "merge", run_id)
    assert (code, document["error"]["code"]) == (5, "merge_unfinished")
    assert said(home, "resume", run_id)[0] == 0
    assert tree(home) == merged
    assert said(home, "merge", run_id, "--undo")[1]["status"] == "undone"


def test_a_merge_that_was_done_and_not_recorded_is_recorded_before_it_is_taken_back(
    home: Path,
) -> None:
    run_id = began(home, "a", "2")
    before = tree(home)
    dies(home, run_id, "done")
    code, document = said(home, "merge", run_id, "--undo")
    assert (code, document["error"]["code"]) == (5, "merge_unfinished")
    assert "was applied" in document["error"]["message"]
    assert "a resume records it" in json.dumps(said(home, "doctor", run_id)[1])
    assert warnings(said(home, "resume", run_id)[1]) == []
    assert {path: text for path, text in tree(home).items() if ".pixirnb-" not in path} == (
        before | {f"a{n}.txt": "2\n" for n in range(3)}
    )
    assert said(home, "merge", run_id, "--undo")[1]["status"] == "undone"
    assert tree(home) == before
