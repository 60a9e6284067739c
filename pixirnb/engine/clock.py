"""The real clock. `pixirnb.testing` ships one that a test turns by hand."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import anyio


class SystemClock:
    """Monotonic time to measure with, wall time to show."""

    def now(self) -> float:
        """Monotonic seconds."""
        return time.monotonic()

    def wall(self) -> str:
        """UTC now, 27 characters. May go backwards: nothing is ordered or measured by it."""
        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    async def sleep_until(self, deadline: float) -> None:
        """Return at or soon after monotonic `deadline`."""
        await anyio.sleep(max(0.0, deadline - self.now()))

    async def wait(self, event: anyio.Event, deadline: float | None) -> None:
        """Return when the event is set or the deadline comes."""
        if deadline is None:
            await event.wait()
            return
        with anyio.move_on_after(max(0.0, deadline - self.now())):
            await event.wait()
