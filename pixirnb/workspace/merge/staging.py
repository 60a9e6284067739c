"""Preparation of a merge: a check that the root is as it was seen, and the new files laid out next to it, synced.

    .pixirnb-merge-ID-new      being laid out: nothing of the user's was touched
    .pixirnb-merge-ID          in use: the new files, then the old ones, by number
    .pixirnb-merge-ID-gone     the merge was taken back: nothing in it is of use
    .pixirnb-merge-ID-again    the one in use was removed: the old files are being written from the store
    .pixirnb-kept-ID           files that a person wrote meanwhile and whose place is taken; never removed by us

It lies in the root, so that it is on the same file system, and only its owner can look in. A file that is replaced keeps its
permissions and access list, its owner where the system lets us, and the attributes that users set; its execute bits are as
the tree says. Other hard links to it keep the old content: the name that is merged becomes a file of its own.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from msgspec import Struct, field
from msgspec.structs import replace

from pixirnb.protocols.trees import EXECUTABLE, LINK, TreeChange, TreeEntry, TreeStore
from pixirnb.system.deep_folders import remove_whole
from pixirnb.system.system_calls import retry_eintr
from pixirnb.workspace.errors import disturbed_error, in_the_way, naming, unsafe
from pixirnb.workspace.merge import openat, system_calls
from pixirnb.workspace.merge.journal import Op, Work
from pixirnb.workspace.rules import KEPT, MERGING, is_reserved

if TYPE_CHECKING:
    from collections.abc import Iterator

NEW: Final = "-new"
GONE: Final = "-gone"
AGAIN: Final = "-again"
ENDINGS: Final = (NEW, GONE, AGAIN)
"""Endings of folders in which no file of the user's lies."""

ASTRAY: Final = (FileNotFoundError, NotADirectoryError, FileExistsError, IsADirectoryError)
"""Errors of the system for a file that is not as it was a moment ago."""


Write = Callable[[str, int], None]
"""Function that writes the bytes of a content, by digest, to a descriptor."""


@runtime_checkable
class _InBulk(Protocol):
    """A store that writes many contents faster than one after the other."""

    def contents(self) -> AbstractContextManager[Write]: ...


class _Seen(Struct):
    """Results of the survey of one root."""

    ops: list[Op] = field(default_factory=list)
    astray: list[str] = field(default_factory=list)
    """Files that differ from the tree."""
    in_the_way: dict[str, str] = field(default_factory=dict)
    """Obstacles at the path of a file that is to be made, or of a folder for it: path to description."""
    made: dict[str, None] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)
    known: dict[str, int] = field(default_factory=dict)
    """Permission bits of folders that were opened."""
    is_noted: bool = False
    """True if the result of the last check is in `in_the_way`."""

    def has_in_the_way(self, path: str, kind: str) -> bool:
        """Note an obstacle; return False, as the path is not as expected."""
        self.in_the_way[path] = kind
        self.is_noted = True
        return False


def new_name() -> str:
    """Return a name for a staging folder."""
    return MERGING + secrets.token_hex(6)


def kept(name: str) -> str:
    """Return the name of the folder in which a person's edits stay, by the name of a staging folder."""
    return name.replace(MERGING, KEPT, 1)


def plan_work(store: TreeStore, root: Path, changes: Sequence[TreeChange], staging: str) -> Work:
    """Return the changes to make in a root, without `mark`s. Touches nothing.

    Raises Cannot (`merge_disturbed`, `merge_unsafe`), OSError.
    """
    seen = _Seen()
    leaving = {change.path for change in changes if change.after is None}
    with openat.open_folder(root) as top:
        for number, change in enumerate(changes):
            _refuse_path(root, change.path)
            try:
                with naming(change.path):
                    is_expected = _is_expected(store, root, top, change, leaving, seen)
            except ASTRAY:
                is_expected = False
            if not is_expected and not seen.is_noted:
                seen.astray.append(change.path)
            seen.is_noted = False
            seen.ops.append(Op(str(number), change.path, change.before, change.after))
    if seen.astray:
        raise disturbed_error(root, seen.astray)
    if seen.in_the_way:
        raise in_the_way(root, seen.in_the_way)
    innermost = sorted(seen.folders.items(), key=lambda item: item[0].count("/"), reverse=True)
    outermost = sorted(seen.made, key=lambda path: path.count("/"))
    made, folders = tuple(outermost), tuple(innermost)
    return Work(root, staging, tuple(seen.ops), made, folders)


