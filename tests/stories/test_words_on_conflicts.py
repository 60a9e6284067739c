"""A person's word on a conflict counts for the files it was said of, and for no others: what is written later is asked of."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pixirnb.operations.run import Run
from tests.stories.filestory import isolated, land, lines, plant, said, seams, tree
from tests.stories.storyline import ended, facts
from tests.sweeps import first_of

pytestmark = pytest.mark.story

TEXT = lines("title", "blue", "serif")
STEPS = (
    isolated("warm", "sed -i s/blue/red/ a.txt; echo w > new.txt", write_set=["*.txt"]),
    isolated("cold", "sed -i s/blue/green/ a.txt", write_set=["*.txt"]),
    land("warm", "cold", after=("go",)),
    {"id": "go", "ask": {"question": "go?"}, "depends_on": ["warm", "cold"]},
)


def clashed(home: Path, mine: str = TEXT) -> Run:
    """A run that waits for a word on `a.txt`, which both have changed, and the user too where `mine` says so."""
    plant(home, {"a.txt": TEXT})
    run, _ = ended(home, *STEPS)
    (home / "a.txt").write_text(mine)
    run.decide("go", "accept")
    assert run.wait().status == "needs_orchestrator"
    assert len(facts(run, "merge_conflicted")) == 1
    return run


def decided(run: Run, home: Path, value: object, *flags: str) -> str:
    """How the run stands once a side is named."""
    words = [] if value is None else ["--value", json.dumps(value)]
    return str(said(home, "decide", run.id, "land", "accept", *words, *flags)[1]["status"])


def resumed(run: Run, home: Path) -> str:
    """How the run stands after a resume."""
    return str(said(home, "resume", run.id)[1]["status"])


@pytest.mark.parametrize("value", first_of(["warm", {"a.txt": "cold"}]))
def test_what_is_written_after_a_side_was_named_is_not_written_over_and_asked_about(
    tmp_path: Path, value: Any
) -> None:
    run = clashed(tmp_path)
    decided(run, tmp_path, value, "--no-resume")
    mine = lines("title", "mine", "serif", "precious")
    (tmp_path / "a.txt").write_text(mine)
    assert resumed(run, tmp_path) == "needs_orchestrator"
    assert tree(tmp_path) == {"a.txt": mine}
    assert (len(facts(run, "merge_conflicted")), facts(run, "merge_applied")) == (2, [])
    assert decided(run, tmp_path, value) == "completed", "said again, of the file as it is now"
    assert mine not in tree(tmp_path).values()


def test_an_own_solution_is_what_the_attempt_after_the_word_found_and_nothing_later(
    tmp_path: Path,
) -> None:
    run = clashed(tmp_path)
    (tmp_path / "a.txt").write_text(lines("title", "violet", "serif"))
    os.mkfifo(tmp_path / "new.txt")
    assert decided(run, tmp_path, None) == "needs_orchestrator"
    assert facts(run, "attempt_ended")[-1]["error"]["kind"] == "merge_disturbed"
    (tmp_path / "new.txt").unlink()
    later = lines("title", "later", "serif")
    (tmp_path / "a.txt").write_text(later)
    assert resumed(run, tmp_path) == "needs_orchestrator"
    assert (tree(tmp_path), facts(run, "merge_applied")) == ({"a.txt": later}, [])
    assert "open" in seams(run).values()
    assert decided(run, tmp_path, {"a.txt": "workspace"}) == "completed"
    assert tree(tmp_path) == {"a.txt": later, "new.txt": "w\n"}


@pytest.mark.parametrize("value", first_of(["cold", {"a.txt": "cold"}]))
def test_a_side_counts_for_the_file_also_where_another_clashes_with_the_users_first(
    tmp_path: Path, value: Any
) -> None:
    run = clashed(tmp_path, lines("title", "mine", "serif"))
    assert facts(run, "merge_conflicted")[0]["between"] == ["workspace", "warm"]
    assert decided(run, tmp_path, value) == "completed"
    assert tree(tmp_path) == {"a.txt": TEXT.replace("blue", "green"), "new.txt": "w\n"}


def test_by_hand_the_last_of_three_that_clash_can_be_the_side_too(tmp_path: Path) -> None:
    run = clashed(tmp_path, lines("title", "mine", "serif"))
    code, document = said(tmp_path, "merge", run.id, "--side", "a.txt=cold")
    assert (code, document["status"]) == (0, "merged")
    assert tree(tmp_path) == {"a.txt": TEXT.replace("blue", "green"), "new.txt": "w\n"}


def test_where_all_is_merged_a_side_changes_nothing_and_says_so(tmp_path: Path) -> None:
    run = clashed(tmp_path)
    assert said(tmp_path, "merge", run.id, "--side", "cold")[1]["status"] == "merged"
    code, document = said(tmp_path, "merge", run.id, "--side", "warm")
    assert (code, document["status"]) == (0, "nothing")
