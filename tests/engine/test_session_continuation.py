"""What a step's next attempt is handed once a person has allowed what the one before was parked for."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.engine.messages import Message
from pixirnb.machine.requests import Request
from pixirnb.protocols.ports import Job
from pixirnb.protocols.work import AgentEvent, AgentWork, Ended
from pixirnb.testing.fakes.memory_store import MemoryStore
from tests.engine.bench import RUN, Bench, plan_of, play, shell

WISH = {"tool": "shell", "args": {"command": "make"}, "digest": "b2:make", "call_id": "c1"}
CALL = {"call_id": "c1", "name": "shell", "args": {"command": "make"}}


def plan(runner: str) -> Any:
    task = {"id": "a", "task": "Do.", "agent": "w", "workspace": "shared"}
    who = {"llm": {"runner": "llm", "model": "openai:x"}, "scripted": {}}[runner]
    return plan_of(task, shell("keep"), agents={"w": who})


async def parks(bench: Bench) -> None:
    """The first attempt calls a tool that nobody is there to allow."""
    job = await bench.runner.wait_started("a")
    bench.runner.emit(
        "a", AgentEvent("assistant_message", {"text": "I", "partial": True, "final": False})
    )
    bench.runner.emit("a", AgentEvent("tool_call", CALL))
    assert job.ask is not None
    await job.ask("permit", dict(WISH))
    bench.runner.end("a", Ended("failed", "permission_required", "A person has to allow it."))
    await bench.until(
        lambda: (
            [e for e in bench.events if e.kind == "decision_requested"]
            and "a" not in bench.runner.running
        )
    )


def approve(bench: Bench) -> None:
    request = Request("r1", "approve", {"request_id": f"{RUN}/a.1.1", "note": "go"}, "ada")
    bench.scheduler.post(Message(request=request))


def second(runner: str, store: MemoryStore, then: Ended | None = None) -> tuple[Job, AgentWork]:
    found: list[Job] = []

    async def story(bench: Bench) -> None:
        await parks(bench)
        approve(bench)
        found.append(await bench.runner.wait_started("a"))
        bench.runner.end("a", then)
        bench.runner.end("keep")

    play(plan(runner), story, store=store)
    work = found[0].work
    assert isinstance(work, AgentWork)
    return found[0], work


def test_a_model_goes_on_in_a_new_session_with_what_was_said_and_a_word_of_ours() -> None:
    store = MemoryStore()
    job, work = second("llm", store)
    assert (job.attempt, work.session["session_id"], work.session["continues"]) == (2, "a.2", "a.1")
    kinds = [kind for kind, _ in work.history]
    assert kinds == ["user_message", "tool_call", "tool_result"]
    assert work.history[2][1]["error"]["kind"] == "orphan_tool_call"
    assert "A person has approved" in work.prompt
    assert '`shell` with {"command": "make"}' in work.prompt
    assert list(work.granted) == ["b2:make"]
    assert work.granted["b2:make"]["request_id"] == f"{RUN}/a.1.1"
    assert work.granted["b2:make"]["by"] == "ada"
    told = [(e.kind, e.data) for e in store.read_session(RUN, "a.2").events]
    assert [kind for kind, _ in told[:5]] == ["session_started", *kinds, "user_message"]
    assert (told[1][1]["origin"], told[4][1]["origin"]) == ("prompt", "harness")


def test_any_other_agent_starts_anew_with_what_was_allowed() -> None:
    _, work = second("scripted", MemoryStore())
    assert (work.session["continues"], work.history, list(work.granted)) == (None, [], ["b2:make"])
    assert "A person has approved" not in work.prompt


@pytest.mark.parametrize("runner", ["llm"])
def test_a_session_that_cannot_be_read_is_left_and_the_grant_stands(runner: str) -> None:
    store = MemoryStore()
    found: list[AgentWork] = []

    async def story(bench: Bench) -> None:
        await parks(bench)
        store.runs[RUN].sessions["a.1"].data[10:20] = b"x" * 10
        approve(bench)
        job = await bench.runner.wait_started("a")
        assert isinstance(job.work, AgentWork)
        found.append(job.work)
        bench.runner.end("a")
        bench.runner.end("keep")

    play(plan(runner), story, store=store)
    assert (found[0].session["continues"], list(found[0].granted)) == (None, ["b2:make"])
