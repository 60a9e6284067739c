"""Trees of files in memory: folders for isolated attempts of a world, and merges into the user's files.

A tree is what a folder held, named by what is in it. Two sides that want one file otherwise are in conflict: merges look at
whole files. What was done outlives the process that did it, until the log has it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Final

from harness.simulator.files import Content, Disk
from pixirnb.errors import Cannot
from pixirnb.history.file_events import MergeApplied
from pixirnb.planning.roots import Roots
from pixirnb.protocols.trees import (
    FILE,
    Checkout,
    CheckoutResult,
    FileConflict,
    Layer,
    MergeConflict,
    MergeInput,
    Merging,
    Rollback,
    TreeChange,
    TreeEntry,
    undo_input,
)

MINE: Final = "workspace"
_APART: Final = Path("/simulated-apart")


@dataclass(slots=True, eq=False)
class Registry:
    """What outlives every process of a world: its disk, its trees, and the merges that no log has yet."""

    disk: Disk
    trees: dict[str, Content] = field(default_factory=dict)
    done: dict[tuple[str, str], MergeApplied] = field(default_factory=dict)
    """Run and merge to the data of `merge_applied`, until it is recorded."""
    merges: list[tuple[str, str]] = field(default_factory=list)
    """Every merge that was ever carried out."""

    def keep(self, content: Content) -> str:
        """A tree of these files."""
        text = json.dumps(content, sort_keys=True)
        name = "t:" + blake2b(text.encode(), digest_size=8).hexdigest()
        self.trees[name] = dict(content)
        return name

    def apart(self) -> list[Path]:
        """Folders of isolated attempts that are still there."""
        return [folder for folder in self.disk.folders if folder.is_relative_to(_APART)]

    def untold(self, told: Callable[[str], bytes]) -> Iterator[tuple[str, str]]:
        """What was done to files and is on no record of its run, and folders nobody told of: rule and sentence."""
        for run_id, merge in self.merges:
            if told(run_id).count(f'"merge":"{merge}"'.encode()) == 0:
                yield "merges_recorded", f"{merge} of {run_id} is in no log."
        for folder in self.apart():
            said = f"{folder} could not be deleted".encode()
            if not (is_stuck(folder) and said in told(folder.parts[2])):
                yield "folders_deleted", f"{folder} is still there."

    def delete(self, folders: Sequence[Path]) -> list[Cannot]:
        """Delete folders of isolated attempts; some never go, as where a step left files of another user's."""
        refused = []
        for folder in folders:
            if is_stuck(folder):
                refused.append(
                    Cannot(f"{folder} could not be deleted.", code="workspace_not_removed")
                )
            else:
                self.disk.folders.pop(folder, None)
        return refused


def is_stuck(folder: Path) -> bool:
    """Whether a folder of an isolated attempt never goes: one in nine, by its name."""
    return blake2b(str(folder).encode(), digest_size=2).digest()[0] % 9 == 0


