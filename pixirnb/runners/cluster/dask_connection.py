"""A driver's connection with a cluster of Dask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

import anyio
from distributed import Client, Future, KilledWorker
from distributed.client import ClosedClientError

from pixirnb.runners.cluster import dask_worker
from pixirnb.runners.cluster.claims import withdraw
from pixirnb.runners.cluster.leftovers import has_ended
from pixirnb.runners.cluster.packet import FrameNews
from pixirnb.runners.cluster.ports import Call, ClusterGone, RemoteTask
from pixirnb.runners.processes.eager_tasks import in_task
from pixirnb.runners.processes.worker_threads import in_worker
from pixirnb.wording import error_text

T = TypeVar("T")
_ANSWER_S: Final = 10.0
"""Seconds that a worker has to answer."""
_ALL_ANSWER_S: Final = 30.0
"""Seconds that all workers have to answer."""
_GONE: Final = (OSError, TimeoutError, ValueError, ClosedClientError)
"""Raised where a worker or the scheduler is gone, or silent; ValueError for a worker that is not known."""


class DaskConnection:
    """Implements `ports.ClusterConnection`.

    Args:
        client: a connected, synchronous client; its owner closes it.
        has_plugin: whether the scheduler has the plugin for claims.
        packs: makes the trees of a worker.
    """

    def __init__(self, client: Client, *, has_plugin: bool, packs: dask_worker.Packs) -> None:
        self._client, self._packs = client, packs
        self.address = str(client.scheduler.address)
        self.has_plugin = has_plugin

    async def offload(self, call: Callable[..., T], *arguments: Any) -> T:
        return await in_worker(call, *arguments)

    def subscribe(self, topic: str, on_news: Callable[[FrameNews], object]) -> None:
        def receive(event: tuple[float, FrameNews]) -> None:
            on_news(event[1])

        self._client.subscribe_topic(topic, receive)

    def unsubscribe(self, topic: str) -> None:
        with suppress(ValueError, ClosedClientError):  # ended before, or the scheduler is gone
            self._client.unsubscribe_topic(topic)

    def submit(
        self,
        key: str,
        packet: bytes,
        resources: Mapping[str, float],
        done: Callable[[BaseException | None], object],
    ) -> RemoteTask:
        try:
            future = self._client.submit(
                dask_worker.perform,
                packet,
                self._packs,
                key=key,
                pure=False,
                retries=0,
                resources=dict(resources) or None,
            )
        except ClosedClientError as error:
            raise ClusterGone(self.address) from error
        self._client.loop.add_callback(_tell_done, future, done)
        return future

    async def ask(self, worker: str, call: Call, *arguments: Any) -> Any:
        answers = await self._answer(self._request(call, *arguments, workers=[worker]))
        answer = next(iter((answers or {}).values()), None)
        return None if isinstance(answer, BaseException) else answer

    async def ask_all(self, call: Call, *arguments: Any) -> dict[str, Any] | None:
        request = self._request(call, *arguments)
        answers: dict[str, Any] | None = await self._answer(request, _ALL_ANSWER_S)
        return answers

    async def performer(self, key: str) -> str | None:
        holders = await self._answer(partial(self._client.scheduler.who_has, keys=[key]))
        return next(iter((holders or {}).get(key, ())), None)

    async def withdraw(self, key: str) -> str | None:
        take = partial(withdraw, self._client, key, has_plugin=self.has_plugin)
        try:
            return await in_worker(take)
        except _GONE:
            return None

    async def is_gone(self, worker: str) -> bool | None:
        return await in_worker(has_ended, worker)

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        loop = self._client.loop.asyncio_loop  # tornado's is asyncio's
        return asyncio.run_coroutine_threadsafe(call, loop).result()

    async def workers(self) -> Sequence[str]:
        await in_task()
        try:
            info = await in_worker(partial(self._client.scheduler_info, n_workers=-1))
        except _GONE:
            return ()
        return list(info["workers"])

    async def _answer(
        self, request: Callable[[], Coroutine[Any, Any, Any]], limit_s: float = _ANSWER_S
    ) -> Any:
        """Return the result of a request that is made on the client's loop; None where it fails, or takes too long."""
        await in_task()
        loop = self._client.loop.asyncio_loop  # tornado's is asyncio's
        try:
            with anyio.fail_after(limit_s):
                return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(request(), loop))
        except _GONE:
            return None

    def _request(
        self, call: Call, *arguments: Any, **options: Any
    ) -> Callable[[], Coroutine[Any, Any, Any]]:
        return partial(
            self._client._run,  # noqa: SLF001 - `run` waits for a frozen worker for ever
            dask_worker.answer,
            call,
            *arguments,
            packs=self._packs,
            on_error="return",
            **options,
        )


async def _tell_done(future: Future[None], done: Callable[[BaseException | None], object]) -> None:
    """Tell of the end of a task. Runs on the client's loop."""
    await future._state.wait()  # noqa: SLF001 - `add_done_callback` takes a thread for each
    done(None if future.status == "finished" else _failure_of(future))


def _failure_of(future: Future[None]) -> BaseException:
    if future.status != "error":
        return LookupError("the cluster gave the task up")
    error = future._state.exception  # noqa: SLF001 - on the client's loop, `exception` is a coroutine
    if isinstance(error, BaseException) and not isinstance(error, KilledWorker):
        return error
    return LookupError(error_text(error) if isinstance(error, KilledWorker) else str(error))
