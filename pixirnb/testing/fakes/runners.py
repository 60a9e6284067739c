"""A runner whose work ends when a test ends it: the fake that the engine's loop is tested with.

    runner = ManualRunner()
    job = await runner.wait_started("make")
    runner.emit("make", Output("stdout", b"half way\\n"))
    runner.end("make")                    # or runner.end("make", Ended("failed", "exit", exit_code=2))

It watches `job.stop` as a runner must, unless it is deaf: then only `end` ends the work, as with a thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from pixirnb.ids import attempt_name
from pixirnb.protocols.ports import Job
from pixirnb.protocols.work import Ended, RunnerEvent, Started
from pixirnb.runners.processes.eager_tasks import in_task


@dataclass(eq=False)
class _Performance:
    job: Job
    over: anyio.Event = field(default_factory=anyio.Event)
    ended: Ended | None = None


class ManualRunner:
    """Implements `protocols.ports.Runner`. Belongs to one event loop."""

    def __init__(
        self, answers: Mapping[str, Sequence[Ended]] | None = None, *, is_deaf: bool = False
    ) -> None:
        """`answers` are ends, by step, given at once attempt by attempt; any other step waits for `end`."""
        self._answers = {step: list(ends) for step, ends in (answers or {}).items()}
        self._is_deaf = is_deaf
        self._arrived = anyio.Event()
        self.running: dict[str, _Performance] = {}
        self.jobs: list[Job] = []
        """Every job it was handed, in order."""

    @property
    def performed(self) -> list[str]:
        """Names of the attempts it was handed, in order: `make.1`."""
        return [attempt_name(job.step, job.attempt) for job in self.jobs]

    async def perform(self, job: Job) -> Ended:
        """Run the job until `end` ends it, or a stop is requested."""
        await in_task()
        self.jobs.append(job)
        job.emit(Started(len(self.jobs)))
        ends = self._answers.get(job.step)
        if ends:
            return ends.pop(0)
        performance = self.running[job.step] = _Performance(job)
        self._arrived.set()
        try:
            async with anyio.create_task_group() as group:
                if not self._is_deaf:
                    group.start_soon(self._obey, performance)
                await performance.over.wait()
                group.cancel_scope.cancel()
        finally:
            del self.running[job.step]
        assert performance.ended is not None
        return performance.ended

    def emit(self, step: str, event: RunnerEvent) -> None:
        """Let a running step say something."""
        self.running[step].job.emit(event)

    def end(self, step: str, ended: Ended | None = None) -> None:
        """Let a running step end; cleanly, unless `ended` is given."""
        performance = self.running[step]
        performance.ended = ended or Ended("completed", exit_code=0)
        performance.over.set()

    async def wait_started(self, step: str) -> Job:
        """Return the job of a step, once it is running here."""
        while step not in self.running:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        return self.running[step].job

    async def _obey(self, performance: _Performance) -> None:
        reason = await performance.job.stop.wait()
        performance.ended = Ended(reason)
        performance.over.set()
