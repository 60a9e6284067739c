"""Child sessions of a run, next to its log and in its format: `sessions/<step>.<attempt>.jsonl`.

Written by the owner of the run; read by any process. A session's lines chain to one another, not to the run's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pixirnb.errors import LogWriteFailed, StateUnusable, UnknownRun
from pixirnb.history.codec import GENESIS
from pixirnb.ids import is_attempt_name
from pixirnb.protocols.ports import LogContents
from pixirnb.store.log_encoding import decode_log, encode_group
from pixirnb.store.log_follower import LogFollower, bytes_from
from pixirnb.store.private_files import make_private, open_private, read_log, unusable
from pixirnb.system.atomic_files import sync_folder

if TYPE_CHECKING:
    from pixirnb.history.events import Event
    from pixirnb.store.blobs import FileBlobs

FOLDER: Final = "sessions"
_SUFFIX: Final = ".jsonl"


class FileSession:
    """One session's log, being written. Made by `open_session`."""

    def __init__(self, path: Path, blobs: FileBlobs, is_held: Callable[[], bool]) -> None:
        """Open a session file; `is_held` returns whether this process still owns the run."""
        self._path = path
        self._blobs = blobs
        self._is_held = is_held
        self._descriptor: int | None = None
        self._chain = GENESIS
        self._refusal: str | None = None
        self._sound_bytes: int | None = None
        """Size of the valid part of an existing session: the rest is cut before the next event."""
        self.count = 0
        """Number of events on disk."""
        self.held: list[Event] = []
        """Contents of the session when it was opened."""

    def append(self, events: Sequence[Event]) -> None:
        """Make `events` durable in one group. Blocking. Raises LogWriteFailed, and then accepts no more."""
        if self._refusal is None and not self._is_held():
            self._refusal = "its run is not held by this process"
        if self._refusal is not None:
            raise self._write_failed()
        if not events:
            return
        try:
            data, chain = encode_group(
                events, chain=self._chain, after=self.count, put=self._blobs.put
            )
            rest = memoryview(data)
            descriptor = self._open()
            if self._sound_bytes is not None:
                os.ftruncate(descriptor, self._sound_bytes)
                self._sound_bytes = None
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            getattr(os, "fdatasync", os.fsync)(descriptor)
        except StateUnusable as refused:
            self._refusal = refused.message
            raise self._write_failed() from refused
        except OSError as error:
            self._refusal = error.strerror or str(error)
            raise self._write_failed() from error
        self._chain = chain
        self.count += len(events)

    def close(self) -> None:
        """Close the file. Safe to call twice."""
        self._refusal = self._refusal or "it is closed"
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def go_on_from(self, reading: LogContents, chain: str, good_bytes: int) -> None:
        """Continue a session of an earlier process; a torn tail is cut by the next event, not by reading.

        Raises StateUnusable.
        """
        try:
            self._descriptor = open_private(self._path, os.O_RDWR | os.O_APPEND)
            # Whoever made it may have died before its name was durable.
            sync_folder(self._path.parent)
        except OSError as error:
            raise unusable(self._path, error) from error
        self._sound_bytes = good_bytes
        self._chain = chain
        self.held = reading.events
        self.count = len(reading.events)

    def _open(self) -> int:
        if self._descriptor is None:
            make_private(self._path.parent)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL
            self._descriptor = open_private(self._path, flags)
            sync_folder(self._path.parent)
        return self._descriptor

    def _write_failed(self) -> LogWriteFailed:
        return LogWriteFailed(
            f"the session {self._path.stem} cannot be written: {self._refusal}",
            fix="fix that, then resume the run to rerun the step",
            details={"path": str(self._path)},
        )


def open_session(
    folder: Path, session_id: str, blobs: FileBlobs, is_held: Callable[[], bool]
) -> FileSession:
    """Open a session of an owned run for writing: a new one, or an existing one to continue.

    Raises LogWriteFailed if it is damaged, StateUnusable.
    """
    path = _path(folder, session_id)
    session = FileSession(path, blobs, is_held)
    if path.exists():
        data = _bytes(path)
        decoded = decode_log(data, get=blobs.get)
        if decoded.damage is not None and decoded.damage.code != "torn_tail":
            raise LogWriteFailed(
                f"the session {session_id} is damaged: {decoded.damage.message}",
                fix="read it up to there, or rerun the step",
            )
        session.go_on_from(LogContents(decoded.events), decoded.chain, decoded.good_bytes)
    return session


def read_session(folder: Path, session_id: str, blobs: FileBlobs) -> LogContents:
    """Read a session's log. Damage is in the LogContents. Raises UnknownRun (`unknown_session`), StateUnusable."""
    path = _path(folder, session_id)
    if not path.is_file():
        raise _unknown(folder, session_id)
    decoded = decode_log(_bytes(path), get=blobs.get)
    return LogContents(decoded.events, decoded.damage)


def follow_session(folder: Path, session_id: str, blobs: FileBlobs) -> LogFollower:
    """Follow a session that is being written. Raises UnknownRun (`unknown_session`)."""
    path = _path(folder, session_id)
    if not path.is_file():
        raise _unknown(folder, session_id)
    return LogFollower(folder.name, lambda at: bytes_from(path, at), blobs.get, lambda: None)


def session_ids(folder: Path) -> list[str]:
    """Return every session of a run, by name."""
    try:
        names = os.listdir(folder / FOLDER)  # noqa: PTH208 - names are all that is wanted
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unusable(folder / FOLDER, error) from error
    ids = [name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)]
    return sorted(name for name in ids if is_attempt_name(name))


def _path(folder: Path, session_id: str) -> Path:
    if not is_attempt_name(session_id):
        raise _unknown(folder, session_id)
    return folder / FOLDER / f"{session_id}{_SUFFIX}"


def _bytes(path: Path) -> bytes:
    try:
        with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
            return read_log(file)
    except OSError as error:
        raise unusable(path, error) from error


def _unknown(folder: Path, session_id: str) -> UnknownRun:
    return UnknownRun(
        f"{folder.name} has no session {session_id!r}",
        fix="use STEP.ATTEMPT, such as `review.1`; `pixirnb show RUN` lists the steps",
        code="unknown_session",
        details={"session_id": session_id},
    )
