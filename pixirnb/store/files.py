"""Runs on a disk: one folder a run, one append-only file a log.

    <state>/runs/<run_id>/  log.jsonl  seal.json  blobs/  output/  sessions/  inbox/  lock  lease.json

`FileStore` finds and makes run folders; `FileLog` is one of them, held for writing. Nothing here
interprets an event. A group of events is one write and one fdatasync; once either fails the log takes
no more, for nobody knows what lies on the disk until it is read again.
"""

from __future__ import annotations

import errno
import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from pixirnb.durability import sync_folder
from pixirnb.errors import LogWriteFailed, StateUnusable, UnknownRun
from pixirnb.history.codec import GENESIS, Damage, Decoded
from pixirnb.ids import is_run_id
from pixirnb.ports import Blobs, KeptBlobs, Lease, Reading
from pixirnb.store.blobs import FileBlobs
from pixirnb.store.folders import (
    make_private,
    open_private,
    refuse_foreign,
    refuse_planted,
    unusable,
)
from pixirnb.store.follower import LogFollower, bytes_from
from pixirnb.store.lease import Hold, live_owner, new_instance, take
from pixirnb.store.lines import decode_log, encode_group, log_damaged
from pixirnb.store.seal import Seal, compared, leave_seal, missing, read_seal
from pixirnb.store.sessions import (
    FileSession,
    follow_session,
    open_session,
    read_session,
    session_ids,
)
from pixirnb.store.state import prepare_state

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pixirnb.history.events import Event

LOG_NAME: Final = "log.jsonl"
_FOLDERS: Final = ("blobs", "output", "sessions", "inbox")


class FileLog:
    """A run's log, held for writing by this process alone. Made by FileStore."""

    run_id: str
    folder: Path | None
    blobs: KeptBlobs
    reading: Reading
    """What the log held when it was acquired. `damage` is None or the torn tail that was cut."""
    syncs: int
    """Times this log asked the disk to make something durable, blobs apart."""

    def __init__(
        self, folder: Path, hold: Hold, descriptor: int, decoded: Decoded, blobs: FileBlobs
    ) -> None:
        """Made by FileStore, which holds the lock."""
        self.run_id = folder.name
        self.folder = folder
        self._place = folder
        self.blobs = blobs
        self.reading = Reading(decoded.events, decoded.damage)
        self.syncs = 0
        self._hold = hold
        self._descriptor = descriptor
        self._chain = decoded.chain
        self._count = len(decoded.events)
        self._sealed: int | None = None
        self._refusal: str | None = None

    @property
    def torn(self) -> Damage | None:
        """The unfinished last line that was cut when the log was acquired."""
        return self.reading.damage

    def append(self, events: Sequence[Event]) -> None:
        """Make `events` durable in one group: encode, chain, write, fdatasync. Blocking.

        Raises LogWriteFailed, after which the log accepts nothing more; InternalError for events
        that are out of order or not JSON: then nothing was written and the log goes on.
        """
        if self._refusal is None and not self._hold.is_ours:
            self._refusal = "it is closed, or held by the process this one was forked from"
        if self._refusal is not None:
            raise self._write_failed(self._refusal)
        if not events:
            return
        try:
            data, chain = encode_group(
                events, chain=self._chain, after=self._count, put=self.blobs.put
            )
        except LogWriteFailed as failed:
            self._refusal = failed.message
            raise
        except StateUnusable as refused:
            # No folder for a blob: to the log it is one more write that failed.
            self._refusal = refused.message
            raise self._write_failed(self._refusal) from refused
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            _sync_data(self._descriptor)
            if os.fstat(self._descriptor).st_nlink == 0:
                # What is written to a file without a name is gone when it is closed.
                raise FileNotFoundError(errno.ENOENT, "it has been deleted")
        except OSError as error:
            self._refusal = error.strerror or str(error)
            raise self._write_failed(self._refusal) from error
        except BaseException:
            self._refusal = "an earlier write was interrupted"
            raise
        self.syncs += 1
        self._chain = chain
        self._count += len(events)
        if self._sealed is None:
            # At once, or a course that is killed could lose all its lines and read as the one before.
            self._seal()

    def session(self, session_id: str) -> FileSession:
        """A child session, for writing. Raises LogWriteFailed, UnknownRun."""
        assert isinstance(self.blobs, FileBlobs)
        return open_session(self._place, session_id, self.blobs, lambda: self._hold.is_ours)

    def close(self) -> None:
        """Seal what was appended; release the lock and the lease. Safe to call twice."""
        if not self._hold.is_ours:
            return
        self._refusal = self._refusal or "it is closed"
        try:
            os.close(self._descriptor)
        except OSError:
            pass  # all that was confirmed is synced, and the run must become free
        if self._sealed is not None and self._sealed < self._count:
            self._seal()
        self._hold.release()

    def _seal(self) -> None:
        self._sealed = self._count
        leave_seal(self._place, Seal(self._count, self._chain))

    def _write_failed(self, reason: str) -> LogWriteFailed:
        return LogWriteFailed(
            f"the log of run {self.run_id} takes no events: {reason}",
            fix=f"when that is repaired, `pixirnb resume {self.run_id}` goes on from what is on disk",
            details={"run_id": self.run_id, "path": str(self.folder)},
        )


