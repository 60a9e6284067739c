"""The promises between the pure floors and the ones that act: what a log, a blob store, a clock and a runner must do.

`machine` decides with values only. `engine` carries its decisions out through these protocols and hands runners what they
need in a `Job`. Stores and runners prove themselves by passing the contract suites in `pixirnb.testing`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, Self, TypeVar

import anyio

from pixirnb.history.codec import Damage as Damage  # noqa: PLC0414 - re-exported for the floors above
from pixirnb.history.events import Event
from pixirnb.machine.requests import Request
from pixirnb.protocols.work import Ended, RunnerEvent, StopReason, Work

T = TypeVar("T")

# --- what the store promises -------------------------------------------------------------------------------------


class Blobs(Protocol):
    """Content-addressed bytes beside a log. Digests look like `b2:<64 hex>`."""

    def put(self, data: bytes) -> str:
        """Store `data` durably (on disk before this returns) and return its digest. Twice is once."""

    def put_file(self, path: Path) -> str:
        """Store the bytes of a file without holding them in memory; the file itself stays."""

    def get(self, digest: str) -> bytes:
        """Read and check a blob. Raises LogDamaged(code=`blob_missing` | `blob_damaged`)."""

    def path(self, digest: str) -> Path | None:
        """The file that holds a blob, for handing on by name; None for stores without files."""

    def has(self, digest: str) -> bool:
        """Whether the blob is there (not whether it is intact)."""

    def is_whole(self, digest: str) -> bool:
        """Whether the blob is there and is what was written."""


class BlobDraft(Protocol):
    """A blob on its way: its bytes come in pieces. A context that drops what was not kept."""

    @property
    def size(self) -> int:
        """Bytes so far."""

    @property
    def path(self) -> Path | None:
        """Where they lie now, for reading; None for stores without files."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def write(self, data: bytes) -> None:
        """Add bytes. Raises Cannot(code=`limit_exceeded`), LogWriteFailed."""

    def keep(self) -> str:
        """Make the bytes a blob, durably; its digest. Blocking. Raises LogWriteFailed."""

    def drop(self) -> None:
        """Let go of what was not kept. Safe to call twice."""


class KeptBlobs(Blobs, Protocol):
    """The blobs of a run that is held for writing."""

    def draft(self) -> BlobDraft:
        """A blob that is written piece by piece, without holding it in memory. Raises LogWriteFailed, StateUnusable."""


@dataclass(frozen=True, slots=True)
class Lease:
    """Who holds a run: the record beside the OS lock."""

    host: str
    pid: int
    started: float
    """Start time of the process (psutil create_time), so that a reused pid is told apart."""
    instance: str
    since: str
    folder: int | None = None
    """Inode of the run folder it was written for, which tells a copy; None where nobody wrote it down."""
    pid_namespace: int | None = None
    """Inode of the namespace that `pid` is of: another container of this host has others; None where nobody wrote it down."""


@dataclass(frozen=True, slots=True)
class LogContents:
    """The valid prefix of a log, and what stopped the reading, if anything did."""

    events: list[Event]
    damage: Damage | None = None
    owner: Lease | None = None
    """The live owner; None when nobody holds the run now."""


@dataclass(frozen=True, slots=True)
class Setback:
    """A damaged log whose beginning holds."""

    events: list[Event]
    """What holds; at least one."""
    damage: Damage
    rest: bytes
    """What followed."""
    kept: str | None
    """Name of the file in the run folder that keeps it; None where nothing followed."""


@dataclass(frozen=True, slots=True)
class Mended:
    """How a damaged log goes on."""

    events: list[Event]
    """What it says of that, following what holds."""
    attempts: dict[str, int]
    """The last attempt of each step that the kept history knows of."""


Mend = Callable[[Setback], Mended]


class Follower(Protocol):
    """Reads a log that another process is writing."""

    def poll(self) -> list[Event]:
        """Events completed since the last poll, in order; empty when there are none. Raises LogDamaged."""


