"""Rollback of a merge: every file as it was before, but for edits a person made meanwhile, which stay.

The progress of the merge is not recorded: the files at each path and in the staging folder show it, so that the rollback may
itself be killed and begun again. A file that came out of its place goes back into it; a file that is neither of before nor of
after is a person's, and is never overwritten or deleted.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from pixirnb.system.system_calls import retry_eintr
from pixirnb.workspace.merge import openat, staging
from pixirnb.workspace.merge.journal import Op, Work
from pixirnb.workspace.merge.system_calls import exchange, move, settle

if TYPE_CHECKING:
    from pixirnb.protocols.trees import TreeStore

_NO_WAY: Final = (FileNotFoundError, NotADirectoryError)
IN_USE: Final = frozenset(
    {errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.EBUSY, errno.ELOOP}
)
"""Errors of removing a folder that is not ours to remove."""


class Reversed(Struct):
    """Files that differ from before a merge, of one root or several."""

    edited: list[str] = field(default_factory=list)
    """Files that a person edited since, and that were left so: absolute paths."""
    kept: dict[str, str] = field(default_factory=dict)
    """Files whose place is taken, to the location of their old content: absolute paths."""


class _Scene(Struct):
    """One root during a rollback."""

    work: Work
    top: int
    folder: int
    """The staging folder."""
    store: TreeStore | None
    edited: dict[str, None] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    """Path to name in the staging folder."""


class Missing(Exception):
    """Raised when the staging folder is gone and there is no store to read its files from."""


class Gone(Exception):
    """Raised when a root is not where it was, nor at its path from the journal."""


def reverse(works: Iterable[Work], store_of: Callable[[Work], TreeStore | None] | None) -> Reversed:
    """Put back the files of before; durable when it returns. Raises OSError, Missing, Gone, Cannot of the store.

    Without a store, a file that came out and whose place is taken is kept, even where it is just the file of before.
    """
    result = Reversed()
    works = list(works)
    for work in works:
        # Before any of them is touched. It may have been moved, and the journal is all that knows what lies in it.
        if not work.root.is_dir():
            raise Gone(work.root)
    for work in works:
        _reverse_root(work, store_of(work) if store_of else None, result)
    return result


def clear(works: Iterable[Work]) -> None:
    """Remove the folders that are of no use once a merge was taken back and its journal is gone. Raises OSError."""
    for work in works:
        for ending in staging.ENDINGS:
            staging.remove(work.root, work.staging + ending)


def touched_folders(work: Work) -> list[str]:
    """Return the folders whose names a merge changes."""
    named = [op.path for op in work.ops] + list(work.made) + [path for path, _ in work.folders]
    return sorted({path.rpartition("/")[0] for path in named} | {""})


def sync(top: int, folders: Iterable[str]) -> None:
    """Make the names in folders durable; missing folders have none. Raises OSError."""
    for path in folders:
        with suppress(*_NO_WAY), openat.below(top, path) as folder:
            os.fsync(folder)


def remove_empty(top: int, folders: Iterable[str], *, tolerated: frozenset[int] = IN_USE) -> None:
    """Remove folders as long as they are empty. Raises OSError, but tolerated ones."""
    for path in folders:
        try:
            with openat.parent(top, path) as (folder, name):
                retry_eintr(os.rmdir, name, dir_fd=folder)
        except OSError as error:
            if error.errno not in tolerated:
                raise


def make(top: int, folders: Iterable[tuple[str, int | None]]) -> None:
    """Make missing folders, with permission bits where they are known; otherwise as `no_wider`. Raises OSError."""
    for path, bits in folders:
        with suppress(FileExistsError, *_NO_WAY), openat.parent(top, path) as (folder, name):
            retry_eintr(os.mkdir, name, staging.no_wider(0o777, os.fstat(folder)), dir_fd=folder)
            if bits is not None:
                with openat.below(folder, name) as made:
                    os.fchmod(made, bits)


def _reverse_root(work: Work, store: TreeStore | None, result: Reversed) -> None:
    if not (work.root / work.staging).is_dir():
        names = (
            work.staging + staging.NEW,
            work.staging + staging.GONE,
            staging.kept(work.staging),
        )
        if any((work.root / name).is_dir() for name in names):
            return  # nothing was done yet, or all is taken back already
        # Somebody removed the folder, and with it what came out; the store has that too.
        if store is None:
            with openat.open_folder(work.root) as top:
                if staging.is_touched(top, work):
                    raise Missing(work.staging)
            return
        if not staging.laid_out_again(store, work):
            return
    with (
        openat.open_folder(work.root) as top,
        openat.below(top, work.staging) as folder,
    ):
        scene = _Scene(work, top, folder, store)
        _put_back(scene)
        # First the folders of the files, so that at no moment a file's old bytes have no durable name.
        sync(top, touched_folders(work))
        os.fsync(folder)
        if scene.kept:
            staging.keep(work, scene.kept.values())
        else:
            gone = work.staging + staging.GONE
            retry_eintr(os.rename, work.staging, gone, src_dir_fd=top, dst_dir_fd=top)
            os.fsync(top)
    result.edited += [str(work.root / path) for path in scene.edited]
    location = work.root / staging.kept(work.staging)
    result.kept |= {
        str(work.root / path): str(location / name) for path, name in scene.kept.items()
    }


def _put_back(scene: _Scene) -> None:
    work = scene.work
    backwards = work.ops[::-1]
    for op in backwards:
        if op.before is None:
            _reach(scene, op, _take_out)
    remove_empty(scene.top, reversed(work.made))
    for op in backwards:
        if op.before is not None and op.after is not None:
            _reach(scene, op, _trade_back)
    make(scene.top, reversed(work.folders))
    for op in backwards:
        if op.after is None:
            _reach(scene, op, _give_back)


def _reach(scene: _Scene, op: Op, act: Callable[[_Scene, Op, int, str], None]) -> None:
    try:
        with openat.parent(scene.top, op.path) as (folder, name):
            settle(scene.folder, op.name, folder, name)
            act(scene, op, folder, name)
    except _NO_WAY:
        # Its folder went since, or became something else: that is how a person wants it.
        if op.before is not None and _came_out(scene, op):
            _leave(scene, op)


def _take_out(scene: _Scene, op: Op, folder: int, name: str) -> None:
    """Take out a file that was added."""
    aside = _mark(scene.folder, op.name)
    if aside == op.mark:
        return  # it never came, or is out again
    if aside is not None:
        _return(scene, op, folder, name)  # taken out, and looked at no more: we were killed
        return
    present = _mark(folder, name)
    if present is None or (present.startswith("folder") and op.path in dict(scene.work.folders)):
        return  # out again, or the folder that it was to take the place of is there still
    if present == op.mark:
        retry_eintr(os.rename, name, op.name, src_dir_fd=folder, dst_dir_fd=scene.folder)
        if _mark(scene.folder, op.name) == op.mark:
            return
        # An editor was there between the look and the rename.
        _return(scene, op, folder, name)
    scene.edited[op.path] = None


def _return(scene: _Scene, op: Op, folder: int, name: str) -> None:
    """Put back a person's file that was taken out."""
    scene.edited[op.path] = None
    try:
        move(scene.folder, op.name, folder, name)
    except FileExistsError:
        scene.kept[op.path] = op.name