class FileStore:
    """All runs of one state folder. The folder is made with the first run, not before."""

    def __init__(self, state: Path, *, instance: str | None = None) -> None:
        """`state` is the state folder (see `find_state`); `instance` names this store's holds."""
        self.state = state
        self.instance = instance or new_instance()
        self._runs = state / "runs"
        self._is_beside = False

    @classmethod
    def beside(cls, folder: Path) -> FileStore:
        """The store of a run folder that was moved: its neighbours are the other runs."""
        store = cls(folder.parent)
        store._runs = folder.parent
        store._is_beside = True
        return store

    def create(
        self,
        run_id: str,
        history: Sequence[Event] = (),
        furnish: Callable[[Blobs], None] = lambda _: None,
    ) -> FileLog:
        """A new, held log; with a history it holds all of that or, after a death in between, is no run at all.

        `furnish` puts the blobs that the history names. Raises StateUnusable, HeldByAnother, LogWriteFailed.
        """
        if not is_run_id(run_id):
            raise StateUnusable(f"{run_id!r} is not a run id", code="run_id_invalid")
        folder = (self._runs if self._is_beside else prepare_state(self.state)) / run_id
        if not make_private(folder):
            raise StateUnusable(
                f"{folder} exists already",
                fix=f"resume it with `pixirnb resume {run_id}`, or start a run of another id",
                code="run_exists",
                details={"run_id": run_id},
            )
        hold = take(folder, instance=self.instance)
        path = folder / LOG_NAME
        try:
            for name in _FOLDERS:
                make_private(folder / name)
            blobs = FileBlobs(folder / "blobs")
            furnish(blobs)
            data, chain = encode_group(history, chain=GENESIS, after=0, put=blobs.put)
            descriptor = _begun(path, data)
            log = FileLog(
                folder, hold, descriptor, Decoded(list(history), None, len(data), chain), blobs
            )
            for named in (folder, self._runs):
                sync_folder(named)
                log.syncs += 1
        except OSError as error:
            hold.release()
            raise unusable(path, error) from error
        except BaseException:
            hold.release()
            raise
        return log

    def acquire(self, run_id: str, *, take_over: bool = False) -> FileLog:
        """Hold an existing log; a torn tail is cut and told in its `reading`.

        Raises UnknownRun, HeldByAnother, LogDamaged, StateUnusable. `take_over` sets aside the
        record another host left; a lock that is held is never broken.
        """
        folder = self._folder(run_id)
        self._require_log(folder)
        hold = take(folder, instance=self.instance, take_over=take_over)
        descriptor = -1
        try:
            blobs = FileBlobs(folder / "blobs")
            for name in _FOLDERS:
                make_private(folder / name)
            descriptor = open_private(folder / LOG_NAME, os.O_RDWR | os.O_APPEND)
            data = _read_whole(descriptor)
            decoded = compared(decode_log(data, get=blobs.get), data, read_seal(folder))
            is_torn = decoded.damage is not None and decoded.damage.code == "torn_tail"
            if decoded.damage is not None and not is_torn:
                raise log_damaged(run_id, decoded.damage)
            if not decoded.events:
                raise _never_began(run_id)
            blobs.sweep()
            if is_torn:
                os.ftruncate(descriptor, decoded.good_bytes)
            # What the last holder wrote may be in memory only; decisions are about to rest on it.
            os.fsync(descriptor)
        except BaseException as error:
            if descriptor >= 0:
                os.close(descriptor)
            hold.release()
            if isinstance(error, OSError):
                raise unusable(folder / LOG_NAME, error) from error
            raise
        log = FileLog(folder, hold, descriptor, decoded, blobs)
        log.syncs = 1
        return log

    def read(self, run_id: str) -> Reading:
        """Read without holding. Never raises for damage: it is in the Reading.

        An unfinished last line of a run that is held is an event on its way, not damage. Raises
        UnknownRun, also for a run that died before its first event; StateUnusable.
        """
        folder = self._folder(run_id)
        # First who, then what: a run found free has all its events on disk already. And the seal
        # before the log, which is never shorter than it was when the seal was left.
        owner = live_owner(folder)
        seal = read_seal(folder)
        decoded = self._decode(folder, seal)
        if decoded.damage is not None and decoded.damage.code == "torn_tail":
            owner = owner or live_owner(folder)
            if owner is not None:
                decoded = replace(decoded, damage=None)
        if not decoded.events and decoded.damage is None and owner is None:
            raise _never_began(run_id)
        return Reading(decoded.events, decoded.damage, owner)

    def owner(self, run_id: str) -> Lease | None:
        """Who drives the run now; the log is not read. Raises UnknownRun, StateUnusable."""
        return live_owner(self._folder(run_id))

    def follow(self, run_id: str) -> LogFollower:
        """Follow a run from its first event on. Raises UnknownRun, LogDamaged, StateUnusable."""
        folder = self._folder(run_id)
        self._require_log(folder)
        fetch = partial(bytes_from, folder / LOG_NAME)
        return LogFollower(run_id, fetch, self.blobs(run_id).get, partial(read_seal, folder))

    def blobs(self, run_id: str) -> FileBlobs:
        """The blobs of a run, for reading. Raises UnknownRun."""
        return FileBlobs(self._folder(run_id) / "blobs")

    def run_ids(self) -> list[str]:
        """Every run, newest first; only names are read. Raises StateUnusable."""
        try:
            names = [name for name in os.listdir(self._runs) if is_run_id(name)]  # noqa: PTH208 - 10,000 Paths
        except FileNotFoundError:
            return []
        except OSError as error:
            raise unusable(self._runs, error) from error
        return sorted(names, reverse=True)

    def session_ids(self, run_id: str) -> list[str]:
        """The child sessions of a run, by name. Raises UnknownRun."""
        return session_ids(self._folder(run_id))

    def read_session(self, run_id: str, session_id: str) -> Reading:
        """What a child session holds; damage is in the Reading. Raises UnknownRun (also `unknown_session`)."""
        return read_session(self._folder(run_id), session_id, self.blobs(run_id))

    def follow_session(self, run_id: str, session_id: str) -> LogFollower:
        """Follow a child session from its first event on. Raises UnknownRun, LogDamaged."""
        return follow_session(self._folder(run_id), session_id, self.blobs(run_id))

    def folder(self, run_id: str) -> Path:
        """The folder of a run. Raises UnknownRun, StateUnusable (`foreign_owner`, `symlink_refused`)."""
        return self._folder(run_id)

    def _folder(self, run_id: str) -> Path:
        folder = self._runs / run_id
        if not is_run_id(run_id):
            raise _unknown(run_id, self.state)
        try:
            # A folder that was moved may lie anywhere, where everyone may write as well: it is what is checked.
            if not self._is_beside and os.path.lexists(self.state):
                refuse_foreign(self.state)
            refuse_planted(folder)
        except FileNotFoundError:
            raise _unknown(run_id, self.state) from None
        except OSError as error:
            raise unusable(folder, error) from error
        return folder

    def _require_log(self, folder: Path) -> None:
        if (folder / LOG_NAME).is_file():
            return
        seal = read_seal(folder)
        lost = None if seal is None else missing(0, seal)
        raise _never_began(folder.name) if lost is None else log_damaged(folder.name, lost)

    def _decode(self, folder: Path, seal: Seal | None) -> Decoded:
        try:
            descriptor = open_private(folder / LOG_NAME, os.O_RDONLY)
            try:
                data = _read_whole(descriptor)
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            data = b""
        except OSError as error:
            raise unusable(folder / LOG_NAME, error) from error
        return compared(decode_log(data, get=FileBlobs(folder / "blobs").get), data, seal)


def _begun(path: Path, data: bytes) -> int:
    """A new log that holds `data`, open for appending; it bears its name only when all of it is on disk."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL
    if not data:
        return open_private(path, flags)
    aside = path.with_name(f"{LOG_NAME}.new")
    descriptor = open_private(aside, flags)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
        aside.rename(path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _read_whole(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        file.seek(0)
        return file.read()


# macOS has no fdatasync; its fsync stops at the drive's cache, which is the best it offers for free.
_sync_data = getattr(os, "fdatasync", os.fsync)


def _unknown(run_id: str, state: Path) -> UnknownRun:
    return UnknownRun(
        f"there is no run {run_id} in {state}",
        fix="`pixirnb runs` lists those there are; --state DIR looks in another state folder",
        details={"run_id": run_id, "state": str(state)},
    )


def _never_began(run_id: str) -> UnknownRun:
    return UnknownRun(
        f"run {run_id} ended before its first event was written: nothing happened in it",
        fix="start it anew",
        details={"run_id": run_id},
    )
