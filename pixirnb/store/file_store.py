"""Runs on a disk: one folder a run, one append-only file a log.

    <state>/runs/<run_id>/  log.jsonl  seal.json  blobs/  output/  sessions/  inbox/  lock  lease.json

`FileStore` manages run folders; `log.FileLog` is one of them, held for writing. Nothing here interprets an event.
"""

from __future__ import annotations

import errno
import os
import re
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from pixirnb.errors import StateUnusable, UnknownRun
from pixirnb.history.codec import EVENT_LINE_LIMIT, GENESIS, Decoded
from pixirnb.ids import is_run_id
from pixirnb.protocols.ports import Blobs, Lease, LogContents, Mend
from pixirnb.store.blobs import FileBlobs
from pixirnb.store.lease import live_owner, new_instance, take
from pixirnb.store.log import LOG_NAME, FileLog
from pixirnb.store.log_encoding import decode_log, encode_group, is_recoverable, log_damaged
from pixirnb.store.log_follower import LogFollower, bytes_from
from pixirnb.store.private_files import (
    make_private,
    open_private,
    read_log,
    refuse_planted,
    unusable,
)
from pixirnb.store.recovery import recover_log
from pixirnb.store.seal import Seal, check_seal, missing, read_seal
from pixirnb.store.sessions import (
    follow_session,
    read_session,
    session_ids,
)
from pixirnb.store.state_folder import close_to_others, prepare_state, refuse_entrance, runs_below
from pixirnb.system.atomic_files import let_go, sync_folder
from pixirnb.system.system_calls import open_plain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pixirnb.history.events import Event

_FOLDERS: Final = ("blobs", "output", "sessions", "inbox")
_TEMPORARY: Final = re.compile(r"\.log\..+\.[0-9a-f]{8}|(lease|seal)\.json\.\d+")
"""Names of files that their writer renames once they are complete: see `atomic_files.put`, `write_lease`, `write_seal`."""
_NEWEST: Final = 3
"""Runs that are named where one is unknown."""


