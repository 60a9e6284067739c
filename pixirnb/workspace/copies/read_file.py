"""One file or link of a folder, read while others may write: an entry for it, and whether it stood still meanwhile."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Final

from pixirnb.protocols.trees import EXECUTABLE, FILE, LARGEST_FILE, LINK, TreeEntry
from pixirnb.workspace.copies.listing import PlainRules, listing, too_large, unreadable
from pixirnb.workspace.copies.objects import CHUNK, ObjectWriter, content_digest
from pixirnb.workspace.copies.stat_cache import Stamp, stamp_of

_TRIES: Final = 4
"""How often a file that changes while it is read is read."""
_GONE: Final = frozenset({errno.ENOENT, errno.ENOTDIR})
_SWAPPED: Final = frozenset({errno.ELOOP, errno.EINVAL, errno.ENXIO})
"""A link where a file was, a file where a link was, a pipe where either was."""


@dataclass(frozen=True, slots=True)
class Read:
    """A file that was read."""

    entry: TreeEntry
    stamp: Stamp | None
    """None for a link, and for a file that did not stand still."""


def mode_of(status: os.stat_result) -> str:
    """The mode of an entry for a file or link."""
    if stat.S_ISLNK(status.st_mode):
        return LINK
    return EXECUTABLE if status.st_mode & stat.S_IXUSR else FILE


def statuses_of(folder: Path, rules: PlainRules) -> dict[str, os.stat_result]:
    """The files and links of `folder` that belong, with what the system says of them; without those that vanish meanwhile."""
    statuses = {}
    for found in listing(folder, rules):
        path = folder / found.path
        try:
            statuses[found.path] = path.lstat()
        except OSError as error:
            if error.errno not in _GONE:
                raise unreadable(path, error) from error
    return statuses


def read_file(writer: ObjectWriter | None, path: Path) -> Read | None:
    """Read the file or link at `path`, keeping its content where there is a writer; None where there is none.

    Raises Cannot(code=`snapshot_unreadable`), and `tree_store_unusable` where the store cannot take it.
    """
    found: Read | None = None
    for _ in range(_TRIES):
        try:
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode):
                # As it was written: a Path would take `./x` for `x`.
                target = os.fsencode(os.readlink(path))  # noqa: PTH115
                return Read(
                    TreeEntry(LINK, writer.put(target) if writer else content_digest(target)), None
                )
            if not stat.S_ISREG(status.st_mode):
                return None
            found = _read_regular(writer, path)
        except OSError as error:
            if error.errno in _GONE:
                return None
            if error.errno in _SWAPPED:
                continue
            if error.errno == errno.EFBIG:
                raise too_large(str(path), LARGEST_FILE + 1) from error
            raise unreadable(path, error) from error
        if found is None or found.stamp is not None:
            return found
    return found


def _read_regular(writer: ObjectWriter | None, path: Path) -> Read | None:
    # A pipe that took the file's place would wait for its other end; files do not care.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            return None
        digest = writer.put_open(descriptor) if writer else _digest(descriptor)
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    is_steady = stamp_of(before) == stamp_of(after)
    return Read(TreeEntry(mode_of(after), digest), stamp_of(after) if is_steady else None)


def _digest(descriptor: int) -> str:
    hashed = blake2b(digest_size=32)
    while chunk := os.read(descriptor, CHUNK):
        hashed.update(chunk)
    return "b2:" + hashed.hexdigest()
