"""What is pruned was named, was at rest, and is gone whole; everything else is as it was."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pixirnb.machine.outcome_documents import RunRow
from pixirnb.operations.prune import PruneFilter, prune_runs
from pixirnb.operations.run_list import list_runs
from pixirnb.store.file_store import FileStore
from pixirnb.store.lease import standing
from pixirnb.store.removal import ASIDE, finish_removals
from pixirnb.views.run.housekeeping import PruneDocument
from tests.operations.household import completed, content, cut_off, failed, kept, name_of, parked

DAY = 86_400.0
ENDED = 1_763_762_624.0
"""2025-11-21T22:03:44Z in seconds, a year before every rehearsed run."""
KILLED = """
import os, sys
from pathlib import Path
from pixirnb.store import removal
def die(path):
    (path / "log.jsonl").unlink()
    os._exit(9)
removal._delete = die
removal.remove_run(Path(sys.argv[1]), lambda: True)
"""


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "state")


@pytest.fixture
def house(store: FileStore) -> FileStore:
    """Five runs: completed, failed, cut off, parked and completed again, from old to new."""
    stories = (completed(), failed(), cut_off(), parked(), completed())
    for number, story in enumerate(stories, 1):
        kept(store, story.events, name_of(number))
    return store


def live(run_id: str) -> RunRow:
    """The row of a run somebody holds."""
    return {
        "run_id": run_id,
        "workflow": "pair",
        "status": "running",
        "started_at": None,
        "ended_at": None,
        "counts": {},
    }


def prune(store: FileStore, wish: PruneFilter | None = None, **options: Any) -> PruneDocument:
    return prune_runs(store, live, wish or PruneFilter(), **options)


def numbers(document: PruneDocument) -> list[int]:
    """Which of `house` it names."""
    known = {name_of(number): number for number in range(1, 10)}
    return sorted(known[run["run_id"]] for run in document["runs"])


def left(store: FileStore) -> list[int]:
    known = {name_of(number): number for number in range(1, 10)}
    return sorted(known[run_id] for run_id in store.run_ids())


def test_a_preview_changes_nothing(house: FileStore) -> None:
    before = content(house.state / "runs")
    document = prune(house)
    assert content(house.state / "runs") == before
    assert (document["preview"], numbers(document), document["kept"]) == (True, [1, 2, 3, 5], 1)
    sizes = {
        run["run_id"]: sum(
            p.stat().st_size for p in house.folder(run["run_id"]).rglob("*") if p.is_file()
        )
        for run in document["runs"]
    }
    assert {run["run_id"]: run["bytes"] for run in document["runs"]} == sizes
    assert document["bytes"] == sum(sizes.values())


def test_what_the_preview_named_is_what_goes(house: FileStore) -> None:
    wish = PruneFilter(keep=1, statuses=("completed", "failed"))
    preview, done = prune(house, wish), prune(house, wish, is_preview=False)
    assert {**preview, "preview": False} == done
    assert numbers(done) == [1, 2]
    assert left(house) == [3, 4, 5]
    assert sorted(p.name for p in (house.state / "runs").iterdir()) == [
        name_of(n) for n in (3, 4, 5)
    ]


def test_a_run_that_waits_for_a_decision_goes_only_when_named(house: FileStore) -> None:
    assert 4 not in numbers(prune(house))
    assert numbers(prune(house, PruneFilter(statuses=("needs_orchestrator",)))) == [4]


def test_what_cannot_be_read_goes_only_when_named(house: FileStore) -> None:
    (house.folder(name_of(1)) / "link").symlink_to("/etc/hostname")
    assert 1 not in numbers(prune(house))
    named = prune(house, PruneFilter(statuses=("unreadable",)), is_preview=False)
    assert numbers(named) == [1]
    assert Path("/etc/hostname").parent.is_dir()
    assert left(house) == [2, 3, 4, 5]


def test_a_run_that_died_before_its_first_event_is_called_so_and_goes_with_the_rest(
    house: FileStore,
) -> None:
    emptied = house.create(name_of(6))
    emptied.close()
    died = house.create(name_of(7))
    died.close()
    (house.folder(name_of(7)) / "log.jsonl").unlink()
    early = [row for row in list_runs(house, live) if row["status"] == "never_began"]
    assert [row["run_id"] for row in early] == [name_of(7), name_of(6)]
    assert all("before its first event" in row["error"] for row in early)
    young = prune(house, PruneFilter(statuses=("never_began",)), is_preview=False)
    assert young["runs"] == [], "it may be about to begin"
    later = time.time() + 61
    gone = prune(house, is_preview=False, now=lambda: later)
    assert {6, 7} <= set(numbers(gone))
    assert not {6, 7} & set(left(house))


def test_a_run_whose_log_was_lost_is_not_taken_for_one_that_never_began(house: FileStore) -> None:
    folder = house.folder(name_of(1))
    (folder / "log.jsonl").unlink()
    (folder / "seal.json").unlink(missing_ok=True)
    (folder / "output").mkdir(exist_ok=True)
    (folder / "output" / "a.1.log").write_text("an hour of work")
    assert list_runs(house, live)[-1]["status"] == "unreadable"


def test_a_live_run_is_never_pruned_whatever_is_asked(house: FileStore) -> None:
    held = house.acquire(name_of(1))
    try:
        for statuses in ((), ("completed",), ("running",)):
            assert 1 not in numbers(prune(house, PruneFilter(statuses=statuses), is_preview=False))
    finally:
        held.close()
    assert 1 in left(house)


def test_a_run_that_went_on_since_it_was_looked_at_stays_and_is_told(house: FileStore) -> None:
    def now() -> float:
        """Asked once a run, after all were looked at and before the first is removed."""
        with (house.folder(name_of(1)) / "log.jsonl").open("ab") as file:
            file.write(b"more")
        return ENDED + 3 * 365 * DAY

    document = prune(house, PruneFilter(statuses=("completed",)), is_preview=False, now=now)
    assert numbers(document) == [5]
    assert [(entry["run_id"], entry["code"]) for entry in document["failed"]] == [
        (name_of(1), "run_changed")
    ]
    assert left(house) == [1, 2, 3, 4]
    assert document["kept"] == 4
    assert standing(house.folder(name_of(1))) == (None, None)


def test_age_counts_from_the_end_of_a_run(house: FileStore) -> None:
    a_year_and_a_day = ENDED + 366 * DAY
    old = prune(house, PruneFilter(older_than_s=DAY), now=lambda: a_year_and_a_day + 60)
    young = prune(house, PruneFilter(older_than_s=2 * DAY), now=lambda: a_year_and_a_day + 60)
    assert numbers(old) == [1, 2, 5]  # run 3 has no end: it is as old as its log, which is new
    assert numbers(young) == []


def test_so_many_of_the_newest_stay(house: FileStore) -> None:
    assert numbers(prune(house, PruneFilter(keep=3))) == [1, 2]
    assert numbers(prune(house, PruneFilter(keep=9))) == []


def test_links_are_removed_and_never_followed(house: FileStore, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious.txt").write_text("mine")
    folder = house.folder(name_of(1))
    (folder / "output" / "out").symlink_to(outside)
    shutil.rmtree(house.folder(name_of(2)))
    (house.state / "runs" / name_of(2)).symlink_to(outside)
    wish = PruneFilter(statuses=("completed", "unreadable"))
    assert numbers(prune(house, wish, is_preview=False)) == [1, 2, 5]
    assert (outside / "precious.txt").read_text() == "mine"
    assert left(house) == [3, 4]


def test_a_prune_that_was_killed_is_finished_by_the_next(house: FileStore) -> None:
    folder = house.folder(name_of(1))
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert killed.returncode == 9
    runs = house.state / "runs"
    half = [p for p in runs.iterdir() if p.name.startswith(ASIDE)]
    assert len(half) == 1
    assert left(house) == [2, 3, 4, 5]
    assert name_of(1) not in {row["run_id"] for row in list_runs(house, live)}
    prune(house)
    assert half[0].exists()  # a preview finishes nothing
    prune(house, PruneFilter(keep=9), is_preview=False)
    assert not half[0].exists()
    assert left(house) == [2, 3, 4, 5]


def test_a_run_that_was_put_back_keeps_what_belongs_to_it(house: FileStore) -> None:
    """A prune is killed, and a person unzips an export of the run to where it was."""
    folder = house.folder(name_of(1))
    aside = folder.with_name(f"{ASIDE}{folder.name}-1")
    shutil.copytree(folder, aside)
    copy = house.state / "isolated" / folder.name / "make.1"
    copy.mkdir(parents=True)
    prune(house, PruneFilter(keep=9), is_preview=False)
    assert not aside.exists()
    assert copy.exists()


@pytest.mark.parametrize("name", ["-1", ".-1", "..-1", "x-1", "r-1"])
def test_a_name_that_no_removal_gives_removes_nothing(house: FileStore, name: str) -> None:
    planted = house.state / "runs" / f"{ASIDE}{name}"
    planted.mkdir()
    copy = house.state / "isolated" / name_of(1) / "make.1"
    copy.mkdir(parents=True)
    before = sorted(path.name for path in house.state.iterdir())
    prune(house, PruneFilter(keep=9), is_preview=False)
    assert copy.exists()
    assert planted.exists()
    assert sorted(path.name for path in house.state.iterdir() if path.name in before) == before


def test_finishing_where_there_is_nothing_is_nothing(tmp_path: Path) -> None:
    assert finish_removals(tmp_path / "nowhere") == 0


def test_pruning_an_empty_house_makes_nothing(tmp_path: Path) -> None:
    document = prune(FileStore(tmp_path / "state"), is_preview=False)
    assert (document["runs"], document["kept"], document["failed"]) == ([], 0, [])
    assert list(tmp_path.iterdir()) == []
