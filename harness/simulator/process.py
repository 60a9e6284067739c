"""One process of a world: it drives courses with the real engine, hears the operator, and can die between any two moments.

A dead process does nothing any more: its group never comes back from the disk, its locks are free, its threads are gone.
What it started may linger until whoever takes the run up has swept it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import anyio
import anyio.lowlevel

from harness.simulator.actors import Actor
from harness.simulator.files import WORKSPACE, Disk
from harness.simulator.loop import VirtualClock, VirtualLoop
from harness.simulator.witness import Witness
from harness.simulator.world import Document, World
from pixirnb.engine.agent_slots import AgentSlots
from pixirnb.engine.held_inbox import HeldInbox
from pixirnb.engine.live_run import LiveRun
from pixirnb.engine.prepared_run import PreparedRun
from pixirnb.engine.scheduler import Scheduler
from pixirnb.engine.services import Runners, Settings
from pixirnb.engine.step_outputs import Outputs
from pixirnb.errors import LogWriteFailed
from pixirnb.history.events import Event, Owner
from pixirnb.machine.board import Board
from pixirnb.machine.requests import Request
from pixirnb.protocols.ports import Contents, Job, RunLog
from pixirnb.runners.processes.eager_tasks import in_task
from pixirnb.spec.steps import StepKind
from pixirnb.testing.fakes.memory_store import MemoryStore

COURSE_LIMIT_S: Final = 2 * 3600.0
"""No course of a world can last so long: whatever hangs has a time-out."""
ANSWER_LIMIT_S: Final = 1.0
"""An owner answers within a second."""

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class Surroundings:
    """What all processes of a world share."""

    world: World
    loop: VirtualLoop
    clock: VirtualClock
    store: MemoryStore
    witness: Witness
    contents: Contents
    disk: Disk
    strays: dict[str, list[str]] = field(default_factory=dict)
    """Run to attempts that outlived their process and were not swept yet."""


@dataclass(slots=True, eq=False)
class Letters:
    """Implements `protocols.ports.Inbox`: what was left for the run's owner, and what it answered."""

    around: Surroundings
    run_id: str
    waiting: list[Request] = field(default_factory=list)
    left_at: dict[str, float] = field(default_factory=dict)
    """When a request was left that nobody answered yet."""
    replies: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)

    def leave(self, request: Request) -> None:
        """Another process asks for something."""
        self.waiting.append(request)
        self.left_at[request.id] = self.around.clock.now()

    def take(self) -> list[Request]:
        """What arrived since the last look."""
        taken, self.waiting = self.waiting, []
        for request in taken:
            if request.sender == "person":
                see_wish(self.around.witness, self.run_id, request)
            else:
                self.around.witness.see("forged", self.run_id, detail=request.id)
        return taken

    def answer(self, request_id: str, reply: Mapping[str, Any] | None) -> None:
        """Keep a reply."""
        self.replies[request_id] = reply
        left_at = self.left_at.pop(request_id, None)
        witness = self.around.witness
        is_granted = reply is None or bool(reply.get("ok"))
        witness.count("granted" if is_granted else "refused")
        said = "granted" if is_granted else "refused"
        witness.note(f"{request_id} {said}")
        witness.see("answered", self.run_id, detail=request_id)
        late = left_at is not None and self.around.clock.now() - left_at > ANSWER_LIMIT_S
        if late:
            witness.breach("answered_in_time", f"{request_id} was answered after a second.")

    def close(self) -> None:
        """Nothing to give back."""


def see_wish(witness: Witness, run_id: str, request: Request) -> None:
    """What a request asks of the whole run or of a step's attempts is a wish that the log need not show."""
    if request.verb == "merge":
        witness.see("merging", run_id, detail=request.id)
    if request.verb != "cancel":
        return
    step = request.arguments.get("step")
    how = "cancel_step" if step else str(request.arguments.get("how", "cancel"))
    witness.see("wished", run_id, step, None, how)


