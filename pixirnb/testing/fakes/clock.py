"""A clock turned by hand, so that tests of heartbeats, stalls, delays and time-outs of hours take milliseconds.

    clock = ManualClock()
    await clock.turn(45)      # everything due in these 45 s happens, in its order

Only what is waited for with `wait` or `sleep_until` moves with it. Waits shorter than `fleeting_s` pass by themselves: they
are there to gather company for a commit, and no test has anything to say about them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import anyio
import anyio.lowlevel

_BREATHS = 25
"""How often others may move between two moments of a turn; a chain of wake-ups is far shorter."""


@dataclass(eq=False)
class _Waiter:
    deadline: float
    woken: anyio.Event = field(default_factory=anyio.Event)


class ManualClock:
    """Implements `protocols.ports.Clock`. Belongs to one event loop."""

    def __init__(self, start: float = 1000.0, *, fleeting_s: float = 0.15) -> None:
        """`start` is the first monotonic second; waits up to `fleeting_s` are not waited for."""
        self._now = start
        self._start = start
        self._wall = datetime(2026, 11, 21, 22, 3, 44, tzinfo=UTC)
        self._fleeting_s = fleeting_s
        self._waiters: list[_Waiter] = []

    def now(self) -> float:
        """Return monotonic seconds."""
        return self._now

    def wall(self) -> str:
        """Return UTC, 27 characters; it moves with the monotonic time until it is set."""
        moment = self._wall + timedelta(seconds=self._now - self._start)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def set_wall(self, moment: datetime) -> None:
        """Let the wall clock jump, back too, as a machine's does when it learns the time."""
        self._wall = moment - timedelta(seconds=self._now - self._start)

    async def sleep_until(self, deadline: float) -> None:
        """Return once the clock was turned to `deadline`."""
        await self.wait(anyio.Event(), deadline)

    async def wait(self, event: anyio.Event, deadline: float | None) -> None:
        """Return when the event is set or the clock was turned to the deadline."""
        if deadline is None:
            await event.wait()
            return
        if deadline - self._now <= self._fleeting_s:
            await _breathe()
            if not event.is_set():
                self._now = max(self._now, deadline)
            return
        waiter = _Waiter(deadline)
        self._waiters.append(waiter)
        try:
            async with anyio.create_task_group() as group:

                async def until_set() -> None:
                    await event.wait()
                    group.cancel_scope.cancel()

                async def until_due() -> None:
                    await waiter.woken.wait()
                    group.cancel_scope.cancel()

                group.start_soon(until_set)
                group.start_soon(until_due)
        finally:
            self._waiters.remove(waiter)

    async def turn(self, seconds: float) -> None:
        """Let time pass, stopping at every moment somebody waits for."""
        target = self._now + seconds
        while True:
            await _breathe()
            due = [w for w in self._waiters if not w.woken.is_set() and w.deadline <= target]
            if not due:
                break
            self._now = max(self._now, min(waiter.deadline for waiter in due))
            for waiter in due:
                if waiter.deadline <= self._now:
                    waiter.woken.set()
        self._now = max(self._now, target)
        await _breathe()

    async def leap(self, seconds: float) -> None:
        """Let time pass unseen, as where the machine was asleep: who waits for a moment of it wakes late."""
        self._now += seconds
        await self.turn(0)


async def _breathe() -> None:
    for _ in range(_BREATHS):
        await anyio.lowlevel.checkpoint()
