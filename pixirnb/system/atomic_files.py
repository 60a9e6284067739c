"""Small files that survive a power cut, either old or new, never half written; and durable file names."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Final

from pixirnb.system.system_calls import retry_eintr

_TRIES: Final = 1_000
"""How often a folder is made again whose parent went meanwhile."""


def put(path: Path, data: bytes) -> None:
    """Write `data` to `path`, mode 0600, completely or not at all.

    The name is durable once its folder is synced. Raises OSError.

    A process that dies on the way leaves a file named `.<name>.<8 hex digits>` next to it.
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
    """Write `data` to `path` and make the name durable.

    Raises OSError: then `path` has the old content, or the new one under a name that may be lost.
    """
    put(path, data)
    sync_folder(path.parent)


def create_private(path: Path) -> BinaryIO:
    """Open a new file for writing, mode 0600, in a folder that is made if it alone is missing. Raises OSError.

    What a step has planted under the name is removed, and no link is followed, also not in the place of the folder.
    """
    with suppress(FileExistsError):
        retry_eintr(path.parent.mkdir, mode=0o700)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        try:
            descriptor = os.open(path.name, flags, 0o600, dir_fd=folder)
        except FileExistsError:
            os.unlink(path.name, dir_fd=folder)
            descriptor = os.open(path.name, flags, 0o600, dir_fd=folder)
    finally:
        os.close(folder)
    os.fchmod(descriptor, 0o600)  # whatever the umask
    return os.fdopen(descriptor, "wb")


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@lru_cache(maxsize=64)
def keep_names(folder: Path, above: int) -> None:
    """Make the names in a folder durable, and those in `above` folders above it, once a process. Raises OSError.

    This is done for existing folders too: the process that made them may have died before it could sync.
    """
    for each in (folder, *folder.parents[:above]):
        sync_folder(each)


def make_folders(folder: Path) -> None:
    """Make a folder and its missing parents, for this user alone. Raises OSError.

    A parent that is empty may be removed by another thread at any moment: it is made again.
    """
    for tries_left in range(_TRIES, -1, -1):
        missing = []
        each = folder
        while not each.is_dir():
            missing.append(each)
            each = each.parent
        try:
            for each in reversed(missing):
                retry_eintr(each.mkdir, mode=0o700, exist_ok=True)
            return
        except FileNotFoundError:
            if not tries_left:
                raise


def make_new_folder(folder: Path) -> None:
    """Make a folder that must not exist, and its missing parents. Raises OSError."""
    for tries_left in range(_TRIES, -1, -1):
        make_folders(folder.parent)
        try:
            retry_eintr(folder.mkdir)
            return
        except FileNotFoundError:
            if not tries_left:
                raise


def let_go(path: Path) -> None:
    """Delete a temporary file. A file that cannot be deleted now is removed later with the files of dead processes."""
    with suppress(OSError):
        retry_eintr(path.unlink, missing_ok=True)
