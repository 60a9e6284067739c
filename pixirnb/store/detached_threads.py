"""Detached threads of runs: which of them still run, in any process.

A thread cannot be ended, and its step must not be started again meanwhile (contract.md §5). Its engine holds a locked
file in the run folder until it returns; the kernel releases the lock with the process.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pixirnb.ids import attempt_name
from pixirnb.store.private_files import open_private

FOLDER: Final = "threads"

_held: dict[int, Path] = {}


def _release_in_child() -> None:
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


# A forked child has none of our threads, and would keep their locks after our death.
os.register_at_fork(after_in_child=_release_in_child)


def hold(folder: Path, step: str, attempt: int, owner: dict[str, Any]) -> int | None:
    """Record in a run folder that a thread of an attempt still runs in this process: return a descriptor for `release`.

    None if the disk refuses the file, or has no locks: then other processes cannot know of it.
    """
    path = folder / FOLDER / f"{attempt_name(step, attempt)}.json"
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if path.parent.is_symlink():
            return None
        descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.pwrite(descriptor, json.dumps({"step": step, "owner": owner}).encode(), 0)
    except OSError:
        os.close(descriptor)
        return None
    _held[descriptor] = path
    return descriptor


def release(descriptor: int) -> None:
    """Release the record of a thread that returned."""
    path = _held.pop(descriptor, None)
    if path is not None:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def find_living(folder: Path) -> list[dict[str, Any]]:
    """Return the running threads: `{step, owner: {host, pid, instance}}` each. Removes records of dead processes.

    The run folder may be another user's: a link in the place of the records is not followed, and any shape is read.
    """
    living: list[dict[str, Any]] = []
    try:
        records = os.open(folder / FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return living
    try:
        for name in sorted(os.listdir(records)):  # noqa: PTH208 - of a descriptor
            record = _read_if_locked(name, records)
            if record is not None:
                living.append(record)
    finally:
        os.close(records)
    return living


def _read_if_locked(name: str, records: int) -> dict[str, Any] | None:
    flags = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(name, flags, dir_fd=records)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in {errno.EWOULDBLOCK, errno.EACCES}:
            with suppress(ValueError, OSError):
                return _checked(json.loads(os.pread(descriptor, 4096, 0)))
    else:
        with suppress(OSError):
            os.unlink(name, dir_fd=records)
    finally:
        os.close(descriptor)
    return None


def _checked(record: Any) -> dict[str, Any] | None:
    match record:
        case {"step": str(), "owner": {"pid": int(), "instance": str()}}:
            return dict(record)
        case _:
            return None
