"""The worker's side: one service a worker process, whose supervisor and runners do the work as they do at home.

Frames of an attempt are kept here until its driver has released it. They are sent as events, at most `_PER_SECOND` bytes of
them; what is left out, or lost on the way, the driver fetches.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
from distributed import Worker, get_worker
from msgspec.structs import replace

from pixirnb.protocols.ports import BlobDraft, Job, Runner
from pixirnb.protocols.work import (
    Ended,
    PythonWork,
    ShellWork,
    StopReason,
    Work,
)
from pixirnb.runners.cluster.claims import take_claim
from pixirnb.runners.cluster.packet import (
    BEAT_S,
    FENCE_S,
    LOST_S,
    FrameNews,
    Packet,
    load_packet,
)
from pixirnb.runners.cluster.worker_attempt import ValueDraft, WorkerAttempt
from pixirnb.runners.processes import orphans
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.runners.python.loaded_modules import is_current
from pixirnb.runners.python.runner import PythonRunner
from pixirnb.runners.shell import ShellRunner

T = TypeVar("T")


class ClaimRefused(Exception):
    """Raised on a worker that is given an attempt which another has begun; its argument is the other's address."""

    def __str__(self) -> str:
        return f"the attempt was begun by {self.args[0]}"


# --- what the cluster calls ---------------------------------------------------------------------------------------


def perform(data: bytes) -> None:
    """Perform the attempt of a packet, as a task of the cluster. Raises ClaimRefused."""
    worker = get_worker()
    _service_of(worker).perform(load_packet(data))


def stop(key: str, reason: StopReason, dask_worker: Worker) -> bool:
    """Ask an attempt to end; return whether this worker knows it."""
    return _service_of(dask_worker).stop(key, reason)


def read_frames(key: str, since: int, dask_worker: Worker) -> list[bytes] | None:
    """Return the next frames of an attempt, about a megabyte at most; None if it is not known here."""
    attempt = _service_of(dask_worker).attempts.get(key)
    return None if attempt is None else attempt.spool.read(since)


def read_payload(key: str, offset: int, dask_worker: Worker) -> bytes | None:
    """Return the next piece of the value of an attempt; None if it is not known here."""
    attempt = _service_of(dask_worker).attempts.get(key)
    return None if attempt is None else attempt.read_payload(offset)


def end_tagged(*tags: str) -> bool:
    """End the processes of attempts on this machine. Returns True."""
    for tag in tags:
        orphans.end_tagged(tag)
    return True


def end_left(tags: list[str], dask_worker: Worker) -> list[str]:
    """End the processes of attempts on this machine; return those of them that go on in a thread of this worker."""
    end_tagged(*tags)
    return _service_of(dask_worker).threads_of(tags)


def proves(path: str, text: str) -> bool:
    """Return whether a file of the driver's is here, with its text."""
    try:
        return Path(path).read_text() == text
    except OSError:
        return False


# --- the service --------------------------------------------------------------------------------------------------


