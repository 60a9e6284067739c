"""Staying with a run from a cell. The one place of the package that knows the kernel's event loop.

An interrupt reaches an awaiting cell as a cancellation, and only when the loop wakes up: so the wait ticks. Either way of
waiting ends the run in good order first, and lets it write that down.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from pixirnb.errors import Cannot
from pixirnb.operations.run import Run

TICK_S: Final = 0.1
FAREWELL_S: Final = 30.0
"""How long an interrupted run may take to come to rest; its steps' grace and their kill fit in many times over."""


async def attend(run: Run, tick: Callable[[], None]) -> bool:
    """Let the loop breathe until the run is at rest, `tick` ten times a second. True when an interrupt ended it."""
    given_up_at: float | None = None
    while run.is_live_here and (given_up_at is None or time.monotonic() < given_up_at):
        try:
            tick()
            await asyncio.sleep(TICK_S)
        except (asyncio.CancelledError, KeyboardInterrupt):
            if given_up_at is None:
                given_up_at = time.monotonic() + FAREWELL_S
                _interrupt(run)
    return given_up_at is not None


def attend_blocking(run: Run, tick: Callable[[], None]) -> bool:
    """As `attend`, where nothing can be awaited: a terminal, a function, a magic within a magic."""
    given_up_at: float | None = None
    while run.is_live_here and (given_up_at is None or time.monotonic() < given_up_at):
        try:
            tick()
            if run.live is not None:
                run.live.ended.wait(TICK_S)
        except KeyboardInterrupt:
            if given_up_at is None:
                given_up_at = time.monotonic() + FAREWELL_S
                _interrupt(run)
    return given_up_at is not None


def _interrupt(run: Run) -> None:
    try:
        run.interrupt()
    except Cannot:
        return  # it came to rest by itself in this very moment