@dataclass(slots=True, eq=False)
class _Disk:
    """Implements `protocols.ports.GroupWriter`: appends after a moment, unless the process dies over it."""

    process: Process
    log: RunLog

    async def append(
        self,
        events: Sequence[Event],
        *,
        is_alone: bool = False,  # noqa: ARG002 - this one always takes its time
    ) -> None:
        await in_task()
        process, death = self.process, self.process.death
        process.groups += 1
        await anyio.sleep(process.latency())
        await process.pass_away_if_dead()
        how = death.get("how") if process.groups == death.get("append") else None
        ends = [place for place, event in enumerate(events) if event.kind == "attempt_ended"]
        process.ends += bool(ends)
        if ends and process.ends == death.get("end"):
            self.log.append(events[: ends[0] + 1])
            how = "before"  # its verdict
        if how == "torn":
            process.around.store.fail_after(0, torn=int(death.get("bytes", 0)))
            try:
                self.log.append(events)
            except LogWriteFailed:
                process.around.witness.count("torn groups")
            process.around.store.fail_after(None)
        if how in {"before", "torn"}:
            process.die(f"at group {process.groups}, {how}")
            await process.pass_away_if_dead()
        try:
            self.log.append(events)
            process.around.witness.see("wrote", self.log.run_id, detail=process.name)
        except LogWriteFailed:
            process.around.witness.count("refused groups")
            raise
        finally:
            process.note_waiting()
        if how == "after":
            process.die(f"at group {process.groups}, after")
        await anyio.lowlevel.checkpoint()
        await process.pass_away_if_dead()

    def close(self) -> None:
        """Nothing to give back."""


