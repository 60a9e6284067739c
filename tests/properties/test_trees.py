"""Whatever the files and whatever was done to them: a store gives back what it took, and a merge loses no byte of either side.

What a merge must come to is worked out anew here, from the trees as values: file by file, and for texts line by line.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pixirnb.protocols.trees import FILE, LINK, Belonging, TreeStore
from pixirnb.testing.contracts.tree_samples import apply_patch, held, taken
from pixirnb.testing.generators.tree_strategies import (
    Tree,
    edited,
    edits,
    lay_out,
    read_back,
    trees,
)
from pixirnb.workspace.git.tree_store import GitTrees

# Every capture waits for the disk, which is not what is tested here.
MEMORY = next((place for place in ("/dev/shm",) if os.access(place, os.W_OK)), None)

# Each example is a dozen snapshots, and as many processes of git for each.
FEW = settings(max_examples=25)


@contextmanager
def beginning() -> Iterator[TreeStore]:
    """A new store of an empty root, in a folder that goes away."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        root = Path(folder, "root")
        root.mkdir()
        yield GitTrees(Path(folder, "trees"), root)


@given(st.data())
@FEW
def test_what_was_taken_is_given_back_and_what_was_made_of_it_is_seen(data: st.DataObject) -> None:
    before = data.draw(trees())
    after = edited(before, data.draw(edits(before)))
    with beginning() as store:
        base = taken(store, before)
        assert held(store, base) == before
        given_folder = store.root.parent / "given"
        store.give(base, given_folder)
        assert read_back(given_folder) == before
        lay_out(after, given_folder)
        left = store.capture(given_folder, base, Belonging())
        assert held(store, left) == after
        assert (left == base) == (after == before)
        assert store.left_behind(given_folder, base, Belonging()) == []
        assert taken(store, after) == left


def leads_round(path: Path) -> bool:
    """Whether it is a link that comes back to itself: `git apply` makes no folder of one, from a patch of git's own neither."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


@given(st.data())
@FEW
def test_a_patch_makes_the_one_of_the_other(data: st.DataObject) -> None:
    before = data.draw(trees())
    after = edited(before, data.draw(edits(before)))
    with beginning() as store:
        one, two = taken(store, before), taken(store, after)
        differing = {path for path in before.keys() | after if before.get(path) != after.get(path)}
        assert {change.path for change in store.diff(one, two)} == differing
        for begin, end, patch in (
            (before, after, store.patch(one, two)),
            (after, before, store.patch(two, one)),
        ):
            folder = store.root.parent / f"patched-{begin is before}"
            lay_out(begin, folder)
            assume(not any(leads_round(folder / path.rpartition("/")[0]) for path in end))
            apply_patch(patch, folder)
            assert read_back(folder) == end


def test_an_empty_file_below_a_name_with_a_blank_at_its_end_is_patched() -> None:
    trees: list[Tree] = [{"blank ": (FILE, b"")}, {"blank /a ": (FILE, b""), "b /c": (FILE, b"x")}]
    with beginning() as store:
        for number, (before, after) in enumerate((trees, trees[::-1])):
            folder = store.root.parent / f"patched-{number}"
            lay_out(before, folder)
            apply_patch(store.patch(taken(store, before), taken(store, after)), folder)
            assert read_back(folder) == after


@given(st.data())
@settings(max_examples=40)
def test_a_merge_holds_all_of_both_sides_or_names_what_it_cannot(data: st.DataObject) -> None:
    base = data.draw(trees(least=1))
    ours = edited(base, data.draw(edits(base, side="ours")))
    theirs = edited(base, data.draw(edits(base, side="theirs")))
    with beginning() as store:
        ids = [taken(store, tree) for tree in (base, ours, theirs)]
        found = store.merge(*ids)
        assert store.merge(*ids) == found
        back = store.merge(ids[0], ids[2], ids[1])
        assert {one.path for one in back.conflicts} == {one.path for one in found.conflicts}
        assert back.tree == found.tree
        met = contested(base, ours, theirs)
        if found.tree is None:
            assert found.conflicts
            for conflict in found.conflicts:
                assert any(is_near(conflict.path, path) for path in met), (
                    f"{conflict.path!r} is contested by nobody"
                )
                sides = [tree.get(conflict.path) for tree in (base, ours, theirs)]
                entries = [conflict.base, conflict.ours, conflict.theirs]
                assert [side and side[0] for side in sides] == [e and e.mode for e in entries]
        else:
            assert found.conflicts == ()
            check_merged(base, ours, theirs, held(store, found.tree))


def contested(base: Tree, ours: Tree, theirs: Tree) -> set[str]:
    """Files that both sides changed, each otherwise, and files where the merge would have a folder as well.

    A change of the mode and a change of the content do not meet.
    """
    met, there = set(), set()
    for path in {*base, *ours, *theirs}:
        b, o, t = base.get(path), ours.get(path), theirs.get(path)
        if o in (b, t) or t == b:
            if (t if o == b else o) is not None:
                there.add(path)
            continue
        is_apart = (
            b is not None
            and o is not None
            and t is not None
            and LINK not in (b[0], o[0], t[0])
            and all(o[at] in (b[at], t[at]) or t[at] == b[at] for at in (0, 1))
        )
        if not is_apart:
            met.add(path)
        there.add(path)
    for path in there:
        met |= {path[:at] for at, char in enumerate(path) if char == "/"} & there
    return met


def is_near(path: str, other: str) -> bool:
    """Whether two paths are one, or one lies below the other."""
    return path == other or path.startswith(f"{other}/") or other.startswith(f"{path}/")


def check_merged(base: Tree, ours: Tree, theirs: Tree, merged: Tree) -> None:
    """A clean merge has, of each file, what the side has that changed it; where both did, all lines of both."""
    for path in {*base, *ours, *theirs, *merged}:
        b, o, t, m = (tree.get(path) for tree in (base, ours, theirs, merged))
        if o in (b, t):
            assert m == t
        elif t == b:
            assert m == o
        else:
            assert m is not None
            for part in (0, 1):
                values = [side[part] if side else None for side in (b, o, t)]
                if values[1] in (values[0], values[2]):
                    assert m[part] == values[2]
                elif values[2] == values[0]:
                    assert m[part] == values[1]
                else:
                    assert part == 1
                    check_lines(*(side[1] if side else b"" for side in (b, o, t, m)))


def check_lines(base: bytes, ours: bytes, theirs: bytes, merged: bytes) -> None:
    """No line that a side added is lost, and none that a side removed is back; lines here are unlike each other."""
    was, one, two, now = (set(text.split(b"\n")) - {b""} for text in (base, ours, theirs, merged))
    assert (one | two) - was <= now
    assert now == (was & one & two) | ((one | two) - was)


def test_the_oracle_knows_a_lost_line_from_a_kept_one() -> None:
    check_lines(b"1\n2\n3\n", b"1\n2\n3\n4\n", b"2\n3\n", b"2\n3\n4\n")
    for lost in (b"2\n3\n", b"1\n2\n3\n4\n", b"2\n4\n"):
        with pytest.raises(AssertionError):
            check_lines(b"1\n2\n3\n", b"1\n2\n3\n4\n", b"2\n3\n", lost)
    base: Tree = {"a": (FILE, b"1"), "b": (FILE, b"2")}
    ours, theirs = {**base, "a": (FILE, b"ours")}, {**base, "b": (FILE, b"theirs")}
    check_merged(base, ours, theirs, ours | {"b": theirs["b"]})
    for wrong in (base, ours, theirs, {}):
        with pytest.raises(AssertionError):
            check_merged(base, ours, theirs, wrong)
