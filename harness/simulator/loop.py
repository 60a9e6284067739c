"""Time that leaps: an event loop that never sleeps, and the engine's clock over it.

When nothing is ready the loop goes straight to the next timer, so an hour costs what happens in it. Time is counted in
whole microseconds: sums of floats would let a timer ring a hair before the moment it was set for, and its owner set it again
for ever.
"""

from __future__ import annotations

import asyncio
import math
import selectors
from collections.abc import Callable
from contextvars import Context
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVarTuple, Unpack

import anyio

_Ts = TypeVarTuple("_Ts")

_TICKS: Final = 1_000_000
_START: Final = 1_000 * _TICKS
_EPOCH: Final = datetime(2026, 11, 21, 22, 3, 44, tzinfo=UTC)
_PATIENCE: Final = 200_000
"""So many rounds of the loop at one moment are a wheel that spins."""


class Stuck(Exception):
    """Raised out of the loop when nothing can happen any more, or everything happens at once without end."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """An asyncio loop whose time is what its timers say. Watches no files and no sockets but its own."""

    def __init__(self) -> None:
        """At rest, at second 1000."""
        self._ticks = _START
        self._rounds = 0
        super().__init__(_Leap(self._leap))

    def time(self) -> float:
        """Seconds."""
        return self._ticks / _TICKS

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[_Ts]], object],
        *args: *_Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """As asyncio's; on the first microsecond that is not before `when`."""
        ticks = math.ceil(when * _TICKS)
        if ticks / _TICKS < when:
            ticks += 1
        return super().call_at(ticks / _TICKS, callback, *args, context=context)

    def _leap(self, seconds: float | None) -> None:
        if seconds is None:
            raise Stuck("Nothing is left that could happen, and somebody still waits.")
        if seconds <= 0:
            self._rounds += 1
            if self._rounds > _PATIENCE:
                self._rounds = 0
                raise Stuck("The loop goes round and round and time stands still.")
            return
        self._rounds = 0
        self._ticks += max(1, round(seconds * _TICKS))


class _Leap(selectors.SelectSelector):
    """Lets time leap where another selector would wait."""

    def __init__(self, leap: Callable[[float | None], None]) -> None:
        super().__init__()
        self._leap = leap

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._leap(timeout)
        return []


class VirtualClock:
    """Implements `protocols.ports.Clock` over a VirtualLoop. The wall shows the same time, from one evening on."""

    def __init__(self, loop: VirtualLoop) -> None:
        """Reads the loop's time."""
        self._loop = loop

    def now(self) -> float:
        """Monotonic seconds."""
        return self._loop.time()

    def wall(self) -> str:
        """UTC, 27 characters."""
        moment = _EPOCH + timedelta(microseconds=round(self._loop.time() * _TICKS) - _START)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    async def sleep_until(self, deadline: float) -> None:
        """Return at `deadline`."""
        rung: asyncio.Future[None] = self._loop.create_future()
        timer = self._loop.call_at(deadline, _ring, rung)
        try:
            await rung
        finally:
            timer.cancel()

    async def wait(self, event: anyio.Event, deadline: float | None) -> None:
        """Return when the event is set or the deadline comes."""
        if deadline is None:
            await event.wait()
            return
        with anyio.move_on_after(max(0.0, deadline - self.now())):
            await event.wait()


def _ring(rung: asyncio.Future[None]) -> None:
    if not rung.done():
        rung.set_result(None)


async def breathe(loop: VirtualLoop) -> None:
    """Let what was cancelled come to its end."""
    for _ in range(3):
        await asyncio.sleep(0)
    here = asyncio.current_task(loop)
    left = [task for task in asyncio.all_tasks(loop) if task is not here]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
