"""Small files that a power cut leaves as they were or as they should be, and names that it does not take away."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from pixirnb.system.retry_interrupted import retry_eintr


def put(path: Path, data: bytes) -> None:
    """`data` at `path`, 0600, whole or not at all; the name is durable once its folder is synced. Raises OSError.

    A process that dies on the way leaves a file named `.<name>.<8 hex digits>` beside it.
    """
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        retry_eintr(aside.rename, path)
    except BaseException:
        let_go(aside)
        raise


def put_durably(path: Path, data: bytes) -> None:
    """The same, with its name. Raises OSError; what is at `path` then is the old, or the new with a name that may not last."""
    put(path, data)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@lru_cache(maxsize=64)
def keep_names(folder: Path, above: int) -> None:
    """Make the names in a folder durable and those in so many above it, once a process. Raises OSError.

    Asked of folders that are there, too: whoever made them may have died before it had asked.
    """
    for each in (folder, *folder.parents[:above]):
        sync_folder(each)


def make_folders(folder: Path) -> None:
    """Make a folder and those above it that are missing, for this user alone. Raises OSError."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for each in reversed(missing):
        retry_eintr(each.mkdir, mode=0o700, exist_ok=True)


def let_go(path: Path) -> None:
    """Delete a file that was of use for a moment. One that the disk keeps now is swept with what dead processes left."""
    with suppress(OSError):
        retry_eintr(path.unlink, missing_ok=True)