def _trade_back(scene: _Scene, op: Op, folder: int, name: str) -> None:
    """Trade back a file that was changed."""
    if not _came_out(scene, op):
        return
    present = _mark(folder, name)
    if present == _mark(scene.folder, op.name):
        return
    if present == op.mark:
        exchange(scene.folder, op.name, folder, name)
        if _mark(scene.folder, op.name) == op.mark:
            return
        exchange(scene.folder, op.name, folder, name)
    _leave(scene, op)


def _give_back(scene: _Scene, op: Op, folder: int, name: str) -> None:
    """Put back a file that was deleted."""
    if not _came_out(scene, op):
        return
    try:
        move(scene.folder, op.name, folder, name)
    except FileExistsError:
        if _mark(folder, name) != _mark(scene.folder, op.name):
            _leave(scene, op)


def _came_out(scene: _Scene, op: Op) -> bool:
    """Return whether the file in the staging folder is the one the merge took from its place, or a person's."""
    present = _mark(scene.folder, op.name)
    return present is not None and (op.after is None or present != op.mark)


def _leave(scene: _Scene, op: Op) -> None:
    """Leave a person's file in its place. The file that came out is deleted only if a store has it."""
    scene.edited[op.path] = None
    path = scene.work.root / scene.work.staging / op.name
    if scene.store is None or scene.store.digest_of(path) != op.before:
        scene.kept[op.path] = op.name


def _mark(folder: int, name: str) -> str | None:
    """Return the mark of a file, as `openat.mark`; a file that may not be read counts as a person's."""
    try:
        return openat.mark(folder, name)
    except PermissionError:
        present = openat.status(folder, name)
        return None if present is None else f"unreadable:{present.st_dev}:{present.st_ino}"
