"""The engine of a process: one background thread with one event loop, on which all its live runs are driven.

It never prints: output travels as news and in the logs. When the process ends in good order, live runs are interrupted and
their end is recorded; when it is killed, the supervisor sees its lifeline end and takes every process tree with it.
"""

from __future__ import annotations

import atexit
import math
import os
import queue
import resource
import threading
import traceback
from collections.abc import Callable, Coroutine, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
from msgspec import Struct

from pixirnb.engine.agent_slots import AgentSlots, agent_limit
from pixirnb.engine.live_run import ENGINE_THREAD, LiveRun
from pixirnb.engine.log_writer import LogWriter
from pixirnb.engine.prepared_run import NO_WATCHERS, PreparedRun, Watchers
from pixirnb.engine.scheduler import Scheduler
from pixirnb.engine.services import Runners, Settings, SystemClock
from pixirnb.engine.step_outputs import Outputs
from pixirnb.errors import Cannot, InternalError, PixirnbError
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.run_state import RunState
from pixirnb.machine.board import Board
from pixirnb.machine.requests import Sender
from pixirnb.protocols.ports import Delegate, Inbox, RunLog, Runner
from pixirnb.runners.agents.runner import AgentRunner
from pixirnb.runners.processes import ancestry as lineage
from pixirnb.runners.processes.loop_mailbox import caller_of_loop
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.runners.processes.thread_children import children_of_this_thread
from pixirnb.runners.processes.worker_threads import thread_refused
from pixirnb.runners.python.runner import PythonRunner
from pixirnb.runners.shell import ShellRunner
from pixirnb.spec.steps import StepKind
from pixirnb.store import detached_threads
from pixirnb.system.inherited_signals import restore_sigchld
from pixirnb.wording import error_text

FAREWELL_S: Final = 10.0
"""Seconds that a process which ends waits for its live runs to record their interrupt."""


_DESCRIPTORS: Final = 3
"""Number of descriptors that a loop opens for itself."""


class _Loop(Struct, frozen=True, eq=False):
    """One event loop, with the supervisor and the runners that last as long as it."""

    call_soon: Callable[[Callable[[], object]], object]
    start: Callable[[Callable[[], Coroutine[Any, Any, Any]]], object]
    """Function that starts a task. Called on the engine's thread."""
    stop: Callable[[], object]
    supervisor: Supervisor
    runners: Mapping[StepKind, Runner]