class FileStore:
    """All runs of one state folder. The folder is made with the first run, not before."""

    def __init__(self, state: Path, *, instance: str | None = None) -> None:
        """Open the state folder `state` (see `find_state`); `instance` names the leases of this store."""
        self.state = state
        self.instance = instance or new_instance()
        self._runs = state / "runs"
        self._is_outside_runs = False
        self._renamed: dict[str, Path] = {}
        """Run folders whose name differs from their run id."""

    @classmethod
    def of_folder(cls, folder: Path) -> tuple[FileStore, str]:
        """Return the store of a run folder that was moved or renamed, and the run's id.

        The id is the one in the log, or the folder's name if the log has none.
        """
        store = cls(folder.parent.parent if folder.parent.name == "runs" else folder.parent)
        store._runs = folder.parent
        store._is_outside_runs = folder.parent.name != "runs"
        run_id = first_logged_id(folder) or folder.name
        if run_id != folder.name:
            store._renamed[run_id] = folder
        return store, run_id

    def create(
        self,
        run_id: str,
        history: Sequence[Event] = (),
        furnish: Callable[[Blobs], None] = lambda _: None,
    ) -> FileLog:
        """Create a new, held log; with a history it holds all of that or, after a death in between, is no run at all.

        `furnish` stores the blobs that the history names. Raises StateUnusable, HeldByAnother, LogWriteFailed.
        """
        if not is_run_id(run_id):
            raise StateUnusable(f"{run_id!r} is not a run id", code="run_id_invalid")
        folder = (self._runs if self._is_outside_runs else prepare_state(self.state)) / run_id
        if not make_private(folder):
            raise StateUnusable(
                f"{folder} already exists",
                fix=f"resume it with `pixirnb resume {run_id}`, or start a run with another id",
                code="run_exists",
                details={"run_id": run_id},
            )
        hold = take(folder, instance=self.instance)
        path = folder / LOG_NAME
        try:
            for name in _FOLDERS:
                make_private(folder / name)
            blobs = FileBlobs(folder / "blobs", require_hold=hold.require)
            furnish(blobs)
            data, chain = encode_group(history, chain=GENESIS, after=0, put=blobs.put)
            descriptor = _create_log(path, data)
            decoded = Decoded(list(history), None, len(data), chain)
            log = FileLog(run_id, folder, hold, descriptor, decoded, blobs)
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

    def acquire(self, run_id: str, *, take_over: bool = False, mend: Mend | None = None) -> FileLog:
        """Open an existing log for writing; a torn tail is cut and reported in its `reading`, damage is repaired with `mend`.

        Raises UnknownRun, HeldByAnother, LogDamaged, StateUnusable (`run_misnamed` …). `take_over` ignores the record of
        another owner; a held lock is never broken.
        """
        folder = self._folder(run_id)
        self._require_log(run_id, folder)
        if not self._is_outside_runs:
            # The copies and trees of its steps would be those of the run that bears its id by right.
            if folder.name != run_id:
                raise _misnamed(folder, run_id)
            close_to_others(self.state)
        hold = take(folder, instance=self.instance, take_over=take_over)
        descriptor = -1
        try:
            blobs = FileBlobs(folder / "blobs", require_hold=hold.require)
            for name in _FOLDERS:
                make_private(folder / name)
            descriptor = open_private(folder / LOG_NAME, os.O_RDWR | os.O_APPEND)
            data = _read_whole(descriptor)
            if len(data) < os.fstat(descriptor).st_size:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
            decoded = check_seal(decode_log(data, get=blobs.get), data, read_seal(folder))
            is_torn = decoded.damage is not None and decoded.damage.code == "torn_tail"
            if decoded.damage is not None and not is_torn:
                count = len(decoded.events)
                if mend is None or not is_recoverable(decoded.damage, count):
                    raise log_damaged(run_id, decoded.damage, count)
                decoded = recover_log(folder / LOG_NAME, data, decoded, blobs, mend)
                os.close(descriptor)
                descriptor = open_private(folder / LOG_NAME, os.O_RDWR | os.O_APPEND)
            if not decoded.events:
                raise _never_began(run_id, folder)
            if (logged_id := _own_id(decoded.events)) not in {None, run_id}:
                raise _misnamed(folder, str(logged_id))
            blobs.sweep()
            _sweep(folder)
            if is_torn:
                os.ftruncate(descriptor, decoded.good_bytes)
            # What the last holder wrote may be in memory only; decisions are about to rest on it.
            os.fsync(descriptor)
            # So may the names that it made.
            for named in (folder, self._runs):
                sync_folder(named)
        except BaseException as error:
            if descriptor >= 0:
                os.close(descriptor)
            hold.release()
            if isinstance(error, OSError):
                raise unusable(folder / LOG_NAME, error) from error
            raise
        log = FileLog(run_id, folder, hold, descriptor, decoded, blobs)
        log.syncs = 3
        return log

    def read(self, run_id: str) -> LogContents:
        """Read without owning. Never raises for damage: it is in the LogContents.

        An unfinished last line of a live run is an event being written, not damage. Raises UnknownRun, also for a run
        that died before its first event; StateUnusable.
        """
        folder = self._folder(run_id)
        # First the owner, then the log: a free run has all its events on disk already. And the seal
        # before the log, which is never shorter than it was when the seal was left.
        owner = live_owner(folder)
        seal = read_seal(folder)
        decoded = self._decode(folder, seal)
        if decoded.damage is not None and decoded.damage.code == "torn_tail":
            owner = owner or live_owner(folder)
            if owner is not None:
                decoded = replace(decoded, damage=None)
        if not decoded.events and decoded.damage is None and owner is None:
            owner = live_owner(folder)  # it may have begun between the two looks
            if owner is None:
                raise _never_began(run_id, folder)
        return LogContents(decoded.events, decoded.damage, owner)

    def owner(self, run_id: str) -> Lease | None:
        """Return the live owner of a run; the log is not read. Raises UnknownRun, StateUnusable."""
        return live_owner(self._folder(run_id))

    def follow(self, run_id: str) -> LogFollower:
        """Follow a run from its first event on. Raises UnknownRun, LogDamaged, StateUnusable."""
        folder = self._folder(run_id)
        self._require_log(run_id, folder)
        fetch = partial(bytes_from, folder / LOG_NAME)
        return LogFollower(run_id, fetch, self.blobs(run_id).get, partial(read_seal, folder))

    def blobs(self, run_id: str) -> FileBlobs:
        """Return the blobs of a run, for reading. Raises UnknownRun."""
        return FileBlobs(self._folder(run_id) / "blobs")

    def run_ids(self) -> list[str]:
        """Return every run, newest first; only names are read. Raises StateUnusable."""
        if not self._is_outside_runs:
            refuse_entrance(self.state)
        try:
            names = [name for name in os.listdir(self._runs) if is_run_id(name)]  # noqa: PTH208 - 10,000 Paths
        except FileNotFoundError:
            return []
        except OSError as error:
            raise unusable(self._runs, error) from error
        return sorted(names, reverse=True)

    def session_ids(self, run_id: str) -> list[str]:
        """Return the child sessions of a run, by name. Raises UnknownRun."""
        return session_ids(self._folder(run_id))

    def read_session(self, run_id: str, session_id: str) -> LogContents:
        """Read a child session; damage is in the LogContents. Raises UnknownRun (also `unknown_session`)."""
        return read_session(self._folder(run_id), session_id, self.blobs(run_id))

    def follow_session(self, run_id: str, session_id: str) -> LogFollower:
        """Follow a child session from its first event on. Raises UnknownRun, LogDamaged."""
        return follow_session(self._folder(run_id), session_id, self.blobs(run_id))

    def folder(self, run_id: str) -> Path:
        """Return the folder of a run. Raises UnknownRun, StateUnusable (`foreign_owner`, `symlink_refused`)."""
        return self._folder(run_id)

    def unknown_run(self, name: str, fix: str = "") -> UnknownRun:
        """Return the error for the name of no run of this store; it names the newest runs."""
        newest = ", ".join(self.run_ids()[:_NEWEST])
        return UnknownRun(
            f"unknown run `{name}` in {self.state}{newest and f'; newest: {newest}'}",
            fix=fix
            or runs_below(self.state)
            or "`pixirnb runs` lists the runs; --state DIR, in Python state=DIR, names another state folder",
            details={"run_id": name, "state": str(self.state)},
        )

    def _folder(self, run_id: str) -> Path:
        folder = self._renamed.get(run_id) or self._runs / run_id
        if not is_run_id(run_id):
            raise self.unknown_run(run_id)
        try:
            # A moved folder may be anywhere, also where everyone may write: the folder itself is checked.
            if not self._is_outside_runs:
                refuse_entrance(self.state)
            refuse_planted(folder)
        except FileNotFoundError:
            raise self.unknown_run(run_id) from None
        except OSError as error:
            raise unusable(folder, error) from error
        return folder

    def _require_log(self, run_id: str, folder: Path) -> None:
        try:
            open_plain(folder / LOG_NAME).close()
            return
        except FileNotFoundError:
            pass
        except OSError as error:
            raise unusable(folder / LOG_NAME, error) from error
        seal = read_seal(folder)
        lost = None if seal is None else missing(0, seal)
        raise _never_began(run_id, folder) if lost is None else log_damaged(run_id, lost, 0)

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
        return check_seal(decode_log(data, get=FileBlobs(folder / "blobs").get), data, seal)


