"""Clusters in virtual time: whatever dies, is cut off, comes late, twice or never, no attempt begins twice or is told wrong."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cluster.campaign import lived
from harness.cluster.driver import RUN, Driver, SimulatedConnection
from harness.cluster.scheduler import Scheduler
from harness.cluster.trial import live
from harness.cluster.truth import Truth
from harness.cluster.world import Task, World, world
from harness.simulator.loop import VirtualLoop
from pixirnb.errors import Cannot
from pixirnb.protocols.ports import Job
from pixirnb.protocols.work import Ended, Progress, RunnerEvent, ShellWork
from pixirnb.runners.cluster.leftovers import end_left
from pixirnb.runners.processes.stop_signal import StopSignal

FOUND = (89, 108, 129, 143, 172, 196, 383, 464, 1022, 1287)
"""Seeds that broke something once, or show a planted bug."""
A_THOUSAND_WORKERS = 999


def test_no_world_of_a_cluster_breaks_a_promise() -> None:
    assert lived([*range(60), *FOUND]).breaches == {}


def test_attempts_with_large_arguments_come_to_their_ends_however_they_meet_on_a_worker() -> None:
    for number in range(40):
        apart_s = number / 50
        large = Task(0.0, 0.2, 1, argument=2)
        same, other = replace(large, begins_s=apart_s), Task(apart_s, 0.2, 1, argument=1)
        tasks = (large, same, other, replace(same, stops_s=apart_s))
        truth = live(World(f"{number}", 1, 1, tasks, shares_files=number % 2 == 0))
        assert truth.breaches == []
        assert truth.counts["completed"] >= 3


def test_an_attempt_that_is_stopped_while_its_large_argument_comes_ends() -> None:
    for number in range(30):
        apart_s, stops_s = number / 60, (0.2, 0.4, 0.8)[number % 3]
        large = Task(0.0, 0.2, 1, argument=2)
        same = replace(large, begins_s=apart_s, stops_s=stops_s)
        other = Task(apart_s, 0.2, 1, argument=1, stops_s=stops_s)
        truth = live(World(f"{number}", 1, 1, (large, same, other)))
        assert truth.breaches == []


def test_a_lost_end_is_asked_for_again_where_the_worker_is_slow_to_answer() -> None:
    drawn = world(1081)
    slow = replace(drawn, tasks=drawn.tasks[:6], lost=0.6, slow=0.1)
    assert live(slow).breaches == []


@pytest.mark.sweep
def test_one_of_a_thousand_workers_breaks_none() -> None:
    large = world(A_THOUSAND_WORKERS)
    assert large.hosts * large.per_host == 1000
    truth = live(large)
    assert truth.breaches == []
    assert truth.counts["begun"] > 1000


def test_a_resume_waits_for_a_worker_that_goes_on_in_another_cluster(tmp_path: Path) -> None:
    truth, loop = Truth(), VirtualLoop()

    async def resumed() -> None:
        scheduler = Scheduler(world(0), truth, lambda _: Task(0.0, 1.0, 0), tmp_path)
        connection = SimulatedConnection(scheduler, "second")
        address, worker = scheduler.known.popitem()
        with pytest.raises(Cannot, match="it goes on, in another cluster"):
            await end_left(connection, RUN, {("t0", 1): address})
        worker.die()
        await end_left(connection, RUN, {("t0", 1): address})

    loop.run_until_complete(resumed())
    loop.close()


def test_an_attempt_that_no_worker_can_take_says_so(tmp_path: Path) -> None:
    loop, told = VirtualLoop(), list[tuple[float, RunnerEvent]]()
    begun_s = loop.time()

    async def waited() -> Ended:
        busy = World("busy", 1, 1, (Task(0.0, 30.0, 0), Task(0.0, 1.0, 0)))
        scheduler = Scheduler(busy, Truth(), lambda name: busy.tasks[int(name)], tmp_path)
        driver = Driver(busy, scheduler, tmp_path, "first")

        def job(step: str) -> Job:
            return Job(
                run_id=RUN,
                step=step,
                attempt=1,
                work=ShellWork("true"),
                cwd=tmp_path,
                workspace=tmp_path,
                env={},
                stop=StopSignal(),
                emit=lambda event: told.append((loop.time(), event)),
                resources={"GPU": 1.0},
            )

        first = asyncio.ensure_future(driver.runner.perform(job("0")))
        await asyncio.sleep(1.0)
        ended = await driver.runner.perform(job("1"))
        await first
        return ended

    assert loop.run_until_complete(waited()).status == "completed"
    loop.close()
    [(at, progress)] = [each for each in told if isinstance(each[1], Progress)]
    assert (round(at - begun_s), progress) == (11, Progress(None, "waits for a worker with GPU: 1"))


def test_a_seed_is_lived_through_alike_each_time() -> None:
    assert live(world(6)).counts == live(world(6)).counts


@pytest.mark.sweep
def test_hundreds_break_none_and_hold_enough_of_everything() -> None:
    tally = lived(range(1000, 1400))
    assert tally.breaches == {}
    for what in (
        "completed", "cancelled", "detached", "failed worker_lost", "failed cluster_lost",
        "drop", "cut off", "freeze", "lose_news", "die", "die_all", "scheduler_dies",
        "drivers died", "tasks of lost workers", "resumes refused: thread_alive",
        "questions",
    ):  # fmt: skip
        assert tally.counts[what] >= 5, what
