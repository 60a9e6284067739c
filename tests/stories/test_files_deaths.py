"""Killed in the middle of a step that works in a copy, and in the middle of a merge; and what is left when a run is pruned."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.machine.requests import Request
from pixirnb.operations import prepare
from pixirnb.operations.run_environment import RunEnvironment
from pixirnb.planning.roots import Roots
from pixirnb.protocols.ports import RunLog
from pixirnb.protocols.trees import Files
from pixirnb.testing.repositories import git, traces
from pixirnb.workspace.local_files import LocalFiles
from tests.stories.filestory import isolated, kept, land, plant, repository, said, tree
from tests.stories.storyline import ended, facts, python, spec, until
from tests.sweeps import first_of

pytestmark = pytest.mark.story

MANY = 600


def test_killed_in_the_middle_of_a_copy_the_users_files_are_untouched_and_the_work_is_done_once(
    tmp_path: Path,
) -> None:
    home = repository(tmp_path / "home", {"a.txt": "a\n", ".gitignore": "story.json\n"})
    go, count = tmp_path / "go", tmp_path / "count"
    text = (
        f"echo before >> {count}; echo half > a.txt; echo new > new.txt; "
        f"until test -e {go}; do sleep 0.05; done; echo b > a.txt; echo after >> {count}"
    )
    steps = (
        isolated("first", f"echo first >> {count}; echo 1 > first.txt", write_set=["first.txt"]),
        isolated("second", text, "first", write_set=["a.txt", "new.txt"]),
        land("first", "second"),
    )
    (home / "story.json").write_text(json.dumps(spec(*steps)))
    before, private = tree(home), traces(home / ".git")
    child = python("-m", "pixirnb", "run", "story.json", cwd=home)
    until(lambda: count.is_file() and "before" in count.read_text())
    child.send_signal(signal.SIGKILL)
    child.communicate()
    [row] = api.runs(workspace=home)
    assert row["status"] == "interrupted"
    assert tree(home) == before
    assert traces(home / ".git") == private

    go.touch()
    code, document = said(home, "resume", row["run_id"])
    assert (code, document["status"]) == (0, "completed")
    assert count.read_text().split() == ["first", "before", "before", "after"]
    assert tree(home) == before | {"a.txt": "b\n", "first.txt": "1\n", "new.txt": "new\n"}
    assert traces(home / ".git") == private
    state = home / ".pixirnb"
    assert sorted((state / "isolated").iterdir()) == [], "what the dead left is swept"


def journal(home: Path) -> bool:
    """Whether a merge has said what it is about to do."""
    return any((home / ".pixirnb" / "merges").glob("*.json"))


def first_file(home: Path) -> bool:
    """Whether it has begun to do it."""
    return any((home / f"f{n}.txt").read_text() == "new\n" for n in range(MANY))


def last_files(home: Path) -> bool:
    """Whether more is done than is not."""
    return sum((home / f"f{n}.txt").read_text() == "new\n" for n in range(MANY)) > MANY // 2


@pytest.mark.parametrize("is_there", first_of([first_file, journal, last_files]))
def test_killed_in_the_middle_of_a_merge_the_next_owner_leaves_all_of_it_or_nothing(
    tmp_path: Path, is_there: Callable[[Path], bool]
) -> None:
    old = {f"f{n}.txt": "old\n" for n in range(MANY)}
    home = plant(tmp_path / "home", {**old, "mine.txt": "mine\n"})
    steps = (
        isolated("edit", "for f in f*.txt; do echo new > $f; done", write_set=["f*.txt"]),
        land("edit"),
    )
    (tmp_path / "story.json").write_text(json.dumps(spec(*steps)))
    line = ("-m", "pixirnb", "run", "../story.json", "--workspace", ".", "--state", ".pixirnb")
    child = python(*line, cwd=home)
    until(lambda: is_there(home) or child.poll() is not None)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    (home / "mine.txt").write_text("mine, later\n")
    state = home / ".pixirnb"
    [row] = api.runs(workspace=home, state=state)

    code, document = said(home, "resume", row["run_id"], "--state", ".pixirnb")
    assert (code, document["status"]) == (0, "completed")
    new = {f"f{n}.txt": "new\n" for n in range(MANY)}
    assert tree(home) == {**new, "mine.txt": "mine, later\n"}
    assert sorted(path.name for path in home.iterdir() if path.is_dir()) == [".pixirnb"]
    opened = api.open_run(row["run_id"], state=state)
    assert len(facts(opened, "merge_applied")) == 1
    assert sorted((state / "merges").iterdir()) == []
    assert opened.merge(undo=True).status == "undone"
    assert tree(home) == {**old, "mine.txt": "mine, later\n"}


class Died(BaseException):
    """The end of a process, as far as its files and its log can tell."""


class Dying(LocalFiles):
    """Does what it is told to the user's files, and dies before the log has it."""

    def undo(self, *arguments: Any) -> Any:
        super().undo(*arguments)
        raise Died


