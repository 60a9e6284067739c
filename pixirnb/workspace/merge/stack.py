"""Merging the changes of several attempts into one tree, in order, with a person's resolution of conflicts.

A file in conflict is solved by choosing a side for it, or by an edit in the user's files since the conflict was reported: then
the present file is the solution. A side counts for the whole file, also where it comes after the sides it conflicts with.
Source: contract.md §6, §8; docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pixirnb.planning.roots import Roots
from pixirnb.protocols.trees import FileConflict, Layer, MergeConflict, Solved, TreeEntry, TreeStore

MINE: Final = "workspace"
"""The side that is the user's own files."""


@dataclass(slots=True, eq=False)
class Stack:
    """One root, with layers merged into the user's files."""

    store: TreeStore
    roots: Roots
    root: str
    start: str
    """The user's files."""
    sides: str | Mapping[str, str] | None
    seen: str | None
    """The user's files when an earlier conflict was met."""
    carried: Solved = field(default_factory=dict)
    """Files that were solved before."""
    decided_on: str | None = None
    """The user's files for which `sides` was chosen: it counts for a file that is unchanged. None: the present files."""
    held: str | None = None
    """The user's files that were confirmed as right after edits: for a file that is unchanged. None: the present files."""
    tree: str = ""
    """The merged tree so far."""
    put: list[Layer] = field(default_factory=list)
    ahead: list[Layer] = field(default_factory=list)
    """Layers that are not merged yet."""
    solved: dict[str, tuple[TreeEntry | None, TreeEntry | None]] = field(default_factory=dict)
    _known: dict[str, dict[str, TreeEntry]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tree = self.start

    def apply_layers(self, layers: Iterable[Layer]) -> MergeConflict | None:
        """Merge layers in, one after the other; return the conflict that stops it, or None."""
        self.ahead += [layer for layer in layers if layer.root == self.root]
        while self.ahead:
            if (clash := self._put(self.ahead.pop(0))) is not None:
                return clash
        return None

    def _put(self, layer: Layer) -> MergeConflict | None:
        merged = self.store.merge(layer.base, self.tree, layer.left)
        if merged.tree is None:
            chosen: dict[str, TreeEntry | None] = {}
            mine = self._entries(self.start)
            unsolved = [
                conflict
                for conflict in merged.conflicts
                if not self._solve(conflict, layer, chosen)
            ]
            for path, entry in chosen.items():
                self.solved[self.roots.shown(self.root, path)] = (entry, mine.get(path))
            if unsolved:
                return self._clash(layer, unsolved)
            # Where both sides hold the same, there is nothing left to conflict.
            ours = self.store.edited(self.tree, chosen)
            theirs = self.store.edited(layer.left, chosen)
            merged = self.store.merge(layer.base, ours, theirs)
            if merged.tree is None:
                return self._clash(layer, merged.conflicts)
        self.tree = merged.tree
        self.put.append(layer)
        return None

    def _solve(
        self, conflict: FileConflict, layer: Layer, chosen: dict[str, TreeEntry | None]
    ) -> bool:
        path = conflict.path
        now = self._entries(self.start).get(path)
        side = self.sides
        if isinstance(side, Mapping):
            side = side.get(self.roots.shown(self.root, path))
        if side:
            is_so = self._is_as_in(self.decided_on, path, now)
            return is_so and self._take_side(side, layer, path, chosen)
        is_edited = self.seen is not None and now != self._entries(self.seen).get(path)
        if is_edited and self._is_as_in(self.held, path, now):
            chosen[path] = now
            return True
        known = self.carried.get(self.roots.shown(self.root, path))
        if known is None or known[1] != now:
            return False
        chosen[path] = known[0]
        return True

    def _is_as_in(self, tree: str | None, path: str, now: TreeEntry | None) -> bool:
        """Return whether a choice for a file in the user's files then, `tree`, holds for the file as it is."""
        return tree is None or (bool(tree) and now == self._entries(tree).get(path))

    def _take_side(
        self, side: str, layer: Layer, path: str, chosen: dict[str, TreeEntry | None]
    ) -> bool:
        if side == layer.step:
            chosen[path] = self._entries(layer.left).get(path)
            return True
        if side == MINE:
            chosen[path] = self._entries(self.start).get(path)
            return True
        if any(before.step == side and self._changes(before, path) for before in self.put):
            chosen[path] = self._entries(self.tree).get(path)
            return True
        for later in reversed(self.ahead):
            if later.step == side and self._changes(later, path):
                chosen[path] = self._entries(later.left).get(path)
                return True
        return False

    def _changes(self, layer: Layer, path: str) -> bool:
        return self._entries(layer.base).get(path) != self._entries(layer.left).get(path)

    def _clash(self, layer: Layer, conflicts: Sequence[FileConflict]) -> MergeConflict:
        paths = [conflict.path for conflict in conflicts]
        other = MINE
        for before in self.put:
            if any(self._changes(before, path) for path in paths):
                other = before.step
        return MergeConflict(self.root, (other, layer.step), tuple(conflicts), self.start)

    def _entries(self, tree: str) -> dict[str, TreeEntry]:
        known = self._known.get(tree)
        if known is None:
            known = self._known[tree] = self.store.entries(tree)
        return known
