"""Blocking calls on worker threads, also where the system refuses another thread: a step can fill its table of processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import anyio.to_thread

from pixirnb.errors import ThreadRefused
from pixirnb.protocols.ports import Offload
from pixirnb.runners.processes.eager_tasks import in_task

T = TypeVar("T")


async def in_worker(
    call: Callable[..., T], *arguments: Any, limiter: anyio.CapacityLimiter | None = None
) -> T:
    """Return the result of the call, or raise its error. Raises ThreadRefused. A cancellation waits until the call is done.

    `limiter` bounds the threads instead of anyio's own, which has 40 for all.
    """
    await in_task()
    has_begun = False

    def begin() -> T:
        nonlocal has_begun
        has_begun = True
        return call(*arguments)

    try:
        return await anyio.to_thread.run_sync(begin, limiter=limiter)
    except RuntimeError as error:
        if has_begun:
            raise
        raise thread_refused(error) from error


def thread_refused(error: RuntimeError) -> ThreadRefused:
    """Return the error for a thread that the system did not start."""
    return ThreadRefused(f"the system refused a new thread: {error}")


def surely(offload: Offload) -> Offload:
    """Return an `offload` for short calls that must be made: on the loop's own thread where the system refuses another."""

    async def call_surely(call: Callable[..., T], *arguments: Any) -> T:
        try:
            return await offload(call, *arguments)
        except ThreadRefused:
            return call(*arguments)

    return call_surely


in_worker_or_here = surely(in_worker)
"""As `in_worker`, and on the loop's own thread where the system refuses another."""
