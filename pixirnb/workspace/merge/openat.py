"""Folders below a root, opened one after the other without following a link, and the status of names there.

Work through these descriptors stays below the root, whatever is put in the way meanwhile: a link leads nowhere. Linux is the
platform; macOS has the same calls.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_IN_THE_WAY: Final = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK})
_CHUNK: Final = 1024 * 1024


@contextmanager
def open_folder(folder: Path) -> Iterator[int]:
    """Yield a descriptor of a folder that is no link itself. Raises OSError."""
    descriptor = os.open(folder, _FOLDER)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def below(top: int, path: str) -> Iterator[int]:
    """Yield a descriptor of the folder `path` below `top`; of `top` itself for an empty path.

    Raises FileNotFoundError where a folder is not there, NotADirectoryError where something else stands in its place, a link
    to a folder too; `filename` says which. OSError for the rest.
    """
    descriptor = os.dup(top)
    try:
        gone = ""
        for name in path.split("/") if path else ():
            gone = f"{gone}/{name}" if gone else name
            try:
                inner = os.open(name, _FOLDER, dir_fd=descriptor)
            except OSError as error:
                number = errno.ENOTDIR if error.errno in _IN_THE_WAY else error.errno
                raise OSError(number, error.strerror, gone) from error
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def parent(top: int, path: str) -> Iterator[tuple[int, str]]:
    """Yield the folder a path lies in, and its last name. Raises as `below`."""
    folder, _, name = path.rpartition("/")
    with below(top, folder) as descriptor:
        yield descriptor, name


def status(folder: int, name: str) -> os.stat_result | None:
    """Return the status of a name, links not followed; None for nothing. Raises OSError."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def mark(folder: int, name: str) -> str | None:
    """Return the kind and content of a name in one line that is equal for equal bytes and kind; None for nothing. Raises
    OSError.

    Independent of any store, so that any later process recognizes files that a dead one put in place.
    """
    entry = status(folder, name)
    if entry is None:
        return None
    if stat.S_ISLNK(entry.st_mode):
        target = os.readlink(name, dir_fd=folder)
        return "link:" + hashlib.blake2b(os.fsencode(target), digest_size=20).hexdigest()
    if not stat.S_ISREG(entry.st_mode):
        # What is in a folder is not looked at: one is equal to nothing but itself.
        kind = "folder" if stat.S_ISDIR(entry.st_mode) else "other"
        return f"{kind}:{entry.st_dev}:{entry.st_ino}"
    digest = hashlib.blake2b(digest_size=20)
    descriptor = os.open(name, _FILE, dir_fd=folder)
    try:
        while chunk := os.read(descriptor, _CHUNK):
            digest.update(chunk)
    finally:
        os.close(descriptor)
    kind = "program" if entry.st_mode & stat.S_IXUSR else "file"
    return f"{kind}:{digest.hexdigest()}"


def ancestors(path: str) -> list[str]:
    """Return the folders a path lies in below its root, the outermost first."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]