@dataclass(frozen=True, slots=True)
class SimulatedFiles:
    """Implements `protocols.trees.Files` for the runs of a world."""

    shelf: Registry
    roots: Roots

    # --- isolated attempts --------------------------------------------------------------------------------------

    def give(self, order: MergeInput) -> Checkout | MergeConflict:
        """Folders with the user's files and the layers merged in."""
        seen: dict[str, str] = {}
        base: dict[str, str] = {}
        for root in order.roots:
            seen[root] = self._snapshot(root)
            found = self._stacked(root, seen[root], order)
            if isinstance(found, MergeConflict):
                return found
            base[root] = found[0]
        folders = {root: self._folder(order, root) for root in order.roots}
        for root, folder in folders.items():
            self.shelf.disk.folders[folder] = dict(self.shelf.trees[base[root]])
        top = self._folder(order, ".")
        return Checkout(order, top, top, folders, seen, base)

    def take(self, given: Checkout) -> CheckoutResult:
        """What is in the folders now. Raises Cannot where another owner has swept them."""
        if any(folder not in self.shelf.disk.folders for folder in given.folders.values()):
            raise Cannot("Its folders are gone.", code="tree_missing")
        trees = {
            root: self.shelf.keep(self.shelf.disk.folders[folder])
            for root, folder in given.folders.items()
        }
        return self._taken(given.base, trees)

    def drop(self, given: Checkout) -> None:
        """Delete the folders. Raises Cannot."""
        for refused in self.shelf.delete(list(given.folders.values())):
            raise refused

    def set_aside(self, given: Checkout) -> Path:
        """They stay where they are; here nothing fails to be taken."""
        return given.workspace

    def adopt(self, run_id: str, trees: Mapping[str, Sequence[str]]) -> None:
        """Trees are kept for ever; one that is not there was never made. Raises KeyError."""
        del run_id
        for named in trees.values():
            for tree in named:
                _ = self.shelf.trees[tree]

    def sweep(self, run_id: str) -> list[Cannot]:
        """Delete what dead processes left of a run."""
        left = self.shelf.apart()
        return self.shelf.delete([path for path in left if path.is_relative_to(_APART / run_id)])

    # --- merging ------------------------------------------------------------------------------------------------

    def preview(self, order: MergeInput) -> Merging | MergeConflict:
        """What a merge would come to."""
        before: dict[str, str] = {}
        after: dict[str, str] = {}
        solved: list[str] = []
        for root in order.roots:
            before[root] = self._snapshot(root)
            found = self._stacked(root, before[root], order)
            if isinstance(found, MergeConflict):
                return found
            after[root], chosen = found
            solved += sorted(chosen)
        return Merging(before, after, self._taken(before, after), tuple(solved))

    def merge(
        self, order: MergeInput, describe: Callable[[Merging], MergeApplied]
    ) -> tuple[MergeApplied, Merging] | MergeConflict:
        """Carry a merge out."""
        return self._carried_out(order, self.preview(order), describe)

    def undo(
        self,
        order: MergeInput,
        merge: MergeApplied,
        describe: Callable[[Merging], MergeApplied],
    ) -> tuple[MergeApplied, Merging] | MergeConflict:
        """Take one back."""
        return self._carried_out(order, self.preview_undo(order, merge), describe)

    def preview_undo(self, order: MergeInput, merge: MergeApplied) -> Merging | MergeConflict:
        """What taking one back would come to."""
        return self.preview(undo_input(order, merge))

    def recorded(self, run_id: str, merge: str) -> None:
        """The log has it."""
        self.shelf.done.pop((run_id, merge), None)

    def unrecorded(self, run_id: str) -> list[MergeApplied]:
        """Merges of a run that its log may not have."""
        return [data for (run, _), data in self.shelf.done.items() if run == run_id]

    def rollbacks(self) -> list[Rollback]:
        """None: here a merge is whole or not begun."""
        return []

    def marks(self, roots: Sequence[str]) -> Mapping[tuple[str, str], object]:
        """Every file of the user's, with what is in it."""
        return {
            (root, path): text
            for root in roots
            for path, text in self.shelf.disk.folders[self._of_user(root)].items()
        }

    # --- inside -------------------------------------------------------------------------------------------------

    def _of_user(self, root: str) -> Path:
        try:
            return Path(self.roots.named(root).folder)
        except KeyError as error:
            told = f"There are no files of `{root}`."
            raise Cannot(told, fix="Name a root of the run.", code="tree_missing") from error

    def _folder(self, order: MergeInput, root: str) -> Path:
        return _APART / order.run_id / order.name / root

    def _snapshot(self, root: str) -> str:
        return self.shelf.keep(self.shelf.disk.folders[self._of_user(root)])

    def _carried_out(
        self,
        order: MergeInput,
        found: Merging | MergeConflict,
        describe: Callable[[Merging], MergeApplied],
    ) -> tuple[MergeApplied, Merging] | MergeConflict:
        if isinstance(found, MergeConflict):
            return found
        data = describe(found)
        if self.shelf.disk.is_in_the_way:
            self.shelf.disk.is_in_the_way = False
            raise Cannot("A pipe is in the way.", fix="Move it.", code="merge_disturbed")
        for root, tree in found.after.items():
            self.shelf.disk.folders[self._of_user(root)] = dict(self.shelf.trees[tree])
        self.shelf.done[order.run_id, order.name] = data
        self.shelf.merges.append((order.run_id, str(data["merge"])))
        return data, found

    def _stacked(
        self, root: str, start: str, order: MergeInput
    ) -> tuple[str, set[str]] | MergeConflict:
        """The user's files with the layers of a root put on them; and the files that were solved."""
        content, solved = dict(self.shelf.trees[start]), set[str]()
        put: list[Layer] = []
        layers = [layer for layer in order.layers if layer.root == root]
        for place, layer in enumerate(layers):
            ahead = layers[place + 1 :]
            merged, conflicts = self._merged(layer, content)
            left = []
            for conflict in conflicts:
                if self._choose(conflict.path, layer, start, order, (put, ahead), merged):
                    solved.add(conflict.path)
                else:
                    left.append(conflict)
            if left:
                return MergeConflict(root, (self._other(left, put), layer.step), tuple(left), start)
            content = merged
            put.append(layer)
        return self.shelf.keep(content), solved

    def _choose(  # noqa: PLR0917 - all that a choice hangs on
        self,
        path: str,
        layer: Layer,
        start: str,
        order: MergeInput,
        beside: tuple[Sequence[Layer], Sequence[Layer]],
        merged: Content,
    ) -> bool:
        """Make a file in conflict what a person wants it to be; False where nobody has said."""
        trees, sides, now = self.shelf.trees, order.sides, self.shelf.trees[start].get(path)
        side = sides.get(path) if isinstance(sides, Mapping) else sides
        assert side is None or isinstance(side, str)  # its people choose no hunks
        decided_on = order.decided_on if side else order.held
        if decided_on is not None:
            # A word of before is about the file as it was then.
            then = trees.get(decided_on.get(layer.root, ""))
            if then is None or then.get(path) != now:
                return False
        seen = order.seen.get(layer.root)
        is_edited = seen is not None and trees[seen].get(path) != now
        if side == layer.step:
            _put(merged, path, trees[layer.left].get(path))
        elif side == MINE or (not side and is_edited):
            _put(merged, path, now)
        else:
            put, ahead = (
                [each for each in layers if each.step == side and self._changes(each, path)]
                for layers in beside
            )
            if not put and ahead:
                _put(merged, path, trees[ahead[-1].left].get(path))
            return bool(put or ahead)  # what is there is what those before left
        return True

    def _changes(self, layer: Layer, path: str) -> bool:
        return self.shelf.trees[layer.base].get(path) != self.shelf.trees[layer.left].get(path)

    def _other(self, conflicts: Sequence[FileConflict], put: Sequence[Layer]) -> str:
        for layer in reversed(put):
            if any(self._changes(layer, conflict.path) for conflict in conflicts):
                return layer.step
        return MINE

    def _merged(self, layer: Layer, ours: Content) -> tuple[Content, list[FileConflict]]:
        base, theirs = self.shelf.trees[layer.base], self.shelf.trees[layer.left]
        merged, conflicts = dict(ours), list[FileConflict]()
        for path in sorted({*base, *theirs}):
            was, now, mine = base.get(path), theirs.get(path), ours.get(path)
            if now in {was, mine}:
                continue
            if mine == was:
                _put(merged, path, now)
            else:
                kind = "changed_and_deleted" if None in {now, mine} else "not_text"
                sides = (_entry(was), _entry(mine), _entry(now))
                conflicts.append(FileConflict(path, kind, *sides))  # type: ignore[arg-type] # one of the kinds
        return merged, conflicts

    def _taken(self, before: Mapping[str, str], after: Mapping[str, str]) -> CheckoutResult:
        changes: dict[str, Sequence[TreeChange]] = {}
        for root, tree in after.items():
            was, now = self.shelf.trees[before[root]], self.shelf.trees[tree]
            changes[root] = [
                TreeChange(path, _entry(was.get(path)), _entry(now.get(path)))
                for path in sorted({*was, *now})
                if was.get(path) != now.get(path)
            ]
        told = {
            root: [(c.path, c.after and c.after.digest) for c in found]
            for root, found in changes.items()
            if found
        }
        patch = json.dumps(told).encode() if told else b""
        return CheckoutResult(dict(after), changes, patch)


def _put(content: Content, path: str, text: str | None) -> None:
    if text is None:
        content.pop(path, None)
    else:
        content[path] = text


def _entry(text: str | None) -> TreeEntry | None:
    return None if text is None else TreeEntry(FILE, text)
