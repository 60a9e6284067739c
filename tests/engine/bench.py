"""A bench for the loop: one run in memory, with a clock turned by hand and runners that end when told."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from pixirnb.engine.agent_slots import AgentSlots
from pixirnb.engine.broadcast import Live, News
from pixirnb.engine.folders import roots_of, shared_folders
from pixirnb.engine.log_writer import LogWriter
from pixirnb.engine.scheduler import Scheduler
from pixirnb.engine.services import Runners, Settings, in_thread
from pixirnb.engine.step_outputs import Outputs
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Event
from pixirnb.history.run_state import RunState, fold
from pixirnb.machine.board import Board
from pixirnb.machine.outcome import RunOutcome, outcome
from pixirnb.machine.resume import Selection, plan_resume
from pixirnb.planning.digest import spec_digest
from pixirnb.planning.environment import Environment
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import compile_plan, require
from pixirnb.protocols.ports import Delegate, GroupWriter, Offload, RunLog, Runner, SessionLog
from pixirnb.protocols.work import Ended
from pixirnb.spec.loader import load_mapping
from pixirnb.spec.steps import StepKind
from pixirnb.testing.fakes.clock import ManualClock
from pixirnb.testing.fakes.memory_store import MemoryLog, MemoryStore
from pixirnb.testing.fakes.runners import ManualRunner

RUN = "r-20261121-220344-7f3akq"
PATIENCE_S = 20.0
"""How long a story waits for something before it is taken to hang."""


@dataclass(eq=False)
class Bench:
    """One course of a run on the bench."""

    plan: Plan
    log: MemoryLog
    scheduler: Scheduler
    clock: ManualClock
    runner: ManualRunner
    news: list[News] = field(default_factory=list)

    async def until(self, is_so: Callable[[], object]) -> None:
        """Wait for what the loop does by itself; appends happen on a thread."""
        with anyio.fail_after(PATIENCE_S):
            while not is_so():  # noqa: ASYNC110 - what is waited for has no event to wait on
                await anyio.sleep(0.001)

    def live(self, topic: str) -> list[Live]:
        """Ephemeral news of a topic so far."""
        return [piece for piece in self.news if isinstance(piece, Live) and piece.topic == topic]

    @property
    def events(self) -> list[Event]:
        """What is durable."""
        return self.scheduler.durable

    def kinds(self) -> list[str]:
        """Kinds of what is durable."""
        return [event.kind for event in self.events]

    def outcome(self) -> RunOutcome:
        """How the run stands by what is durable."""
        return outcome(self.plan, fold(self.events), is_live=False)


Story = Callable[[Bench], Coroutine[Any, Any, None]]


def plan_of(*steps: Mapping[str, Any], **fields: Any) -> Plan:
    """A compiled plan."""
    workflow = require(load_mapping({"name": "bench", **fields, "steps": list(steps)}))
    return compile_plan(workflow, Environment(), {})


def shell(step: str, *after: str, **fields: Any) -> dict[str, Any]:
    """A shell step whose work is told, not run."""
    return {"id": step, "run": "true", "depends_on": list(after), **fields}


def opening(plan: Plan) -> EventDraft:
    """The first event of a run."""
    workflow = plan.workflow
    return EventDraft(
        "run_started",
        {
            "run_id": RUN,
            "workflow": workflow.name,
            "spec": workflow.canonical(),
            "spec_digest": spec_digest(workflow),
            "inputs": {},
            "workspace": ".",
            "source": None,
            "sources": {},
            "owner": {"host": "bench", "pid": 1, "instance": "bench"},
            "pixirnb": "bench",
        },
    )


def resuming(plan: Plan, run: RunState) -> EventDraft:
    """The first event of a resume."""
    return EventDraft(
        "run_resumed",
        {
            "owner": {"host": "bench", "pid": 2, "instance": "bench"},
            "flags": {},
            "steps": plan_resume(plan, run, Selection()),
            "spec_digest": spec_digest(plan.workflow),
            "inputs": run.inputs,
        },
    )


def play(
    plan: Plan,
    story: Story,
    *,
    store: MemoryStore | None = None,
    answers: Mapping[str, Sequence[Ended]] | None = None,
    settings: Settings | None = None,
    is_deaf: bool = False,
    groups: list[list[Event]] | None = None,
    fleeting_s: float = 0.15,
    is_attended: bool = False,
    slots: AgentSlots | None = None,
    delegate: Delegate | None = None,
    offload: Offload = in_thread,
    writer_of: Callable[[RunLog], GroupWriter] = LogWriter,
) -> Bench:
    """Drive one course to rest beside `story`: a start, or a resume where the store knows the run.

    `groups` collects what was appended together.
    """
    held = store or MemoryStore()
    made: list[Bench] = []

    async def main() -> None:
        clock = ManualClock(fleeting_s=fleeting_s)
        runner = ManualRunner(answers, is_deaf=is_deaf)
        is_new = RUN not in held.runs
        log = held.create(RUN) if is_new else held.acquire(RUN)
        run = fold(log.reading.events)
        first = opening(plan) if is_new else resuming(plan, run)
        runners: dict[StepKind, Runner] = {"shell": runner, "python": runner, "agent": runner}
        scheduler = Scheduler(
            board=Board(plan, run, clock.now()),
            log=Grouped(log, groups) if groups is not None else log,
            clock=clock,
            runners=Runners(runners),
            lookup=Outputs(run, log.blobs).lookup,
            folders=shared_folders(run, roots_of(run)),
            settings=settings or Settings(),
            is_attended=is_attended,
            slots=slots or AgentSlots(),
            delegate=delegate,
            offload=offload,
            promptly=offload,
            writer_of=writer_of,
            durable=list(log.reading.events),
        )
        bench = Bench(plan, log, scheduler, clock, runner)
        made.append(bench)
        scheduler.broadcast.listen(bench.news.append)
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as group:
                group.start_soon(story, bench)
                await scheduler.drive([first])
        log.close()

    anyio.run(main)
    return made[0]


class Grouped:
    """A log that remembers which events were appended together."""

    def __init__(self, log: MemoryLog, groups: list[list[Event]]) -> None:
        self._log = log
        self._groups = groups
        self.run_id = log.run_id
        self.folder = log.folder
        self.blobs = log.blobs
        self.reading = log.reading

    def append(self, events: Sequence[Event]) -> None:
        """As the log does."""
        self._log.append(events)
        self._groups.append(list(events))

    def require_hold(self) -> None:
        """As the log does."""
        self._log.require_hold()

    def session(self, session_id: str) -> SessionLog:
        """As the log does."""
        return self._log.session(session_id)

    def close(self) -> None:
        """As the log does."""
        self._log.close()