class Engine:
    """A driver of runs on a thread of its own. Made on first use; `engine()` is the one of this process."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self._lock = threading.Lock()
        self._loop: _Loop | None = None
        """None before the first run, and after the loop ended: the next run starts another."""
        self._thread: threading.Thread | None = None
        self.slots = AgentSlots()
        """Slots of all agents of this process."""
        self.delegate: Delegate | None = None
        """Function that carries out calls of the tool surface; set by a layer above."""
        self._live: dict[str, LiveRun] = {}
        self._detached: dict[str, dict[str, int]] = {}
        """Threads that outlived their run here: run to step to attempt; a resume must not start those steps."""
        self._thread_holds: dict[tuple[str, str], int] = {}
        """File locks that report these threads to other processes, by run and step."""

    def launch(
        self, prepared: PreparedRun, watchers: Watchers = NO_WATCHERS, *, inbox: Inbox | None = None
    ) -> LiveRun:
        """Drive a prepared run to rest, in the background. `inbox`: the requests of other processes.

        Raises ThreadRefused, Cannot (`spawn_failed`) where the engine cannot be started.
        """
        plan, log, run = prepared.plan, prepared.log, prepared.run
        limit = agent_limit(os.environ)
        try:
            loop = self._running_loop()
        except PixirnbError:
            log.close()
            raise
        if prepared.cluster is not None:
            loop.supervisor.expect_threads()
        slots = self.slots
        clock = SystemClock()
        board = Board(plan, run, clock.now())
        board.stop = prepared.stop
        scheduler = Scheduler(
            board=board,
            log=log,
            clock=clock,
            runners=Runners(loop.runners, prepared.cluster),
            lookup=Outputs(run, log.blobs).lookup,
            folders=prepared.folders,
            files=prepared.files,
            settings=self.settings,
            inbox=inbox,
            is_attended=watchers.is_attended,
            delegate=self.delegate,
            supervisor=loop.supervisor,
            slots=slots,
            post_from_thread=lambda call: self._post(loop, call),
            writer_of=lambda log: LogWriter(log, lambda: len(self._live) == 1),
            on_returned=lambda step: self._thread_returned(log.run_id, step),
            on_rest=lambda detached: self._rest(prepared, board.run, detached),
        )
        for listener in watchers.listeners:
            scheduler.broadcast.listen(listener)
        scheduler.durable.extend(log.reading.events)
        step = children_of_this_thread()
        by = None if step is None else step.tag  # known before any step of it can ask
        live = LiveRun(scheduler, loop.call_soon, started_by=by)

        def begin() -> None:
            slots.resize(limit)
            # On the engine's thread, where those that return are told: none is taken over that has returned.
            for step, attempt in self._detached.pop(log.run_id, {}).items():
                board.detach(step, attempt)
            loop.start(partial(self._drive, live, list(prepared.opening)))

        with self._lock:
            self._live[log.run_id] = live
            is_lost = self._loop is not loop
        if is_lost:
            self._end_lost(live, None)
        else:
            self._post(loop, begin)
        return live

    def find(self, run_id: str) -> LiveRun | None:
        """Return the live run of this process with that id."""
        return self._live.get(run_id)

    def live_runs(self) -> list[LiveRun]:
        """Return all runs that this process drives now."""
        return [live for live in list(self._live.values()) if not live.ended.is_set()]

    def sender(self, pid: int) -> Sender:
        """Return what a process is to the runs of this one: a person's if it is below no step, as far as is known."""
        loop = self._loop
        if loop is None:
            return lineage.sender(pid)
        supervisor = loop.supervisor
        sender = lineage.sender(pid, supervisor.marks)
        if sender in {"own_step", "unproven"}:
            return sender
        # Of a step that has killed who watched it, what it started may be anybody's child. Nobody watches steps in threads.
        is_lost = supervisor.was_ever_lost or lineage.is_loose(pid, supervisor.threads_since)
        return "unproven" if is_lost else sender

    def close(self) -> None:
        """Interrupt live runs, let each record that, and end the supervisor. Bounded; safe to call twice."""
        thread, loop = self._thread, self._loop
        if thread is None or loop is None:
            return
        live = self.live_runs()
        for run in live:
            run.stop("interrupt")
        for run in live:
            run.ended.wait(FAREWELL_S)
        self._post(loop, loop.stop)
        thread.join(FAREWELL_S)

    def leave_to_parent(self) -> None:
        """Begin again in a forked child: it has no thread of the engine, and its parent drives the runs."""
        for run in self._live.values():
            run.leave_to_parent()
        fresh = Engine(self.settings)
        fresh.delegate = self.delegate
        vars(self).update(vars(fresh))

    async def _drive(self, live: LiveRun, opening: list[EventDraft]) -> None:
        scheduler = live.scheduler
        try:
            await scheduler.drive(opening)
        except Exception as error:  # noqa: BLE001 - kept as the run's failure and raised where it is waited for
            trace = "".join(traceback.format_exception(error))[-4000:]
            live.failure = InternalError(
                f"internal error in the run loop of {scheduler.log.run_id}: {error!r}",
                fix="report this bug; the log is intact and the run can be resumed",
                details={"traceback": trace},
            )
        # A run that ends with the loop is left by `_run_loop`: this task may go on much later, when it is deleted.
        self._leave(live)

    def _leave(self, live: LiveRun) -> None:
        self._live.pop(live.scheduler.log.run_id, None)
        live.leave()

    def _end_lost(self, live: LiveRun, error: BaseException | None) -> None:
        """End a run whose loop has ended."""
        live.failure = _loop_ended(live.scheduler.log.run_id, error)
        live.scheduler.writer.close()
        self._leave(live)

    def _rest(self, prepared: PreparedRun, run: RunState, detached: Mapping[str, int]) -> None:
        self._leave_threads(prepared.log, run, detached)
        if prepared.cluster is not None:
            prepared.cluster.close()

    def _leave_threads(self, log: RunLog, run: RunState, detached: Mapping[str, int]) -> None:
        if not detached:
            return
        self._detached.setdefault(log.run_id, {}).update(detached)
        for step, attempt in detached.items():
            key = (log.run_id, step)
            if log.folder is not None and key not in self._thread_holds:
                held = detached_threads.hold(log.folder, step, attempt, dict(run.owners[-1]))
                if held is not None:
                    self._thread_holds[key] = held

    def _thread_returned(self, run_id: str, step: str) -> None:
        self._detached.get(run_id, {}).pop(step, None)
        held = self._thread_holds.pop((run_id, step), None)
        if held is not None:
            detached_threads.release(held)
        live = self._live.get(run_id)
        if live is not None:
            live.scheduler.release(step)

    def _post(self, loop: _Loop, call: Callable[[], object]) -> None:
        """Call `call` on the engine's thread, from any thread; nothing where the loop is gone, as no run waits for it then."""
        if threading.current_thread() is self._thread:
            call()
            return
        with suppress(RuntimeError):
            loop.call_soon(call)

    def _running_loop(self) -> _Loop:
        restore_sigchld()  # it cannot be done on the threads that call git
        with self._lock:
            if self._loop is not None:
                return self._loop
            _require_descriptors()
            started: queue.SimpleQueue[_Loop | BaseException | None] = queue.SimpleQueue()
            self._thread = threading.Thread(
                target=self._run_loop, args=(started,), name=ENGINE_THREAD, daemon=True
            )
            try:
                self._thread.start()
            except RuntimeError as error:
                raise thread_refused(error) from error
            atexit.register(self.close)
            loop = started.get()
            if isinstance(loop, OSError):
                raise _not_started(loop) from loop
            if not isinstance(loop, _Loop):
                raise InternalError(f"the engine did not start: {loop!r}")
            self._loop = loop
            return loop

    def _run_loop(self, started: queue.SimpleQueue[_Loop | BaseException | None]) -> None:
        """Run a loop to its end. However it ends, no thread waits for it or its runs afterwards."""
        loops: list[_Loop] = []

        def begin(loop: _Loop) -> None:
            loops.append(loop)
            started.put(loop)

        error: BaseException | None = None
        try:
            anyio.run(_serve, begin)
        except BaseException as raised:  # noqa: BLE001 - raised where the loop, or a run on it, is waited for
            error = raised
        started.put(error)
        for loop in loops:
            loop.supervisor.end_without_loop()
            with self._lock:
                if self._loop is loop:
                    self._loop, self.slots = None, AgentSlots()
                lost = [live for live in self._live.values() if live.call_soon is loop.call_soon]
            with ExitStack() as ending:  # all of them, though one cannot be left in order
                for live in lost:
                    ending.callback(self._end_lost, live, error)


