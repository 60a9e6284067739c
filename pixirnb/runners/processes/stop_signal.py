"""The request to end an attempt, as its runner watches it."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from pixirnb.protocols.work import StopReason
from pixirnb.runners.processes.eager_tasks import in_task


class StopSignal:
    """The engine's signal that an attempt is to end; the first reason stands."""

    def __init__(self) -> None:
        self.reason: StopReason | None = None
        self._calls: list[Callable[[], object]] = []

    def set(self, reason: StopReason) -> None:
        """Request the end. A second request changes nothing."""
        if self.reason is None:
            self.reason = reason
            for call in self._calls:
                call()

    def then(self, call: Callable[[], object]) -> None:
        """Call once the end is requested; at once if it is."""
        if self.reason is None:
            self._calls.append(call)
        else:
            call()

    async def wait(self) -> StopReason:
        """Wait until the end is requested."""
        await in_task()
        event = anyio.Event()
        self.then(event.set)
        await event.wait()
        assert self.reason is not None
        return self.reason
