"""The lease of a run: an OS lock that ends with its owner, and a record of that owner.

The lock (flock on the file `lock`) decides on one host: the kernel releases it however the owner ends. The record
(`lease.json`: host, pid, process start, instance, since, inode of the run folder) names the owner to people, and
decides where a lock does not reach: the record of another host, or of a living process of this host, counts even if
the lock is free, until a person uses `--take-over`.

A file can lose its name, and a disk may ignore locks. So an owner checks before it writes (`Hold.lost`): `lock` must
still be the file it locked, and `lease.json` the file it wrote (docs/adr/0017).
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import socket
import time
from typing import TYPE_CHECKING, Final

from pixirnb.store.holders import (
    LOCK,
    RECORD,
    held_by_another,
    held_elsewhere,
    held_without_lock,
    identity,
    is_alive,
    is_out_of_sight,
    lock_lost,
    no_locks,
    own_lease,
    read_lease,
    started_at,
    write_lease,
)
from pixirnb.store.private_files import open_private, unusable
from pixirnb.system.system_calls import fill_standard_descriptors, retry_eintr

if TYPE_CHECKING:
    from pathlib import Path

    from pixirnb.machine.diagnosis import LeaseStanding
    from pixirnb.protocols.ports import Lease

_PATIENCE: Final = (0.005, 0.01, 0.02, 0.04)
"""Seconds between attempts: a reader that checks the lock holds it for microseconds."""

# A forked child shares the lock of its parent and would keep it after the parent's death: a pool of
# workers started in a notebook must not hold the notebook's run.
_held: dict[int, Lease | None] = {}
"""The locks of this process, and the record of each once it is written."""


def _release_in_child() -> None:
    for descriptor in _held:
        os.close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_release_in_child)


class Hold:
    """This process's lease of a run, from `take` to `release`."""

    def __init__(
        self, folder: Path, descriptor: int, lease: Lease, record: tuple[int, ...]
    ) -> None:
        self.lease = lease
        self._folder = folder
        self._paths = f"{folder}/{LOCK}", f"{folder}/{RECORD}"
        self._descriptor = descriptor
        self._record = record
        self._pid = os.getpid()
        self._lost: str | None = None

    @property
    def is_ours(self) -> bool:
        """Return False in a forked child, which has a copy of this object and may not write."""
        return self._pid == os.getpid() and self._descriptor >= 0

    def lost(self) -> str | None:
        """Return why the lease was lost without a release; None while it is valid. A lost lease stays lost."""
        if self._lost is None and self.is_ours:
            self._lost = self._looked()
        return self._lost

    def require(self) -> None:
        """Raise LogWriteFailed (`lock_lost`) if the lease was lost: nothing more may be written."""
        why = self.lost()
        if why is not None:
            raise lock_lost(self._folder.name, why, is_there=self._folder.is_dir())

    def _looked(self) -> str | None:
        path, record = self._paths
        try:
            if not _is_named(self._descriptor, path):
                return f"another file replaced {path} was locked"
            if (
                identity(os.lstat(record)) != self._record
                and read_lease(self._folder) != self.lease
            ):
                return f"{record} is not the record that it wrote"
        except FileNotFoundError as error:
            return f"{error.filename} has been removed"
        except OSError as error:
            return f"{error.filename or path}: {error.strerror or error}"
        return None

    def release(self) -> None:
        """Release the run. Safe to call twice; does nothing in a forked child."""
        if not self.is_ours:
            return
        descriptor, self._descriptor = self._descriptor, -1
        try:
            if read_lease(self._folder) == self.lease:
                retry_eintr((self._folder / RECORD).unlink, missing_ok=True)
        except OSError:
            pass  # the folder is gone or went read-only: nobody can take the run there
        finally:
            _let_go(descriptor)


def take(folder: Path, *, instance: str, take_over: bool = False) -> Hold:
    """Lock a run folder and write our record. Raises HeldByAnother, StateUnusable."""
    path = folder / LOCK
    descriptor = _locked(folder, path)
    try:
        other = read_lease(folder)
        if other is not None and not take_over:
            if other.host != socket.gethostname():
                raise held_elsewhere(folder, other)
            if _stays_believed(folder, other):
                raise held_without_lock(folder, other)
        lease = own_lease(instance, folder)
        record = write_lease(folder, lease)
        _held[descriptor] = lease
    except BaseException:
        _let_go(descriptor)
        raise
    return Hold(folder, descriptor, lease, record)


