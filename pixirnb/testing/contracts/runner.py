"""Contract of a runner with the engine, as a suite of tests: inherit `RunnerContract` and name your runner's works.

    class TestMyRunner(RunnerContract):
        def runner(self, supervisor): return MyRunner(supervisor)
        def speaks(self): ...

A promise is about the protocol of `protocols.ports.Runner` only; what is special to a runner is tested apart.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import anyio

from pixirnb.ids import run_id
from pixirnb.protocols.ports import Asking, Job, Question, Runner
from pixirnb.protocols.work import Ended, Output, RunnerEvent, Started, StopReason, Work
from pixirnb.runners.processes import orphans
from pixirnb.runners.processes.stop_signal import StopSignal
from pixirnb.runners.processes.supervisor import Supervisor

RUN_ID = run_id("20261121220344", os.urandom(6))
"""New in every process that rehearses: a sweep by tag must not end what another test run has started."""

T = TypeVar("T")


async def _agrees(question: Question, data: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001 - as `protocols.ports.Asking`
    return {"ok": True}


@dataclass(slots=True)
class Rehearsal:
    """One job and everything it emitted. Make it inside a running loop."""

    work: Work
    folder: Path
    step: str = "step"
    attempt: int = 1
    run_id: str = RUN_ID
    env: dict[str, str] = field(default_factory=dict)
    grace_s: float = 0.3
    stop: StopSignal = field(default_factory=StopSignal)
    events: list[RunnerEvent] = field(default_factory=list)
    emitted: anyio.Event = field(default_factory=anyio.Event)
    returned: list[float] = field(default_factory=list)
    """When a detached thread returned at last."""
    ask: Asking = _agrees
    """Function that answers an agent's questions; the default agrees to each."""

    def job(self) -> Job:
        """Return the job a runner is handed."""
        return Job(
            run_id=self.run_id,
            step=self.step,
            attempt=self.attempt,
            work=self.work,
            cwd=self.folder,
            workspace=self.folder,
            env={**os.environ, **self.env},
            stop=self.stop,
            emit=self._take,
            on_thread_returned=lambda: self.returned.append(time.monotonic()),
            grace_s=self.grace_s,
            ask=self.ask,
        )

    def text(self, stream: str = "stdout") -> str:
        """Return all output of one stream so far."""
        chunks = [
            event.chunk
            for event in self.events
            if isinstance(event, Output) and event.stream == stream
        ]
        return b"".join(chunks).decode()

    async def wait_for(self, condition: Callable[[Rehearsal], bool]) -> None:
        """Return when what was emitted satisfies `condition`."""
        while not condition(self):
            self.emitted = anyio.Event()
            await self.emitted.wait()

    async def stopped_by(
        self, runner: Runner, reason: StopReason, condition: Callable[[Rehearsal], bool]
    ) -> Ended:
        """Perform the job, and stop it once what was emitted satisfies `condition`."""

        async def stop() -> None:
            await self.wait_for(condition)
            self.stop.set(reason)

        async with anyio.create_task_group() as group:
            group.start_soon(stop)
            ended = await runner.perform(self.job())
        return ended  # noqa: RET504 - a task group may swallow what leaves it

    def _take(self, event: RunnerEvent) -> None:
        self.events.append(event)
        self.emitted.set()


def on_a_loop(story: Callable[[Supervisor], Awaitable[T]], *, limit_s: float = 30.0) -> T:
    """Tell `story` on a fresh event loop with a fresh supervisor, and fail if it takes longer than `limit_s`."""

    async def tell() -> T:
        with anyio.fail_after(limit_s):
            async with Supervisor() as supervisor:
                return await story(supervisor)

    return anyio.run(tell)


async def wait_until(condition: Callable[[], bool]) -> None:
    """Return when `condition` holds; the caller's time limit ends a wait in vain."""
    while not condition():  # noqa: ASYNC110 — what other processes do is announced to nobody
        await anyio.sleep(0.01)


