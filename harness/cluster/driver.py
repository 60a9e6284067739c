"""A driver of a simulated cluster: its connection, and the attempts that it begins, stops and begins again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import anyio

from harness.cluster.disk import Disk, Folder
from harness.cluster.scheduler import Given, Scheduler, settle
from harness.cluster.world import Task, World
from pixirnb.ids import attempt_tag
from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import Job, Question
from pixirnb.protocols.trees import CopyFolders
from pixirnb.protocols.work import (
    AgentWork,
    Ended,
    Output,
    PythonWork,
    RunnerEvent,
    ShellWork,
    Started,
    Work,
)
from pixirnb.runners.cluster.packet import FrameNews
from pixirnb.runners.cluster.ports import ANOTHER, DRIVER, Call, ClusterGone, RemoteTask
from pixirnb.runners.cluster.runner import ClusterRunner
from pixirnb.runners.processes.stop_signal import StopSignal

T = TypeVar("T")
RUN = "20261128010018-1c1u5ter"
_ANSWER_S = 10.0


def _work_of(task: Task) -> Work:
    if task.questions:
        return AgentWork("scripted", "", "", [], {})
    if not task.is_thread and not task.large:
        return ShellWork("true")
    arguments = {"text": task.large} if task.large else {}
    return PythonWork("time:sleep", arguments, None, process=not task.is_thread)


class SimulatedTask:
    """Implements `ports.RemoteTask`."""

    def __init__(self, connection: SimulatedConnection, key: str) -> None:
        self._connection, self._key = connection, key

    def release(self) -> None:
        self._connection.send(lambda: self._connection.scheduler.release(self._key))


class SimulatedConnection:
    """Implements `ports.ClusterConnection`. A dead driver's neither sends nor hears."""

    address = "tcp://10.9.9.9:8786"

    async def offload(self, call: Callable[..., T], *arguments: Any) -> T:
        """Make a blocking call, which takes no time here."""
        await asyncio.sleep(0)
        return call(*arguments)

    def __init__(self, scheduler: Scheduler, name: str) -> None:
        self.scheduler, self._name = scheduler, name
        self.has_plugin = scheduler.world.has_plugin
        self.is_alive = True

    def while_alive(self, call: Callable[[], object]) -> Callable[[], None]:
        """The call, or nothing once this driver is dead."""

        def guarded() -> None:
            if self.is_alive:
                call()

        return guarded

    def send(self, call: Callable[[], object]) -> None:
        """Carry a message to the scheduler."""
        if self.is_alive:
            scheduler = self.scheduler
            scheduler.carry(self._name, scheduler.while_alive(call), "scheduler")

    def tell(
        self, done: Callable[[BaseException | None], object], error: BaseException | None
    ) -> None:
        """Carry the end of a task to this driver."""
        self.scheduler.carry(self._name, self.while_alive(lambda: done(error)), "driver")

    def close(self) -> None:
        """Die: the scheduler gives up the tasks of this driver, once it has taken its last messages."""
        self.send(partial(self.scheduler.release_all, self))
        self.is_alive = False

    # --- ports.ClusterConnection ----------------------------------------------------------------------------------

    def subscribe(self, topic: str, on_news: Callable[[FrameNews], object]) -> None:
        self.scheduler.subscribers[topic] = self, on_news

    def unsubscribe(self, topic: str) -> None:
        self.scheduler.subscribers.pop(topic, None)

    def submit(
        self,
        key: str,
        packet: bytes,
        resources: Mapping[str, float],  # noqa: ARG002 - every worker has them
        done: Callable[[BaseException | None], object],
    ) -> RemoteTask:
        if not self.scheduler.is_alive:
            raise ClusterGone(self.address)
        given = Given(key, packet, self, done)
        if self.is_alive:
            self.scheduler.carry(self._name, partial(self.scheduler.submit, given), "scheduler")
        return SimulatedTask(self, key)

    async def ask(self, worker: str, call: Call, *arguments: Any) -> Any:
        found = self.scheduler.known.get(worker)
        if found is None:
            return None
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def tell(answer: Any) -> None:
            self.scheduler.carry(self._name, partial(settle, answered, answer), "driver")

        self.send(lambda: self.scheduler.ask(found, call, arguments, tell))
        with anyio.move_on_after(_ANSWER_S):
            return await answered
        return None

    async def ask_all(self, call: Call, *arguments: Any) -> dict[str, Any] | None:
        if not self.scheduler.is_alive:
            return None
        workers = list(self.scheduler.known.values())
        asked = [
            asyncio.ensure_future(self.ask(each.address, call, *arguments)) for each in workers
        ]
        answers = await asyncio.gather(*asked)
        return {
            each.address: TimeoutError() if answer is None else answer
            for each, answer in zip(workers, answers, strict=True)
        }

    async def performer(self, key: str) -> str | None:
        def address() -> str | None:
            given = self.scheduler.tasks.get(key)
            return None if given is None or given.worker is None else given.worker.address

        return await self._asked(address)

    async def withdraw(self, key: str) -> str | None:
        def holder() -> str:
            found = self.scheduler.claims.setdefault(key, DRIVER)
            return found if self.has_plugin or found == DRIVER else ANOTHER

        return await self._asked(holder)

    async def is_gone(self, worker: str) -> bool | None:
        await asyncio.sleep(2 * self.scheduler.delay_s())
        found = self.scheduler.ever.get(worker)
        return None if found is None or found.is_cut else not found.is_alive

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        raise NotImplementedError("a trial awaits what a process runs")

    async def workers(self) -> Sequence[str]:
        await asyncio.sleep(2 * self.scheduler.delay_s())
        return list(self.scheduler.known) if self.scheduler.is_alive else ()

    async def _asked(self, call: Callable[[], T]) -> T | None:
        """The scheduler's answer; None where there is none for some seconds."""
        scheduler = self.scheduler
        answered: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        def tell(answer: T) -> None:
            scheduler.carry(self._name, partial(settle, answered, answer), "driver")

        self.send(lambda: tell(call()))
        with anyio.move_on_after(_ANSWER_S):
            return await answered
        return None


