"""Services of an engine: settings, a clock (`pixirnb.testing` ships one that a test turns), threads for calls that block."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import anyio
from msgspec import Struct

from pixirnb.machine.advance import advance
from pixirnb.machine.board import Board
from pixirnb.machine.instructions import Advance
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.protocols.ports import Cluster, Offload, Runner
from pixirnb.runners.processes.worker_threads import in_worker
from pixirnb.spec.steps import StepKind
from pixirnb.wording import error_text


class Settings(Struct, eq=False):
    """Settings of an engine, for all its runs."""

    grace_s: float = 5.0
    heartbeat_s: float = 30.0
    stall_after_s: float = 45.0
    catch_up_s: float = 1.0
    """Seconds to collect ends after standing still (a machine asleep, a step that held the interpreter)."""


T = TypeVar("T")


async def in_thread(call: Callable[..., T], *arguments: Any) -> T:
    """Return the result of the call, or raise its error. A cancellation waits until the call is done.

    Raises ThreadRefused; RuntimeError for an exit or an interrupt that a value's own code raises: on the loop, it would
    end the engine.
    """
    return await in_worker(_without_exit, call, *arguments)


def own_threads(count: int = 4) -> Offload:
    """Return an `in_thread` whose calls wait for no others than its own: those of steps can take all threads for long."""
    limiter = anyio.CapacityLimiter(count)

    async def in_own_thread(call: Callable[..., T], *arguments: Any) -> T:
        return await in_worker(_without_exit, call, *arguments, limiter=limiter)

    return in_own_thread


def _without_exit(call: Callable[..., T], *arguments: Any) -> T:
    try:
        return call(*arguments)
    except (SystemExit, KeyboardInterrupt) as error:
        raise RuntimeError(error_text(error)) from error


_TURN: Final = threading.RLock()
os.register_at_fork(
    before=_TURN.acquire, after_in_parent=_TURN.release, after_in_child=_TURN.release
)


def advance_undisturbed(plan: Plan, board: Board, now: float) -> Advance:
    """Return what `advance` returns. No thread forks this process meanwhile.

    A child would get a copy of a lock that pydantic holds while it builds a serializer, and wait for it for ever.
    """
    with _TURN:
        return advance(plan, board, now)


class Runners(Struct, frozen=True):
    """The runners of one run."""

    here: Mapping[StepKind, Runner]
    cluster: Cluster | None = None
    """Performs the steps that are placed on a cluster; None where there are none."""

    def of(self, step: PlannedStep) -> Runner:
        """Return the runner of a step."""
        if step.placement == "cluster":
            assert self.cluster is not None
            return self.cluster
        return self.here[step.spec.kind]


class SystemClock:
    """Monotonic time to measure with, wall time to show."""

    def now(self) -> float:
        """Return monotonic seconds."""
        return time.monotonic()

    def wall(self) -> str:
        """Return UTC now, 27 characters. May go backwards: nothing is ordered or measured by it."""
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
