"""The protocols between the pure floors and the acting ones: log, blob store, clock, runner.

`machine` decides with values only. `engine` executes its decisions through these protocols and gives runners a `Job`.
Stores and runners must pass the contract suites in `pixirnb.testing`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypedDict, TypeVar

import anyio
from msgspec import Struct

from pixirnb.history.codec import Damage as Damage  # noqa: PLC0414 - re-exported for the floors above
from pixirnb.history.events import Event
from pixirnb.json_types import JsonObject
from pixirnb.protocols.trees import CopyFolders
from pixirnb.protocols.work import Ended, RunnerEvent, StopReason, ToolDefinition, Work

if TYPE_CHECKING:
    from pixirnb.machine.requests import Request

T = TypeVar("T")

# --- what the store promises -------------------------------------------------------------------------------------


class Blobs(Protocol):
    """Content-addressed bytes next to a log. Digests look like `b2:<64 hex>`."""

    def put(self, data: bytes) -> str:
        """Store `data` durably (on disk before this returns) and return its digest. Idempotent."""

    def put_file(
        self, path: Path, before_piece: Callable[[], object] = lambda: None
    ) -> tuple[str, int]:
        """Store the bytes of a file without holding them in memory; return their digest and how many they were.

        The file itself stays. What `before_piece` raises ends it.
        """

    def get(self, digest: str) -> bytes:
        """Read and check a blob. Raises LogDamaged(code=`blob_missing` | `blob_damaged`)."""

    def path(self, digest: str) -> Path | None:
        """Return the file that holds a blob, for passing on by name; None for stores without files."""

    def has(self, digest: str) -> bool:
        """Return whether the blob exists (not whether it is intact)."""

    def is_whole(self, digest: str) -> bool:
        """Return whether the blob exists and is intact."""


class BlobDraft(Protocol):
    """A blob written in pieces. A context manager that drops a draft that was not kept."""

    @property
    def size(self) -> int:
        """Return the bytes so far."""

    @property
    def path(self) -> Path | None:
        """Return the file that holds them now, for reading; None for stores without files."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def write(self, data: bytes) -> None:
        """Add bytes. Raises Cannot(code=`limit_exceeded`), LogWriteFailed."""

    def keep(self) -> str:
        """Make the bytes a durable blob and return its digest. Blocking. Raises LogWriteFailed."""

    def drop(self) -> None:
        """Delete the draft unless it was kept. Safe to call twice."""


class KeptBlobs(Blobs, Protocol):
    """The blobs of a run that is held for writing."""

    def draft(self) -> BlobDraft:
        """Start a blob that is written piece by piece, without holding it in memory. Raises LogWriteFailed, StateUnusable."""


class Lease(Struct, frozen=True):
    """The owner of a run: the record next to the OS lock."""

    host: str
    pid: int
    started: float
    """Start time of the process (psutil create_time), which tells it from a later one with its pid until a clock is set."""
    instance: str
    since: str
    folder: int | None = None
    """Inode of the run folder it was written for, which reveals a copy; None if not recorded."""
    pid_namespace: int | None = None
    """Inode of the PID namespace: other containers of this host have others; None if not recorded."""
    born: str | None = None
    """Birth of the process (`system/process_life.py`), which counts before `started`; None if not recorded."""


class LogContents(Struct, frozen=True):
    """The valid prefix of a log, and the reason if reading stopped before its end."""

    events: list[Event]
    damage: Damage | None = None
    owner: Lease | None = None
    """The live owner; None when the run has no owner now."""


class Setback(Struct, frozen=True):
    """A damaged log with a valid beginning."""

    events: list[Event]
    """The valid events; at least one."""
    damage: Damage
    rest: bytes
    """The bytes after the valid prefix."""
    kept: str | None
    """Name of the file in the run folder with those bytes; None if there are none."""


class Mended(Struct, frozen=True):
    """The continuation of a damaged log."""

    events: list[Event]
    """Events that report the damage, after the valid ones."""
    attempts: dict[str, int]
    """The last attempt of each step in the valid history."""


Mend = Callable[[Setback], Mended]


class Follower(Protocol):
    """Reader of a log that another process is writing."""

    def poll(self) -> list[Event]:
        """Return events completed since the last poll, in order; may be empty. Raises LogDamaged."""


