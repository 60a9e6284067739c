"""What a power failure leaves: the bytes and names that were synced, as they were then."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from harness.crash_points.durable import Durable


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """A folder with one file that was there before."""
    (tmp_path / "old").write_bytes(b"old")
    return tmp_path


def wrote(durable: Durable, path: Path, data: bytes, *, syncs: bool = True) -> None:
    """Make a file, and sync its bytes."""
    path.write_bytes(data)
    durable.made(str(path))
    if syncs:
        synced(durable, path)


def synced(durable: Durable, path: Path) -> None:
    """Tell that a file or folder was synced."""
    descriptor = os.open(path, os.O_RDONLY)
    durable.synced(descriptor)
    os.close(descriptor)


def left(disk: Path) -> dict[str, bytes]:
    """Every file and its bytes."""
    return {str(p.relative_to(disk)): p.read_bytes() for p in disk.rglob("*") if p.is_file()}


def test_what_was_there_at_first_stays(disk: Path) -> None:
    durable = Durable(disk)
    (disk / "old").write_bytes(b"changed")
    durable.lose()
    assert left(disk) == {"old": b"old"}


def test_a_file_keeps_the_bytes_of_its_last_sync(disk: Path) -> None:
    durable = Durable(disk)
    synced(durable, disk)
    with (disk / "old").open("ab", buffering=0) as file:
        file.write(b" and synced")
        durable.synced(file.fileno())
        file.write(b" and not")
    durable.lose()
    assert left(disk) == {"old": b"old and synced"}


def test_a_name_whose_folder_was_not_synced_vanishes_with_its_synced_bytes(disk: Path) -> None:
    durable = Durable(disk)
    wrote(durable, disk / "new", b"new")
    durable.lose()
    assert left(disk) == {"old": b"old"}


def test_a_name_that_was_synced_without_its_bytes_leads_to_an_empty_file(disk: Path) -> None:
    durable = Durable(disk)
    wrote(durable, disk / "new", b"new", syncs=False)
    synced(durable, disk)
    durable.lose()
    assert left(disk) == {"old": b"old", "new": b""}


def test_a_rename_a_removal_and_a_folder_that_were_not_synced_did_not_happen(disk: Path) -> None:
    durable = Durable(disk)
    wrote(durable, disk / "aside", b"whole")
    synced(durable, disk)
    (disk / "aside").rename(disk / "named")
    (disk / "old").unlink()
    (disk / "folder").mkdir()
    durable.made(str(disk / "folder"))
    durable.lose()
    assert left(disk) == {"old": b"old", "aside": b"whole"}
    assert not (disk / "folder").exists()


def test_what_one_process_had_not_synced_the_next_one_knows_not_to_be_durable(disk: Path) -> None:
    first = Durable(disk)
    wrote(first, disk / "aside", b"whole")
    (disk / "aside").rename(disk / "named")
    wrote(first, disk / "loose", b"loose", syncs=False)
    second = Durable(disk, first.document())
    synced(second, disk)
    second.lose()
    assert left(disk) == {"old": b"old", "named": b"whole", "loose": b""}


def test_lines_that_would_outlive_the_failure_are_counted(disk: Path) -> None:
    durable = Durable(disk)
    (disk / "run").mkdir()
    durable.made(str(disk / "run"))
    wrote(durable, disk / "run" / "log", b"one\ntwo\n")
    assert durable.lines("log") == {}
    synced(durable, disk / "run")
    synced(durable, disk)
    assert durable.lines("log") == {"run": 2}


def test_a_folder_with_the_number_of_a_removed_file_does_not_take_its_place(disk: Path) -> None:
    durable = Durable(disk)
    known = json.loads(durable.document())
    (disk / "old").unlink()
    (disk / "new").mkdir()
    # As where neither the removal nor the folder was seen, and the file system gave the number again.
    (of_the_file,) = (number for number, node in known["inodes"].items() if node != 0)
    known["inodes"][str((disk / "new").stat().st_ino)] = known["inodes"].pop(of_the_file)
    durable = Durable(disk, json.dumps(known).encode())
    synced(durable, disk / "new")
    durable.lose()
    assert left(disk) == {"old": b"old"}
