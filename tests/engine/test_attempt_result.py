"""What an agent reports is its word, whatever it is made of: no report can break the log of its run."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest

from pixirnb.protocols.work import Ended, Report
from tests.engine.bench import Bench, plan_of, play, shell

PLAN = plan_of(
    {"id": "a", "task": "Do.", "agent": "w", "workspace": "shared"}, shell("b"), agents={"w": {}}
)


def nested(depth: int) -> Any:
    """Lists inside each other."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def ended_with(output: Any) -> Bench:
    """A run whose agent reports that it is ready, with `output`."""

    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        report = {"checkpoint_status": "checkpoint_ready", "summary": "done", "output": output}
        bench.runner.emit("a", Report("checkpoint", report))
        bench.runner.end("a", Ended("completed"))
        bench.runner.end("b")

    return play(PLAN, story)


@pytest.mark.parametrize(
    "output",
    [nan, inf, nested(200), {"n": -inf}, 2**20_000],
    ids=["nan", "inf", "deep", "in", "long"],
)
def test_what_no_log_can_hold_is_kept_as_near_as_can_be_and_said_so(output: Any) -> None:
    bench = ended_with(output)
    step = bench.outcome().step("a")
    assert step.checkpoint_status == "checkpoint_ready"
    assert step.checkpoint is not None
    assert step.checkpoint["known_limitations"] == ["report_not_plain_json"]
    assert bench.outcome().step("b").checkpoint_status == "checkpoint_ready"


@pytest.mark.parametrize("output", [1.5, "x", {"a": [None, True]}, nested(30)])
def test_what_a_log_can_hold_is_kept_as_it_is(output: Any) -> None:
    step = ended_with(output).outcome().step("a")
    assert step.checkpoint is not None
    assert step.checkpoint["known_limitations"] == []
    assert step.checkpoint["produced"]["value"] == output


@pytest.mark.parametrize(
    "value",
    [
        {"format": "json", "value": nan},
        {"format": "json", "value": object()},
        {"format": "pickle", "type": 5},
        {"format": "json", "value": {1: 2}},
    ],
    ids=["nan", "object", "misshapen", "key"],
)
def test_a_result_that_no_log_can_hold_fails_its_attempt_and_not_the_run(value: Any) -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        bench.runner.end("a", Ended("completed", value=value))
        bench.runner.end("b")

    bench = play(plan_of({"id": "a", "call": "m:f"}, shell("b")), story)
    step = bench.outcome().step("a")
    assert step.checkpoint_status == "failed"
    assert step.error is not None
    assert step.error["kind"] == "result_unloggable"
    assert bench.outcome().step("b").checkpoint_status == "checkpoint_ready"
    assert bench.kinds()[-1] == "run_finished"


@pytest.mark.parametrize("survivors", [(12, 13), ()])
def test_a_step_whose_processes_could_not_all_be_ended_says_so(survivors: tuple[int, ...]) -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("b")
        bench.runner.end("b", Ended("completed", survivors=survivors))

    step = play(plan_of(shell("b")), story).outcome().step("b")
    assert step.checkpoint is not None
    (limitation,) = step.checkpoint["known_limitations"]
    assert limitation.startswith("processes_left: ")
    assert all(f"{pid}" in limitation for pid in survivors)
