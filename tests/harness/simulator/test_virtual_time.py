"""Virtual time: hours pass at once, in their order, and whoever waits for nothing is told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import anyio
import pytest

from harness.simulator.loop import Stuck, VirtualClock, VirtualLoop


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    made = VirtualLoop()
    yield made
    made.close()


def test_a_week_passes_as_soon_as_nobody_has_anything_else_to_do(loop: VirtualLoop) -> None:
    clock = VirtualClock(loop)
    began, wall = clock.now(), clock.wall()
    loop.run_until_complete(asyncio.sleep(7 * 24 * 3600))
    assert clock.now() - began == 7 * 24 * 3600
    assert (wall[:10], clock.wall()[:10]) == ("2026-11-21", "2026-11-28")
    assert clock.wall()[10:] == wall[10:]


def test_timers_ring_in_the_order_of_their_times(loop: VirtualLoop) -> None:
    heard: list[float] = []

    async def wait(seconds: float) -> None:
        await asyncio.sleep(seconds)
        heard.append(seconds)

    async def all_of_them() -> None:
        await asyncio.gather(*(wait(seconds) for seconds in (5.0, 0.001, 3600.0, 2.5, 0.0)))

    loop.run_until_complete(all_of_them())
    assert heard == [0.0, 0.001, 2.5, 5.0, 3600.0]


@pytest.mark.parametrize("span", [0.002, 0.1, 1 / 3, 1e-7, 0.0000019])
def test_no_timer_rings_before_its_time_however_odd_the_sum(loop: VirtualLoop, span: float) -> None:
    clock = VirtualClock(loop)

    async def many() -> None:
        for _ in range(500):
            deadline = clock.now() + span
            await clock.sleep_until(deadline)
            assert clock.now() >= deadline

    loop.run_until_complete(many())


def test_a_wait_ends_with_its_event_or_with_its_deadline(loop: VirtualLoop) -> None:
    clock = VirtualClock(loop)

    async def both() -> tuple[float, float]:
        event, began = anyio.Event(), clock.now()
        loop.call_later(3.0, event.set)
        await clock.wait(event, began + 10)
        early = clock.now() - began
        await clock.wait(anyio.Event(), began + 10)
        return early, clock.now() - began

    assert loop.run_until_complete(both()) == (3.0, 10.0)


def test_waiting_for_what_nobody_will_do_is_found(loop: VirtualLoop) -> None:
    async def for_ever() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Stuck, match="Nothing is left"):
        loop.run_until_complete(for_ever())
    _end(loop)


def test_a_wheel_that_spins_while_time_stands_still_is_found(loop: VirtualLoop) -> None:
    async def spin() -> None:
        while True:  # noqa: ASYNC110 - the wheel that is to be found
            await asyncio.sleep(0)

    with pytest.raises(Stuck, match="time stands still"):
        loop.run_until_complete(spin())
    _end(loop)


def _end(loop: VirtualLoop) -> None:
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