class RunLog(Protocol):
    """A run's log, held for writing by this process alone."""

    run_id: str
    folder: Path | None
    """The run folder; None for stores without one (then output logs and sessions are not kept)."""
    blobs: KeptBlobs
    reading: LogContents
    """What the log held when it was acquired; empty for a new one."""

    def append(self, events: Sequence[Event]) -> None:
        """Make `events` durable in one group: encode, chain, write, fdatasync. Blocking.

        Raises LogWriteFailed, after which the log accepts nothing more: what reached the disk is decided by the
        next reading. Its code is `lock_lost` where the run is not held any more: then nothing was written.
        """

    def require_hold(self) -> None:
        """Raise LogWriteFailed (`lock_lost`) where another may hold the run now: nothing of it may be written."""

    def session(self, session_id: str) -> SessionLog:
        """A child session of this run, for writing: a new one, or one that was left and goes on.

        Raises LogWriteFailed where what is there is damaged, UnknownRun for a name that is none.
        """

    def close(self) -> None:
        """Release the lock and the lease. Safe to call twice."""


class SessionLog(Protocol):
    """The log of a child session, written under its run's lock."""

    count: int
    """Events in it."""
    held: list[Event]
    """What it held when it was opened; empty for a new one."""

    def append(self, events: Sequence[Event]) -> None:
        """Make `events` durable in one group. Blocking. Raises LogWriteFailed, after which it takes no more."""

    def close(self) -> None:
        """Give it back. Safe to call twice."""


class Inbox(Protocol):
    """Where other processes leave requests for whoever drives the run, and find its replies."""

    def take(self) -> list[Request]:
        """Requests that arrived since the last look, oldest first, each handed out once. Blocking; never raises."""

    def answer(self, request_id: str, reply: dict[str, Any] | None) -> None:
        """Leave a reply: `{"ok": true}`, or an error's document; None where nobody waits. Never raises."""

    def close(self) -> None:
        """Hear nobody any more. Replies can still be left. Never raises."""


class RunStore(Protocol):
    """All runs of one state folder."""

    def create(
        self,
        run_id: str,
        history: Sequence[Event] = (),
        furnish: Callable[[Blobs], None] = ...,
    ) -> RunLog:
        """A new, held log. With a history (a fork's) it holds all of that or is no run at all.

        `furnish` puts the blobs that the history names. Raises StateUnusable, LogWriteFailed.
        """

    def acquire(self, run_id: str, *, take_over: bool = False, mend: Mend | None = None) -> RunLog:
        """Hold an existing log. Raises UnknownRun, HeldByAnother, LogDamaged (a torn tail is cut, not raised).

        With `mend`, one whose beginning holds goes on from there, beginning with what `mend` makes; the rest is kept aside.
        """

    def read(self, run_id: str) -> LogContents:
        """Read without holding. Never raises for damage: it is in the Reading. Raises UnknownRun."""

    def follow(self, run_id: str) -> Follower:
        """Follow a run from its first event on. Raises UnknownRun."""

    def blobs(self, run_id: str) -> Blobs:
        """The blobs of a run, for reading. Raises UnknownRun."""

    def run_ids(self) -> list[str]:
        """Every run, newest first."""

    def session_ids(self, run_id: str) -> list[str]:
        """The child sessions of a run, by name. Raises UnknownRun."""

    def read_session(self, run_id: str, session_id: str) -> LogContents:
        """What a child session holds; damage is in the Reading. Raises UnknownRun (also `unknown_session`)."""


# --- blocking work -----------------------------------------------------------------------------------------------


class Offload(Protocol):
    """Makes a blocking call without holding up the loop."""

    async def __call__(self, call: Callable[..., T], *arguments: Any) -> T:
        """What the call returns, or raises."""


Contents = Callable[[Path, Sequence[str]], str]
"""Digest of the files that globs match in a workspace: what `reuse: reads` compares."""


class GroupWriter(Protocol):
    """Makes groups of events durable, in order, while the loop goes on."""

    async def append(self, events: Sequence[Event]) -> None:
        """Return when the group is durable; raises what `RunLog.append` raises."""

    def close(self) -> None:
        """Nothing will be appended any more. Safe to call twice."""


