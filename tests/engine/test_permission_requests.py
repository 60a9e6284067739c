"""Permissions that agents ask for while they work: what is recorded, who answers, and that nobody is kept waiting for ever."""

from __future__ import annotations

from typing import Any

import anyio

from pixirnb.engine.messages import Message
from pixirnb.engine.permission_requests import truncate_arguments
from pixirnb.errors import LogWriteFailed
from pixirnb.history.run_state import fold
from pixirnb.machine.requests import Request
from pixirnb.protocols.work import Ended
from pixirnb.testing.fakes.memory_store import MemoryStore
from tests.engine.bench import RUN, Bench, plan_of, play

ONE = f"{RUN}/a.1.1"
WISH = {"tool": "shell", "args": {"command": "make"}, "digest": "b2:make", "call_id": "c1"}
TASK = {"id": "a", "task": "Do.", "agent": "w", "workspace": "shared"}
PLAN = plan_of(TASK, agents={"w": {}})
READY = "checkpoint_status: checkpoint_ready"


class Asked:
    """What an attempt asks beside the story, and what it was answered."""

    def __init__(self, bench: Bench, wish: dict[str, Any] = WISH) -> None:
        self.bench = bench
        self.wish = wish
        self.answer: dict[str, Any] | None = None

    async def __call__(self) -> None:
        job = await self.bench.runner.wait_started("a")
        assert job.ask is not None
        self.answer = await job.ask("permit", dict(self.wish))

    def is_answered(self) -> bool:
        return self.answer is not None


def say(bench: Bench, verb: str, request_id: str = ONE, who: str = "r1") -> None:
    request = Request(who, verb, {"request_id": request_id, "note": "fine"}, "ada")
    bench.scheduler.post(Message(request=request))


def told(bench: Bench, event: str) -> list[dict[str, Any]]:
    found = [each.data for each in bench.events if each.kind == "subagent_event"]
    return [data for data in found if data["event"] == event]


def test_an_agent_hears_a_persons_word_once_it_is_on_disk() -> None:
    async def story(bench: Bench) -> None:
        async with anyio.create_task_group() as group:
            asked = Asked(bench)
            group.start_soon(asked)
            await bench.until(lambda: told(bench, "permission_requested"))
            assert not asked.is_answered()
            say(bench, "approve")
            await bench.until(asked.is_answered)
            assert asked.answer == {
                "request_id": ONE,
                "verdict": "allow",
                "by": "ada",
                "note": "fine",
            }
            assert told(bench, "permission_decided")[0]["verdict"] == "allow"
        bench.runner.end("a")

    bench = play(PLAN, story, is_attended=True)
    wish = told(bench, "permission_requested")[0]
    assert (wish["tool"], wish["args"], wish["digest"]) == ("shell", {"command": "make"}, "b2:make")
    assert (wish["step"], wish["attempt"], wish["session_id"], wish["agent"]) == (
        "a",
        1,
        "a.1",
        "w",
    )


def test_a_session_says_who_allowed_what() -> None:
    store = MemoryStore()

    async def story(bench: Bench) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(Asked(bench))
            await bench.until(lambda: told(bench, "permission_requested"))
            say(bench, "deny")
        bench.runner.end("a")

    play(PLAN, story, store=store, is_attended=True)
    events = store.read_session(RUN, "a.1").events
    decided = next(event.data for event in events if event.kind == "permission_decided")
    assert decided == {"request_id": ONE, "verdict": "deny", "by": "ada", "note": "fine"}


def test_what_was_allowed_is_allowed_again_at_once_and_nothing_else_is() -> None:
    async def story(bench: Bench) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(Asked(bench))
            await bench.until(lambda: told(bench, "permission_requested"))
            say(bench, "approve")
        again, other = Asked(bench), Asked(bench, {**WISH, "digest": "b2:other"})
        await again()
        assert again.answer is not None
        assert (again.answer["verdict"], again.answer["by"]) == ("allow", "ada")
        async with anyio.create_task_group() as group:
            group.start_soon(other)
            await bench.until(lambda: len(told(bench, "permission_requested")) == 2)
            assert not other.is_answered()
            say(bench, "deny", f"{RUN}/a.1.2", "r2")
        bench.runner.end("a")

    play(PLAN, story, is_attended=True)


def test_where_nobody_is_there_the_request_stays_open_and_the_agent_is_told() -> None:
    async def story(bench: Bench) -> None:
        asked = Asked(bench)
        await asked()
        assert asked.answer is not None
        assert (asked.answer["verdict"], asked.answer["request_id"]) == ("unattended", ONE)
        bench.runner.end("a", Ended("failed", "permission_required", "A person has to allow it."))

    bench = play(PLAN, story)
    assert bench.outcome().status == "needs_orchestrator"
    assert [asked["request_id"] for asked in fold(bench.events).open_permissions()] == [ONE]
    assert bench.outcome().next_actions[0]["cell"] == f"%pixir approve {ONE}"


def test_an_agent_that_waits_for_a_person_is_not_stalled() -> None:
    async def story(bench: Bench) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(Asked(bench))
            await bench.until(lambda: told(bench, "permission_requested"))
            for _ in range(120):
                await bench.clock.turn(1)
            assert bench.live("step:stalled") == []
            say(bench, "approve")
        bench.runner.end("a")

    play(PLAN, story, is_attended=True)


def test_a_run_that_ends_waits_for_no_answer() -> None:
    async def story(bench: Bench) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(Asked(bench))
            await bench.until(lambda: told(bench, "permission_requested"))
            bench.scheduler.stop("interrupt")
            await bench.until(lambda: not bench.runner.running)
            group.cancel_scope.cancel()  # as the attempt does with what it was asked

    bench = play(PLAN, story, is_attended=True)
    assert bench.outcome().status == "interrupted"
    assert fold(bench.events).open_permissions() == []


def test_a_disk_that_refuses_the_question_is_the_answer() -> None:
    store = MemoryStore()

    async def story(bench: Bench) -> None:
        await bench.runner.wait_started("a")
        store.fail_after(0)
        asked = Asked(bench)
        with anyio.fail_after(10):
            await asked()
        assert asked.answer is not None
        assert asked.answer["error"]["code"] == LogWriteFailed("x").code

    bench = play(PLAN, story, store=store, is_attended=True)
    assert bench.scheduler.write_error is not None


def test_long_arguments_are_kept_by_their_beginning() -> None:
    kept = truncate_arguments({"text": "x" * 5000, "many": list(range(50)), "deep": [[[[[[1]]]]]]})
    assert kept["text"].endswith("[4000 more characters]")
    assert kept["many"][-1] == "… 30 more"
    assert kept["deep"] == [[[["…"]]]]
