"""A worker process of Dask: what the cluster calls, and the one service of the process, on a loop in a thread of its own."""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
from distributed import Worker, get_worker
from distributed.core import Status

from pixirnb.protocols.ports import Runner
from pixirnb.protocols.trees import TreePacks
from pixirnb.protocols.work import AgentWork, PythonWork, ShellWork, Work
from pixirnb.runners.agents.runner import AgentRunner
from pixirnb.runners.cluster.blobs import WorkerBlobs
from pixirnb.runners.cluster.claims import take_claim
from pixirnb.runners.cluster.packet import FrameNews, load_packet
from pixirnb.runners.cluster.ports import Call
from pixirnb.runners.cluster.service import WorkerService
from pixirnb.runners.processes import orphans
from pixirnb.runners.processes.supervisor import Supervisor
from pixirnb.runners.processes.worker_threads import in_worker
from pixirnb.runners.python.runner import PythonRunner
from pixirnb.runners.shell import ShellRunner
from pixirnb.system import process_marks

T = TypeVar("T")
Packs = Callable[[Path], TreePacks]
"""Makes the trees of this worker in a folder."""
_ENDING: Final = frozenset(
    {Status.closing, Status.closed, Status.stopping, Status.stopped, Status.failed}
)
"""States of a worker that its scheduler has given up."""


def perform(data: bytes, packs: Packs) -> None:
    """Perform the attempt of a packet, as a task of the cluster. Raises ClaimRefused."""
    process = _process_of(get_worker(), packs)
    work = process.service.perform(load_packet(data))
    asyncio.run_coroutine_threadsafe(work, process.loop).result()


def answer(call: Call, *arguments: Any, packs: Packs, dask_worker: Worker) -> Any:
    """Return what the service of a worker answers."""
    return getattr(_process_of(dask_worker, packs).service, call)(*arguments)


class DaskHost:
    """Implements `ports.WorkerHost` by a worker of Dask."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self.address: str = worker.address

    async def offload(self, call: Callable[..., T], *arguments: Any) -> T:
        return await in_worker(call, *arguments)

    def has_file(self, path: Path, text: str) -> bool:
        try:
            return path.read_text() == text
        except OSError:
            return False

    async def take_claim(self, key: str, *, has_plugin: bool) -> str:
        return await self._on_worker_loop(take_claim(self._worker, key, has_plugin=has_plugin))

    def send(self, topic: str, news: FrameNews) -> None:
        self._worker.log_event(topic, news)

    def is_required(self, key: str) -> bool:
        task = self._worker.state.tasks.get(key)
        return task is not None and task.state != "cancelled" and self._worker.status not in _ENDING

    async def reach(self) -> None:
        try:
            count = self._worker.scheduler.ncores(workers=[self.address])
            known = await self._on_worker_loop(count)
        except RuntimeError as error:  # its connections are closed, as it is closing
            raise ConnectionAbortedError(str(error)) from error
        if self.address not in known:
            raise ConnectionRefusedError("the scheduler has taken this worker for lost")

    def has_tagged(self, tag: str) -> bool:
        return bool(orphans.find_tagged(tag))

    def end_tagged(self, tag: str) -> None:
        orphans.end_tagged(tag)

    def end(self) -> None:
        os._exit(1)

    async def _on_worker_loop(self, call: Coroutine[Any, Any, T]) -> T:
        loop = self._worker.loop.asyncio_loop  # type: ignore[attr-defined]  # tornado's is asyncio's
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(call, loop))


class _WorkerProcess:
    """The service of this process, and its loop."""

    def __init__(self, worker: Worker, packs: TreePacks, folder: Path) -> None:
        if worker.nanny is not None:  # else it may share its process with a person's notebook
            # A step in a thread can have this process start what it likes: nothing below it is a person's.
            process_marks.wear_first(process_marks.mark_of("worker/", ""))
        self._packs, self._blobs = packs, WorkerBlobs(folder / "blobs")
        started: queue.SimpleQueue[WorkerService] = queue.SimpleQueue()
        serve = partial(anyio.run, self._serve, DaskHost(worker), started)
        threading.Thread(target=serve, name="pixirnb worker", daemon=True).start()
        self.service = started.get()

    async def _serve(self, host: DaskHost, started: queue.SimpleQueue[WorkerService]) -> None:
        self.loop = asyncio.get_running_loop()
        async with Supervisor() as supervisor:
            runners: dict[type[Work], Runner] = {
                ShellWork: ShellRunner(supervisor),
                PythonWork: PythonRunner(supervisor),
                AgentWork: AgentRunner(supervisor),
            }
            service = WorkerService(host, runners, self._packs, self._blobs)
            started.put(service)
            await service.watch()


_processes: Final[dict[str, _WorkerProcess]] = {}
_lock: Final = threading.Lock()


def _process_of(worker: Worker, packs: Packs) -> _WorkerProcess:
    with _lock:
        if worker.address not in _processes:
            folder = Path(worker.local_directory) / "pixirnb"
            _processes[worker.address] = _WorkerProcess(worker, packs(folder), folder)
        return _processes[worker.address]