# --- time --------------------------------------------------------------------------------------------------------


class Clock(Protocol):
    """The engine's only sense of time."""

    def now(self) -> float:
        """Monotonic seconds; only differences mean anything."""

    def wall(self) -> str:
        """UTC now as `2026-11-21T22:03:44.123456Z`, always 27 characters."""

    async def sleep_until(self, deadline: float) -> None:
        """Return at or soon after monotonic `deadline`."""

    async def wait(self, event: anyio.Event, deadline: float | None) -> None:
        """Return when the event is set or the deadline comes; None: only when the event is set."""


# --- what a runner is handed --------------------------------------------------------------------------------------


class Stop(Protocol):
    """The engine's wish that an attempt end. Set once; a runner watches it."""

    reason: StopReason | None

    async def wait(self) -> StopReason:
        """Return when the engine wants the attempt to end, with the reason to report as status."""


Question = Literal["commit", "permit", "call"]
"""What a session may ask of the engine: that all it told is on disk · whether it may do something · a tool of the surface."""


class Asking(Protocol):
    """Answers an agent's questions while its attempt runs."""

    async def __call__(self, question: Question, data: dict[str, Any]) -> dict[str, Any]:
        """The answer, as plain JSON; a refusal is `{"error": {"code", "message", "fix"}}`. Never raises for what was asked.

        The answer to `call` has `told` too: the events, as pairs, that the session was told meanwhile by the engine itself.
        """


class Delegate(Protocol):
    """Carries out what an agent asks of the engine's tool surface. Implemented above the engine."""

    definitions: tuple[dict[str, Any], ...]
    """The tools: `{name, description, parameters, mutates}` each; `parameters` is a JSON schema."""

    async def __call__(self, tool: str, args: dict[str, Any], caller: Caller) -> dict[str, Any]:
        """The tool's result: `{"ok", "text", "data"}`. Never raises for what was asked.

        A cancellation ends what the call started, and waits until that is recorded, within a bound.
        """


@dataclass(frozen=True, slots=True)
class Caller:
    """Which agent asks."""

    run_id: str
    step: str
    attempt: int
    session_id: str
    depth: int
    permission_mode: str
    workspace: Path
    state: Path | None
    """The state folder its run lies in; None for stores without one."""
    tell: Callable[[str, dict[str, Any]], None] = lambda _kind, _data: None
    """Tells its session what becomes of what it started. Called on the engine's thread."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a runner is handed for one attempt. References are resolved, paths are absolute, secrets are in `env` only."""

    run_id: str
    step: str
    attempt: int
    work: Work
    cwd: Path
    workspace: Path
    env: dict[str, str]
    """The whole environment of the child: inherited and written, references included."""
    stop: Stop
    emit: Callable[[RunnerEvent], None]
    """Called on the engine's loop thread, in order; never blocks. `ended` is the return value instead."""
    on_thread_returned: Callable[[], None] = lambda: None
    """A detached python thread calls this, from any thread, when it returns at last."""
    grace_s: float = 5.0
    """Seconds between the polite stop and the end of the whole process tree."""
    limit_s: float | None = None
    """Seconds after which the work is ended without being told to: the engine stands still. None: never."""
    ask: Asking | None = None
    """For agents: where their questions go."""
    draft: Callable[[], BlobDraft] | None = None
    """Makes a place for bytes that are too many for memory; None: there is none, and they are refused."""
    pace: Callable[[], Awaitable[None]] | None = None
    """Returns when what was emitted has been taken in: a runner that can wait reads no further before."""
    state: Path | None = None
    """The state folder that the run is kept in; None where it is kept in none."""


class Runner(Protocol):
    """Performs one kind of work. Never raises for what the user's work did: that is in `Ended`."""

    async def perform(self, job: Job) -> Ended:
        """Run the job to its end, emitting as it goes. Watches `job.stop`."""