def laid_out(store: TreeStore, work: Work) -> Work:
    """Lay out the new files, durably; return the work with its marks.

    Raises OSError, Cannot (`merge_disturbed`, or what the store says).
    """
    ops = []
    is_flushed_at_once = system_calls.is_flush_faster(len(work.ops))
    with (
        openat.open_folder(work.root) as top,
        _made(work.root, top, work.staging + NEW) as folder,
        _contents(store) as write,
    ):
        for op in work.ops:
            if op.after is None:
                ops.append(op)
                continue
            laying = _Laying(store, write, folder, is_synced=not is_flushed_at_once)
            try:
                with naming(op.path), _source(top, op) as source:
                    laying.lay(op.after, op.name, like=_like(top, op), source=source)
            except ASTRAY as error:
                raise disturbed_error(work.root, [op.path]) from error
            path = work.root / (work.staging + NEW) / op.name
            if store.digest_of(path) != op.after:
                raise OSError(0, "the written file does not read back unchanged", op.path)
            mark = openat.mark(folder, op.name)
            ops.append(Op(op.name, op.path, op.before, op.after, mark or ""))
        if is_flushed_at_once:
            system_calls.flush_disk(folder)
        os.fsync(folder)
        os.fsync(top)
    return replace(work, ops=tuple(ops))


def laid_out_again(store: TreeStore, work: Work) -> bool:
    """Make a staging folder that was removed, from the store: the old versions of the files that are changed. Raises OSError.

    Returns False where nothing was changed, so that none is needed.
    """
    with openat.open_folder(work.root) as top:
        remove(work.root, work.staging + AGAIN)
        if not is_touched(top, work):
            return False
        changed = [op for op in work.ops if op.before is not None and _is_changed(top, op)]
        with _made(work.root, top, work.staging + AGAIN) as folder, _contents(store) as write:
            laying = _Laying(store, write, folder)
            for op in changed:
                assert op.before is not None
                laying.lay(op.before, op.name)
            os.fsync(folder)
        retry_eintr(os.rename, work.staging + AGAIN, work.staging, src_dir_fd=top, dst_dir_fd=top)
        os.fsync(top)
    return True


def is_touched(top: int, work: Work) -> bool:
    """Return whether a file of a root is as the merge leaves it. Raises OSError."""
    return any(_is_changed(top, op) for op in work.ops)


def touched_files(works: Iterable[Work]) -> int:
    """Return the number of files of roots that are as a merge leaves them; a root that cannot be read has none."""
    count = 0
    for work in works:
        with suppress(OSError), openat.open_folder(work.root) as top:
            count += sum(_is_changed(top, op) for op in work.ops)
    return count


def begin(work: Work) -> None:
    """Put the staging folder into use. Raises OSError."""
    with openat.open_folder(work.root) as top:
        retry_eintr(os.rename, work.staging + NEW, work.staging, src_dir_fd=top, dst_dir_fd=top)
        os.fsync(top)


def keep(work: Work, names: Collection[str]) -> None:
    """Keep some of the files in the staging folder, and delete the others. Raises OSError."""
    with openat.open_folder(work.root) as top, openat.below(top, work.staging) as folder:
        retry_eintr(os.rename, work.staging, kept(work.staging), src_dir_fd=top, dst_dir_fd=top)
        os.fsync(top)
        for name in os.listdir(folder):  # noqa: PTH208 - of a descriptor
            if name not in names and name != ".gitignore":
                with suppress(IsADirectoryError):  # came out of a file's place: a person's, too
                    retry_eintr(os.unlink, name, dir_fd=folder)


def remove(root: Path, name: str) -> None:
    """Remove a staging folder and all in it, durably; do nothing where there is none. Raises OSError."""
    path = root / name
    if not os.path.lexists(path):
        return
    for refused in remove_whole(path):
        raise refused
    with openat.open_folder(root) as top:
        os.fsync(top)


def _refuse_path(root: Path, path: str) -> None:
    for name in path.split("/"):
        if name in {"", ".", ".."} or "\0" in path:
            raise unsafe(root, path, "is not a plain path")
        if is_reserved(name):
            raise unsafe(root, path, "belongs to git or to pixirnb")


def _is_expected(  # noqa: PLR0917 - one file, where it is looked for, and what is found
    store: TreeStore, root: Path, top: int, change: TreeChange, leaving: set[str], seen: _Seen
) -> bool:
    """Return whether a file is as the tree before says; note the folders that are to be made for it, or may go with it."""
    path = change.path
    above = openat.ancestors(path)
    for position, folder in enumerate(above):
        if folder in leaving:
            seen.made.update(dict.fromkeys(above[position:]))
            return change.before is None
        try:
            if folder not in seen.known:
                with openat.below(top, folder) as descriptor:
                    seen.known[folder] = stat.S_IMODE(os.fstat(descriptor).st_mode)
        except FileNotFoundError:
            seen.made.update(dict.fromkeys(above[position:]))
            return change.before is None
        except NotADirectoryError:
            if not Path(os.path.realpath(root / folder)).is_relative_to(root):
                raise unsafe(root, path, "is behind a link that leads out of it") from None
            if change.before is not None:
                return False
            status = openat.status(top, folder)
            return status is not None and seen.has_in_the_way(folder, kind_of(status))
        if change.after is None:
            seen.folders[folder] = seen.known[folder]
    if change.before is not None:
        return store.digest_of(root / path) == change.before
    with openat.parent(top, path) as (descriptor, name):
        status = openat.status(descriptor, name)
    if status is not None and stat.S_ISDIR(status.st_mode):
        # It may be empty when the files that go are gone; whoever comes to it finds out.
        seen.folders[path] = stat.S_IMODE(status.st_mode)
        return True
    return status is None or seen.has_in_the_way(path, kind_of(status))