def live_owner(folder: Path) -> Lease | None:
    """Return the live owner of a run; None if there is none. Disturbs neither the owner nor an acquirer."""
    lease = read_lease(folder)
    if lease is None or lease.host != socket.gethostname():
        # Whether another host's process lives cannot be seen from here: its word is taken.
        return lease
    if _is_locked(folder / LOCK):
        # A lock can outlive its process in a child that was forked past Python's hooks. The start time
        # is not asked: a clock that was set must not make a live owner look dead.
        is_there = is_out_of_sight(lease) or started_at(lease.pid) is not None
        return lease if is_there else None
    return lease if is_believed(folder, lease) else None


def standing(folder: Path) -> tuple[Lease | None, LeaseStanding | None]:
    """Return the record of a run folder, and its standing by the lock; (None, None) for a free run without a record."""
    is_locked = _is_locked(folder / LOCK)
    lease = read_lease(folder)
    if lease is None:
        # Whoever has just taken the lock writes the record a moment later.
        time.sleep(_PATIENCE[-1] if is_locked else 0)
        lease = read_lease(folder) if is_locked else None
        return lease, ("live" if lease else "unsigned") if is_locked else None
    if lease.host != socket.gethostname():
        return lease, "elsewhere"
    is_hidden = is_out_of_sight(lease)
    is_there = not is_hidden and started_at(lease.pid) is not None
    if is_locked and (is_hidden or is_alive(lease)):
        return lease, "live"
    if is_believed(folder, lease):
        return lease, "unlocked"
    if is_there and not is_alive(lease):
        return lease, "reused"
    return lease, "left_behind" if is_locked else "stale"


def new_instance() -> str:
    """Return a name for the leases of one store object, so that two in one process differ."""
    return secrets.token_hex(6)


def is_believed(folder: Path, lease: Lease) -> bool:
    """Return whether the record of a process of this host counts although the lock is free.

    It counts while that process lives, if it was written for this folder and not copied with it. For its own leases
    this process knows.
    """
    try:
        is_copy = lease.folder is not None and lease.folder != folder.stat().st_ino
    except OSError:
        return False
    if is_copy or not is_alive(lease):
        return False
    return lease.pid != os.getpid() or is_ours(lease)


def is_ours(lease: Lease) -> bool:
    """Return whether this process holds that lease."""
    return lease in _held.values()


def _locked(folder: Path, path: Path) -> int:
    """Return a descriptor of the locked lock file. Raises HeldByAnother, StateUnusable."""
    fill_standard_descriptors()  # the lock is the first file of a run
    for _ in _PATIENCE:
        try:
            descriptor = open_private(path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise unusable(path, error) from error
        _held[descriptor] = None
        try:
            if not _lock_patiently(descriptor, path):
                raise held_by_another(folder, read_lease(folder))
            if _is_named(descriptor, path):
                return descriptor
        except FileNotFoundError:
            pass  # the name was taken away between opening and locking
        except BaseException:
            _let_go(descriptor)
            raise
        _let_go(descriptor)
    raise held_by_another(folder, read_lease(folder))


def _let_go(descriptor: int) -> None:
    _held.pop(descriptor, None)
    os.close(descriptor)


def _is_named(descriptor: int, path: Path | str) -> bool:
    """Return whether a path still names the file of a descriptor. Raises OSError."""
    return os.path.samestat(os.fstat(descriptor), os.lstat(path))


def _stays_believed(folder: Path, lease: Lease) -> bool:
    """Return whether a record is believed for a while: a process that is ended lets go of its lock before it is gone."""
    for delay in _PATIENCE:
        if not is_believed(folder, lease):
            return False
        time.sleep(delay)
    return is_believed(folder, lease)


def _lock_patiently(descriptor: int, path: Path) -> bool:
    for delay in (*_PATIENCE, None):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError as error:
            if error.errno not in {errno.EWOULDBLOCK, errno.EACCES}:
                raise no_locks(path, error) from error
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