class RunLog(Protocol):
    """A run's log, held for writing by this process alone."""

    run_id: str
    folder: Path | None
    """The run folder; None for stores without one (then output logs and sessions are not kept)."""
    blobs: KeptBlobs
    reading: LogContents
    """Contents of the log when it was acquired; empty for a new one."""

    def append(self, events: Sequence[Event]) -> None:
        """Make `events` durable in one group: encode, chain, write, fdatasync. Blocking.

        Raises LogWriteFailed, after which the log accepts nothing more: the next reading decides what reached the
        disk. Its code is `lock_lost` if the run is not owned any more: then nothing was written.
        """

    def require_hold(self) -> None:
        """Raise LogWriteFailed (`lock_lost`) if another process may own the run now: nothing may be written then."""

    def session(self, session_id: str) -> SessionLog:
        """Open a child session of this run for writing: a new one, or an existing one to continue.

        Raises LogWriteFailed if it is damaged, UnknownRun for an invalid name.
        """

    def close(self) -> None:
        """Release the lock and the lease. Safe to call twice."""


class SessionLog(Protocol):
    """The log of a child session, written under its run's lock."""

    count: int
    """Number of events in it."""
    held: list[Event]
    """Contents of the session when it was opened; empty for a new one."""

    def append(self, events: Sequence[Event]) -> None:
        """Make `events` durable in one group. Blocking. Raises LogWriteFailed, after which it takes no more."""

    def close(self) -> None:
        """Close the log. Safe to call twice."""


class RequestReply(TypedDict):
    """The owner's reply to a request; an `ErrorDocument` if it refuses."""

    ok: bool


class Inbox(Protocol):
    """Requests of other processes to the owner of a run, and its replies."""

    def take(self) -> list[Request]:
        """Return requests that arrived since the last call, oldest first, each once. Blocking; never raises."""

    def answer(self, request_id: str, reply: Mapping[str, object] | None) -> None:
        """Write a reply: `{"ok": true}`, or an error's document; None if no asker waits for it. Never raises."""

    def close(self) -> None:
        """Accept no more requests. Replies can still be written. Never raises."""


class RunStore(Protocol):
    """All runs of one state folder."""

    def create(
        self,
        run_id: str,
        history: Sequence[Event] = (),
        furnish: Callable[[Blobs], None] = ...,
    ) -> RunLog:
        """Create a new, held log. With a history (a fork's) it holds all of that or is no run at all.

        `furnish` stores the blobs that the history names. Raises StateUnusable, LogWriteFailed.
        """

    def acquire(self, run_id: str, *, take_over: bool = False, mend: Mend | None = None) -> RunLog:
        """Open an existing log for writing.

        Raises UnknownRun, HeldByAnother, LogDamaged (a torn tail is cut, not raised).

        With `mend`, a log with a valid beginning continues there, first with the events of `mend`; the rest is set
        aside.
        """

    def read(self, run_id: str) -> LogContents:
        """Read without owning. Never raises for damage: it is in the LogContents. Raises UnknownRun."""

    def follow(self, run_id: str) -> Follower:
        """Follow a run from its first event on. Raises UnknownRun."""

    def blobs(self, run_id: str) -> Blobs:
        """Return the blobs of a run, for reading. Raises UnknownRun."""

    def run_ids(self) -> list[str]:
        """Return every run, newest first."""

    def session_ids(self, run_id: str) -> list[str]:
        """Return the child sessions of a run, by name. Raises UnknownRun."""

    def read_session(self, run_id: str, session_id: str) -> LogContents:
        """Read a child session; damage is in the LogContents. Raises UnknownRun (also `unknown_session`)."""


# --- blocking work -----------------------------------------------------------------------------------------------


class Offload(Protocol):
    """Function that runs a blocking call without blocking the loop."""

    async def __call__(self, call: Callable[..., T], *arguments: Any) -> T:
        """Return the result of the call, or raise its error."""


class Contents(Protocol):
    """Function that returns the digest of the files that globs match in a workspace, compared by `reuse: reads`."""

    def __call__(
        self, workspace: Path, read_set: Sequence[str], /, *, is_over: Callable[[], bool] = ...
    ) -> str:
        """Return the digest, or once `is_over` any text."""


class GroupWriter(Protocol):
    """Writer of groups of events: durably, in order, while the loop goes on."""

    async def append(self, events: Sequence[Event], *, is_alone: bool = False) -> None:
        """Return when the group is durable; raises what `RunLog.append` raises.

        `is_alone`: the run has nothing else to do meanwhile.
        """

    def close(self) -> None:
        """End the writer: nothing will be appended any more. Safe to call twice."""


# --- time --------------------------------------------------------------------------------------------------------


