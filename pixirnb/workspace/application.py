"""A merge carried out on the user's files: whole or not at all, whoever dies or edits meanwhile.

    with locked(roots):                    one merge of a root at a time; what a dead one left is taken back first
        apply(parts, journal, about)       survey, lay out beside, journal, put in place, look again, journal: done
    finished(journal)                      when a log has it

Each file is put in place by trading names with what is laid out beside it, and what comes out is compared with what was
expected: an editor that saved meanwhile gets its file again, and all the rest is put back. Before the last word everything that
came out is compared once more, for an editor that had it open. Source: contract.md §8; docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pixirnb.errors import Cannot, InternalError
from pixirnb.interruptions import unbroken
from pixirnb.workspace import descent, reversal, root_locks, staging
from pixirnb.workspace import journal as journals
from pixirnb.workspace.exchange import exchange, move
from pixirnb.workspace.journal import Journal, Left, Op, Work, left_over
from pixirnb.workspace.refusals import disturbed, in_the_way, naming, refused, with_kept
from pixirnb.workspace.root_locks import Record, locked

if TYPE_CHECKING:
    from pixirnb.trees import TreeStore

__all__ = ["Left", "Part", "apply", "finished", "left_over", "locked", "roll_back"]

_NOT_MINE: Final = reversal.IN_USE | {errno.EACCES, errno.EPERM, errno.EROFS}
"""An empty folder that has to stay is no reason to give a merge up."""


@dataclass(frozen=True, slots=True)
class Part:
    """One root: its files are `before`, and shall be `after`."""

    store: TreeStore
    before: str
    after: str


def apply(parts: Sequence[Part], journal: Path, about: dict[str, Any]) -> None:
    """Make the files of several roots what the trees say, all or none; the roots are `locked`.

    `journal`: a path ending in `.json`, in a folder that is there; it says `done` when this returns. `about`: JSON, for `Left`.
    Raises Cannot, everything being as it was: `merge_disturbed` (files are not what `before` says), `merge_refused` (the
    system says no), `merge_unsafe` (a path leads out of its root, or into what is not to be touched), or what a store says;
    `merge_unfinished` where the system would not have it taken back either: the next to lock the root does.
    """
    stores: dict[Path, TreeStore] = {}
    works = []
    try:
        for part in parts:
            root = Path(root_locks.real(part.store.root))
            changes = part.store.diff(part.before, part.after)
            if not changes:
                continue
            if not root_locks.is_held(root) or root in stores:
                raise InternalError(f"A merge into {root}, which is not locked, or twice in one.")
            stores[root] = part.store
            works.append(staging.surveyed(part.store, root, changes, staging.new_name()))
        if not works:
            journals.write(journal, Journal("done", about, ()))
            return
        laid = _laid_out(works, stores, journal.absolute())
    except OSError as error:
        raise refused(error) from error
    _carried_out(Journal("pending", about, laid), stores, journal.absolute())


def finished(journal: Path) -> None:
    """The log has the merge: its journal goes, durably, and what was left to tidy. Raises OSError; not for one that is gone."""
    found = journals.read(journal)
    if found is not None and found.state == "done":
        _tidy(found, journal.absolute())
    journals.remove(journal)


def roll_back(left: Left, store_of: Callable[[Work], TreeStore | None]) -> list[str]:
    """Take a pending merge back, in any process; its journal goes. Nothing for one that is done, or gone.

    Returns the files that a person edited since and that were left as they are, as absolute paths. `store_of`: what keeps
    the trees of a root, None where that cannot be asked. Raises Cannot (`root_busy`, `merge_unfinished`).
    """
    journal = journals.read(left.journal)
    if journal is None or journal.state == "done":
        return []
    with root_locks.held({str(work.root) for work in journal.works}):
        journal = journals.read(left.journal)  # another may have been first
        if journal is None or journal.state == "done":
            return []
        return root_locks.taken_back(left.journal, journal, store_of).edited


def _laid_out(works: Sequence[Work], stores: dict[Path, TreeStore], path: Path) -> tuple[Work, ...]:
    try:
        for work in works:
            root_locks.note(work.root, Record(path, work.staging))
        return tuple(staging.laid_out(stores[work.root], work) for work in works)
    except BaseException:
        # Nothing of the user's was touched. What cannot be removed now, the next to lock the root removes.
        with suppress(OSError):
            reversal.clear(works)
            for work in works:
                root_locks.forget(work.root, path)
        raise


def _carried_out(whole: Journal, stores: dict[Path, TreeStore], path: Path) -> None:
    try:
        journals.write(path, whole)
        for work in whole.works:
            staging.begin(work)
            _put_in_place(stores[work.root], work)
        for work in whole.works:
            _settle_names(work)
        seen = [_looked_at_again(stores[work.root], work) for work in whole.works]
        journals.settle(path, whole)
    except BaseException as error:
        result = root_locks.taken_back(path, whole, lambda work: stores[work.root])
        if isinstance(error, OSError):
            raise with_kept(refused(error), result.edited, result.kept) from error
        if isinstance(error, Cannot):
            with_kept(error, result.edited, result.kept)
        raise
    with suppress(OSError):
        for work, times in zip(whole.works, seen, strict=True):
            # An editor that had a file open wrote to it while the last word was said: the merge stands, and so does this.
            late = [name for name, time in times.items() if time != _time(work, name)]
            if late:
                staging.keep(work, late)
    _tidy(whole, path)


def _tidy(whole: Journal, path: Path) -> None:
    # The merge is done: what stays now, whoever next locks the root finds in its record.
    with suppress(OSError):
        for work in whole.works:
            staging.remove(work.root, work.staging)
            root_locks.forget(work.root, path)


def _put_in_place(store: TreeStore, work: Work) -> None:
    """Trade every file of a root. Raises Cannot (`merge_disturbed`), OSError."""
    with (
        descent.opened(work.root) as top,
        descent.below(top, work.staging) as folder,
    ):
        for op in work.ops:
            if op.after is None:
                _act(store, work, top, op, lambda at, name, op: _take(at, name, folder, op))
        below = {op.path for op in work.ops if op.before is None}
        in_the_way = [f for f, _ in work.folders if _is_at_or_below(f, below)]
        reversal.remove_empty(top, in_the_way)
        for op in work.ops:
            if op.before is not None and op.after is not None:
                _act(store, work, top, op, lambda at, name, op: exchange(folder, op.name, at, name))
        reversal.make(top, [(made, None) for made in work.made])
        for op in work.ops:
            if op.before is None:
                _act(store, work, top, op, lambda at, name, op: move(folder, op.name, at, name))


def _act(
    store: TreeStore, work: Work, top: int, op: Op, trade: Callable[[int, str, Op], None]
) -> None:
    """One file; what came out of its place is looked at."""
    try:
        with naming(op.path), descent.parent(top, op.path) as (at, name):
            trade(at, name, op)
    except staging.ASTRAY as error:
        raise _why_not(work, top, op) from error
    if not _is_as_before(store, work, op):
        raise disturbed(work.root, [op.path])


def _why_not(work: Work, top: int, op: Op) -> Cannot:
    if op.before is None:
        with suppress(OSError), descent.parent(top, op.path) as (at, name):
            if (found := descent.status(at, name)) is not None:
                return in_the_way(work.root, {op.path: staging.kind_of(found)})
    return disturbed(work.root, [op.path])


def _take(at: int, name: str, folder: int, op: Op) -> None:
    unbroken(os.rename, name, op.name, src_dir_fd=at, dst_dir_fd=folder)


def _is_as_before(store: TreeStore, work: Work, op: Op) -> bool:
    path = work.root / work.staging / op.name
    return op.before is None or store.digest_of(path) == op.before


def _settle_names(work: Work) -> None:
    """Remove the folders that are empty now, and make every name durable. Raises OSError."""
    with (
        descent.opened(work.root) as top,
        descent.below(top, work.staging) as folder,
    ):
        reversal.remove_empty(top, [path for path, _ in work.folders], tolerated=_NOT_MINE)
        # What came out gets its durable name first, so that at no moment it has none.
        os.fsync(folder)
        reversal.sync(top, reversal.touched(work))


def _looked_at_again(store: TreeStore, work: Work) -> dict[str, tuple[int, int]]:
    """When each file that came out was last written to, and its size. Raises Cannot (`merge_disturbed`), OSError."""
    replaced = [op for op in work.ops if op.before is not None]
    times = {op.name: _time(work, op.name) for op in replaced}
    astray = [op.path for op in replaced if not _is_as_before(store, work, op)]
    if astray:
        raise disturbed(work.root, astray, "was written to while it was merged")
    return times


def _time(work: Work, name: str) -> tuple[int, int]:
    found = (work.root / work.staging / name).lstat()
    return found.st_mtime_ns, found.st_size


def _is_at_or_below(folder: str, paths: set[str]) -> bool:
    return folder in paths or not paths.isdisjoint(descent.ancestors(folder))
