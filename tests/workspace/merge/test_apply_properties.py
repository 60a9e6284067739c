"""For any two trees, any store and any editor beside: both sides are there, or nothing was changed; no byte is lost."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixirnb.errors import Cannot
from pixirnb.protocols.trees import FILE, Belonging, TreeStore
from pixirnb.testing.fakes.memory_trees import MemoryTrees
from pixirnb.testing.generators.tree_strategies import (
    Tree,
    edited,
    edits,
    lay_out,
    paths,
    read_back,
    trees,
)
from pixirnb.workspace.git.tree_store import GitTrees
from pixirnb.workspace.merge.apply import Part, apply, finish_merge, left_over, lock_roots

PERSONS = b"a person wrote this"
MEMORY = Path("/dev/shm")
"""Where syncing takes no time, on Linux; elsewhere the usual place does."""

ACTS = ("write", "save", "delete", "folder")

Made = Callable[[Path, Path], TreeStore]
STORES: dict[str, Made] = {
    "memory": lambda _, root: MemoryTrees(root),
    "git": GitTrees,
}


class Watched:
    """A store that calls `beside` before each question of a merge."""

    def __init__(self, store: TreeStore) -> None:
        self.store = store
        self.beside: Callable[[], None] = lambda: None

    def __getattr__(self, name: str) -> Any:
        if name in {"digest_of", "write_content"}:
            self.beside()
        return getattr(self.store, name)


@contextmanager
def bench(make: Made) -> Iterator[tuple[Path, Watched, Path]]:
    """A root, its store and a folder for journals."""
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        place = Path(os.path.realpath(name))
        for folder in ("root", "journals"):
            (place / folder).mkdir()
        store = make(place / "trees", place / "root")
        yield place / "root", Watched(store), place / "journals"


def snapshot(store: Watched, tree: Tree) -> str:
    """A tree as its store names it. The root holds it then."""
    lay_out(tree, store.store.root)
    return store.store.snapshot(Belonging())


def merged(store: Watched, before: str, after: str, journals: Path) -> Cannot | None:
    """Carry it out, and say why not."""
    part = Part(cast("TreeStore", store), before, after)
    try:
        with lock_roots([store.store.root]):
            apply([part], journals / "merge.json", {})
    except Cannot as error:
        return error
    finish_merge(journals / "merge.json")
    return None


def act(root: Path, what: str, path: str) -> None:
    """What a person does, as far as it can be done."""
    file = root / path
    try:
        match what:
            case "write":
                if not file.is_symlink():
                    file.write_bytes(PERSONS)
            case "save":
                file.parent.mkdir(parents=True, exist_ok=True)
                (file.parent / "saving").write_bytes(PERSONS)
                (file.parent / "saving").replace(file)
            case "delete":
                file.unlink()
            case _:
                file.mkdir(parents=True)
                (file / "mine").write_bytes(PERSONS)
    except OSError:
        (root / "saving").unlink(missing_ok=True)
        if file.parent.is_dir():
            (file.parent / "saving").unlink(missing_ok=True)


@pytest.mark.parametrize("name", STORES)
@given(data=st.data())
@settings(max_examples=6)
def test_any_tree_becomes_any_other_and_goes_back(name: str, data: st.DataObject) -> None:
    tree = data.draw(trees())
    other = edited(tree, data.draw(edits(tree, most=6)))
    with bench(STORES[name]) as (root, store, journals):
        after, before = snapshot(store, other), snapshot(store, tree)
        assert merged(store, before, after, journals) is None
        assert read_back(root) == other
        assert merged(store, after, before, journals) is None
        assert read_back(root) == tree
        assert not list(root.glob(".pixirnb*"))


@pytest.mark.parametrize("name", STORES)
@given(data=st.data())
@settings(max_examples=12)
def test_with_an_editor_beside_no_byte_of_either_side_is_lost(
    name: str, data: st.DataObject
) -> None:
    tree = data.draw(trees(least=1))
    other = edited(tree, data.draw(edits(tree, most=6)))
    known = sorted({*tree, *other})
    path = data.draw(st.sampled_from(known) | paths()) if known else "a"
    what = data.draw(st.sampled_from(ACTS))
    moment = data.draw(st.integers(0, 30))
    with bench(STORES[name]) as (root, store, journals):
        after, before = snapshot(store, other), snapshot(store, tree)
        count = iter(range(10_000))
        wrote: list[str] = []

        def beside() -> None:
            if next(count) == moment:
                act(root, what, path)
                theirs = {p for p, (_, content) in read_back(root).items() if content == PERSONS}
                wrote.extend(p for p in theirs if not p.startswith(".pixirnb"))

        store.beside = beside
        error = merged(store, before, after, journals)
        store.beside = lambda: None
        found = read_back(root)
        kept = {p: content for p, (_, content) in found.items() if p.startswith(".pixirnb-kept-")}
        now = {p: value for p, value in found.items() if not p.startswith(".pixirnb-kept-")}
        assert not [p for p in now if p.startswith(".pixirnb")]
        assert not left_over(journals)
        if wrote:
            assert PERSONS in {*kept.values(), *(content for _, content in now.values())}
        sides = tree if error else other
        strangers = {path, *wrote}
        for file in sorted(now.keys() | sides.keys()):
            if file not in strangers and not _is_in_the_way(file, strangers):
                assert now.get(file) == sides.get(file), file


def _is_in_the_way(file: str, theirs: set[str]) -> bool:
    """Whether a file cannot be there because a person's stands where its folder was, or lies where it was."""
    return any(file.startswith(f"{p}/") or p.startswith(f"{file}/") for p in theirs)


def test_an_added_file_has_the_mode_the_tree_says(tmp_path: Path) -> None:
    store = MemoryTrees(tmp_path)
    before = store.taken()
    (tmp_path.parent / "journals").mkdir(exist_ok=True)
    after = store.edited(before, {"x": store.file(b"", FILE)})
    assert merged(Watched(store), before, after, tmp_path.parent / "journals") is None
    assert store.taken() == after