async def _serve(begin: Callable[[_Loop], None]) -> None:
    """Call `begin` with a loop, and serve until it is cancelled."""
    to_start, starts = anyio.create_memory_object_stream[Callable[[], Coroutine[Any, Any, Any]]](
        math.inf
    )
    async with Supervisor() as supervisor, to_start, starts, anyio.create_task_group() as tasks:
        runners: Mapping[StepKind, Runner] = {
            "shell": ShellRunner(supervisor),
            "python": PythonRunner(supervisor),
            "agent": AgentRunner(supervisor),
        }
        stop = tasks.cancel_scope.cancel
        begin(_Loop(caller_of_loop(), to_start.send_nowait, stop, supervisor, runners))
        async for each in starts:
            tasks.start_soon(each)


def _require_descriptors() -> None:
    """Raise Cannot (`spawn_failed`) unless a loop can be made: asyncio prints a traceback of one that is made in part."""
    try:
        with ExitStack() as opened:
            for _ in range(_DESCRIPTORS):
                opened.enter_context(Path(os.devnull).open("rb"))
    except OSError as error:
        raise _not_started(error) from error


def _not_started(error: OSError) -> Cannot:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return Cannot(
        f"the engine cannot start: {error.strerror or error} (limit: {limit} open files)",
        fix="close files or raise the limit (`ulimit -n`), then try again",
        code="spawn_failed",
    )


def _loop_ended(run_id: str, error: BaseException | None) -> PixirnbError:
    """Return the failure of a run whose loop has ended."""
    why = "it was closed" if error is None else error_text(error)
    message = f"run {run_id} was stopped: the engine of this process ended: {why}"
    if isinstance(error, OSError):
        return Cannot(
            f"{message}; a Python step may have closed file descriptors",
            fix=f"add `process: true` to that step, then run `pixirnb resume {run_id}`",
            code="engine_ended",
        )
    return Cannot(message, fix=f"run `pixirnb resume {run_id}`", code="engine_ended")


_ENGINE: Engine | None = None
_ENGINE_LOCK = threading.Lock()


def engine() -> Engine:
    """Return the engine of this process."""
    global _ENGINE
    with _ENGINE_LOCK:
        if _ENGINE is None:
            _ENGINE = Engine()
        return _ENGINE


def _begin_in_child() -> None:
    global _ENGINE_LOCK
    _ENGINE_LOCK = threading.Lock()  # another thread may have held it
    if _ENGINE is not None:
        _ENGINE.leave_to_parent()


os.register_at_fork(after_in_child=_begin_in_child)


def find_live(run_id: str, folder: Callable[[], Path]) -> LiveRun | None:
    """Return the live run of this process; None for a copy of its folder, which has its id and is another run.

    `folder`: the folder of the run that is meant; asked only if a run with that id is live. Raises what it raises.
    """
    live = engine().find(run_id)
    driven = None if live is None else live.scheduler.log.folder
    if driven is None or not driven.exists() or not driven.samefile(folder()):
        return None
    return live
