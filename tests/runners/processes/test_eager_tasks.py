"""Coroutines that run where they are started, and are tasks only once they must be."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context, ContextVar

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from pixirnb.runners.processes.eager_tasks import EagerTasks, Signal, in_task


def lived(story: Callable[[EagerTasks], Awaitable[None]]) -> None:
    """Tell a story in a task group."""

    async def main() -> None:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                await story(EagerTasks(group))

    anyio.run(main)


def test_it_runs_where_it_is_started_and_goes_on_where_its_signal_is_set() -> None:
    said: list[str] = []

    async def story(tasks: EagerTasks) -> None:
        signal = Signal()

        async def work() -> None:
            said.append("begun")
            await signal.wait()
            said.append("over")

        tasks.start(work())
        assert said == ["begun"]
        signal.set()
        assert said == ["begun", "over"]
        signal.set()

    lived(story)
    assert said == ["begun", "over"]


def test_a_signal_that_is_set_is_not_waited_for() -> None:
    said: list[str] = []

    async def story(tasks: EagerTasks) -> None:
        signal = Signal()
        signal.set()

        async def work() -> None:
            await signal.wait()
            said.append("over")

        tasks.start(work())
        assert said == ["over"]

    lived(story)


def test_what_only_a_task_may_do_is_done_in_one() -> None:
    said: list[object] = []

    async def story(tasks: EagerTasks) -> None:
        host = asyncio.current_task()

        async def work() -> None:
            said.append(asyncio.current_task() is host)
            await in_task()
            said.append(asyncio.current_task() is host)
            with anyio.move_on_after(5):
                said.append(await anyio.to_thread.run_sync(lambda: "in a thread"))

        tasks.start(work())

    lived(story)
    assert said == [True, False, "in a thread"]


def test_a_plain_callback_of_the_loop_may_start_it_and_go_on_with_it() -> None:
    said: list[str] = []
    word = ContextVar("word", default="none")

    async def story(tasks: EagerTasks) -> None:
        signal = Signal()

        async def work() -> None:
            word.set("its own")
            await signal.wait()
            await in_task()
            with anyio.move_on_after(5):
                await anyio.lowlevel.checkpoint()
            said.append(word.get())

        loop = asyncio.get_running_loop()
        loop.call_soon(lambda: tasks.start(work()), context=Context())
        loop.call_soon(signal.set, context=Context())
        await anyio.sleep(0.01)
        assert word.get() == "none"

    lived(story)
    assert said == ["its own"]


def test_in_a_task_a_signal_is_waited_for_as_an_event() -> None:
    said: list[str] = []

    async def story(tasks: EagerTasks) -> None:
        signal = Signal()

        async def work() -> None:
            await in_task()
            await signal.wait()
            said.append("over")

        tasks.start(work())
        await anyio.sleep(0.01)
        signal.set()
        assert said == []

    lived(story)
    assert said == ["over"]


def test_one_that_starts_another_goes_on_where_it_was() -> None:
    said: list[str] = []

    async def story(tasks: EagerTasks) -> None:
        async def inner() -> None:
            await in_task()
            said.append("inner")

        async def outer() -> None:
            tasks.start(inner())
            said.append("outer")
            await in_task()
            said.append("outer, in a task")

        tasks.start(outer())

    lived(story)
    assert said[0] == "outer"
    assert sorted(said[1:]) == ["inner", "outer, in a task"]


@pytest.mark.parametrize("waits", [False, True])
def test_its_error_ends_the_group(waits: bool) -> None:
    async def story(tasks: EagerTasks) -> None:
        signal = Signal()

        async def work() -> None:
            if waits:
                await signal.wait()
            raise ValueError("a bug")

        tasks.start(work())
        signal.set()
        await anyio.sleep_forever()

    with pytest.raises(ExceptionGroup) as raised:
        lived(story)
    assert [str(error) for error in raised.value.exceptions] == ["a bug"]


def test_one_that_waits_is_cancelled_in_a_task_and_may_wait_for_its_end() -> None:
    said: list[str] = []

    async def story(tasks: EagerTasks) -> None:
        signal = Signal()

        async def work() -> None:
            try:
                await signal.wait()
            except anyio.get_cancelled_exc_class():
                with anyio.CancelScope(shield=True):
                    await anyio.to_thread.run_sync(lambda: said.append("ended"))
                raise

        tasks.start(work())
        tasks.cancel()
        signal.set()

    lived(story)
    assert said == ["ended"]


def test_a_task_it_has_become_is_cancelled_with_its_group() -> None:
    said: list[str] = []

    async def story(tasks: EagerTasks) -> None:
        async def work() -> None:
            await in_task()
            try:
                await anyio.sleep_forever()
            except anyio.get_cancelled_exc_class():
                said.append("cancelled")
                raise

        async with anyio.create_task_group() as group:
            EagerTasks(group).start(work())
            await anyio.sleep(0.01)
            group.cancel_scope.cancel()

    lived(story)
    assert said == ["cancelled"]
