"""Python steps: a function in a fresh daemon thread, or (`process: true`) in a killable child.

In a thread the function shares the notebook's interpreter: its modules, its directory and its environment, so the
job's `cwd` and `env` do not apply. A thread cannot be killed: at a stop
it goes on, is reported `detached`, and reports when it has returned. Its processes are ended at the stop and when it
returns (`thread_children.py`); if that makes it return, it was stopped like any other step. A child has an
interpreter of its own.
"""

from __future__ import annotations

import asyncio
import contextvars
import errno
import pickle
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import anyio
from msgspec.structs import replace

from pixirnb import value_codec
from pixirnb.errors import InternalError, StateUnusable
from pixirnb.history.events import StoredValue
from pixirnb.ids import attempt_name, attempt_tag
from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import BlobDraft, Job
from pixirnb.protocols.work import Ended, Output, Progress, PythonWork, RunnerEvent, Started
from pixirnb.runners.processes import attempt_process as attempt
from pixirnb.runners.processes import thread_starts as starts
from pixirnb.runners.processes.eager_tasks import Signal, in_task
from pixirnb.runners.processes.loop_mailbox import Mailbox, StreamChunk
from pixirnb.runners.processes.orphans import end_children
from pixirnb.runners.processes.supervisor import Supervisor, child_path, own_path
from pixirnb.runners.processes.thread_children import Children, Ending
from pixirnb.runners.processes.worker_threads import in_worker_or_here
from pixirnb.runners.python import functions, source_loader
from pixirnb.runners.python import progress as reporter
from pixirnb.runners.python import thread_output as threads
from pixirnb.runners.python.loaded_modules import add_to_path, path_without
from pixirnb.wording import error_text

_LOOK_S: Final = 1.0
"""Seconds between checks that processes of a step in a thread would end with this process."""
_RETURN_S: Final = 1.0
"""Seconds that a thread has to return after its processes have been ended."""
_ROOM_S: Final = 0.01
"""Seconds before a busy supervisor is asked again."""


