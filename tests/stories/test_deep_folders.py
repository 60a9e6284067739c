"""A step that nests folders by the thousand ends as any other, and stands in nobody's way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.operations.prune import PruneFilter, prune_runs
from pixirnb.operations.run import Run
from pixirnb.operations.run_list import row_of_live
from pixirnb.store.file_store import FileStore
from pixirnb.store.removal import ASIDE, finish_removals
from pixirnb.system.deep_folders import remove_whole

DEEP = """python3 -c "
import os
for _ in range({depth}):
    os.mkdir('{name}'); os.chdir('{name}')
open('x', 'w').write('1')
" """
FURTHER: dict[str, Any] = {"depth": 30, "name": "d" * 200}
"""Deeper than any path reaches."""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    remove_whole(tmp_path)  # pytest's own cleaning does not get that deep


def deep(depth: int = 1100, name: str = "d") -> str:
    return DEEP.format(depth=depth, name=name)


def ran(home: Path, **step: Any) -> Run:
    run = api.start({"name": "w", "steps": [{"id": "a", **step}]}, workspace=home)
    run.wait(120)
    return run


def error_of(run: Run) -> str | None:
    [step] = run.outcome.steps
    return None if step.error is None else step.error["kind"]


def left_of(run: Run) -> list[Path]:
    copies = run.folder.parents[1] / "isolated" / run.id
    return list(copies.iterdir()) if copies.is_dir() else []


def test_an_isolated_step_may_nest_folders_by_the_thousand(home: Path) -> None:
    run = ran(home, run=deep(), workspace="isolated", write_set=["**/*"])
    assert run.outcome.status == "completed"
    assert not left_of(run)


def test_what_the_user_has_may_lie_as_deep(home: Path) -> None:
    ran(home, run=deep(), write_set=["**/*"])
    run = ran(home, run="echo 1 > y", workspace="isolated", write_set=["y"])
    assert run.outcome.status == "completed"
    assert not left_of(run)


def test_what_lies_deeper_than_a_path_is_told_and_stands_in_no_other_run_s_way(home: Path) -> None:
    step = {"run": deep(**FURTHER), "workspace": "isolated", "write_set": ["**/*"]}
    run = ran(home, **step)
    assert error_of(run) == "snapshot_unreadable"
    sound = ran(home, run="true")
    assert left_of(run)
    copies = run.folder.parents[1] / "isolated"
    store = FileStore(copies.parent)
    removed = prune_runs(store, row_of_live(store), PruneFilter(), is_preview=False)
    assert {row["run_id"] for row in removed["runs"]} == {run.id, sound.id}
    assert not removed["failed"]
    assert not list(copies.iterdir())


def test_what_is_carried_may_lie_deep(home: Path) -> None:
    (home / ".gitignore").write_text("cache/\n")
    (home / "cache").mkdir()
    ran(home, run=deep(), cwd="cache", write_set=["cache/**"])
    found = "find cache -name x | tr -cd / | wc -c"
    step = {"workspace": "isolated", "carry": ["cache"], "write_set": ["y"]}
    assert ran(home, run=f"test $({found}) = 1101", **step).outcome.status == "completed"


def test_artifacts_may_lie_deep_and_what_no_path_reaches_fails_its_step(home: Path) -> None:
    (home / "out").mkdir()
    step = {"cwd": "out", "write_set": ["out/**"], "artifacts": ["out/**", "out"]}
    run = ran(home, run=deep(1100), **step)
    [kept] = (run.outcome.step("a").checkpoint or {})["artifacts"]
    assert kept["path"] == "out/" + "d/" * 1100 + "x"
    assert error_of(ran(home, run=deep(**FURTHER), **step)) == "artifact_unreadable"


def test_files_that_are_read_may_lie_deep(home: Path) -> None:
    ran(home, run=deep(), write_set=["**/*"])
    step = {"run": "true", "read_set": ["**/*"], "posture": "read_only", "reuse": "reads"}
    run = ran(home, **step)
    assert api.resume(run.id, workspace=home).is_no_op


def test_what_cannot_be_let_go_of_keeps_no_other_removal_from_its_end(home: Path) -> None:
    names = [f"r-20261121-22034{number}-abc123" for number in range(3)]
    for name in names:
        (home / f"{ASIDE}{name}-1" / "blobs").mkdir(parents=True)

    def let_go(run_id: str) -> None:
        if run_id == names[1]:
            raise RecursionError

    assert finish_removals(home, let_go) == 2
    assert [path.name for path in home.iterdir()] == [f"{ASIDE}{names[1]}-1"]