@dataclass(slots=True, eq=False)
class Process:
    """One process. Belongs to the world's loop."""

    around: Surroundings
    number: int
    is_dead: bool = False
    is_robbed: bool = False
    """Whether the run it drives was taken from it behind its back."""
    slots: AgentSlots = field(default_factory=lambda: AgentSlots(3))
    """Of its agents; fewer than the steps that a run may have under way."""
    asked: int = 0
    """Requests that were left for it, in all its courses."""
    groups: int = 0
    """Groups it asked the disk to take."""
    ends: int = 0
    """Those with the end of an attempt."""
    death: Document = field(default_factory=dict)
    scheduler: Scheduler | None = None
    """Of the course under way."""
    inbox: Letters | None = None
    detached: dict[str, dict[str, int]] = field(default_factory=dict)
    """Run to step to attempt of threads that outlived their course here."""
    _threads: list[asyncio.Task[None]] = field(default_factory=list)
    _running: dict[tuple[str, str], str] = field(default_factory=dict)
    _driving: asyncio.Task[None] | None = None
    _delays: Any = None

    @property
    def name(self) -> str:
        """What tells it from the others."""
        return f"p{self.number}"

    @property
    def owner(self) -> Owner:
        """How it signs."""
        return {"host": "simulated", "pid": 1000 + self.number, "instance": self.name}

    def latency(self) -> float:
        """How long the disk takes over the next group."""
        if self._delays is None:
            self._delays = self.around.world.chance(f"disk {self.number}")
        return float(self._delays.choice((0.0, 0.0, 0.001, 0.004, 0.02, 0.05)))

    async def drive(self, course: PreparedRun, act: Document) -> LiveRun:
        """Drive a course to its end, or to the end of this process. The log is let go of, if anyone is left to do so."""
        around, log = self.around, course.log
        self.death, self.groups, self.ends = dict(act.get("death") or {}), 0, 0
        board = Board(course.plan, course.run, around.clock.now())
        board.stop = course.stop
        self.inbox = Letters(around, log.run_id)
        actor = Actor(
            around.world.behaviours,
            around.witness,
            self._leave_behind,
            around.disk,
            self._began,
            self._over,
            lambda: self.is_robbed,
        )
        runners: Mapping[StepKind, Actor] = {"shell": actor, "python": actor, "agent": actor}
        scheduler = self.scheduler = Scheduler(
            board=board,
            log=log,
            clock=around.clock,
            runners=Runners(runners, replace(actor, worker="simulated:1")),
            lookup=Outputs(course.run, log.blobs).lookup,
            folders=course.folders,
            files=course.files,
            settings=Settings(),
            is_attended=bool(act.get("attended")),
            slots=self.slots,
            inbox=HeldInbox(self.inbox, log, lambda _run: False),
            offload=self._inline,
            promptly=self._inline,
            contents=around.contents,
            writer_of=lambda log: _Disk(self, log),
            on_returned=lambda step: self._thread_returned(log.run_id, step),
        )
        for step, attempt in self.detached.pop(log.run_id, {}).items():
            board.detach(step, attempt)
        scheduler.durable.extend(log.reading.events)
        live = LiveRun(scheduler, around.loop.call_soon_threadsafe)
        self._driving = around.loop.create_task(scheduler.drive(course.opening))
        timers = [around.loop.call_later(COURSE_LIMIT_S, self._has_overrun)]
        if "at" in self.death:
            timers.append(around.loop.call_later(self.death["at"], self.die, "by the clock"))
        try:
            await self._driving
        except asyncio.CancelledError:
            if not self.is_dead:
                raise
        except Exception as error:  # noqa: BLE001 - a bug of the loop is what this is here to find
            if not self.is_dead:
                around.witness.breach("loop_holds", f"The loop broke: {_told(error)}")
                self.die("of a bug")
        finally:
            for timer in timers:
                timer.cancel()
        self.scheduler = None
        if not self.is_dead:
            if left := board.left_threads:
                self.detached[log.run_id] = left
            live.leave()
        return live

    def die(self, how: str) -> None:
        """The process is no more."""
        if self.is_dead:
            return
        self.is_dead = True
        around = self.around
        if not self.is_robbed:
            around.store.end_processes()
        around.store.fail_after(None)
        around.witness.count("crashes")
        self._end_threads()
        driven = None if self.scheduler is None else self.scheduler.log.run_id
        self._see_threads_end(driven)
        if driven is not None:
            run_id = driven
            around.witness.see("died", run_id, detail=how)
            if self._running and self.death.get("strays"):
                around.strays.setdefault(run_id, []).extend(self._running.values())
                around.witness.count("strays")
        if self._driving is not None:
            self._driving.cancel()

    def lose(self, run_id: str) -> None:
        """Somebody removes the lock of the run that it drives."""
        self.is_robbed = True
        self.around.store.lose_lock(run_id)
        self.around.witness.see("lost", run_id, detail=self.name)
        self.around.witness.count("locks lost")

    def end_running(self, run_id: str) -> None:
        """Whoever takes a run up ends what this process still has under way of it."""
        self._running = {key: name for key, name in self._running.items() if key[0] != run_id}

    def leave(self) -> None:
        """The process ends in order, between two courses."""
        self.is_dead = True
        self._see_threads_end(None)
        self._end_threads()

    def _see_threads_end(self, driven: str | None) -> None:
        """Threads of runs at rest end with this process; of the run that it drives its death tells."""
        for run_id, steps in self.detached.items():
            for step, attempt in steps.items() if run_id != driven else ():
                self.around.witness.see("returned", run_id, step, attempt, "with its process")

    async def pass_away_if_dead(self) -> None:
        """Never return to a dead process."""
        if self.is_dead:
            await asyncio.Event().wait()

    def note_waiting(self) -> None:
        """Count a ready step that a conflict kept from a free slot."""
        if self.scheduler is None:
            return
        board, plan = self.scheduler.board, self.scheduler.plan
        if board.ready and len(board.running) < plan.max_concurrency and board.running:
            self.around.witness.count("waits for a claim")

    # --- inside -------------------------------------------------------------------------------------------------

    async def _inline(self, call: Callable[..., T], *arguments: Any) -> T:
        if self.is_dead:
            # Not to be waited for: what a process does as it ends is shielded, and this one has ended.
            raise asyncio.CancelledError
        return call(*arguments)

    def _leave_behind(self, thread: Coroutine[Any, Any, None]) -> None:
        self._threads.append(self.around.loop.create_task(thread))

    def _thread_returned(self, run_id: str, step: str) -> None:
        if self.is_dead:
            return
        self.detached.get(run_id, {}).pop(step, None)
        scheduler = self.scheduler
        if scheduler is not None and scheduler.log.run_id == run_id:
            scheduler.release(step)

    def _end_threads(self) -> None:
        for thread in self._threads:
            thread.cancel()
        self._threads.clear()

    def _began(self, job: Job) -> None:
        self._running[job.run_id, job.step] = f"{job.step}.{job.attempt}"
        scheduler = self.scheduler
        if scheduler is not None and job.step in scheduler.plan.index:
            step = scheduler.plan.steps[scheduler.plan.index[job.step]]
            if (job.workspace == WORKSPACE) != (step.workspace == "shared"):
                told = f"It is {step.workspace}, and works in {job.workspace}."
                self.around.witness.breach("keeps_apart", told, job.step)
        if self.around.strays.get(job.run_id):
            message = "An attempt began while strays of a dead owner were still at work."
            self.around.witness.breach("strays_swept", message, job.step)

    def _over(self, job: Job) -> None:
        self._running.pop((job.run_id, job.step), None)

    def _has_overrun(self) -> None:
        self.around.witness.breach("course_ends", f"A course went on for {COURSE_LIMIT_S:g} s.")
        self.die("as it would not end")


def _told(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = "" if trace is None else f" ({trace.tb_frame.f_code.co_name}, line {trace.tb_lineno})"
    return f"{type(error).__name__}: {error}{where}"
