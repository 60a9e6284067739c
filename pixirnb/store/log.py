"""A run's log in its folder, owned for writing by this process alone.

A group of events is one write and one fdatasync. If either fails the log accepts no more, because the state of the
disk is unknown until it is read again; so too if the lease is lost, or another process changed the file.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from pixirnb.errors import LogWriteFailed, StateUnusable
from pixirnb.history.codec import Damage, Decoded
from pixirnb.protocols.ports import KeptBlobs, LogContents
from pixirnb.store.blobs import FileBlobs
from pixirnb.store.holders import lock_lost
from pixirnb.store.lease import Hold
from pixirnb.store.log_encoding import encode_group
from pixirnb.store.seal import Seal, write_seal
from pixirnb.store.sessions import FileSession, open_session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pixirnb.history.events import Event

LOG_NAME: Final = "log.jsonl"

# macOS has no fdatasync; its fsync stops at the drive's cache, which is the best it offers for free.
_sync_data = getattr(os, "fdatasync", os.fsync)


class FileLog:
    """A run's log, owned for writing by this process alone. Made by FileStore."""

    run_id: str
    folder: Path | None
    blobs: KeptBlobs
    reading: LogContents
    """Contents of the log when it was acquired. `damage` is None or the torn tail that was cut."""
    syncs: int
    """Number of disk syncs of this log, without blobs."""

    def __init__(  # noqa: PLR0917 - all that it is
        self,
        run_id: str,
        folder: Path,
        hold: Hold,
        descriptor: int,
        decoded: Decoded,
        blobs: FileBlobs,
    ) -> None:
        self.run_id = run_id
        self.folder = folder
        self._path = folder
        self.blobs = blobs
        self.reading = LogContents(decoded.events, decoded.damage)
        self.syncs = 0
        self._name = f"{folder}/{LOG_NAME}"
        self._hold = hold
        self._descriptor = descriptor
        self._file = os.fstat(descriptor)
        self._chain = decoded.chain
        self._count = len(decoded.events)
        self._bytes = decoded.good_bytes
        self._sealed: int | None = None
        self._refusal: LogWriteFailed | None = None

    @property
    def torn(self) -> Damage | None:
        """Return the unfinished last line that was cut when the log was acquired."""
        return self.reading.damage

    def append(self, events: Sequence[Event]) -> None:
        """Make `events` durable in one group: encode, chain, write, fdatasync. Blocking.

        Raises LogWriteFailed (`lock_lost` if the lease is lost), after which the log accepts nothing more;
        InternalError for events that are out of order or not JSON: then nothing was written and the log accepts more.
        """
        self._open_to_writes()
        if not events:
            return
        try:
            data, chain = encode_group(
                events, chain=self._chain, after=self._count, put=self.blobs.put
            )
            # At the last moment, so that there is hardly time for another to take the run in between.
            self._require_own()
        except LogWriteFailed as failed:
            self._refusal = failed
            raise
        except StateUnusable as refused:
            # No folder for a blob: to the log it is one more write that failed.
            self._refusal = self._write_failed(refused.message)
            raise self._refusal from refused
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            _sync_data(self._descriptor)
            self._bytes += len(data)
            self._require_own()
        except LogWriteFailed as failed:
            self._refusal = failed
            raise
        except OSError as error:
            self._refusal = self._write_failed(error.strerror or str(error))
            raise self._refusal from error
        except BaseException:
            self._refusal = self._write_failed("an earlier write was interrupted")
            raise
        self.syncs += 1
        self._chain = chain
        self._count += len(events)
        if self._sealed is None:
            # At once, or a course that is killed could lose all its lines and read as the one before.
            self._seal()

    def session(self, session_id: str) -> FileSession:
        """Open a child session, for writing. Raises LogWriteFailed, UnknownRun."""
        assert isinstance(self.blobs, FileBlobs)
        return open_session(self._path, session_id, self.blobs, self._is_held)

    def require_hold(self) -> None:
        """Raise LogWriteFailed (`lock_lost`) if another process may own the run now. From any thread."""
        self._hold.require()

    def close(self) -> None:
        """Seal what was appended; release the lock and the lease. Safe to call twice."""
        if not self._hold.is_ours:
            return
        if self._sealed is not None and self._sealed < self._count and self._is_held():
            self._seal()
        self._refusal = self._refusal or self._write_failed("it is closed")
        # All that was confirmed is synced, and the run must become free. A step in a thread may have closed them.
        with suppress(OSError):
            os.close(self._descriptor)
        with suppress(OSError):
            self._hold.release()

    def _open_to_writes(self) -> None:
        if self._refusal is None and not self._hold.is_ours:
            why = "it is closed, or held by the parent of this forked process"
            self._refusal = self._write_failed(why)
        if self._refusal is not None:
            raise self._refusal

    def _is_held(self) -> bool:
        return self._hold.is_ours and self._hold.lost() is None

    def _require_own(self) -> None:
        """Raise LogWriteFailed if the lease is lost, or the log file was replaced or changed."""
        self.require_hold()
        try:
            named = os.lstat(self._name)
        except OSError as error:
            # What is written to a file without a name is gone when it is closed.
            why = "it has been deleted" if error.errno == errno.ENOENT else error.strerror
            raise self._write_failed(str(why), is_whole=error.errno != errno.ENOENT) from error
        if not os.path.samestat(named, self._file):
            raise self._write_failed("the file was replaced")
        if named.st_size < self._bytes:
            raise self._write_failed("it has been cut short", is_whole=False)
        if named.st_size != self._bytes:
            raise lock_lost(self.run_id, "another process has written to its log")

    def _seal(self) -> None:
        self._sealed = self._count
        write_seal(self._path, Seal(self._count, self._chain))

    def _write_failed(self, reason: str, *, is_whole: bool = True) -> LogWriteFailed:
        """Return the error; `is_whole`: whether the events written before are all in the log, which a resume needs."""
        return LogWriteFailed(
            f"the log of run {self.run_id} cannot be written: {reason}",
            fix=f"fix that, then run `pixirnb resume {self.run_id}` "
            if is_whole
            else f"restore the log from a copy, or start the run again; `pixirnb doctor {self.run_id}` shows what is left",
            details={"run_id": self.run_id, "path": str(self.folder), "log_is_whole": is_whole},
        )
