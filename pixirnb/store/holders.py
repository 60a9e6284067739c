"""The owner of a run: the record next to the lock, and the errors for others.

    lease.json   {"host", "pid", "started", "instance", "since", "folder", "pid_namespace", "born"}

The record names the owner; `lease` decides whether it is still valid.
"""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

import psutil
from msgspec.structs import asdict

from pixirnb.errors import HeldByAnother, LogWriteFailed, StateUnusable
from pixirnb.protocols.ports import Lease
from pixirnb.store.private_files import open_private, unusable
from pixirnb.system import process_life
from pixirnb.system.process_life import birth_of
from pixirnb.system.system_calls import retry_eintr
from pixirnb.wording import local_time

LOCK: Final = "lock"
RECORD: Final = "lease.json"
_RECORD_LIMIT: Final = 4096
"""Maximum number of bytes read of a record; ours have about 150."""
_MOST_PID: Final = 2**31 - 1
_START_TOLERANCE_S: Final = 2.0
"""Tolerance for start times, where no birth is recorded: they are computed from the boot time, which moves when the
clock is set."""


def read_lease(folder: Path) -> Lease | None:
    """Return the record in a folder; None if there is none or it is unreadable."""
    try:
        descriptor = open_private(folder / RECORD, os.O_RDONLY)
        try:
            members = json.loads(os.read(descriptor, _RECORD_LIMIT))
        finally:
            os.close(descriptor)
        pid, started = members["pid"], float(members["started"])
        texts = [members[name] for name in ("host", "instance", "since")]
        inodes = [members.get(name) for name in ("folder", "pid_namespace")]
        born = members.get("born")
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        # Perhaps cut short by a power failure: the lock decides, the record only informs.
        return None
    if type(pid) is not int or not 0 < pid <= _MOST_PID:
        return None
    if not all(isinstance(text, str) and text and text.isprintable() for text in texts):
        return None
    host, instance, since = texts
    inode, namespace = (each if type(each) is int else None for each in inodes)
    born = born if isinstance(born, str) else None
    return Lease(host, pid, started, instance, since, inode, namespace, born)


def is_out_of_sight(lease: Lease) -> bool:
    """Return whether a lease of this host was written in another container: its pid, or its birth, is of no process here."""
    is_elsewhere = lease.pid_namespace not in {None, _namespace("pid")}
    return is_elsewhere or _namespace("time", lease.pid) not in {None, _namespace("time")}


def is_alive(lease: Lease) -> bool:
    """Return whether the process of a lease of this host is alive, visible and the original one."""
    if is_out_of_sight(lease):
        return False
    started, born = started_at(lease.pid), birth_of(lease.pid)
    if started is not None and None not in {lease.born, born}:
        return born == lease.born
    return started is not None and abs(started - lease.started) <= _START_TOLERANCE_S


def started_at(pid: int) -> float | None:
    """Return when a process started; None if it does not exist or has ended."""
    try:
        return psutil.Process(pid).create_time() if process_life.is_alive(pid) else None
    except psutil.Error:
        return None


def identity(status: os.stat_result) -> tuple[int, ...]:
    """Return the identity of a record file. It includes the time, because inodes are reused."""
    return (status.st_dev, status.st_ino, status.st_mtime_ns)


def _namespace(kind: str, pid: int | str = "self") -> int | None:
    try:
        return Path(f"/proc/{pid}/ns/{kind}").stat().st_ino
    except OSError:
        return None  # macOS has none


@lru_cache(maxsize=1)
def _process_start(pid: int) -> float:
    return psutil.Process(pid).create_time()


def own_lease(instance: str, folder: Path) -> Lease:
    """Return the record of this process for a run folder. Raises StateUnusable if the folder does not exist."""
    pid = os.getpid()
    try:
        inode = folder.stat().st_ino
    except OSError as error:
        raise unusable(folder, error) from error
    return Lease(
        host=socket.gethostname(),
        pid=pid,
        started=_process_start(pid),
        instance=instance,
        since=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        folder=inode,
        pid_namespace=_namespace("pid"),
        born=birth_of(pid),
    )


