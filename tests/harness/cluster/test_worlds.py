"""Clusters in virtual time: whatever dies, is cut off, comes late, twice or never, no attempt begins twice or is told wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.cluster.campaign import lived
from harness.cluster.driver import RUN, SimulatedConnection
from harness.cluster.scheduler import Scheduler
from harness.cluster.trial import live
from harness.cluster.truth import Truth
from harness.cluster.world import Task, World, world
from harness.simulator.loop import VirtualLoop
from pixirnb.errors import Cannot
from pixirnb.runners.cluster.leftovers import end_left

FOUND = (89, 108, 129, 143, 172, 196, 383, 464, 1022)
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
    ):  # fmt: skip
        assert tally.counts[what] >= 5, what
