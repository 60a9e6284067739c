"""A thread that outlived its step gives its slot up and keeps its claims until it returns."""

from __future__ import annotations

import anyio

from pixirnb.protocols.work import Ended
from tests.engine.bench import Bench, plan_of, play, shell


def test_what_conflicts_with_a_detached_thread_waits_until_it_returns() -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("aside")
        await anyio.sleep(0.02)
        assert set(bench.runner.running) == {"aside"}, "its slot is free, its files are not"
        bench.runner.end("aside")
        await anyio.sleep(0.02)
        assert bench.runner.running == {}
        assert "run_finished" not in bench.kinds()
        bench.scheduler.release("reads")
        await bench.runner.wait_started("writes")
        bench.runner.end("writes")

    reads = {"id": "reads", "call": "time:sleep", "read_set": ["data/**"]}
    steps = [reads, shell("writes", write_set=["data/a.csv"]), shell("aside")]
    bench = play(plan_of(*steps, max_concurrency=1), story, answers={"reads": [Ended("detached")]})
    outcome = bench.outcome()
    assert outcome.step("reads").subagent_status == "detached"
    assert outcome.step("writes").checkpoint_status == "checkpoint_ready"


def test_a_detached_thread_is_not_tried_again() -> None:
    async def story(bench: Bench) -> None:
        await bench.until(lambda: "run_finished" in bench.kinds())

    retry = {"max_attempts": 3, "delay": 0, "classes": ["exit"]}
    reads = {"id": "reads", "call": "time:sleep", "retry": retry}
    bench = play(plan_of(reads), story, answers={"reads": [Ended("detached")] * 3})
    assert bench.runner.performed == ["reads.1"]
    assert bench.outcome().status == "failed"