def write_lease(folder: Path, lease: Lease) -> tuple[int, ...]:
    """Write a record into a run folder, with its lock held; return the identity of its file. Raises StateUnusable."""
    temporary = folder / f"{RECORD}.{os.getpid()}"
    try:
        retry_eintr(temporary.unlink, missing_ok=True)
        with os.fdopen(
            open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8"
        ) as file:
            json.dump(asdict(lease), file)
            file.flush()
            record = identity(os.fstat(file.fileno()))
        retry_eintr(temporary.rename, folder / RECORD)
        return record
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise unusable(folder / RECORD, error) from error


def _since(lease: Lease) -> str:
    return local_time(lease.since) or "an unknown time"


def held_by_another(folder: Path, lease: Lease | None) -> HeldByAnother:
    """Return the error for a lock that another process holds."""
    run_id = folder.name
    if lease is None:
        return HeldByAnother(
            f"run {run_id} is held by another process, which cannot be identified",
            fix=f"wait for it, or find the process with `fuser {folder / LOCK}`",
            details={"run_id": run_id, "host": None, "pid": None, "since": None},
        )
    here = lease.host == socket.gethostname()
    fix = f"wait for it, or run `pixirnb cancel {run_id}`"
    if here and lease.pid == os.getpid():
        who = f"this process ({lease.pid})"
    elif here and is_out_of_sight(lease):
        who = f"process {lease.pid} of another container on {lease.host}"
    elif here and not is_alive(lease):
        who = f"a child of the ended process {lease.pid}"
        fix = f"find the child with `fuser {folder / LOCK}`, and end it"
    else:
        who = f"process {lease.pid} on {lease.host}"
    return HeldByAnother(
        f"run {run_id} is held by {who} since {_since(lease)}",
        fix=fix,
        details={"run_id": run_id, **asdict(lease)},
    )


def held_elsewhere(folder: Path, lease: Lease) -> HeldByAnother:
    """Return the error for the record of another host."""
    return HeldByAnother(
        f"run {folder.name} was last held by process {lease.pid} on {lease.host}, "
        f"since {_since(lease)}; it cannot be checked from here whether that process still runs",
        fix="if that process no longer runs, add --take-over",
        details={"run_id": folder.name, **asdict(lease)},
    )


def held_without_lock(folder: Path, lease: Lease) -> HeldByAnother:
    """Return the error for the record of a living process of this host without the lock."""
    return HeldByAnother(
        f"run {folder.name} is held by process {lease.pid} on {lease.host} since {_since(lease)}, but its lock is free: "
        "the lock file was deleted, or this disk ignores locks",
        fix="wait for that process; if it no longer drives the run, add --take-over",
        details={"run_id": folder.name, **asdict(lease)},
    )


def lock_lost(run_id: str, why: str, *, is_there: bool = True) -> LogWriteFailed:
    """Return the error for an owner whose lease was taken away; `is_there`: whether the run folder still exists."""
    resume = f"run `pixirnb resume {run_id}`"
    return LogWriteFailed(
        f"run {run_id} has lost its lock in this process: {why}",
        fix=f"check which process uses its folder, then {resume}; recorded events are kept"
        if is_there
        else f"put its folder back, then {resume}, or start the run again",
        code="lock_lost",
        details={"run_id": run_id, "log_is_whole": is_there},
    )


def no_locks(path: Path, error: OSError) -> StateUnusable:
    """Return the error for a file system without locks."""
    return StateUnusable(
        f"{path}: this file system does not support locks ({error.strerror or error})",
        fix="use a state folder on a local disk (--state DIR or PIXIRNB_STATE)",
        code="locks_unsupported",
        details={"path": str(path), "errno": error.errno},
    )