class Clock(Protocol):
    """The engine's only source of time."""

    def now(self) -> float:
        """Return monotonic seconds; only differences mean anything."""

    def wall(self) -> str:
        """Return UTC now as `2026-11-21T22:03:44.123456Z`, always 27 characters."""

    async def sleep_until(self, deadline: float) -> None:
        """Return at or soon after monotonic `deadline`."""

    async def wait(self, event: anyio.Event, deadline: float | None) -> None:
        """Return when the event is set or the deadline comes; None: only when the event is set."""


# --- what a runner is handed --------------------------------------------------------------------------------------


class Guard(Protocol):
    """Guard that ends processes with this one, however it dies."""

    async def guard(self, mark: int) -> None:
        """End all processes with this mark when this process dies. Raises OSError if that is impossible."""

    def release(self, mark: int) -> None:
        """Undo `guard`."""

    def stand_by(self) -> None:
        """Be ready to do so still, whatever a step did to it. Called once a second while work is under way."""


class Stop(Protocol):
    """The engine's request to end an attempt. Set once; a runner watches it."""

    reason: StopReason | None

    def then(self, call: Callable[[], object]) -> None:
        """Call, on the loop's thread, once the attempt is to end; at once if it is."""

    async def wait(self) -> StopReason:
        """Return when the attempt is to end, with the reason to report as status."""


Question = Literal["commit", "permit", "call"]
"""Kind of a question from a session to the engine: are all logged events on disk · may it do something · use a tool."""


class Asking(Protocol):
    """Source of answers to an agent's questions while its attempt runs."""

    async def __call__(self, question: Question, data: JsonObject) -> JsonObject:
        """Return the answer as plain JSON; a refusal is `{"error": {"code", "message", "fix"}}`.

        Never raises for the question.

        The answer to `call` also has `told`: the events, as pairs, that the engine itself added to the session
        meanwhile.
        """


class Delegate(Protocol):
    """Executor of an agent's calls of the engine's tools. Implemented above the engine."""

    definitions: tuple[ToolDefinition, ...]
    """The tools: `{name, description, parameters, mutates}` each; `parameters` is a JSON schema."""

    async def __call__(self, tool: str, args: JsonObject, caller: Caller) -> JsonObject:
        """Return the tool's result: `{"ok", "text", "data"}`. Never raises for the call.

        A cancellation ends the actions of the call, and waits, within a limit, until that is recorded.
        """


class Caller(Struct, frozen=True):
    """The agent that makes a call."""

    run_id: str
    step: str
    attempt: int
    session_id: str
    depth: int
    permission_mode: str
    workspace: Path
    state: Path | None
    """The state folder of its run; None for stores without one."""
    tell: Callable[[str, JsonObject], None] = lambda _kind, _data: None
    """Reports to its session the end of delegated work. Called on the engine's thread."""


class Job(Struct, frozen=True):
    """The input of a runner for one attempt. References are resolved, paths are absolute, secrets are in `env` only."""

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
    """Reports events on the engine's loop thread, in order; never blocks. `ended` is the return value instead."""
    on_thread_returned: Callable[[], None] = lambda: None
    """Called by a detached python thread, from any thread, when it returns."""
    grace_s: float = 5.0
    """Seconds between the polite stop and the end of the whole process tree."""
    limit_s: float | None = None
    """Seconds after which the runner ends the work itself, as the engine hangs. None: never."""
    ask: Asking | None = None
    """For agents: sends their questions."""
    draft: Callable[[], BlobDraft] | None = None
    """Starts a draft for bytes too large for memory; None: they are refused."""
    pace: Callable[[], Awaitable[None]] | None = None
    """Returns when emitted events have been handled: a runner that can wait reads no further before."""
    state: Path | None = None
    """The state folder of the run; None without one."""
    resources: Mapping[str, float] = {}
    """Resources that a worker of a cluster must have free, by name."""
    copies: CopyFolders | None = None
    """The folders of an isolated attempt; None for one in the user's own."""


class Runner(Protocol):
    """Performer of one kind of work. Never raises for failures of the user's work: `Ended` reports them."""

    async def perform(self, job: Job) -> Ended:
        """Run the job to its end, emitting as it goes. Watches `job.stop`."""


class Cluster(Runner, Protocol):
    """Performer of steps on other machines, for one run."""

    def end_left(self, run_id: str, left: Mapping[tuple[str, int], str | None]) -> None:
        """End the attempts that a dead driver left on workers; return once nothing of them goes on. Blocking.

        `left`: step and attempt to the worker that the log names. Raises Cannot if a worker is silent, or a thread goes on.
        """

    def close(self) -> None:
        """Take no more jobs. Safe to call twice."""