def dying(log: RunLog, roots: Roots, never_copy: Sequence[str]) -> Files | None:
    assert log.folder is not None
    return Dying(log.folder.parent.parent, roots, never_copy=never_copy)


def test_what_an_undo_did_before_its_process_died_is_planned_with(tmp_path: Path) -> None:
    plant(tmp_path, {"a.txt": "a\n"})
    run, outcome = ended(
        tmp_path, isolated("edit", "echo new > a.txt", write_set=["a.txt"]), land("edit")
    )
    assert outcome.status == "completed"
    with pytest.raises(Died):
        prepare.merge(
            run.store,
            run.id,
            Request("r1", "merge", {"undo": True}, "ada"),
            environment=RunEnvironment(files=dying),
        )
    assert tree(tmp_path) == {"a.txt": "a\n"}
    assert len(facts(run, "merge_applied")) == 1

    code, document = said(tmp_path, "resume", run.id)
    assert (code, document["status"]) == (0, "completed")
    assert tree(tmp_path) == {"a.txt": "new\n"}
    assert [fact["undoes"] for fact in facts(run, "merge_applied")] == [None, "land.1", None]
    [resumed] = facts(run, "run_resumed")
    planned = {entry["step_id"]: entry["action"] for entry in resumed["steps"]}
    assert planned == {"edit": "reuse", "land": "rerun"}


def kept_names(state: Path) -> str:
    """The names under which the trees of a state folder keep something."""
    stores = sorted((state / "trees").glob("*-git/git"))
    return "\n".join(git(store, "for-each-ref", "--format=%(refname)") for store in stores)


def test_a_run_pruned_in_the_middle_of_a_merge_leaves_the_files_as_they_were(
    tmp_path: Path,
) -> None:
    old = {f"f{n}.txt": "old\n" for n in range(MANY)}
    home = plant(tmp_path, old)
    run, outcome = ended(
        home, isolated("edit", "for f in f*.txt; do echo new > $f; done", write_set=["f*.txt"])
    )
    assert outcome.status == "completed"
    child = python("-m", "pixirnb", "merge", run.id, cwd=home)
    until(lambda: first_file(home) or child.poll() is not None)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert tree(home) != old
    code, document = said(home, "prune", "--yes", "--keep", "0")
    assert (code, [each["run_id"] for each in document["runs"]]) == (0, [run.id])
    assert tree(home) == old
    assert sorted((home / ".pixirnb" / "merges").iterdir()) == []
    assert kept_names(home / ".pixirnb") == ""


def test_a_run_that_is_pruned_lets_go_of_its_files_and_of_nobody_elses(tmp_path: Path) -> None:
    home = plant(tmp_path / "home", {"a.txt": "a\n"})
    old, outcome = ended(home, isolated("one", "echo text-of-one > a.txt", write_set=["a.txt"]))
    assert outcome.status == "completed"
    new, outcome = ended(home, isolated("two", "echo text-of-two > a.txt", write_set=["a.txt"]))
    assert outcome.status == "completed"
    state = home / ".pixirnb"
    (state / "isolated" / old.id / "one.2").mkdir(parents=True)
    (state / "isolated" / old.id / "one.2" / "left.txt").write_text("a copy that nobody swept")
    assert old.id in kept_names(state)

    code, document = said(home, "prune", "--keep", "1", "--yes")
    assert code == 0
    assert [each["run_id"] for each in document["runs"]] == [old.id]
    assert old.id not in kept_names(state)
    assert new.id in kept_names(state)
    assert sorted((state / "isolated").iterdir()) == []
    assert new.merge().status == "merged"
    assert tree(home) == {"a.txt": "text-of-two\n"}
    assert "text-of-two" in kept(state)
