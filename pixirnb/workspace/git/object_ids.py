"""Object ids as git computes them, without calling git: for a file on disk, in microseconds."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import Final

from pixirnb.protocols.trees import EXECUTABLE, FILE, LINK, TreeEntry
from pixirnb.workspace.errors import unreadable

_CHUNK: Final = 1024 * 1024


def digest_of(path: Path, root: Path, object_format: str) -> TreeEntry | None:
    """Return the entry of the file or link at `path`; None where nothing, a folder or no plain file is there.

    Raises Cannot (`snapshot_unreadable`), also for a file that grows or shrinks each time it is read.
    """
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            where = os.readlink(path)  # noqa: PTH115 - a Path would leave out what is there, as a `/` at the end
            return TreeEntry(LINK, _digest(os.fsencode(where), object_format))
        if not stat.S_ISREG(status.st_mode):
            return None
        return _regular(path, object_format)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unreadable(os.path.relpath(path, root), root, error.strerror or str(error)) from error


def _regular(path: Path, object_format: str) -> TreeEntry | None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        while True:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                return None
            digest = hashlib.new(
                object_format, b"blob %d\0" % status.st_size, usedforsecurity=False
            )
            size = 0
            file.seek(0)
            while chunk := file.read(_CHUNK):
                size += len(chunk)
                digest.update(chunk)
            if size == status.st_size:
                mode = EXECUTABLE if status.st_mode & stat.S_IXUSR else FILE
                return TreeEntry(mode, digest.hexdigest())


def _digest(content: bytes, object_format: str) -> str:
    whole = b"blob %d\0" % len(content) + content
    return hashlib.new(object_format, whole, usedforsecurity=False).hexdigest()
