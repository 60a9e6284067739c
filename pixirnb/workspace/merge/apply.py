"""A merge carried out on the user's files: whole or not at all, whatever process dies or edits meanwhile.

    with lock_roots(roots):                one merge of a root at a time; the half-done merge of a dead one is taken back first
        apply(parts, journal, about)       survey, lay out, journal, put in place, compare again, journal: done
    finish_merge(journal)                  when a log has it

Each file is put in place by trading names with the new one in the staging folder, and the file that comes out is compared with
the expected one: an editor that saved meanwhile gets its file again, and all others are put back. Before the journal says
`done`, all files that came out are compared once more, for an editor that had one open. Source: contract.md §8;
docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from pixirnb.errors import Cannot, InternalError
from pixirnb.json_types import JsonObject
from pixirnb.system.system_calls import retry_eintr
from pixirnb.workspace.errors import disturbed_error, in_the_way, naming, refused_error, with_kept
from pixirnb.workspace.merge import locks, openat, rollback, staging
from pixirnb.workspace.merge.journal import (
    Journal,
    JournalFile,
    Op,
    Work,
    left_over,
    read_journal,
    remove_journal,
    settle_journal,
    write_journal,
)
from pixirnb.workspace.merge.locks import RootLockRecord, lock_roots
from pixirnb.workspace.merge.system_calls import exchange, move

if TYPE_CHECKING:
    from pixirnb.protocols.trees import TreeStore

__all__ = ["JournalFile", "Part", "apply", "finish_merge", "left_over", "lock_roots", "roll_back"]

_NOT_MINE: Final = rollback.IN_USE | {errno.EACCES, errno.EPERM, errno.EROFS}
"""Errors for an empty folder that cannot be removed, for which a merge is not given up."""


class Part(Struct, frozen=True):
    """One root: its files are `before`, and shall be `after`."""

    store: TreeStore
    before: str
    after: str


def apply(parts: Sequence[Part], journal: Path, about: JsonObject) -> None:
    """Change the files of several roots to the trees, all or none; all of them held by `lock_roots`.

    `journal`: a path ending in `.json`, in a folder that is there; it says `done` when this returns. `about`: JSON, for
    `JournalFile`. Raises Cannot, everything being as it was: `merge_disturbed` (files are not what `before` says),
    `merge_refused` (the system says no), `merge_unsafe` (a path leads out of its root, or into a reserved folder), or what a
    store says; `merge_unfinished` where the system would not have it taken back either: the next to lock the root does.
    """
    stores: dict[Path, TreeStore] = {}
    works = []
    try:
        for part in parts:
            root = Path(locks.real(part.store.root))
            changes = part.store.diff(part.before, part.after)
            if not changes:
                continue
            if not locks.is_held(root) or root in stores:
                raise InternalError(f"merge into {root}, which is not locked or occurs twice")
            stores[root] = part.store
            works.append(staging.plan_work(part.store, root, changes, staging.new_name()))
        if not works:
            write_journal(journal, Journal("done", about, ()))
            return
        laid = _laid_out(works, stores, journal.absolute())
    except OSError as error:
        raise refused_error(error) from error
    _carried_out(Journal("pending", about, laid), stores, journal.absolute())


def finish_merge(journal: Path) -> None:
    """Remove a recorded merge's journal and staging folders, durably. Raises OSError; not for one that is gone."""
    finished = read_journal(journal)
    if finished is not None and finished.state == "done":
        _tidy(finished, journal.absolute())
    remove_journal(journal)


def roll_back(left: JournalFile, store_of: Callable[[Work], TreeStore | None]) -> list[str]:
    """Take a pending merge back, in any process; its journal goes. Does nothing for one that is done, or gone.

    Returns the files that a person edited since and that were left as they are, as absolute paths. `store_of`: the store of a
    root's trees, None where there is none to read. Raises Cannot (`root_busy`, `merge_unfinished`).
    """
    journal = read_journal(left.journal)
    if journal is None or journal.state == "done":
        return []
    with locks.held({str(work.root) for work in journal.works}):
        journal = read_journal(left.journal)  # another may have been first
        if journal is None or journal.state == "done":
            return []
        return locks.roll_back_merge(left.journal, journal, store_of).edited


