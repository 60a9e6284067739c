"""A run whose lock is removed under its owner, and the process that takes it up meanwhile: for a moment there are two.

The first finds out when it next looks, and stops; the second goes on from what is on disk. Both live in one loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from harness.simulator.process import Process
from harness.simulator.world import Document
from pixirnb.engine.live_run import LiveRun
from pixirnb.engine.prepared_run import PreparedRun
from pixirnb.errors import HeldByAnother, UnknownRun
from pixirnb.operations import prepare
from pixirnb.operations.run_environment import RunEnvironment

Driven = tuple[Process, LiveRun]


@dataclass(slots=True, eq=False)
class Succession:
    """Who drives a run, one after another."""

    owner: Process
    run_id: str
    born: Callable[[], Process]
    place: Callable[[Process], RunEnvironment]
    is_over: bool = False
    _heir: asyncio.Task[Driven | None] | None = field(default=None, init=False)

    async def drive(self, course: PreparedRun, act: Document) -> Driven:
        """Drive a course to its end, and then to that of whoever took the run up meanwhile: the last of them."""
        live = await self.owner.drive(course, act)
        self.is_over = True
        heir = None if self._heir is None else await self._heir
        if not self.owner.is_robbed:
            return self.owner, live
        if heir is not None:
            self._look(live, *heir)
        if not self.owner.is_dead:
            self.owner.leave()
        return heir or (self.owner, live)

    def open(self, op: Document) -> None:
        """The owner loses the run; `after` so many seconds another takes it up, if any."""
        if self.is_over:
            return  # its time comes in a later course
        self.owner.lose(self.run_id)
        if op.get("after") is not None:
            loop = self.owner.around.loop
            self._heir = loop.create_task(self._succeed(float(op["after"])))

    async def _succeed(self, after: float) -> Driven | None:
        await asyncio.sleep(after)
        heir, around = self.born(), self.owner.around
        try:
            course = prepare.prepare_resume(around.store, self.run_id, environment=self.place(heir))
        except (UnknownRun, HeldByAnother):
            return None  # nothing was on disk yet, or it is driven already
        if course is None:
            return None
        around.witness.count("taken up by another")
        around.witness.see("acquired", self.run_id, detail=heir.name)
        return heir, await heir.drive(course, {})

    def _look(self, first: LiveRun, heir: Process, second: LiveRun) -> None:
        # Of a run whose process has died nobody can ask: its loop would never answer.
        if self.owner.is_dead or heir.is_dead or not first.scheduler.durable:
            return
        if first.outcome().status == second.outcome().status == "completed":
            told = "Who lost the run says that it completed, and so does who took it up."
            self.owner.around.witness.breach("one_winner", told)