class _Service:
    """Supervisor, runners and attempts of this worker, on a loop in a thread of its own."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.attempts: dict[str, WorkerAttempt] = {}
        self._reached = time.monotonic()
        started: queue.SimpleQueue[asyncio.AbstractEventLoop] = queue.SimpleQueue()
        serve = partial(anyio.run, self._serve, started.put)
        threading.Thread(target=serve, name="pixirnb worker", daemon=True).start()
        self._loop = started.get()

    def threads_of(self, tags: list[str]) -> list[str]:
        """Return the tags of attempts whose threads go on here; they are asked to return."""
        running = [each for each in list(self.attempts.values()) if not each.is_over]
        left = [each for each in running if each.is_thread and each.packet.tag in tags]
        for attempt in left:
            self.stop(attempt.packet.key, "interrupted")
        return [attempt.packet.tag for attempt in left]

    def perform(self, packet: Packet) -> None:
        """Perform an attempt to its end. Called on a thread of the worker's."""
        asyncio.run_coroutine_threadsafe(self._perform(packet), self._loop).result()

    def stop(self, key: str, reason: StopReason) -> bool:
        """Ask an attempt to end."""
        attempt = self.attempts.get(key)
        if attempt is not None:
            self._loop.call_soon_threadsafe(attempt.stop.set, reason)
        return attempt is not None

    async def _serve(self, begin: Callable[[asyncio.AbstractEventLoop], None]) -> None:
        async with Supervisor() as supervisor:
            self._shell, self._python = ShellRunner(supervisor), PythonRunner(supervisor)
            begin(asyncio.get_running_loop())
            while True:
                await anyio.sleep(BEAT_S / 2)
                self._watch()
                await self._reach()

    async def _perform(self, packet: Packet) -> None:
        attempt = WorkerAttempt(packet, self._send)
        if packet.key in self.attempts:
            raise ClaimRefused(self.worker.address)
        self.attempts[packet.key] = attempt
        try:
            holder = await self._on_worker_loop(
                take_claim(self.worker, packet.key, has_plugin=packet.has_plugin)
            )
        except BaseException:
            self.attempts.pop(packet.key).close()
            raise
        if holder != self.worker.address:
            self.attempts.pop(packet.key).close()
            raise ClaimRefused(holder)
        try:
            ended = await self._ended(attempt)
            attempt.finish(ended)
            if ended.status == "detached":
                await attempt.returned.wait()  # until then the worker has no room for another
        finally:
            attempt.is_over = True

    async def _ended(self, attempt: WorkerAttempt) -> Ended:
        packet = attempt.packet
        if packet.proof is not None and not proves(str(packet.proof[0]), packet.proof[1]):
            message = f"the workspace {packet.workspace} is not on worker {self.worker.address}"
            return Ended("failed", "workspace_not_shared", message)
        work = packet.work
        if isinstance(work, PythonWork) and not work.process:
            is_in_thread = is_current(work.call, str(packet.workspace))
            work = replace(work, process=not is_in_thread)
            attempt.is_thread = is_in_thread
        job = Job(
            run_id=packet.run_id,
            step=packet.step,
            attempt=packet.attempt,
            work=work,
            cwd=packet.cwd,
            workspace=packet.workspace,
            env={**os.environ, **packet.env},
            stop=attempt.stop,
            emit=attempt.emit,
            on_thread_returned=partial(self._note_return, attempt),
            grace_s=packet.grace_s,
            limit_s=packet.limit_s,
            draft=_draft,
        )
        return await self._runner_of(work).perform(job)

    def _note_return(self, attempt: WorkerAttempt) -> None:
        self._loop.call_soon_threadsafe(attempt.returned.set)

    def _runner_of(self, work: Work) -> Runner:
        return self._shell if isinstance(work, ShellWork) else self._python

    def _watch(self) -> None:
        """Forget the attempts that their driver has released, end those whose driver is gone, and give a sign of life."""
        tasks = self.worker.state.tasks
        running: dict[str, list[str]] = {}
        for key, attempt in list(self.attempts.items()):
            task = tasks.get(key)
            if task is None or task.state == "cancelled":
                if attempt.is_over:
                    self.attempts.pop(key).close()
                    continue
                attempt.stop.set("interrupted")
            if not attempt.ended:
                running.setdefault(attempt.packet.topic, []).append(key)
        for topic, keys in running.items():
            self._send(topic, {"running": keys})

    async def _reach(self) -> None:
        """End everything where the scheduler cannot be reached: it will take this worker for lost, and so will drivers."""
        if not any(not each.is_over for each in self.attempts.values()):
            self._reached = time.monotonic()
            return
        try:
            with anyio.fail_after(FENCE_S / 4):
                await self._on_worker_loop(self.worker.scheduler.who_has(keys=[]))
            self._reached = time.monotonic()
        except (OSError, TimeoutError):
            cut_off_s = time.monotonic() - self._reached
            if cut_off_s > FENCE_S:
                for attempt in self.attempts.values():
                    attempt.stop.set("interrupted")
            if cut_off_s > (FENCE_S + LOST_S) / 2:
                os._exit(1)  # a thread that goes on can be ended in no other way

    def _send(self, topic: str, news: FrameNews) -> None:
        self.worker.log_event(topic, {"worker": self.worker.address, **news})

    async def _on_worker_loop(self, call: Coroutine[Any, Any, T]) -> T:
        loop = self.worker.loop.asyncio_loop  # type: ignore[attr-defined]  # tornado's is asyncio's
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, loop))


def _draft() -> BlobDraft:
    return ValueDraft()


_services: Final[dict[str, _Service]] = {}
_lock: Final = threading.Lock()


def _service_of(worker: Worker) -> _Service:
    with _lock:
        if worker.address not in _services:
            _services[worker.address] = _Service(worker)
        return _services[worker.address]
