"""Calls that block run on a thread of their own, and whatever they raise is an error of the call."""

from __future__ import annotations

import threading

import anyio
import anyio.to_thread
import pytest

from pixirnb.engine.services import in_thread, own_threads


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(3)])
def test_an_exit_in_a_call_is_an_error_of_the_call_and_does_not_end_the_loop(
    error: BaseException,
) -> None:
    def call() -> None:
        raise error

    with pytest.raises(RuntimeError, match=f"{type(error).__name__}: 3"):
        anyio.run(in_thread, call)


@pytest.mark.anyio
async def test_steps_that_take_all_threads_keep_no_turn_waiting() -> None:
    is_over, begun = threading.Event(), []

    def wait() -> None:
        begun.append(1)
        is_over.wait()

    threads = int(anyio.to_thread.current_default_thread_limiter().total_tokens)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            for _ in range(threads + 5):
                group.start_soon(in_thread, wait)
            while len(begun) < threads:  # noqa: ASYNC110 - threads set no event of the loop
                await anyio.sleep(0.001)
            try:
                assert await own_threads()(lambda: "answered") == "answered"
            finally:
                is_over.set()
