"""Merge-back, the whole way: whatever two steps and the user did to a tree, nobody's bytes are lost.

It applies all sides or changes nothing and names the files; what it applied can be undone. What must come of it is worked
out here from the trees as values, and does not know how a merge is done.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from pixirnb.planning.roots import Roots
from pixirnb.protocols.trees import Checkout, Layer, MergeConflict, MergeInput
from pixirnb.testing.generators.tree_strategies import (
    Tree,
    edited,
    edits,
    lay_out,
    read_back,
    trees,
)
from pixirnb.workspace.local_files import LocalFiles

MEMORY = next((place for place in ("/dev/shm",) if os.access(place, os.W_OK)), None)
FEW = settings(max_examples=20)
"""Each example is a dozen snapshots, two checkouts and a merge."""


def step(files: LocalFiles, name: str, tree: Tree) -> Layer:
    """An isolated step that leaves `tree`."""
    given_ = files.give(MergeInput("r-1", f"{name}.1", (".",)))
    assert isinstance(given_, Checkout)
    lay_out(tree, given_.workspace)
    taken = files.take(given_)
    files.drop(given_)
    return Layer(name, 1, ".", given_.base["."], taken.trees["."])


def changed(before: Tree, after: Tree) -> set[str]:
    return {path for path in {*before, *after} if before.get(path) != after.get(path)}


@given(st.data())
@FEW
def test_all_sides_come_together_or_nothing_changes_and_the_files_are_named(
    data: st.DataObject,
) -> None:
    base = data.draw(trees())
    one = edited(base, data.draw(edits(base, side="one")))
    two = edited(base, data.draw(edits(base, side="two")))
    mine = edited(base, data.draw(edits(base, side="mine")))
    with tempfile.TemporaryDirectory(dir=MEMORY) as place:
        root = Path(place, "root")
        lay_out(base, root)
        files = LocalFiles(Path(place, "state"), Roots.of(str(root), {}))
        Path(place, "state").mkdir()
        layers = (step(files, "one", one), step(files, "two", two))
        lay_out(mine, root)
        order = MergeInput("r-1", "m1", (".",), layers)
        done = files.merge(order, lambda merging: cast("Any", {"merge": "m1", "roots": [
            {"root": ".", "before": merging.before["."], "after": merging.after["."]}
        ]}))  # fmt: skip
        now = read_back(root)
        if isinstance(done, MergeConflict):
            assert now == mine, "nothing was changed"
            named = {conflict.path for conflict in done.conflicts}
            assert named
            sides = changed(base, mine) | changed(base, one) | changed(base, two)
            assert all(any(p == n or p.startswith(f"{n}/") or n.startswith(f"{p}/") for p in sides) for n in named)  # fmt: skip
            return
        for path in {*base, *one, *two, *mine, *now}:
            was = base.get(path)
            said = {tree.get(path) for tree in (one, two, mine)} - {was}
            if len(said) <= 1:
                assert now.get(path) == next(iter(said), was), f"{path}: one side changed it"
            elif path in now:
                lines = now[path][1].splitlines()
                for other in said:
                    new = set() if other is None else set(other[1].splitlines())
                    new -= set() if was is None else set(was[1].splitlines())
                    assert new <= set(lines) or now[path] in said, f"{path}: a line is lost"
        files.recorded("r-1", "m1")
        files.undo(MergeInput("r-1", "m2", (".",)), done[0], lambda _: cast("Any", {"merge": "m2"}))
        assert read_back(root) == mine, "taken back, it is as if nothing had been"
        assert not [path for path in root.iterdir() if path.name.startswith(".pixirnb-")]
