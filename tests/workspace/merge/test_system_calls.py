"""Two names trade what they lead to; a name is taken only if it is free. By one call, and by links where there is none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pixirnb.workspace.merge import system_calls
from pixirnb.workspace.merge.system_calls import ASIDE, exchange, move, settle


@pytest.fixture
def place(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "one").write_text("1")
    (tmp_path / "two").write_text("2")
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def there(place: int) -> dict[str, str]:
    """Name to text."""
    found = {}
    for name in os.listdir(place):
        with open(os.open(name, os.O_RDONLY, dir_fd=place)) as file:  # noqa: PTH123 - of a descriptor
            found[name] = file.read()
    return found


def test_two_files_trade_names(place: int) -> None:
    exchange(place, "one", place, "two")
    assert there(place) == {"one": "2", "two": "1"}


def test_two_files_trade_names_by_links(place: int) -> None:
    system_calls._exchange_by_links(place, "one", place, "two")
    assert there(place) == {"one": "2", "two": "1"}


def test_a_name_that_is_not_there_cannot_be_traded(place: int) -> None:
    for act in (exchange, system_calls._exchange_by_links):
        with pytest.raises(FileNotFoundError):
            act(place, "one", place, "three")
    assert there(place) == {"one": "1", "two": "2"}


def test_a_name_that_is_taken_is_not_moved_to(place: int) -> None:
    with pytest.raises(FileExistsError):
        move(place, "one", place, "two")
    move(place, "one", place, "three")
    assert there(place) == {"three": "1", "two": "2"}


def test_an_exchange_by_links_that_was_cut_short_before_the_rename_did_not_happen(
    place: int,
) -> None:
    os.link("two", "one" + ASIDE, src_dir_fd=place, dst_dir_fd=place)
    settle(place, "one", place, "two")
    assert there(place) == {"one": "1", "two": "2"}


def test_an_exchange_by_links_that_was_cut_short_after_the_rename_did(place: int) -> None:
    os.link("two", "one" + ASIDE, src_dir_fd=place, dst_dir_fd=place)
    os.rename("one", "two", src_dir_fd=place, dst_dir_fd=place)
    settle(place, "one", place, "two")
    assert there(place) == {"one": "2", "two": "1"}


def test_a_move_by_links_that_was_cut_short_is_finished(place: int) -> None:
    os.link("one", "three", src_dir_fd=place, dst_dir_fd=place)
    settle(place, "one", place, "three")
    assert there(place) == {"three": "1", "two": "2"}


def test_a_file_and_a_folder_trade_names(place: int, tmp_path: Path) -> None:
    os.unlink("two", dir_fd=place)
    os.mkdir("two", dir_fd=place)
    exchange(place, "one", place, "two")
    assert list((tmp_path / "one").iterdir()) == []
