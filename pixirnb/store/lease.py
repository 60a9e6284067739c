"""Who may write a run: an OS lock that dies with its holder, and a record that says who that is.

The lock (flock on the file `lock`) decides on one host: the kernel drops it however the holder ends.
The record (`lease.json`: host, pid, process start, instance, since) tells people whom they wait for,
and decides between hosts, where a lock may not reach: another host's record is believed until a
person says `--take-over`.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import socket
import time
from dataclasses import asdict
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import psutil

from pixirnb.errors import HeldByAnother, StateUnusable
from pixirnb.interruptions import unbroken
from pixirnb.machine.diagnosis import LeaseStanding
from pixirnb.ports import Lease
from pixirnb.store.folders import open_private, unusable

if TYPE_CHECKING:
    from pathlib import Path

_LOCK: Final = "lock"
_RECORD: Final = "lease.json"
_RECORD_LIMIT: Final = 4096
"""Bytes of a record that are read; ours have about 150."""
_MOST_PID: Final = 2**31 - 1
_PATIENCE: Final = (0.005, 0.01, 0.02, 0.04)
"""Seconds between tries: a reader that asks whether the run is held has the lock for microseconds."""

_START_TOLERANCE_S: Final = 2.0
"""The start of a process is computed from the boot time, which moves when the clock is set."""

# A forked child shares the lock of its parent and would keep it after the parent's death: a pool of
# workers started in a notebook must not hold the notebook's run.
_held: set[int] = set()


def _release_in_child() -> None:
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_release_in_child)


class Hold:
    """This process's hold on a run, from `take` to `release`."""

    def __init__(self, folder: Path, descriptor: int, lease: Lease) -> None:
        """Made by `take`."""
        self.lease = lease
        self._folder = folder
        self._descriptor = descriptor
        self._pid = os.getpid()

    @property
    def is_ours(self) -> bool:
        """False in a forked child, which has a copy of this object and no right to write."""
        return self._pid == os.getpid() and self._descriptor >= 0

    def release(self) -> None:
        """Give the run free. Safe to call twice; in a forked child it does nothing."""
        if not self.is_ours:
            return
        descriptor, self._descriptor = self._descriptor, -1
        try:
            if read_lease(self._folder) == self.lease:
                unbroken((self._folder / _RECORD).unlink, missing_ok=True)
        except OSError:
            pass  # the folder is gone or went read-only: a record without a lock holds nobody up
        finally:
            _held.discard(descriptor)
            os.close(descriptor)


def take(folder: Path, *, instance: str, take_over: bool = False) -> Hold:
    """Lock a run folder and leave our record in it. Raises HeldByAnother, StateUnusable."""
    path = folder / _LOCK
    try:
        descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise unusable(path, error) from error
    _held.add(descriptor)
    try:
        if not _lock_patiently(descriptor, path):
            raise _held_by_another(folder, read_lease(folder))
        other = read_lease(folder)
        if other is not None and other.host != socket.gethostname() and not take_over:
            raise _held_elsewhere(folder, other)
        lease = _own_lease(instance)
        _write_lease(folder, lease)
    except BaseException:
        _held.discard(descriptor)
        os.close(descriptor)
        raise
    return Hold(folder, descriptor, lease)


def live_owner(folder: Path) -> Lease | None:
    """Who holds the run now; None when nobody does. Disturbs neither the holder nor an acquirer."""
    lease = read_lease(folder)
    if lease is None or lease.host != socket.gethostname():
        # Whether another host's process lives cannot be seen from here: its word is taken.
        return lease
    # A lock can outlive its process in a child that was forked past Python's hooks. The start time
    # is not asked: a clock that was set must not make a live owner look dead.
    return lease if _is_locked(folder / _LOCK) and psutil.pid_exists(lease.pid) else None


def standing(folder: Path) -> tuple[Lease | None, LeaseStanding | None]:
    """The record of a run folder, and what its lock says of it; (None, None) where the run is free and nobody left a word."""
    is_locked = _is_locked(folder / _LOCK)
    lease = read_lease(folder)
    if lease is None:
        # Whoever has just taken the lock writes the record a moment later.
        time.sleep(_PATIENCE[-1] if is_locked else 0)
        lease = read_lease(folder) if is_locked else None
        return lease, ("live" if lease else "unsigned") if is_locked else None
    if lease.host != socket.gethostname():
        return lease, "elsewhere"
    is_there = psutil.pid_exists(lease.pid)
    if is_locked and is_alive(lease):
        return lease, "live"
    if is_there and not is_alive(lease):
        return lease, "reused"
    return lease, "left_behind" if is_locked else "stale"


