"""Signs of life of running steps: how long since each last did anything, and which ones seem stuck. Source: contract.md §5.

The step's activity counts, not a timer's: a heartbeat of a dead process would be false. Output, tools, reports, progress,
requests and events of its session are activity; `last_output_age_ms` is the age of its printed output alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pixirnb.engine.broadcast import STEP_HEARTBEAT, STEP_STALLED, Live
from pixirnb.engine.run_context import Attempt
from pixirnb.protocols.ports import Clock, Guard

EVERY_S: Final = 1.0


async def watch(
    running: Mapping[str, Attempt],
    clock: Clock,
    publish: Callable[[Live], None],
    *,
    heartbeat_s: float,
    stall_after_s: float,
    supervisor: Guard | None = None,
) -> None:
    """Publish a heartbeat of every running attempt each `heartbeat_s`, and one piece of news at each stall; runs for ever.

    `supervisor` gets `stand_by` once a second while anything runs.
    """
    beaten: dict[tuple[str, int], float] = {}
    while True:
        await clock.sleep_until(clock.now() + EVERY_S)
        now = clock.now()
        if running and supervisor is not None:
            supervisor.stand_by()
        beaten = {
            (a.step.id, a.number): beaten.get((a.step.id, a.number), a.started)
            for a in running.values()
            if not a.is_queued
        }
        for attempt in [attempt for attempt in running.values() if not attempt.is_queued]:
            if attempt.delegated:  # it is another run's turn: the agent's silence is none
                attempt.stir(now)
            idle_s = now - attempt.last_activity
            news = {
                "last_output_age_ms": round((now - attempt.last_output) * 1000),
                "idle_ms": round(idle_s * 1000),
                "elapsed_ms": round((now - attempt.started) * 1000),
            }
            key = (attempt.step.id, attempt.number)
            if now - beaten[key] >= heartbeat_s:
                beaten[key] = now
                publish(Live(STEP_HEARTBEAT, attempt.step.id, attempt.number, news))
            if idle_s >= stall_after_s and not attempt.is_stalled:
                attempt.is_stalled = True
                publish(Live(STEP_STALLED, attempt.step.id, attempt.number, news))
