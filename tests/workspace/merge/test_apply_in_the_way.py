"""What has the place of a file that a merge makes is named for what it is, and stays; a person moves it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pixirnb.errors import Cannot
from pixirnb.testing.fakes.memory_trees import MemoryTrees
from pixirnb.workspace.merge.apply import Part, apply, lock_roots


def folder_with_a_file(place: Path) -> None:
    place.mkdir()
    (place / "mine").write_text("x")


@pytest.mark.parametrize(
    ("made", "lies", "put", "kind"),
    [
        ("build", "build", folder_with_a_file, "a folder with files"),
        ("build", "build", os.mkfifo, "a pipe, socket or device"),
        ("build", "build", lambda place: place.write_text("x"), "a file"),
        ("foo/x", "foo", lambda place: place.write_text("x"), "a file"),
        ("d/foo/x", "d/foo", os.mkfifo, "a pipe, socket or device"),
        ("foo/x", "foo", lambda place: place.symlink_to("d"), "a link"),
    ],
)
def test_what_is_in_the_way_is_named_and_to_be_moved(
    tmp_path: Path, made: str, lies: str, put: Callable[[Path], None], kind: str
) -> None:
    store = MemoryTrees(tmp_path / "root")
    (store.root / "d").mkdir(parents=True)
    (store.root / "a").write_text("before")
    before = store.taken()
    put(store.root / lies)
    after = store.edited(before, {made: store.file(b"new"), "a": store.file(b"after")})
    with lock_roots([store.root]), pytest.raises(Cannot) as caught:
        apply([Part(store, before, after)], tmp_path / "merge.json", {})
    error = caught.value
    assert (error.code, error.details["in_the_way"]) == ("merge_disturbed", {lies: kind})
    assert f"`{lies}` ({kind})" in str(error)
    assert "move or rename it" in str(error.fix)
    assert (store.root / "a").read_text() == "before"
    assert list(store.root.glob(".pixirnb*")) == []
    (store.root / lies).rename(tmp_path / "elsewhere")
    with lock_roots([store.root]):
        apply([Part(store, before, after)], tmp_path / "merge.json", {})
    assert store.taken() == after
