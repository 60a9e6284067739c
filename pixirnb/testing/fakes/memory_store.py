"""Runs without a disk, with the promises of one: the same bytes, the same damage, the same refusals.

A `MemoryStore` is the disk: hand the same object to a second engine and it finds what the first one
left. It can lose a process (`end_processes`) and refuse writes (`fail_after`), which makes it the
fake that tests of the engine use.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from pixirnb.errors import HeldByAnother, LogWriteFailed, StateUnusable, UnknownRun
from pixirnb.history.codec import GENESIS, Damage, Decoded
from pixirnb.ids import is_attempt_name, is_run_id
from pixirnb.protocols.ports import Blobs, KeptBlobs, Lease, LogContents, Mend, Setback
from pixirnb.store.holders import lock_lost
from pixirnb.store.log_encoding import decode_log, encode_group, is_recoverable, log_damaged
from pixirnb.store.log_follower import LogFollower
from pixirnb.store.seal import Seal, check_seal
from pixirnb.testing.fakes.memory_blobs import MemoryBlobs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pixirnb.history.events import Event


@dataclass(eq=False)
class MemorySession:
    """The log of a child session; made by MemoryLog."""

    is_held: Callable[[], bool]
    put: Callable[[bytes], str]
    begun: Callable[[MemorySession], object]
    """Function called at the first event: until then there is no session."""
    data: bytearray = field(default_factory=bytearray)
    chain: str = GENESIS
    count: int = 0
    held: list[Event] = field(default_factory=list)
    """Events that it held when it was opened."""
    is_closed: bool = False

    def append(self, events: Sequence[Event]) -> None:
        """Keep `events`. Raises LogWriteFailed."""
        if self.is_closed or not self.is_held():
            raise LogWriteFailed("the session takes no events: its run is not held")
        if not events:
            return
        data, self.chain = encode_group(events, chain=self.chain, after=self.count, put=self.put)
        self.begun(self)
        self.data += data
        self.count += len(events)

    def close(self) -> None:
        """Do nothing: there is nothing to give back."""
        self.is_closed = True


@dataclass(eq=False)
class MemoryRun:
    """State of one run as a disk would keep it; tests may change `data` to damage it."""

    data: bytearray = field(default_factory=bytearray)
    """The bytes of log.jsonl."""
    blobs: MemoryBlobs = field(default_factory=MemoryBlobs)
    seal: Seal | None = None
    """Content of seal.json."""
    lease: Lease | None = None
    is_locked: bool = False
    broken: list[bytes] = field(default_factory=list)
    """Parts of the log that recoveries have set aside."""
    sessions: dict[str, MemorySession] = field(default_factory=dict)
    """Child sessions, by name."""

    def bytes_from(self, offset: int) -> bytes | None:
        """Return the bytes of the log from `offset` on; None if it is shorter."""
        return bytes(self.data[offset:]) if len(self.data) >= offset else None


class MemoryLog:
    """A run's log, held for writing. Made by MemoryStore."""

    run_id: str
    folder: Path | None
    blobs: KeptBlobs
    reading: LogContents
    """Content of the log when it was acquired. `damage` is None or the torn tail that was cut."""
    syncs: int
    """Groups appended: what a disk would have been asked to make durable."""

    def __init__(
        self, store: MemoryStore, run_id: str, run: MemoryRun, lease: Lease, decoded: Decoded
    ) -> None:
        """Made by MemoryStore, which has set the lease."""
        self.run_id = run_id
        self.folder = None
        self.blobs = run.blobs
        self.reading = LogContents(decoded.events, decoded.damage)
        self.syncs = 0
        self._store = store
        self._run = run
        self._lease = lease
        self._deaths = store.deaths
        self._chain = decoded.chain
        self._count = len(decoded.events)
        self._has_appended = False
        self._is_closed = False
        self._refusal: str | None = None

    @property
    def torn(self) -> Damage | None:
        """The unfinished last line that was cut when the log was acquired."""
        return self.reading.damage

    def append(self, events: Sequence[Event]) -> None:
        """Keep `events` in one group. Raises LogWriteFailed, as FileLog does, and InternalError."""
        self.require_hold()
        if self._refusal is None and self._store.deaths != self._deaths:
            self._refusal = "its process has ended"
        if self._refusal is not None:
            raise self._write_failed()
        if not events:
            return
        data, chain = encode_group(events, chain=self._chain, after=self._count, put=self.blobs.put)
        reached = self._store.room_for(data)
        self._run.data += data[:reached]
        if reached < len(data):
            self._refusal = "no space left on the device"
            raise self._write_failed()
        self.syncs += 1
        self._chain = chain
        self._count += len(events)
        if not self._has_appended:
            self._has_appended = True
            self._seal()

    def require_hold(self) -> None:
        """Raise LogWriteFailed (`lock_lost`) where the run was taken from this log behind its back."""
        if not self._is_closed and self._run.lease is not self._lease:
            raise lock_lost(self.run_id, "its lock has been removed")

    def session(self, session_id: str) -> MemorySession:
        """Open a child session, for writing: new, or going on. Raises UnknownRun, LogWriteFailed where it is damaged."""
        if not is_attempt_name(session_id):
            raise _unknown(session_id)
        sessions = self._run.sessions
        known = sessions.get(session_id)

        def begun(session: MemorySession) -> None:
            sessions[session_id] = session

        session = self._store.session_type(lambda: self._is_held, self.blobs.put, begun)
        if known is not None:
            decoded = decode_log(bytes(known.data), get=self.blobs.get)
            if decoded.damage is not None and decoded.damage.code != "torn_tail":
                raise LogWriteFailed(
                    f"the session {session_id} is damaged: {decoded.damage.message}"
                )
            del known.data[decoded.good_bytes :]
            session.data, session.chain = known.data, decoded.chain
            session.held, session.count = decoded.events, len(decoded.events)
        return session

    def close(self) -> None:
        """Seal what was appended and release the lease. Safe to call twice."""
        self._refusal = self._refusal or "it is closed"
        self._is_closed = True
        if self._is_held:
            if self._has_appended:
                self._seal()
            self._run.lease = None
            self._run.is_locked = False

    def _seal(self) -> None:
        self._run.seal = Seal(self._count, self._chain)

    @property
    def _is_held(self) -> bool:
        return self._run.is_locked and self._run.lease is self._lease

    def _write_failed(self) -> LogWriteFailed:
        return LogWriteFailed(
            f"the log of run {self.run_id} takes no events: {self._refusal}",
            fix=f"when that is repaired, `pixirnb resume {self.run_id}` goes on from what was kept",
            details={"run_id": self.run_id},
        )


