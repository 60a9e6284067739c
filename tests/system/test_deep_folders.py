"""Folders are removed and walked however deep they lie; no link is followed, and what stays is named."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pixirnb.system.deep_folders import remove_whole, walk


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    remove_whole(tmp_path)  # pytest's own cleaning does not get that deep


def nest(folder: Path, depth: int, name: str = "d") -> None:
    """Folders within each other, a file in the innermost; paths may be longer than any that the system takes."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=at)
        inner = os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(os.open("x", os.O_WRONLY | os.O_CREAT, dir_fd=at))
    os.close(at)


@pytest.mark.parametrize(("depth", "name"), [(3, "d"), (1100, "d"), (1100, "d" * 30)])
def test_folders_are_removed_however_deep_they_lie(tmp_path: Path, depth: int, name: str) -> None:
    top = tmp_path / "top"
    top.mkdir()
    nest(top, depth, name)
    (top / "beside").mkdir()
    assert remove_whole(top) == []
    assert list(tmp_path.iterdir()) == []
    assert remove_whole(top) == [], "what is gone is gone"


def test_a_removal_follows_no_link(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "x").touch()
    top = tmp_path / "top"
    (top / "in").mkdir(parents=True)
    (top / "in" / "out").symlink_to(kept)
    (top / "loop").symlink_to("loop")
    os.mkfifo(top / "pipe")
    assert remove_whole(top) == []
    assert not top.exists()
    link = tmp_path / "link"
    link.symlink_to(kept)
    assert remove_whole(link) == []
    assert not link.is_symlink()
    assert [path.name for path in kept.iterdir()] == ["x"]


def test_a_walk_comes_to_every_folder_and_follows_no_link(home: Path) -> None:
    nest(home, 1100)
    (home / "d" / "up").symlink_to("..")
    (home / "d" / "loop").symlink_to("loop")
    found = {place: (folders, names) for place, folders, names in walk(home)}
    assert len(found) == 1101
    assert sorted(found[f"{home}/d"][0]) == ["d", "up"]
    assert found[f"{home}/d"][1] == ["loop"]
    assert found[str(home) + "/d" * 1100] == ([], ["x"])


def test_a_walk_tells_where_it_cannot_go_on(home: Path) -> None:
    nest(home, 30, "d" * 200)
    refused: list[OSError] = []
    assert 1 < len(list(walk(home, refused.append))) < 31
    assert [error.strerror for error in refused] == ["File name too long"]


def test_what_is_left_out_of_a_walk_is_not_looked_into(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "c").mkdir()
    seen = []
    for place, folders, _ in walk(tmp_path):
        seen.append(os.path.relpath(place, tmp_path))
        folders[:] = [name for name in folders if name != "a"]
    assert seen == [".", "c"]