def read_lease(folder: Path) -> Lease | None:
    """The record as it lies there; None when there is none, or none that can be read."""
    try:
        descriptor = open_private(folder / _RECORD, os.O_RDONLY)
        try:
            members = json.loads(os.read(descriptor, _RECORD_LIMIT))
        finally:
            os.close(descriptor)
        pid, started = members["pid"], float(members["started"])
        texts = [members[name] for name in ("host", "instance", "since")]
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        # Cut short by a power failure, perhaps: the lock decides, the record only tells.
        return None
    if type(pid) is not int or not 0 < pid <= _MOST_PID:
        return None
    if not all(isinstance(text, str) and text and text.isprintable() for text in texts):
        return None
    host, instance, since = texts
    return Lease(host=host, pid=pid, started=started, instance=instance, since=since)


def new_instance() -> str:
    """A name for one store object's holds, so that two in one process are told apart."""
    return secrets.token_hex(6)


def is_alive(lease: Lease) -> bool:
    """Whether the process of a lease of this host runs, and is the same one."""
    try:
        started = psutil.Process(lease.pid).create_time()
    except psutil.Error:
        return False
    return abs(started - lease.started) <= _START_TOLERANCE_S


def _lock_patiently(descriptor: int, path: Path) -> bool:
    for delay in (*_PATIENCE, None):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno not in {errno.EWOULDBLOCK, errno.EACCES}:
                raise _no_locks(path, error) from error
        if delay is not None:
            time.sleep(delay)
    return False


def _is_locked(path: Path) -> bool:
    try:
        descriptor = open_private(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        # A shared lock, for an instant: flock has no way to look without taking.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except OSError as error:
        return error.errno in {errno.EWOULDBLOCK, errno.EACCES}
    finally:
        os.close(descriptor)


@lru_cache(maxsize=1)
def _process_start(pid: int) -> float:
    return psutil.Process(pid).create_time()


def _own_lease(instance: str) -> Lease:
    pid = os.getpid()
    return Lease(
        host=socket.gethostname(),
        pid=pid,
        started=_process_start(pid),
        instance=instance,
        since=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    )


def _write_lease(folder: Path, lease: Lease) -> None:
    temporary = folder / f"{_RECORD}.{os.getpid()}"
    try:
        unbroken(temporary.unlink, missing_ok=True)
        with os.fdopen(
            open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w", encoding="utf-8"
        ) as file:
            json.dump(asdict(lease), file)
        unbroken(temporary.rename, folder / _RECORD)
    except OSError as error:
        raise unusable(folder, error) from error


def _held_by_another(folder: Path, lease: Lease | None) -> HeldByAnother:
    run_id = folder.name
    if lease is None:
        return HeldByAnother(
            f"run {run_id} is held by another process, which left no word who it is",
            fix=f"wait for it, or look who has {folder / _LOCK} open (`fuser` says)",
            details={"run_id": run_id, "host": None, "pid": None, "since": None},
        )
    here = lease.host == socket.gethostname()
    if here and lease.pid == os.getpid():
        who = f"this process ({lease.pid})"
    elif here and not is_alive(lease):
        who = f"something process {lease.pid} left behind when it ended"
    else:
        who = f"process {lease.pid} on {lease.host}"
    return HeldByAnother(
        f"run {run_id} is held by {who} since {lease.since}",
        fix=f"wait for it, or end it with `pixirnb cancel {run_id}`",
        details={"run_id": run_id, **asdict(lease)},
    )


def _held_elsewhere(folder: Path, lease: Lease) -> HeldByAnother:
    return HeldByAnother(
        f"run {folder.name} was last held by process {lease.pid} on {lease.host}, "
        f"since {lease.since}; whether it lives cannot be seen from here",
        fix="when it is surely gone, repeat this with --take-over",
        details={"run_id": folder.name, **asdict(lease)},
    )


def _no_locks(path: Path, error: OSError) -> StateUnusable:
    return StateUnusable(
        f"{path}: this disk offers no file locks ({error.strerror or error})",
        fix="choose a state folder on a local disk with --state DIR or PIXIRNB_STATE",
        code="locks_unsupported",
        details={"path": str(path), "errno": error.errno},
    )