def _create_log(path: Path, data: bytes) -> int:
    """Create a log that holds `data`, open for appending; it gets its name only when all of it is on disk."""
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


def first_logged_id(folder: Path) -> str | None:
    """Return the run id in the first event of the log in a folder; None if there is none."""
    try:
        with os.fdopen(open_private(folder / LOG_NAME, os.O_RDONLY), "rb") as file:
            line = file.readline(EVENT_LINE_LIMIT)
    except OSError:
        return None  # whoever opens it is told why
    return _own_id(decode_log(line, get=FileBlobs(folder / "blobs").get).events)


def _sweep(folder: Path) -> None:
    """Remove unfinished files of dead owners. Only for the owner of the run."""
    for path in folder.iterdir():
        if _TEMPORARY.fullmatch(path.name):
            let_go(path)


def _own_id(events: Sequence[Event]) -> str | None:
    logged_id = events[0].data.get("run_id") if events else None
    return logged_id if isinstance(logged_id, str) and is_run_id(logged_id) else None


def _read_whole(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        file.seek(0)
        return read_log(file)


def _misnamed(folder: Path, run_id: str) -> StateUnusable:
    return StateUnusable(
        f"the folder {folder} has the name of another run: its log belongs to {run_id}",
        fix="rename it back, or move a copy out of the state folder and open it by its path",
        code="run_misnamed",
        details={"path": str(folder), "run_id": run_id},
    )


def _never_began(run_id: str, folder: Path) -> UnknownRun:
    # A lost log still leaves its seal, and the output and sessions of its steps.
    is_empty = not any(
        path.is_dir() and any(path.iterdir()) for path in (folder / "output", folder / "sessions")
    )
    return UnknownRun(
        f"run {run_id} ended before its first event was written; nothing ran",
        fix="start a new run; `pixirnb prune` removes the folder",
        details={"run_id": run_id, "never_began": is_empty},
    )
