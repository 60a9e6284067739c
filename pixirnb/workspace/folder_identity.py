"""Which folder a step was given, so that another one put in its place is never read as what the step left.

A step may rename, delete or replace the folder it works in. A link there, or on the way there, would have files from elsewhere
taken for its work. So the device and the inode of the folder are noted when it is given, by the path it was given at, and
looked at again before and after it is read. Where no note is left, the folder must at least be no link.
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

Place = tuple[int, int]
"""Device and inode."""

_FIX: Final = (
    "let the step work inside its folder and leave the folder itself alone, then run it again."
)


def key_of(folder: Path) -> str:
    """Names the note of a folder. By the path as it is said: a link put on the way does not lead to another note."""
    said = os.fsencode(os.path.abspath(folder))  # noqa: PTH100 - links are not to be followed
    return blake2b(b"place\0" + said, digest_size=16).hexdigest()


def place_of(folder: Path) -> Place:
    """What is to be noted. Raises OSError."""
    status = folder.lstat()
    return status.st_dev, status.st_ino


@contextmanager
def hold_folder(folder: Path, known: Place | None) -> Iterator[Path]:
    """The real path of a given folder, for as long as it is read. Raises Cannot (`snapshot_unreadable`) where it is another."""
    found = _required(folder, known)
    real = Path(os.path.realpath(folder))
    _required(real, found)
    try:
        yield real
    except Cannot:
        # What went wrong may be for want of the folder: then that is what is told.
        _required(folder, found)
        raise
    _required(folder, found)
    _required(real, found)


def _required(folder: Path, known: Place | None) -> Place:
    try:
        status = folder.lstat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _refused(folder, "is gone: it was deleted or renamed while the step ran") from error
    except OSError as error:
        raise _refused(folder, f"cannot be read: {error.strerror or error}") from error
    found = status.st_dev, status.st_ino
    if not stat.S_ISDIR(status.st_mode) or (known is not None and found != known):
        raise _refused(folder, "is not the one it was given: something else stands in its place")
    return found


def _refused(folder: Path, said: str) -> Cannot:
    return Cannot(
        f"The folder of the step {said}.",
        fix=_FIX,
        code="snapshot_unreadable",
        details={"path": str(folder)},
    )