class MemoryStore:
    """All runs of one imaginary state folder."""

    runs: dict[str, MemoryRun]

    def __init__(
        self, *, instance: str = "memory", session_type: type[MemorySession] = MemorySession
    ) -> None:
        """Empty; `instance` stands in the leases; `session_type`: for sessions whose disk is full."""
        self.session_type = session_type
        self.runs = {}
        self.instance = instance
        self.deaths = 0
        """How often all processes died."""
        self._left: int | None = None
        self._torn = 0

    def fail_after(self, appends: int | None, *, torn: int = 0) -> None:
        """Let `appends` more groups succeed, then refuse each; None: heal.

        Of a refused group the first `torn` bytes are kept, as when a disk fills up.
        """
        self._left = appends
        self._torn = torn

    def end_processes(self) -> None:
        """Let every holder die at once: its locks are free, its logs take no more events."""
        self.deaths += 1
        for run in self.runs.values():
            run.is_locked = False

    def lose_lock(self, run_id: str) -> None:
        """Remove lock and record of a run: its owner has lost it, and may not know yet."""
        run = self._run(run_id)
        run.is_locked, run.lease = False, None

    def room_for(self, data: bytes) -> int:
        """Return the number of bytes of a group that are kept: all of them, unless `fail_after` has run out."""
        if self._left is None:
            return len(data)
        if self._left > 0:
            self._left -= 1
            return len(data)
        return min(self._torn, len(data) - 1)

    def create(
        self,
        run_id: str,
        history: Sequence[Event] = (),
        furnish: Callable[[Blobs], None] = lambda _: None,
    ) -> MemoryLog:
        """Create a held log, with a history or empty; `furnish` puts the blobs it names. Raises StateUnusable."""
        if not is_run_id(run_id):
            raise StateUnusable(f"{run_id!r} is not a run id", code="run_id_invalid")
        if run_id in self.runs:
            raise StateUnusable(f"run {run_id} exists already", code="run_exists")
        run = MemoryRun()
        furnish(run.blobs)
        data, chain = encode_group(history, chain=GENESIS, after=0, put=run.blobs.put)
        run.data += data
        self.runs[run_id] = run
        decoded = Decoded(list(history), None, len(data), chain)
        return MemoryLog(self, run_id, run, self._take(run), decoded)

    def acquire(
        self, run_id: str, *, take_over: bool = False, mend: Mend | None = None
    ) -> MemoryLog:
        """Hold an existing log; a torn tail is cut, damage mended with `mend`. Raises UnknownRun, HeldByAnother, LogDamaged."""
        run = self._run(run_id)
        other = run.lease
        is_elsewhere = other is not None and other.host != socket.gethostname()
        if run.is_locked or (is_elsewhere and not take_over):
            raise HeldByAnother(
                f"run {run_id} is held by {other.instance if other else 'another'}",
                fix="wait for it; with --take-over when it is on another host and surely gone",
                details={"run_id": run_id, **_details(other)},
            )
        decoded = self._decode(run)
        is_torn = decoded.damage is not None and decoded.damage.code == "torn_tail"
        if decoded.damage is not None and not is_torn:
            if mend is None or not is_recoverable(decoded.damage, len(decoded.events)):
                raise log_damaged(run_id, decoded.damage, len(decoded.events))
            decoded = self._recovered(run, decoded, mend)
        if not decoded.events:
            raise _unknown(run_id)
        del run.data[decoded.good_bytes :]
        return MemoryLog(self, run_id, run, self._take(run), decoded)

    def read(self, run_id: str) -> LogContents:
        """Read without holding. Never raises for damage: it is in the Reading. Raises UnknownRun."""
        run = self._run(run_id)
        is_elsewhere = run.lease is not None and run.lease.host != socket.gethostname()
        owner = run.lease if run.is_locked or is_elsewhere else None
        decoded = self._decode(run)
        if owner is not None and decoded.damage is not None and decoded.damage.code == "torn_tail":
            decoded = replace(decoded, damage=None)
        if not decoded.events and decoded.damage is None and owner is None:
            raise _unknown(run_id)
        return LogContents(decoded.events, decoded.damage, owner)

    def follow(self, run_id: str) -> LogFollower:
        """Follow a run from its first event on. Raises UnknownRun."""
        run = self._run(run_id)
        return LogFollower(run_id, run.bytes_from, run.blobs.get, lambda: run.seal)

    def blobs(self, run_id: str) -> MemoryBlobs:
        """Return the blobs of a run, for reading. Raises UnknownRun."""
        return self._run(run_id).blobs

    def run_ids(self) -> list[str]:
        """Return every run, newest first."""
        return sorted(self.runs, reverse=True)

    def session_ids(self, run_id: str) -> list[str]:
        """Return the child sessions of a run. Raises UnknownRun."""
        return sorted(self._run(run_id).sessions)

    def read_session(self, run_id: str, session_id: str) -> LogContents:
        """Return the content of a child session. Raises UnknownRun."""
        run = self._run(run_id)
        if session_id not in run.sessions:
            raise _unknown(session_id)
        decoded = decode_log(bytes(run.sessions[session_id].data), get=run.blobs.get)
        return LogContents(decoded.events, decoded.damage)

    def _run(self, run_id: str) -> MemoryRun:
        if run_id not in self.runs:
            raise _unknown(run_id)
        return self.runs[run_id]

    def _recovered(self, run: MemoryRun, decoded: Decoded, mend: Mend) -> Decoded:
        assert decoded.damage is not None
        rest = bytes(run.data[decoded.good_bytes :])
        kept = f"log.{len(run.broken) + 1}.broken" if rest else None
        mended = mend(Setback(decoded.events, decoded.damage, rest, kept))
        encoded, chain = encode_group(
            mended.events, chain=decoded.chain, after=len(decoded.events), put=run.blobs.put
        )
        if rest:
            run.broken.append(rest)
        for name in list(run.sessions):
            step, _, attempt = name.rpartition(".")
            if int(attempt) > mended.attempts.get(step, 0):
                del run.sessions[name]
        run.data[decoded.good_bytes :] = encoded
        events = [*decoded.events, *mended.events]
        run.seal = Seal(len(events), chain)
        return Decoded(events, None, len(run.data), chain)

    def _take(self, run: MemoryRun) -> Lease:
        run.lease = Lease(
            host=socket.gethostname(),
            pid=os.getpid(),
            started=0.0,
            instance=self.instance,
            since="1970-01-01T00:00:00.000000Z",
        )
        run.is_locked = True
        return run.lease

    def _decode(self, run: MemoryRun) -> Decoded:
        data = bytes(run.data)
        return check_seal(decode_log(data, get=run.blobs.get), data, run.seal)


def _details(lease: Lease | None) -> dict[str, Any]:
    if lease is None:
        return {"host": None, "pid": None, "since": None}
    return {"host": lease.host, "pid": lease.pid, "since": lease.since}


def _unknown(run_id: str) -> UnknownRun:
    return UnknownRun(f"there is no run {run_id} in memory", details={"run_id": run_id})