class RunnerContract(ABC):
    """The promises. `speaks` says `hello` on standard output, and `worry` on standard error, each on a line."""

    status_when_stopped: ClassVar[str | None] = None
    """Status of a stopped attempt; None: its own reason."""

    @abstractmethod
    def runner(self, supervisor: Supervisor) -> Runner: ...

    @abstractmethod
    def speaks(self) -> Work: ...

    @abstractmethod
    def fails(self) -> Work: ...

    @abstractmethod
    def says_ready_and_hangs(self) -> Work:
        """Print `ready`, then do nothing for about a minute."""

    @abstractmethod
    def cannot_start(self) -> Work: ...

    def test_work_that_succeeds_ends_completed(self, tmp_path: Path) -> None:
        ended, _ = self._performed(self.speaks(), tmp_path)
        assert ended.status == "completed"
        assert ended.error_kind is None

    def test_started_comes_first_and_once(self, tmp_path: Path) -> None:
        _, rehearsal = self._performed(self.speaks(), tmp_path)
        assert isinstance(rehearsal.events[0], Started)
        assert sum(isinstance(event, Started) for event in rehearsal.events) == 1

    def test_output_is_passed_on_whole(self, tmp_path: Path) -> None:
        _, rehearsal = self._performed(self.speaks(), tmp_path)
        assert rehearsal.text("stdout") == "hello\n"

    def test_failing_work_is_an_end_and_not_an_exception(self, tmp_path: Path) -> None:
        ended, _ = self._performed(self.fails(), tmp_path)
        assert ended.status == "failed"
        assert ended.error_kind
        assert ended.message

    def test_work_that_cannot_start_is_an_end_and_not_an_exception(self, tmp_path: Path) -> None:
        ended, _ = self._performed(self.cannot_start(), tmp_path)
        assert ended.status == "failed"
        assert ended.message

    def test_output_comes_while_the_work_goes_on_and_a_stop_ends_it(self, tmp_path: Path) -> None:
        reasons: tuple[StopReason, ...] = ("timed_out", "cancelled", "interrupted")
        for reason in reasons:
            ended = on_a_loop(partial(self._stopped, folder=tmp_path, reason=reason))
            assert ended.status == (self.status_when_stopped or reason)
            assert ended.details["reason"] == reason

    def test_nothing_starts_after_a_stop(self, tmp_path: Path) -> None:
        async def story(supervisor: Supervisor) -> None:
            rehearsal = Rehearsal(self.says_ready_and_hangs(), tmp_path)
            rehearsal.stop.set("cancelled")
            ended = await self.runner(supervisor).perform(rehearsal.job())
            assert (ended.status, ended.details["reason"]) == ("cancelled", "cancelled")
            assert rehearsal.events == []

        on_a_loop(story)

    def test_many_jobs_at_once_keep_their_output_apart(self, tmp_path: Path) -> None:
        async def story(supervisor: Supervisor) -> list[str]:
            runner = self.runner(supervisor)
            rehearsals = [Rehearsal(self.speaks(), tmp_path, attempt=n) for n in range(1, 9)]
            async with anyio.create_task_group() as group:
                for rehearsal in rehearsals:
                    group.start_soon(runner.perform, rehearsal.job())
            return [rehearsal.text() for rehearsal in rehearsals]

        assert on_a_loop(story) == ["hello\n"] * 8

    def test_a_cancelled_wait_leaves_no_process_behind(self, tmp_path: Path) -> None:
        async def story(supervisor: Supervisor) -> None:
            rehearsal = Rehearsal(self.says_ready_and_hangs(), tmp_path)
            async with anyio.create_task_group() as group:
                group.start_soon(self.runner(supervisor).perform, rehearsal.job())
                await rehearsal.wait_for(lambda so_far: so_far.text() == "ready\n")
                group.cancel_scope.cancel()
            assert orphans.find_strays(RUN_ID) == []

        on_a_loop(story)

    def _performed(self, work: Work, folder: Path) -> tuple[Ended, Rehearsal]:
        async def story(supervisor: Supervisor) -> tuple[Ended, Rehearsal]:
            rehearsal = Rehearsal(work, folder)
            return await self.runner(supervisor).perform(rehearsal.job()), rehearsal

        return on_a_loop(story)

    async def _stopped(self, supervisor: Supervisor, *, folder: Path, reason: StopReason) -> Ended:
        rehearsal = Rehearsal(self.says_ready_and_hangs(), folder)
        return await rehearsal.stopped_by(
            self.runner(supervisor), reason, lambda so_far: so_far.text() == "ready\n"
        )
