"""The files of a run on this machine: folders for isolated attempts, and their changes brought back.

    state/trees/…                     a store of trees for each root
    state/isolated/RUN/STEP.N/…       the folders of one attempt, laid out as the roots lie to each other
    state/merges/RUN.mN.json          the journal of a merge under way, or done and not yet in the log

Source: contract.md §8; docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from pixirnb.errors import Cannot
from pixirnb.history.file_events import MergeApplied
from pixirnb.history.run_state import RunState
from pixirnb.planning.roots import WORKSPACE, Roots
from pixirnb.protocols.trees import (
    Checkout,
    CheckoutResult,
    MergeConflict,
    MergeInput,
    Merging,
    Rollback,
    Solved,
    TreeChange,
    TreeStore,
    undo_input,
)
from pixirnb.system.atomic_files import make_folders, sync_folder
from pixirnb.system.system_calls import retry_eintr
from pixirnb.workspace.carry import carry
from pixirnb.workspace.errors import refusing, workspace_gone
from pixirnb.workspace.folder_walk import special_files
from pixirnb.workspace.merge.apply import Part, apply, finish_merge, left_over
from pixirnb.workspace.merge.recovery import refuse_half_done, roll_back_pending, whole
from pixirnb.workspace.merge.stack import Stack
from pixirnb.workspace.missing_trees import is_copied, naming_steps, require_trees
from pixirnb.workspace.outward_links import Outlook
from pixirnb.workspace.remove_copies import ASIDE, remove_copies, remove_folder
from pixirnb.workspace.rules import Rules
from pixirnb.workspace.stores_by_root import RootStores, store_for_reversal

_SIZED: Final = 50
"""Number of files in conflict whose sizes are read; the log names no more."""


class LocalFiles:
    """The files of runs that work on these roots. Used from any thread."""

    def __init__(self, state: Path, roots: Roots, *, never_copy: Sequence[str] = ()) -> None:
        """Prepare the files. `state`: the state folder of the runs."""
        self._state = state
        self._merges = state / "merges"
        self._roots = roots
        self._stores = RootStores(state, roots, never_copy)
        self._kept: set[Path] = set()
        """Folders that could not be set aside."""
        self._rollbacks: deque[Rollback] = deque()

    # --- isolated attempts --------------------------------------------------------------------------------------

    def give(self, order: MergeInput) -> Checkout | MergeConflict:
        """See `Files.give`."""
        with naming_steps(order), self._refusing():
            return self._given(order)

    def _given(self, order: MergeInput) -> Checkout | MergeConflict:
        require_trees(order)
        top = self._state / "isolated" / order.run_id / order.name
        remove_folder(top)
        folders = self._laid_out(top, order.roots)
        seen: dict[str, str] = {}
        base: dict[str, str] = {}
        missing: list[str] = []
        solved = dict(order.solved)
        for root in order.roots:
            store = self._stores.store(root)
            with whole([self._stores.folder(root)], self._merges) as met:
                self._rollbacks.extend(met)
                start = store.snapshot(self._stores.belonging(root, order.claimed))
            stack = self._stack(store, root, start, order)
            seen[root] = start
            special = special_files(
                self._stores.folder(root), Rules(self._stores.belonging(root, ())), _SIZED
            )
            missing += [self._roots.shown(root, path) for path in special]
            clash = stack.apply_layers(order.layers)
            solved.update(stack.solved)
            self._keep_written(order, stack)
            if clash is not None:
                return self._complete_conflict(clash, order, seen, solved)
            base[root] = stack.tree
        make_folders(top.parent)
        # Outer folders first: the inner ones are put into them.
        for root in sorted(order.roots, key=lambda name: len(str(folders[name]))):
            store, folder = self._stores.store(root), folders[root]
            make_folders(folder.parent)
            store.give(base[root], folder)
        for root in order.roots:
            belonging = self._stores.belonging(root, (), carried=order.carry)
            for path in belonging.carried:
                carry(self._stores.folder(root), folders[root], path, Rules(belonging))
        workspace = folders.get(WORKSPACE) or self._location(
            top, self._roots.named(WORKSPACE).folder
        )
        make_folders(workspace)
        return Checkout(order, top, workspace, folders, seen, base, tuple(missing))

    def take(self, given: Checkout) -> CheckoutResult:
        """See `Files.take`."""
        with self._refusing():
            return self._left(given)

    def _left(self, given: Checkout) -> CheckoutResult:
        order = given.order
        trees: dict[str, str] = {}
        behind: list[str] = []
        for root, folder in given.folders.items():
            store = self._stores.store(root)
            belonging = self._stores.belonging(root, order.claimed, carried=order.carry)
            trees[root] = store.capture(folder, given.base[root], belonging)
            left = store.left_behind(folder, given.base[root], belonging)
            behind += [self._roots.shown(root, path) for path in left]
            kept = [given.seen[root], given.base[root], trees[root]]
            store.keep(f"{order.run_id}/{order.name}", kept)
        return self._taken(given.base, trees, tuple(sorted(behind)))

    def drop(self, given: Checkout) -> None:
        """See `Files.drop`."""
        folder = self._state / "isolated" / given.order.run_id / given.order.name
        if folder in self._kept:
            return
        remove_folder(folder)
        with suppress(OSError):  # other attempts still work there
            folder.parent.rmdir()

    def set_aside(self, given: Checkout) -> Path:
        """See `Files.set_aside`."""
        folder = self._state / "isolated" / given.order.run_id / given.order.name
        aside = folder.with_name(folder.name + ASIDE)
        remove_folder(aside)
        try:
            retry_eintr(folder.rename, aside)
        except OSError:
            # The disk gives no name: it stays under the one it has, until the run is taken up again.
            self._kept.add(folder)
            return folder
        return aside

    def sweep(self, run_id: str) -> list[Cannot]:
        """See `Files.sweep`."""
        return remove_copies(self._state / "isolated" / run_id)

    def adopt(self, run_id: str, trees: Mapping[str, Sequence[str]]) -> None:
        """See `Files.adopt`."""
        with self._refusing():
            for root, named in trees.items():
                readable = [tree for tree in named if not is_copied(tree)]
                self._stores.store(root).keep(f"{run_id}/adopted", readable)

    # --- merging ------------------------------------------------------------------------------------------------

    def preview(self, order: MergeInput) -> Merging | MergeConflict:
        """See `Files.preview`."""
        with naming_steps(order), self._refusing():
            refuse_half_done(self._folders(order), self._merges)
            return self._merged(order)

    def merge(
        self, order: MergeInput, describe: Callable[[Merging], MergeApplied]
    ) -> tuple[MergeApplied, Merging] | MergeConflict:
        """See `Files.merge`."""
        with naming_steps(order), self._refusing():
            return self._carried_out(order, partial(self._merged, order), describe)

    def undo(
        self,
        order: MergeInput,
        merge: MergeApplied,
        describe: Callable[[Merging], MergeApplied],
    ) -> tuple[MergeApplied, Merging] | MergeConflict:
        """See `Files.undo`."""
        with self._refusing():
            return self._carried_out(order, partial(self.preview_undo, order, merge), describe)

    def preview_undo(self, order: MergeInput, merge: MergeApplied) -> Merging | MergeConflict:
        """See `Files.preview_undo`."""
        with naming_steps(order, undone=str(merge["merge"])), self._refusing():
            refuse_half_done(self._folders(order), self._merges)
            return self._merged(undo_input(order, merge))

    def recorded(self, run_id: str, merge: str) -> None:
        """See `Files.recorded`."""
        # A journal that stays is one of a merge that the log has: whoever finds it asks the log.
        with suppress(OSError, Cannot):
            finish_merge(self._journal(run_id, merge))

    def unrecorded(self, run_id: str) -> list[MergeApplied]:
        """See `Files.unrecorded`."""
        result: list[MergeApplied] = []
        with self._refusing():
            for left in left_over(self._merges):
                if left.about.get("run_id") != run_id:
                    continue
                if left.state == "done":
                    result.append(left.about["data"])
                else:
                    self._rollbacks.extend(
                        roll_back_pending(left, partial(store_for_reversal, self._state))
                    )
        return result

    def rollbacks(self) -> list[Rollback]:
        """See `Files.rollbacks`."""
        result = []
        while self._rollbacks:
            result.append(self._rollbacks.popleft())
        return result

    def _carried_out(
        self,
        order: MergeInput,
        compute: Callable[[], Merging | MergeConflict],
        describe: Callable[[Merging], MergeApplied],
    ) -> tuple[MergeApplied, Merging] | MergeConflict:
        folders = self._folders(order)
        with whole(folders, self._merges) as met:
            self._rollbacks.extend(met)
            merging = compute()
            if isinstance(merging, MergeConflict):
                return merging
            data = describe(merging)
            parts = []
            for root in order.roots:
                store = self._stores.store(root)
                before, after = merging.before[root], merging.after[root]
                parts.append(Part(store, before, after))
                store.keep(f"{order.run_id}/{order.name}", [before, after])
            journal = self._journal(order.run_id, order.name)
            retry_eintr(journal.parent.mkdir, mode=0o700, exist_ok=True)
            # Whoever made it may have died before that was asked: without its name every journal in it is lost.
            sync_folder(self._state)
            about = {
                "run_id": order.run_id,
                "data": data,
                "folders": [str(folder) for folder in folders],
            }
            apply(parts, journal, about)
        return data, merging

    def _merged(self, order: MergeInput) -> Merging | MergeConflict:
        require_trees(order)
        before: dict[str, str] = {}
        after: dict[str, str] = {}
        solved = dict(order.solved)
        used: list[str] = []
        for root in order.roots:
            store = self._stores.store(root)
            ours = [layer for layer in order.layers if layer.root == root]
            also = frozenset(
                change.path for layer in ours for change in store.diff(layer.base, layer.left)
            )
            start = store.snapshot(self._stores.belonging(root, (), also))
            stack = self._stack(store, root, start, order)
            before[root] = start
            clash = stack.apply_layers(ours)
            solved.update(stack.solved)
            self._keep_written(order, stack)
            if clash is not None:
                return self._complete_conflict(clash, order, before, solved)
            after[root] = stack.tree
            used += sorted({name for name, _ in stack.solved})
        return Merging(before, after, self._taken(before, after), tuple(used))

    def _keep_written(self, order: MergeInput, stack: Stack) -> None:
        """Keep texts made of hunks: if another file conflicts, the log names them."""
        if stack.written:
            tree = stack.store.edited(
                stack.start, {f".pixirnb-{of}": entry for of, entry in stack.written.items()}
            )
            stack.store.keep(f"{order.run_id}/{order.name}/seen", [tree])

    def _complete_conflict(
        self,
        clash: MergeConflict,
        order: MergeInput,
        seen: Mapping[str, str],
        solved: Solved,
    ) -> MergeConflict:
        """Return a conflict with the sizes of both sides; the trees of the user's files are kept."""
        store = self._stores.store(clash.root)
        for root, tree in seen.items():
            self._stores.store(root).keep(f"{order.run_id}/{order.name}/seen", [tree])
        sides = (side for each in clash.conflicts[:_SIZED] for side in (each.ours, each.theirs))
        clash = replace(clash, looked_at=dict(seen), solved=dict(solved))
        return replace(clash, sizes=store.sizes([side.digest for side in sides if side]))

    # --- shared steps -------------------------------------------------------------------------------------------

    def marks(self, roots: Sequence[str]) -> Mapping[tuple[str, str], object]:
        """See `Files.marks`."""
        result: dict[tuple[str, str], object] = {}
        with self._refusing():
            for root in roots:
                for path, mark in self._stores.marks(root).items():
                    result[root, path] = mark
        return result

    # --- what lies where, and what the disk says of it -------------------------------------------------------------

    def _refusing(self) -> AbstractContextManager[None]:
        """Raise errors of the disk that no inner layer described, as Cannot."""
        return refusing(self._state)

    def _stack(self, store: TreeStore, root: str, start: str, order: MergeInput) -> Stack:
        def name_of(path: str) -> str:
            return order.spell(self._roots.shown(root, path))

        decided_on, held = (
            None if trees is None else trees.get(root, "")
            for trees in (order.decided_on, order.held)
        )
        seen, carried = order.seen.get(root), order.solved
        return Stack(store, name_of, root, start, order.sides, seen, carried, decided_on, held)

    def _folders(self, order: MergeInput) -> list[Path]:
        return [self._stores.folder(root) for root in order.roots]

    def _journal(self, run_id: str, merge: str) -> Path:
        return self._merges / f"{run_id}.{merge}.json"

    def _laid_out(self, top: Path, roots: Sequence[str]) -> dict[str, Path]:
        return {root: self._location(top, self._roots.named(root).folder) for root in roots}

    def _location(self, top: Path, folder: str) -> Path:
        """Return the location of a folder's copy: below the nearest folder that all roots have in common."""
        common = os.path.commonpath([str(Path(root.folder).parent) for root in self._roots.roots])
        return top / os.path.relpath(folder, common)

    def _taken(
        self,
        before: Mapping[str, str],
        after: Mapping[str, str],
        behind: tuple[str, ...] = (),
    ) -> CheckoutResult:
        changes: dict[str, Sequence[TreeChange]] = {}
        patches: list[bytes] = []
        leading_out: dict[str, str] = {}
        folders = [root.folder for root in self._roots.roots]
        for root, tree in after.items():
            store = self._stores.store(root)
            changes[root] = store.diff(before[root], tree)
            outlook = Outlook(
                str(self._stores.folder(root)), folders, partial(store.entries, tree), store.content
            )
            for path, target in outlook.leading_out(changes[root]).items():
                leading_out[self._roots.shown(root, path)] = target
            if patch := store.patch(before[root], tree):
                header = b"" if len(after) == 1 else f"# {root}\n".encode()
                patches.append(header + patch)
        return CheckoutResult(dict(after), changes, b"".join(patches), behind, leading_out)


def require_workspace(files: object, run: RunState) -> None:
    """Raise Cannot (`workspace_missing`) where the files are on this machine, and the folder that the run works in is not."""
    if isinstance(files, LocalFiles) and not Path(run.workspace).is_dir():
        raise workspace_gone(run.workspace, run.run_id)