def _laid_out(works: Sequence[Work], stores: dict[Path, TreeStore], path: Path) -> tuple[Work, ...]:
    try:
        for work in works:
            locks.note(work.root, RootLockRecord(path, work.staging))
        return tuple(staging.laid_out(stores[work.root], work) for work in works)
    except BaseException:
        # Nothing of the user's was touched. What cannot be removed now, the next to lock the root removes.
        with suppress(OSError):
            rollback.clear(works)
            for work in works:
                locks.forget(work.root, path)
        raise


def _carried_out(whole: Journal, stores: dict[Path, TreeStore], path: Path) -> None:
    try:
        write_journal(path, whole)
        for work in whole.works:
            staging.begin(work)
            _trade_files(stores[work.root], work)
        for work in whole.works:
            _settle_names(work)
        seen = [_looked_at_again(stores[work.root], work) for work in whole.works]
        settle_journal(path, whole)
    except BaseException as error:
        result = locks.roll_back_merge(path, whole, lambda work: stores[work.root])
        if isinstance(error, OSError):
            raise with_kept(refused_error(error), result.edited, result.kept) from error
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
            locks.forget(work.root, path)


def _trade_files(store: TreeStore, work: Work) -> None:
    """Trade every file of a root. Raises Cannot (`merge_disturbed`), OSError."""
    with (
        openat.open_folder(work.root) as top,
        openat.below(top, work.staging) as folder,
    ):
        for op in work.ops:
            if op.after is None:
                _act(store, work, top, op, lambda at, name, op: _take(at, name, folder, op))
        below = {op.path for op in work.ops if op.before is None}
        in_the_way = [f for f, _ in work.folders if _is_at_or_below(f, below)]
        rollback.remove_empty(top, in_the_way)
        for op in work.ops:
            if op.before is not None and op.after is not None:
                _act(store, work, top, op, lambda at, name, op: exchange(folder, op.name, at, name))
        rollback.make(top, [(made, None) for made in work.made])
        for op in work.ops:
            if op.before is None:
                _act(store, work, top, op, lambda at, name, op: move(folder, op.name, at, name))


def _act(
    store: TreeStore, work: Work, top: int, op: Op, trade: Callable[[int, str, Op], None]
) -> None:
    """Trade one file, and compare the file that came out."""
    try:
        with naming(op.path), openat.parent(top, op.path) as (at, name):
            trade(at, name, op)
    except staging.ASTRAY as error:
        raise _why_not(work, top, op) from error
    if not _is_as_before(store, work, op):
        raise disturbed_error(work.root, [op.path])


def _why_not(work: Work, top: int, op: Op) -> Cannot:
    if op.before is None:
        with suppress(OSError), openat.parent(top, op.path) as (at, name):
            if (status := openat.status(at, name)) is not None:
                return in_the_way(work.root, {op.path: staging.kind_of(status)})
    return disturbed_error(work.root, [op.path])


def _take(at: int, name: str, folder: int, op: Op) -> None:
    retry_eintr(os.rename, name, op.name, src_dir_fd=at, dst_dir_fd=folder)


def _is_as_before(store: TreeStore, work: Work, op: Op) -> bool:
    path = work.root / work.staging / op.name
    return op.before is None or store.digest_of(path) == op.before


def _settle_names(work: Work) -> None:
    """Remove the folders that are empty now, and make every name durable. Raises OSError."""
    with (
        openat.open_folder(work.root) as top,
        openat.below(top, work.staging) as folder,
    ):
        rollback.remove_empty(top, [path for path, _ in work.folders], tolerated=_NOT_MINE)
        # What came out gets its durable name first, so that at no moment it has none.
        os.fsync(folder)
        rollback.sync(top, rollback.touched_folders(work))


def _looked_at_again(store: TreeStore, work: Work) -> dict[str, tuple[int, int]]:
    """Return the last write time and the size of each file that came out. Raises Cannot (`merge_disturbed`), OSError."""
    replaced = [op for op in work.ops if op.before is not None]
    times = {op.name: _time(work, op.name) for op in replaced}
    astray = [op.path for op in replaced if not _is_as_before(store, work, op)]
    if astray:
        raise disturbed_error(work.root, astray, "was changed during the merge")
    return times


def _time(work: Work, name: str) -> tuple[int, int]:
    status = (work.root / work.staging / name).lstat()
    return status.st_mtime_ns, status.st_size


def _is_at_or_below(folder: str, paths: set[str]) -> bool:
    return folder in paths or not paths.isdisjoint(openat.ancestors(folder))
