"""Identity of a step's folder, so that another one put in its place is never read as the step's.

A step may rename, delete or replace the folder it works in. A link there, or on the way there, would have files from elsewhere
captured as its work. So the device and the inode of the folder are noted when it is given, by the path it was given at, and
compared before and after it is read. Where no note is left, the folder must at least be no link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final

from pixirnb.errors import Cannot

Identity = tuple[int, int]
"""Device and inode."""

_FIX: Final = "change files inside the folder only, not the folder itself"


def key_of(folder: Path) -> str:
    """Return the name of the note of a folder. By the path as written: a link put on the way does not lead to another note."""
    path = os.fsencode(os.path.abspath(folder))  # noqa: PTH100 - links are not to be followed
    return blake2b(b"place\0" + path, digest_size=16).hexdigest()


def identity_of(folder: Path) -> Identity:
    """Return the identity to note. Raises OSError."""
    status = folder.lstat()
    return status.st_dev, status.st_ino


@contextmanager
def hold_folder(folder: Path, known: Identity | None) -> Iterator[Path]:
    """Yield the real path of a given folder while it is read. Raises Cannot (`snapshot_unreadable`) where it is another one."""
    identity = _required(folder, known)
    real = Path(os.path.realpath(folder))
    _required(real, identity)
    try:
        yield real
    except Cannot:
        # What went wrong may be for want of the folder: then that is what is told.
        _required(folder, identity)
        raise
    _required(folder, identity)
    _required(real, identity)


def _required(folder: Path, known: Identity | None) -> Identity:
    try:
        status = folder.lstat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _refused(folder, "was deleted or renamed while the step ran") from error
    except OSError as error:
        raise _refused(folder, f"cannot be read: {error.strerror or error}") from error
    identity = status.st_dev, status.st_ino
    if not stat.S_ISDIR(status.st_mode) or (known is not None and identity != known):
        raise _refused(folder, "was replaced while the step ran")
    return identity


def _refused(folder: Path, problem: str) -> Cannot:
    return Cannot(
        f"the folder of the step {problem}",
        fix=_FIX,
        code="snapshot_unreadable",
        details={"path": str(folder)},
    )
