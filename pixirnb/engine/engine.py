"""The engine of a process: one background thread with one event loop, on which all its live runs are driven.

It never prints: output travels as news and in the logs. When the process ends in good order, live runs are interrupted and
their end is recorded; when it is killed, the supervisor sees its lifeline end and takes every process tree with it.
"""

from __future__ import annotations

import atexit
import os
import threading
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import anyio
from anyio.from_thread import BlockingPortal

from pixirnb.engine.agent_slots import AgentSlots, agent_limit
from pixirnb.engine.live_run import ENGINE_THREAD, LiveRun, call_soon
from pixirnb.engine.prepared_run import NO_WATCHERS, PreparedRun, Watchers
from pixirnb.engine.scheduler import Scheduler
from pixirnb.engine.services import Settings, SystemClock
from pixirnb.engine.step_outputs import Outputs
from pixirnb.errors import InternalError, ThreadRefused
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.run_state import RunState
from pixirnb.machine.board import Board
from pixirnb.machine.requests import Sender
from pixirnb.protocols.ports import Delegate, Inbox, RunLog, Runner
from pixirnb.runners.agents.runner import AgentRunner
from pixirnb.runners.processes import ancestry as lineage
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.runners.processes.worker_threads import thread_refused
from pixirnb.runners.python.runner import PythonRunner
from pixirnb.runners.shell import ShellRunner
from pixirnb.spec.steps import StepKind
from pixirnb.store import detached_threads
from pixirnb.system.inherited_signals import restore_sigchld

FAREWELL_S: Final = 10.0
"""Seconds that a process which ends waits for its live runs to record their interrupt."""


class Engine:
    """A driver of runs on a thread of its own. Made on first use; `engine()` is the one of this process."""

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self._lock = threading.Lock()
        self._portal: BlockingPortal | None = None
        self._thread: threading.Thread | None = None
        self._runners: Mapping[StepKind, Runner] = {}
        self._supervisor: Supervisor | None = None
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
        """Drive a prepared run to rest, in the background. `inbox`: the requests of other processes. Raises ThreadRefused."""
        plan, log, run = prepared.plan, prepared.log, prepared.run
        limit = agent_limit(os.environ)
        try:
            portal = self._running_portal()
        except ThreadRefused:
            log.close()
            raise
        portal.start_task_soon(call_soon, partial(self.slots.resize, limit))
        clock = SystemClock()
        board = Board(plan, run, clock.now())
        board.stop = prepared.stop
        scheduler = Scheduler(
            plan=plan,
            board=board,
            log=log,
            clock=clock,
            runners=self._runners,
            lookup=Outputs(run, log.blobs).lookup,
            folders=prepared.folders,
            files=prepared.files,
            settings=self.settings,
            inbox=inbox,
            is_attended=watchers.is_attended,
            delegate=self.delegate,
            supervisor=self._supervisor,
            slots=self.slots,
            post_from_thread=lambda call: self._post(portal, call),
            on_returned=lambda step: self._thread_returned(log.run_id, step),
            on_rest=lambda detached: self._leave_threads(log, board.run, detached),
        )
        for step, attempt in self._detached.pop(log.run_id, {}).items():
            if step in plan.index:
                board.detached[plan.index[step]] = attempt
        for listener in watchers.listeners:
            scheduler.broadcast.listen(listener)
        scheduler.durable.extend(log.reading.events)
        live = LiveRun(scheduler, portal)
        self._live[log.run_id] = live
        portal.start_task_soon(self._drive, live, list(prepared.opening))
        return live

    def find(self, run_id: str) -> LiveRun | None:
        """Return the live run of this process with that id."""
        return self._live.get(run_id)

    def live_runs(self) -> list[LiveRun]:
        """Return all runs that this process drives now."""
        return [live for live in list(self._live.values()) if not live.ended.is_set()]

    def sender(self, pid: int) -> Sender:
        """Return what a process is to the runs of this one: a person's if it is below no step, as far as is known."""
        supervisor = self._supervisor
        if supervisor is None:
            return lineage.sender(pid)
        sender = lineage.sender(pid, supervisor.marks)
        if sender in {"own_step", "unproven"}:
            return sender
        # Of a step that has killed who watched it, what it started may be anybody's child. Nobody watches steps in threads.
        is_lost = supervisor.was_ever_lost or lineage.is_loose(pid, supervisor.guards_since)
        return "unproven" if is_lost else sender

    def close(self) -> None:
        """Interrupt live runs, let each record that, and end the supervisor. Bounded; safe to call twice."""
        thread, portal = self._thread, self._portal
        if thread is None or portal is None or not thread.is_alive():
            return
        live = self.live_runs()
        for run in live:
            run.stop("interrupt")
        for run in live:
            run.ended.wait(FAREWELL_S)
        portal.start_task_soon(portal.stop, True)
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
        finally:
            self._live.pop(scheduler.log.run_id, None)
            live.leave()

    def _leave_threads(self, log: RunLog, run: RunState, detached: Mapping[str, int]) -> None:
        if not detached:
            return
        self._detached[log.run_id] = dict(detached)
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
        if live is not None and step in live.scheduler.plan.index:
            live.scheduler.release(step)

    def _post(self, portal: BlockingPortal, call: Callable[[], None]) -> None:
        """Call `call` on the engine's thread, from any thread; nothing where the loop is gone, as no run waits for it then."""
        if threading.current_thread() is self._thread:
            call()  # a portal refuses its own thread
            return
        try:
            portal.start_task_soon(call_soon, call)
        except RuntimeError:
            return

    def _running_portal(self) -> BlockingPortal:
        restore_sigchld()  # it cannot be done on the threads that call git
        with self._lock:
            if self._portal is None or self._thread is None or not self._thread.is_alive():
                ready = threading.Event()
                self._thread = threading.Thread(
                    target=anyio.run, args=(self._main, ready), name=ENGINE_THREAD, daemon=True
                )
                try:
                    self._thread.start()
                except RuntimeError as error:
                    raise thread_refused(error) from error
                ready.wait()
                atexit.register(self.close)
            if self._portal is None:
                raise InternalError("the engine thread did not start")
            return self._portal

    async def _main(self, ready: threading.Event) -> None:
        try:
            async with Supervisor() as supervisor, BlockingPortal() as portal:
                self._supervisor = supervisor
                shell = ShellRunner(supervisor)
                python = PythonRunner(supervisor)
                self._runners = {
                    "shell": shell,
                    "python": python,
                    "agent": AgentRunner(supervisor),
                }
                self._portal = portal
                ready.set()
                await portal.sleep_until_stopped()
        finally:
            self._portal = None
            ready.set()


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
