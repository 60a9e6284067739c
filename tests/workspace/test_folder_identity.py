"""What a step leaves is read from the folder it was given, and from no other that stands in its place."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pixirnb.errors import Cannot
from pixirnb.protocols.trees import FILE, LINK, Belonging
from pixirnb.testing.repositories import make_repository
from pixirnb.workspace.git.tree_store import GitTrees

PLAIN = Belonging()


@pytest.fixture
def store(tmp_path: Path) -> GitTrees:
    root = make_repository(tmp_path / "root", {"a": (FILE, b"a\n"), "d/b": (FILE, b"b\n")})
    return GitTrees(tmp_path / "store", root)


def given(store: GitTrees, tmp_path: Path) -> tuple[Path, str]:
    """The folder of an attempt below a folder of its own, and its tree; a private folder of the same layout lies beside."""
    tree = store.snapshot(PLAIN)
    folder = tmp_path / "attempt" / "ws"
    store.give(tree, folder)
    (tmp_path / "private" / "ws").mkdir(parents=True)
    (tmp_path / "private" / "ws" / "secret").write_text("TOP")
    (tmp_path / "private" / "secret").write_text("TOP")
    return folder, tree


def link_it(folder: Path, private: Path) -> None:
    shutil.rmtree(folder)
    folder.symlink_to(private)


def link_above(folder: Path, private: Path) -> None:
    shutil.rmtree(folder.parent)
    folder.parent.symlink_to(private)


def another(folder: Path, private: Path) -> None:
    # Renamed, not deleted: a disk gives the number of a folder that was deleted or renamed to the next one.
    folder.rename(folder.with_name("away"))
    shutil.copytree(private, folder)


def a_file(folder: Path, private: Path) -> None:
    shutil.rmtree(folder)
    folder.write_bytes((private / "secret").read_bytes())


@pytest.mark.parametrize("act", [link_it, link_above, another, a_file])
def test_another_folder_in_its_place_is_never_read(
    store: GitTrees, tmp_path: Path, act: Callable[[Path, Path], None]
) -> None:
    folder, tree = given(store, tmp_path)
    act(folder, tmp_path / "private")
    for ask in (store.capture, store.left_behind):
        with pytest.raises(Cannot, match="was replaced while the step ran") as caught:
            ask(folder, tree, PLAIN)
        assert caught.value.code == "snapshot_unreadable"


def test_a_link_is_refused_also_where_no_note_is_left(store: GitTrees, tmp_path: Path) -> None:
    folder, tree = given(store, tmp_path)
    for note in (tmp_path / "store").rglob("place-*"):
        note.unlink()
    assert store.capture(folder, tree, PLAIN) == tree
    link_it(folder, tmp_path / "private")
    with pytest.raises(Cannot, match="was replaced while the step ran"):
        store.capture(folder, tree, PLAIN)


def test_a_step_that_deleted_its_folder_is_told_so(store: GitTrees, tmp_path: Path) -> None:
    folder, tree = given(store, tmp_path)
    shutil.rmtree(folder)
    for ask in (store.capture, store.left_behind):
        with pytest.raises(Cannot, match="was deleted or renamed") as caught:
            ask(folder, tree, PLAIN)
        assert caught.value.code == "snapshot_unreadable"
        assert "room" not in str(caught.value.fix)


def test_a_link_in_place_of_a_folder_within_is_a_link(store: GitTrees, tmp_path: Path) -> None:
    folder, tree = given(store, tmp_path)
    shutil.rmtree(folder / "d")
    (folder / "d").symlink_to(tmp_path / "private")
    entries = store.entries(store.capture(folder, tree, PLAIN))
    assert sorted(entries) == ["a", "d"]
    assert entries["d"].mode == LINK


def test_a_state_folder_behind_a_link_is_as_good_as_any(store: GitTrees, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "way").symlink_to("real")
    tree = store.snapshot(PLAIN)
    store.give(tree, tmp_path / "way" / "ws")
    assert store.capture(tmp_path / "way" / "ws", tree, PLAIN) == tree


@pytest.mark.parametrize("name", [".pixirnb-merge-x", ".pixirnb-kept-x"])
def test_what_a_step_writes_under_a_name_of_ours_is_no_part_of_what_it_left(
    store: GitTrees, tmp_path: Path, name: str
) -> None:
    folder, tree = given(store, tmp_path)
    (folder / name).mkdir()
    (folder / name / "f").write_text("f")
    assert store.capture(folder, tree, PLAIN) == tree
