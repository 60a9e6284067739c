"""Merging the changes of several attempts into one tree, in order, with a person's resolution of conflicts.

A file in conflict is solved by choosing a side for it or for each of its hunks, or by an edit in the user's files since the
conflict was reported: then the present file is the solution. A side counts for the whole file, also where it comes after the
sides it conflicts with; hunks count for the text they were chosen in.
Source: contract.md §6, §8; docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from pixirnb.history.conflict_hunks import HunkChoice, chosen_text
from pixirnb.ids import digest_of
from pixirnb.protocols.trees import (
    FILE,
    FileConflict,
    Layer,
    MergeConflict,
    Solved,
    TreeEntry,
    TreeStore,
)

MINE: Final = "workspace"
"""The side that is the user's own files."""


class Stack(Struct, eq=False):
    """One root, with layers merged into the user's files."""

    store: TreeStore
    name_of: Callable[[str], str]
    """Function that returns the full name of a file as `sides` and `carried` have it."""
    root: str
    start: str
    """The user's files."""
    sides: str | Mapping[str, str | HunkChoice] | None
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
    solved: dict[tuple[str, str], tuple[TreeEntry | None, TreeEntry | None]] = field(
        default_factory=dict
    )
    written: dict[str, TreeEntry] = field(default_factory=dict)
    """By the digest of the text that conflicted: files made of its hunks, which no side has."""
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
            texts = {each.path: each.marked for each in merged.conflicts}
            for path, entry in chosen.items():
                of = digest_of(texts[path] or b"")
                key = (self.name_of(path), of if of in self.written else "")
                self.solved[key] = (entry, mine.get(path))
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
        name = self.name_of(path)
        now = self._entries(self.start).get(path)
        side = self.sides.get(name) if isinstance(self.sides, Mapping) else self.sides
        if isinstance(side, Mapping):
            if self._write(side, conflict, layer, chosen):
                return True
        elif side:
            is_so = self._is_as_in(self.decided_on, path, now)
            return is_so and self._take_side(side, layer, path, chosen)
        elif self._is_edited(path, now) and self._is_as_in(self.held, path, now):
            chosen[path] = now
            return True
        of = digest_of(conflict.marked or b"")
        known = self.carried.get((name, of), self.carried.get((name, "")))
        if known is None or known[1] != now:
            return False
        chosen[path] = known[0]
        if (name, of) in self.carried and known[0] is not None:
            self.written[of] = known[0]
        return True

    def _is_edited(self, path: str, now: TreeEntry | None) -> bool:
        return self.seen is not None and now != self._entries(self.seen).get(path)

    def _is_as_in(self, tree: str | None, path: str, now: TreeEntry | None) -> bool:
        """Return whether a choice for a file in the user's files then, `tree`, holds for the file as it is."""
        return tree is None or (bool(tree) and now == self._entries(tree).get(path))

    def _write(
        self,
        choice: HunkChoice,
        conflict: FileConflict,
        layer: Layer,
        chosen: dict[str, TreeEntry | None],
    ) -> bool:
        """Make the text of hunks; return False if they were chosen in another text."""
        before = {MINE, *(each.step for each in self.put)}
        marked = conflict.marked
        text = marked and chosen_text(marked, choice, ours=before, theirs=layer.step)
        if text is None:
            return False
        base, ours, theirs = (
            FILE if entry is None else entry.mode
            for entry in (conflict.base, conflict.ours, conflict.theirs)
        )
        made = TreeEntry(theirs if ours == base else ours, self.store.put(text))
        chosen[conflict.path] = self.written[choice["of"]] = made
        return True

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