class PythonRunner:
    """Runner of `PythonWork`. The supervisor is only started for steps that run as a process."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._running: dict[Signal, threading.Thread] = {}
        """The threads of steps, each with the signal that it is over."""
        self._gone: set[Signal] = set()
        """Signals of the threads that had ended at the last look."""
        self._look: asyncio.TimerHandle | None = None

    async def perform(self, job: Job) -> Ended:
        """Call the function and store its result. See `ports.Runner`."""
        work = job.work
        if not isinstance(work, PythonWork):
            raise InternalError(f"the python runner got {type(work).__name__}")
        if not work.process:
            return await self._in_thread(job, work)
        header = {
            "kind": "python",
            "call": work.call,
            "source": work.source,
            "is_check": work.is_check,
            "holds_unloaded": work.holds_unloaded,
            "workspace": str(job.workspace),
            "sys_path": own_path()
            if work.call.startswith("pixirnb.")
            else path_without(child_path()),
        }
        try:
            arguments = pickle.dumps(work.arguments, protocol=5)
        except BaseException as error:  # noqa: BLE001 — an argument's own __reduce__ may raise anything, an exit too
            message = f"an argument cannot be passed to a process: {error_text(error)}"
            return Ended("failed", error_kind="spawn_failed", message=message)
        return await attempt.perform(
            self._supervisor, job, attempt.SpawnRequest(header, arguments, result=_of_process)
        )

    async def _in_thread(self, job: Job, work: PythonWork) -> Ended:
        if job.stop.reason is not None:
            return Ended(job.stop.reason, details={"reason": job.stop.reason})
        thread = _Thread(job, work, self._supervisor)
        self._supervisor.expect_threads()
        over = thread.over
        name = f"pixirnb {attempt_name(job.step, job.attempt)}"
        # A thread of its own: what a step leaves on it (locals, an event loop, a signal mask) reaches no other step.
        running = threading.Thread(target=thread.perform, name=name, daemon=True)
        try:
            running.start()
        except RuntimeError as error:
            message = f"the system refused a new thread: {error}"
            return Ended("failed", error_kind="spawn_failed", message=message)
        try:
            job.emit(Started(None))
            job.stop.then(over.set)
            self._look_on(running, over)
            await over.wait()
            if thread.ended is None:
                await in_task()
                return await thread.stop(is_gone=not running.is_alive())
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await in_worker_or_here(thread.children.end, 0)
            raise
        finally:
            thread.is_abandoned = thread.ended is None
            self._running.pop(over, None)
        return thread.ended

    def _look_on(self, running: threading.Thread, over: Signal) -> None:
        self._running[over] = running
        if self._look is None:
            self._look = asyncio.get_running_loop().call_later(_LOOK_S, self._look_at_all)

    def _look_at_all(self) -> None:
        """Look once a second, while a thread runs, whether it ended without a word, and whether its processes are guarded."""
        self._look = None
        if not self._running:
            return
        self._supervisor.stand_by()
        gone = {over for over, thread in self._running.items() if not thread.is_alive()}
        # One that ended in order has told so by the next look.
        for over in gone & self._gone:
            over.set()
        self._gone = gone
        if self._running:
            loop = asyncio.get_running_loop()
            self._look = loop.call_later(_LOOK_S, self._look_at_all)


@dataclass(slots=True)
class _Thread:
    """The loop's view of a step's thread. Used on the loop's thread only, except for `perform`."""

    job: Job
    work: PythonWork
    supervisor: Supervisor
    mailbox: Mailbox = field(default_factory=Mailbox)
    over: Signal = field(default_factory=Signal)
    """Set when the thread has returned, and when it is to stop."""
    ended: Ended | None = None
    is_abandoned: bool = False
    children: Children = field(init=False)

    def __post_init__(self) -> None:
        tag = attempt_tag(self.job.run_id, self.job.step, self.job.attempt)
        self.children = Children(tag, self._guard, self._release)

    def perform(self) -> None:
        """Run the thread. Uses an empty context, so that nothing it displays lands in a cell."""
        try:
            starts.own(self.children)
            ended = contextvars.Context().run(self._call)
        except BaseException as error:  # noqa: BLE001 — raised on this thread, it would reach no one, and the run would wait for ever
            ended = _failed(functions.failure_of(error))
        ending = end_children(self.children, 0, is_last=True)
        if ending.left:
            ended = replace(ended, strays=len(ending.left))
        if ending.survivors is not None:
            details = {**ended.details, **_details(ending)}
            ended = replace(ended, survivors=ending.survivors, details=details)
        if not self.mailbox.post(partial(self._return, ended)):
            self.job.on_thread_returned()

    def _call(self) -> Ended:
        reporter.listen_in_this_thread(self._report)
        add_to_path([str(self.job.cwd), str(self.job.workspace)])
        source_loader.install()
        began = time.monotonic()
        with threads.own_output(self._print):
            work = self.work
            outcome = functions.call(
                work.call,
                work.arguments,
                work.source,
                is_check=work.is_check,
                holds_unloaded=work.holds_unloaded,
            )
            if not isinstance(outcome, functions.Failure):
                outcome = functions.encode(outcome)
            if isinstance(outcome, functions.Failure):
                return _failed(outcome)
            ended = _completed(*outcome)
        lasted, limit = time.monotonic() - began, self.job.limit_s
        is_overdue = limit is not None and lasted > limit
        return replace(ended, overdue_ms=round(lasted * 1000)) if is_overdue else ended

    async def stop(self, *, is_gone: bool) -> Ended:
        """End the processes of the thread, which may make it return; return the end of a stopped attempt.

        `is_gone`: the thread has ended without a word, as a trace function that raises makes it.
        """
        end = partial(end_children, self.children, self.job.grace_s, is_last=is_gone)
        ending = await in_worker_or_here(end)
        reason = self.job.stop.reason
        if is_gone and self.ended is None:
            lost = Ended("failed", error_kind="lost", message="its thread ended without a result")
            self.ended = replace(
                Ended(reason) if reason is not None else lost,
                details=_details(ending),
                strays=len(ending.killed),
                survivors=ending.survivors,
            )
            return self.ended
        assert reason is not None
        facts: JsonObject = {"reason": reason, **_details(ending)}
        if (ending.left or ending.runs) and self.ended is None:
            self.over = Signal()
            with anyio.move_on_after(_RETURN_S):
                await self.over.wait()
        if self.ended is not None:
            return Ended(
                reason, details=facts, strays=len(ending.killed), survivors=ending.survivors
            )
        return Ended(
            "detached",
            message="the thread cannot be stopped: it keeps running and keeps its claims until it returns",
            details=facts,
            strays=len(ending.killed),
            survivors=ending.survivors,
        )

    def _guard(self, mark: int) -> None:
        """Guard a mark, on the thread that starts a process. Raises OSError."""
        limit_s = self.supervisor.spawn_limit_s
        ends_at = time.monotonic() + limit_s
        while True:
            refusals: queue.SimpleQueue[OSError | None] = queue.SimpleQueue()
            is_posted = self.mailbox.post(partial(self._guard_now, mark, refusals.put))
            try:
                refusal = refusals.get(timeout=limit_s if is_posted else 0)
            except queue.Empty:
                words = "the engine has ended; its steps cannot start processes"
                raise OSError(errno.ECANCELED, words) from None
            if refusal is None:
                return
            if not isinstance(refusal, BlockingIOError) or time.monotonic() > ends_at:
                raise refusal
            time.sleep(_ROOM_S)

    def _guard_now(self, mark: int, answer: Callable[[OSError | None], None]) -> None:
        try:
            self.supervisor.guard_now(mark)
        except OSError as error:
            answer(error)
        else:
            answer(None)

    def _release(self, mark: int) -> None:
        self.mailbox.post(partial(self.supervisor.release, mark))

    def _print(self, stream: threads.StreamName, chunk: bytes) -> None:
        self.mailbox.post(StreamChunk(stream, bytearray(chunk), self._printed), len(chunk))

    def _printed(self, stream: threads.StreamName, chunk: bytes) -> None:
        self._pass_on(Output(stream, chunk))

    def _report(self, fraction: float | None, message: str) -> None:
        size = len(message.encode(errors="replace"))
        self.mailbox.post(partial(self._pass_on, Progress(fraction, message)), size)

    def _pass_on(self, event: RunnerEvent) -> None:
        if not self.is_abandoned:
            self.job.emit(event)

    def _return(self, ended: Ended) -> None:
        if self.is_abandoned:
            self.job.on_thread_returned()
        else:
            self.ended = ended
            self.over.set()


def _details(ending: Ending) -> JsonObject:
    return {} if ending.survivors is None else {"survivors": list(ending.survivors)}


def _of_process(frame: JsonObject, data: bytes | BlobDraft) -> Ended:
    if frame["frame"] == "value":
        return _completed(frame["stored"], data if frame["has_data"] else None)
    return _failed(functions.Failure(frame["kind"], frame["message"], frame["details"]))


def _completed(stored: StoredValue, data: bytes | BlobDraft | None) -> Ended:
    if stored["format"] == "pickle":
        try:
            if data is None or isinstance(data, bytes):
                stored = value_codec.sign(stored, data, value_codec.user_key())
            elif data.path is not None:
                stored = value_codec.sign_file(stored, data.path, value_codec.user_key())
        except StateUnusable as error:
            return Ended("failed", error_kind="output_unserialisable", message=error.one_line())
    return Ended("completed", value=stored, payload=data)


def _failed(failure: functions.Failure) -> Ended:
    return Ended(
        "failed", error_kind=failure.kind, message=failure.message, details=failure.details
    )
