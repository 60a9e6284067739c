"""Small files are the old or the new, and what is in the way of nobody is no error."""

from __future__ import annotations

import stat
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pixirnb.system.atomic_files import (
    create_private,
    keep_names,
    let_go,
    make_folders,
    make_new_folder,
    put,
    put_durably,
)


def test_a_file_is_replaced_whole_and_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "said"
    for data in (b"one", b"another, longer"):
        put_durably(path, data)
        assert path.read_bytes() == data
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [path] == list(tmp_path.iterdir())


def test_where_a_file_cannot_be_put_nothing_is_left_and_nothing_lost(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    (taken / "in it").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        put(taken, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    assert (taken / "in it").is_dir()


def test_a_private_file_makes_its_folder_and_none_above_it(tmp_path: Path) -> None:
    create_private(tmp_path / "output" / "a.log").close()
    assert stat.S_IMODE((tmp_path / "output").stat().st_mode) == 0o700
    with pytest.raises(FileNotFoundError):
        create_private(tmp_path / "taken away" / "output" / "a.log")
    assert [path.name for path in tmp_path.iterdir()] == ["output"]


def test_what_the_disk_does_not_let_go_of_stays_without_a_word(tmp_path: Path) -> None:
    let_go(tmp_path / "never there")
    let_go(tmp_path)
    assert tmp_path.is_dir()


@pytest.mark.parametrize("make", [make_folders, make_new_folder])
def test_a_folder_is_made_though_its_empty_parent_is_taken_away_meanwhile(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    """As an attempt that ends does while its neighbour begins."""
    parent = tmp_path / "isolated"
    over = threading.Event()

    def take_away() -> None:
        while not over.is_set():
            with suppress(OSError):
                parent.rmdir()
            time.sleep(0.0001)

    thread = threading.Thread(target=take_away)
    thread.start()
    try:
        for number in range(2000):
            make(parent / str(number))
            (parent / str(number)).rmdir()
    finally:
        over.set()
        thread.join()


def test_names_are_kept_as_far_up_as_is_said_and_a_missing_one_is_told(tmp_path: Path) -> None:
    keep_names(tmp_path, 1)
    with pytest.raises(FileNotFoundError):
        keep_names(tmp_path / "gone" / "deeper", 1)
