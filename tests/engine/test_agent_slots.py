"""How many agents work at a time: first come, first served; waiting costs no time; nobody waits for ever."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from pixirnb.engine.agent_slots import STANDARD, AgentSlots, Slot, agent_limit
from pixirnb.errors import InvalidArguments
from pixirnb.protocols.ports import Caller
from pixirnb.protocols.work import Ended, ToolDefinition
from pixirnb.runners.processes.stop_signal import StopSignal
from tests.engine.bench import Bench, plan_of, play


def agent(name: str, *after: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": name,
        "task": "Do.",
        "agent": "w",
        "workspace": "shared",
        "depends_on": list(after),
        **fields,
    }


def plan(*steps: dict[str, Any]) -> Any:
    reader = {"posture": "read_only"}
    return plan_of(*steps, agents={"w": reader})


def started(bench: Bench) -> list[str]:
    return [job.step for job in bench.runner.jobs]


def test_agents_begin_in_the_order_in_which_they_came() -> None:
    async def story(bench: Bench) -> None:
        for name in ("a", "b", "c"):
            await bench.runner.wait_started(name)
            assert started(bench)[-1] == name
            assert len(bench.runner.running) == 1
            bench.runner.end(name)

    slots = AgentSlots(1)
    bench = play(plan(agent("a"), agent("b"), agent("c")), story, slots=slots)
    assert started(bench) == ["a", "b", "c"]
    assert (slots.taken, slots.waiting) == (0, 0)


def test_an_agent_that_waits_for_its_turn_uses_up_no_time() -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        await bench.clock.turn(3000)
        assert bench.scheduler.board.state(1).stage == "scheduled"
        assert bench.live("step:stalled")[0].step == "a"
        bench.runner.end("a")
        await bench.runner.wait_started("b")
        await bench.clock.turn(59)
        assert "b" in bench.runner.running
        await bench.clock.turn(2)
        await bench.until(lambda: not bench.runner.running)

    steps = (agent("a", timeout="2h", allow_long_timeout=True), agent("b", timeout="60s"))
    bench = play(plan(*steps), story, slots=AgentSlots(1))
    late = bench.outcome().step("b")
    assert late.subagent_status == "timed_out"
    assert {news.step for news in bench.live("step:stalled")} == {"a", "b"}
    assert late.elapsed_ms is not None
    assert 60_000 <= late.elapsed_ms < 70_000


@pytest.mark.parametrize(("how", "status"), [("cancel", "cancelled"), ("interrupt", "interrupted")])
def test_an_agent_can_be_ended_before_its_turn_has_come(how: Any, status: str) -> None:
    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        bench.scheduler.stop(how)

    slots = AgentSlots(1)
    bench = play(plan(agent("a"), agent("b")), story, slots=slots)
    assert started(bench) == ["a"]
    assert bench.outcome().step("b").subagent_status == status
    assert (slots.taken, slots.waiting) == (0, 0)


class Waits:
    """A tool that takes until another agent has ended."""

    definitions: tuple[ToolDefinition, ...] = ()

    def __init__(self) -> None:
        self.other_ended = anyio.Event()

    async def __call__(self, tool: str, args: dict[str, Any], caller: Caller) -> dict[str, Any]:
        del args, caller
        if tool == "run_workflow":
            await self.other_ended.wait()
        return {"ok": True, "text": tool, "data": {}}


def test_an_agent_that_waits_for_a_run_lends_its_turn_to_the_agents_of_that_run() -> None:
    tools, slots = Waits(), AgentSlots(1)

    async def story(bench: Bench) -> None:
        job = await bench.runner.wait_started("a")
        answers: list[dict[str, Any]] = []

        async def call(tool: str) -> None:
            assert job.ask is not None
            answers.append(await job.ask("call", {"tool": tool, "args": {}}))

        await call("inspect_run")
        assert started(bench) == ["a"]
        async with anyio.create_task_group() as group:
            group.start_soon(call, "run_workflow")
            group.start_soon(call, "run_workflow")
            await bench.runner.wait_started("b")
            tools.other_ended.set()
            await bench.until(lambda: slots.waiting == 1)
            assert len(answers) == 2  # of two calls at once, the last one out takes the turn again
            bench.runner.end("b")
        assert [answer["text"] for answer in answers] == ["inspect_run"] + ["run_workflow"] * 2
        assert slots.taken == 1
        bench.runner.end("a")

    bench = play(plan(agent("a"), agent("b")), story, slots=slots, delegate=tools)
    assert bench.outcome().step("b").subagent_status == "completed"
    assert (slots.taken, slots.waiting) == (0, 0)


def test_who_comes_back_from_its_run_works_before_those_that_have_not_begun() -> None:
    tools, slots = Waits(), AgentSlots(1)

    async def story(bench: Bench) -> None:
        job = await bench.runner.wait_started("a")
        assert job.ask is not None
        async with anyio.create_task_group() as group:
            group.start_soon(job.ask, "call", {"tool": "run_workflow", "args": {}})
            await bench.runner.wait_started("b")
            assert slots.waiting == 1  # c
            tools.other_ended.set()
            await bench.until(lambda: slots.waiting == 2)
            bench.runner.end("b")
        assert (started(bench), slots.taken) == (["a", "b"], 1)
        bench.runner.end("a")
        await bench.runner.wait_started("c")
        bench.runner.end("c")

    bench = play(plan(agent("a"), agent("b"), agent("c")), story, slots=slots, delegate=tools)
    assert bench.outcome().step("c").subagent_status == "completed"


def test_an_agent_that_waits_for_its_run_is_not_stalled() -> None:
    tools = Waits()

    async def story(bench: Bench) -> None:
        job = await bench.runner.wait_started("a")
        assert job.ask is not None
        async with anyio.create_task_group() as group:
            group.start_soon(job.ask, "call", {"tool": "run_workflow", "args": {}})
            await bench.until(lambda: slots.taken == 0)
            for _ in range(100):
                await bench.clock.turn(1)
            assert bench.live("step:stalled") == []
            tools.other_ended.set()
        bench.runner.end("a")

    slots = AgentSlots(1)
    play(plan(agent("a")), story, slots=slots, delegate=tools)


def test_whoever_is_ended_while_it_waits_to_have_its_turn_again_takes_none() -> None:
    tools, slots = Waits(), AgentSlots(1)

    async def story(bench: Bench) -> None:
        job = await bench.runner.wait_started("a")
        assert job.ask is not None
        async with anyio.create_task_group() as group:
            group.start_soon(job.ask, "call", {"tool": "run_workflow", "args": {}})
            await bench.runner.wait_started("b")
            tools.other_ended.set()
            await bench.until(lambda: slots.waiting == 1)
            group.cancel_scope.cancel()
        bench.runner.end("a", Ended("failed", "crash", "gone"))
        bench.runner.end("b")

    play(plan(agent("a"), agent("b")), story, slots=slots, delegate=tools)
    assert (slots.taken, slots.waiting) == (0, 0)


def test_a_turn_that_comes_with_the_wish_to_end_is_given_back() -> None:
    async def main() -> None:
        slots, stop = AgentSlots(1), StopSignal()
        stop.set("cancelled")
        slot = Slot(slots)
        assert not await slot.acquire(stop)
        slot.release()
        slot.release()
        assert (slots.taken, slots.waiting) == (0, 0)

    anyio.run(main)


def test_more_room_is_used_at_once() -> None:
    async def main() -> None:
        slots = AgentSlots(1)
        await slots.acquire()
        async with anyio.create_task_group() as group:
            group.start_soon(slots.acquire)
            await anyio.lowlevel.checkpoint()
            assert slots.waiting == 1
            slots.resize(2)
        assert slots.taken == 2

    anyio.run(main)


@pytest.mark.parametrize("text", ["0", "-1", "1001", "six", "1.5", "٣", "99999999999"])
def test_a_limit_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidArguments) as error:
        agent_limit({"PIXIRNB_MAX_AGENTS": text})
    assert error.value.code == "bad_setting"


@pytest.mark.parametrize(
    ("text", "limit"), [("", STANDARD), ("1", 1), (" 16 ", 16), ("1000", 1000)]
)
def test_a_limit_is_a_whole_number_from_1_to_1000(text: str, limit: int) -> None:
    assert agent_limit({"PIXIRNB_MAX_AGENTS": text}) == limit