class Driver:
    """The process of a run: begins each task, stops it as told, and tries again what was lost."""

    def __init__(self, world: World, scheduler: Scheduler, workspace: Path, name: str) -> None:
        self.connection = SimulatedConnection(scheduler, name)
        self._disk = Disk(workspace)
        self._asked: set[str] = set()
        self.runner = ClusterRunner(self.connection, lambda _: self._disk)
        self.under_way: dict[tuple[str, int], str | None] = {}
        """Attempts that this driver has begun and seen no end of, and their workers, as its log would have them."""
        self.detached: dict[tuple[str, int], str | None] = {}
        """Detached attempts that have not returned, and their workers."""
        self._world, self._truth, self._workspace = world, scheduler.truth, workspace

    async def perform(self, step: str, task: Task, attempt: int, ends: dict[str, Ended]) -> None:
        """Perform a step to its end, with its retries."""
        for number in range(attempt, attempt + task.retries + 1):
            self.under_way[step, number] = None
            ended = await self._attempt(step, task, number)
            del self.under_way[step, number]
            ends[step] = ended
            if ended.status != "failed" or ended.error_kind != "worker_lost":
                return
            self._truth.counts["lost"] += 1

    async def _attempt(self, step: str, task: Task, attempt: int) -> Ended:
        tag = attempt_tag(RUN, step, attempt)
        stop, events = StopSignal(), list[RunnerEvent]()
        loop = asyncio.get_running_loop()

        def take(event: RunnerEvent) -> None:
            events.append(event)
            if isinstance(event, Started):
                self.under_way[step, attempt] = event.worker

        timer = (
            None if task.stops_s is None else loop.call_later(task.stops_s, stop.set, "cancelled")
        )
        job = Job(
            run_id=RUN,
            step=step,
            attempt=attempt,
            work=_work_of(task),
            cwd=self._workspace,
            workspace=self._workspace,
            env={},
            stop=stop,
            emit=take,
            on_thread_returned=lambda: self._returned(step, attempt),
            ask=partial(self._answer, tag),
            copies=None if self._world.shares_files else self._given(step, attempt, tag),
        )
        ended = await self.runner.perform(job)
        if timer is not None:
            timer.cancel()
        self._judge(tag, ended, events)
        if job.copies is not None:
            self._judge_files(tag, ended, self._disk.folders.pop(job.copies.top))
        if ended.status == "detached":
            self.detached[step, attempt] = self.under_way[step, attempt]
        return ended

    async def _answer(self, tag: str, question: Question, data: JsonObject) -> JsonObject:
        """Answer a question of an agent, which takes a person some time; none is asked twice."""
        name = f"{tag} {data['number']}"
        if name in self._asked:
            self._truth.breach(f"{name} was asked twice")
        self._asked.add(name)
        self._truth.counts["questions"] += 1
        await asyncio.sleep(Random(name).choice([0.0, 1.0, 20.0]))
        return {"question": question, "answers": name}

    def _judge(self, tag: str, ended: Ended, events: list[RunnerEvent]) -> None:
        truth = self._truth
        truth.counts[f"{ended.status} {ended.error_kind or ''}".strip()] += 1
        works = truth.begun.get(tag, [])
        outputs = [event for event in events if isinstance(event, Output)]
        is_own_end = ended.status == "completed" or ended.error_kind == "exit"
        if ended.status != "detached":
            truth.require_over(tag, f"its driver says {ended.status} {ended.error_kind or ''}")
        if ended.status == "completed" and not any(work.is_done for work in works):
            truth.breach(f"{tag} is completed, and did not come to its end")
        if len([event for event in events if isinstance(event, Started)]) > 1:
            truth.breach(f"{tag} started twice, as its driver heard")
        truth.require_emitted(tag, outputs, whole=is_own_end)
        scheduler = self.connection.scheduler
        if ended.error_kind == "worker_lost" and scheduler.is_in_reach:
            for work in works:
                if work.is_done and scheduler.ever[work.worker].is_alive:
                    truth.breach(f"{tag} is lost, its driver says, and {work.worker} has its end")
        if self._world.is_calm and ended.status == "failed" and not is_own_end:
            truth.breach(f"{tag} failed in a calm world: {ended.error_kind} {ended.message}")

    def _given(self, step: str, attempt: int, tag: str) -> CopyFolders:
        top = self._workspace / "isolated" / f"{step}.{attempt}"
        top.parent.mkdir(exist_ok=True)
        self._disk.folders[top] = {"given": tag}
        return CopyFolders(top, top, (top,))

    def _judge_files(self, tag: str, ended: Ended, found: Folder) -> None:
        """What an attempt has left is here: all of it where it came to its end, else as it was at some time."""
        written = b"".join(c for work in self._truth.begun.get(tag, []) for c in work.written)
        left = found.get("left", "")
        if found.get("given") != tag or not written.decode().startswith(left):
            self._truth.breach(f"{tag}: its files are not what it was given and wrote: {found}")
        is_own_end = ended.status == "completed" or ended.error_kind == "exit"
        if is_own_end and left != written.decode():
            self._truth.breach(f"{tag} came to its end, and its files did not come back")
        self._truth.counts["files came back"] += bool(left)

    def _returned(self, step: str, attempt: int) -> None:
        tag = attempt_tag(RUN, step, attempt)
        if (step, attempt) not in self.detached:
            self._truth.breach(f"{tag} returned twice, or was not detached")
        self.detached.pop((step, attempt), None)
        self._truth.require_over(tag, "its driver was told that it returned")
