"""A simulated worker process: the product's service, with a host and a runner that follow the world's script."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import anyio

from harness.cluster.disk import Disk, Folder
from harness.cluster.truth import Truth, Work
from harness.cluster.world import Task, World
from pixirnb.ids import attempt_tag
from pixirnb.protocols import work as works
from pixirnb.protocols.ports import Job, Runner
from pixirnb.protocols.work import AgentWork, Ended, Output, PythonWork, ShellWork, Started
from pixirnb.runners.cluster.packet import FrameNews, load_packet
from pixirnb.runners.cluster.service import WorkerService

T = TypeVar("T")


class Wires(Protocol):
    """The way from a worker to its scheduler."""

    world: World
    truth: Truth
    claims: dict[str, str]

    async def call_from(self, worker: Worker, call: Callable[[], T]) -> T:
        """Answer a call of a worker."""

    def publish(self, worker: Worker, topic: str, news: FrameNews) -> None:
        """Carry news to who subscribed."""

    def on_death(self, worker: Worker) -> None:
        """Notice the end of a worker."""


class ScriptedRunner:
    """Performs an attempt as its script says. Implements `ports.Runner`."""

    def __init__(self, worker: Worker, truth: Truth, script: Callable[[str], Task]) -> None:
        self._worker, self._truth, self._script = worker, truth, script

    async def perform(self, job: Job) -> Ended:
        """Begin, write, and end as the script has it, unless stopped or killed."""
        script = self._script(job.step)
        tag = attempt_tag(job.run_id, job.step, job.attempt)
        work = Work(tag, self._worker.address, self._worker.host, script.is_thread)
        self._truth.begin(work)
        folder = self._folder_of(job, tag)
        if isinstance(job.work, PythonWork) and job.work.arguments.get("text", "") != script.large:
            self._truth.breach(f"{tag} was given another argument")
        self._truth.counts["large arguments"] += bool(script.large)
        job.emit(Started(None if script.is_thread else 4711))
        stopped = asyncio.Event()
        job.stop.then(stopped.set)
        pauses = script.outputs + 1
        for number in range(pauses):
            if not script.is_thread and await _either(
                script.lasts_s / pauses, work.killed, stopped
            ):
                break
            if script.is_thread and await self._thread_is_left(script, work, stopped, job, number):
                return Ended("detached", details={"reason": job.stop.reason})
            if number < script.questions and not await self._asks(
                job, number, work.killed, stopped
            ):
                break
            if number < script.outputs:
                chunk = f"{job.step} {number}\n".encode()
                work.written.append(chunk)
                folder["left"] = folder.get("left", "") + chunk.decode()
                job.emit(Output("stdout", chunk))
        else:
            work.is_done = True
            self._truth.end(work)
            kind = "exit" if script.fails else None
            return Ended(
                "failed" if script.fails else "completed", kind, exit_code=int(script.fails)
            )
        if not work.killed.is_set():
            await _either(min(script.ends_after_stop_s, job.grace_s), work.killed)
        self._truth.end(work)
        if job.stop.reason is not None:
            return Ended(job.stop.reason, details={"reason": job.stop.reason})
        return Ended("failed", "exit", signal=9)

    async def _asks(self, job: Job, number: int, *ends: asyncio.Event) -> bool:
        """Whether the driver has answered a question, and with its answer, before one of the ends."""
        assert job.ask is not None
        asked = asyncio.ensure_future(job.ask("call", {"number": number}))
        over = [asyncio.ensure_future(end.wait()) for end in ends]
        await asyncio.wait([asked, *over], return_when="FIRST_COMPLETED")
        for each in over:
            each.cancel()
        if not asked.done():
            asked.cancel()
            return False
        tag = attempt_tag(job.run_id, job.step, job.attempt)
        if asked.result() != {"question": "call", "answers": f"{tag} {number}"}:
            self._truth.breach(f"{tag} was given another answer: {asked.result()}")
        return True

    def _folder_of(self, job: Job, tag: str) -> Folder:
        """The folder that the attempt works in, which has what its driver gave it."""
        if job.copies is None:
            return {}
        folder = self._worker.disk.folders[job.copies.top]
        if folder != {"given": tag}:
            self._truth.breach(f"{tag} was given other files: {folder}")
        return folder

    async def _thread_is_left(
        self, script: Task, work: Work, stopped: asyncio.Event, job: Job, number: int
    ) -> bool:
        """Wait for the next piece of a thread; True if it is stopped first: it goes on alone, to its end."""
        pause = script.lasts_s / (script.outputs + 1)
        if not await _either(pause, stopped):
            return False
        loop = asyncio.get_running_loop()
        rest_s = pause * (script.outputs + 1 - number)

        def come_back() -> None:
            if not work.killed.is_set():
                self._truth.end(work)
                job.on_thread_returned()

        loop.call_later(rest_s, come_back)
        return True


async def _either(seconds: float, *events: asyncio.Event) -> bool:
    """Whether one of the events was set before the time was over."""
    if any(event.is_set() for event in events):
        return True
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    done, waiting = await asyncio.wait(waits, timeout=seconds, return_when="FIRST_COMPLETED")
    for wait in waiting:
        wait.cancel()
    return bool(done)


class Worker:
    """One worker process. Implements `ports.WorkerHost`; what it sends passes through the scheduler's wires."""

    def __init__(
        self, address: str, scheduler: Wires, script: Callable[[str], Task], disk: Disk
    ) -> None:
        self.address, self.host = address, address.rpartition(":")[0]
        self._scheduler, self._truth, self.disk = scheduler, scheduler.truth, disk
        self.is_alive = True
        self.is_closing = False
        """The connection with the scheduler was closed: Dask ends such a process, in its time."""
        self.is_cut = False
        self.is_frozen = False
        self.required: set[str] = set()
        runner = ScriptedRunner(self, self._truth, script)
        runners: dict[type[works.Work], Runner] = dict.fromkeys(
            (ShellWork, PythonWork, AgentWork), runner
        )
        self.service = WorkerService(self, runners, disk, disk.blobs)
        self._tasks = {asyncio.ensure_future(self.service.watch())}

    def perform(
        self, key: str, packet: bytes, tell: Callable[[BaseException | None], None]
    ) -> None:
        """Perform a packet, and tell of its end if the process is there then."""
        self.required.add(key)

        async def performed() -> None:
            try:
                await self.service.perform(load_packet(packet))
            except Exception as error:  # noqa: BLE001 - as a task of a cluster may raise anything, and it is passed on
                tell(error)
            else:
                tell(None)

        task = asyncio.ensure_future(performed())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def die(self) -> None:
        """End the process, and with it all that it runs."""
        if not self.is_alive:
            return
        self.is_alive = False
        self._truth.counts["workers died"] += 1
        self._truth.end_on(self.address)
        for task in list(self._tasks):
            task.cancel()
        self._scheduler.on_death(self)

    def close(self) -> None:
        """Close the files that a real process closes by its end."""
        for attempt in self.service.attempts.values():
            attempt.close()

    # --- ports.WorkerHost -----------------------------------------------------------------------------------------

    async def offload(self, call: Callable[..., T], *arguments: Any) -> T:
        await asyncio.sleep(0.01)
        return call(*arguments)

    def has_file(self, path: Path, text: str) -> bool:
        return self._scheduler.world.shares_files and path.read_text() == text

    async def take_claim(self, key: str, *, has_plugin: bool) -> str:  # noqa: ARG002 - both are one table here
        return await self._scheduler.call_from(
            self, lambda: self._scheduler.claims.setdefault(key, self.address)
        )

    def send(self, topic: str, news: FrameNews) -> None:
        if self.is_alive:
            self._scheduler.publish(self, topic, news)

    def is_required(self, key: str) -> bool:
        return key in self.required and not self.is_closing

    async def reach(self) -> None:
        await self._scheduler.call_from(self, lambda: None)

    def has_tagged(self, tag: str) -> bool:
        return any(work.tag == tag and work.host == self.host for work in self._truth.running)

    def end_tagged(self, tag: str) -> None:
        self._truth.end_tagged(tag, self.host)

    def end(self) -> None:
        self.die()
        raise anyio.get_cancelled_exc_class()