def kind_of(status: os.stat_result) -> str:
    """Return the kind of a file, in a word for people."""
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        return "a folder with files"
    if stat.S_ISLNK(mode):
        return "a link"
    return "a file" if stat.S_ISREG(mode) else "a pipe, socket or device"


@contextmanager
def _made(root: Path, top: int, name: str) -> Iterator[int]:
    with naming(str(root)):
        retry_eintr(os.mkdir, name, 0o700, dir_fd=top)
    with openat.below(top, name) as folder:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        ignoring = os.open(".gitignore", flags, 0o600, dir_fd=folder)
        with os.fdopen(ignoring, "wb") as file:
            file.write(b"*\n")
        yield folder


def _like(top: int, op: Op) -> os.stat_result | None:
    """Return the status of the regular file that is replaced."""
    if op.before is None or op.before.mode == LINK:
        return None
    with openat.parent(top, op.path) as (folder, name):
        status = openat.status(folder, name)
    return status if status is not None and stat.S_ISREG(status.st_mode) else None


@contextmanager
def _source(top: int, op: Op) -> Iterator[int | None]:
    """Yield a descriptor of the regular file that is replaced; None where there is none, or it may not be read."""
    if op.before is None or LINK in {op.before.mode, op.after.mode if op.after else ""}:
        yield None
        return
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    with openat.parent(top, op.path) as (folder, name):
        descriptor = os.open(name, flags, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _contents(store: TreeStore) -> AbstractContextManager[Write]:
    """Return a writer of contents of a store, many of them at the cost of one where the store can."""
    return store.contents() if isinstance(store, _InBulk) else nullcontext(store.write_content)


class _Laying(Struct, frozen=True):
    """A writer of files into a staging folder."""

    store: TreeStore
    write: Write
    folder: int
    is_synced: bool = True

    def lay(
        self,
        entry: TreeEntry,
        name: str,
        *,
        like: os.stat_result | None = None,
        source: int | None = None,
    ) -> None:
        """Write one file or link, like the one it replaces. Raises OSError, Cannot of the store."""
        if entry.mode == LINK:
            target = os.fsdecode(self.store.content(entry.digest))
            retry_eintr(os.symlink, target, name, dir_fd=self.folder)
            return
        is_program = entry.mode == EXECUTABLE
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        # A new file gets what the user's mask leaves, as any program's would.
        bits = no_wider(0o777 if is_program else 0o666, os.stat("..", dir_fd=self.folder))
        descriptor = os.open(name, flags, bits, dir_fd=self.folder)
        try:
            self.write(entry.digest, descriptor)
            bits = stat.S_IMODE(os.fstat(descriptor).st_mode)
            if like is not None:
                _keep_owner(descriptor, like)
                _keep_attributes(descriptor, source)
                bits = stat.S_IMODE(like.st_mode) & 0o777
            os.fchmod(descriptor, _with_execution(bits, is_program=is_program))
            if self.is_synced:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)


def no_wider(bits: int, parent: os.stat_result) -> int:
    """Return permission bits without write access for others, where the parent folder gives them none: a mask may be 0."""
    return bits & ~(0o022 & ~parent.st_mode)


def _with_execution(bits: int, *, is_program: bool) -> int:
    """Return permission bits with execution for all that may read a program; one that is a program already stays as it is."""
    if is_program == bool(bits & stat.S_IXUSR):
        return bits
    return bits | (bits & 0o444) >> 2 | stat.S_IXUSR if is_program else bits & ~0o111


def _keep_owner(descriptor: int, like: os.stat_result) -> None:
    status = os.fstat(descriptor)
    if (status.st_uid, status.st_gid) != (like.st_uid, like.st_gid):
        # Only the superuser gives files away. Whoever may write the folder may replace the file, as any editor does.
        with suppress(PermissionError):
            os.fchown(descriptor, -1, like.st_gid)
        with suppress(PermissionError):
            os.fchown(descriptor, like.st_uid, -1)


def _keep_attributes(descriptor: int, source: int | None) -> None:
    if source is None or not hasattr(os, "listxattr"):
        return  # macOS: Python has no call for them there
    with suppress(OSError):  # some file systems have none: the bytes are what is promised
        for attribute in os.listxattr(source):
            if not attribute.startswith(("user.", "system.posix_acl_access")):
                continue  # what the system grants a program, it grants to these bytes and no others
            with suppress(OSError):
                os.setxattr(descriptor, attribute, os.getxattr(source, attribute))


def _is_changed(top: int, op: Op) -> bool:
    """Return whether a file is as the merge leaves it."""
    try:
        with openat.parent(top, op.path) as (folder, name):
            return openat.mark(folder, name) == (op.mark or None)
    except (FileNotFoundError, NotADirectoryError):
        return op.after is None
