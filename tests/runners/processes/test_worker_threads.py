"""Where the system refuses a thread, a call is refused by name, or made on the loop's own thread if it must be made."""

from __future__ import annotations

import threading

import anyio
import pytest

from pixirnb.errors import ThreadRefused
from pixirnb.runners.processes.worker_threads import in_worker, in_worker_or_here
from tests.full_table import no_threads


def test_a_call_without_a_thread_is_refused_and_has_not_begun() -> None:
    with no_threads(), pytest.raises(ThreadRefused, match="can't start new thread") as refused:
        anyio.run(in_worker, pytest.fail)
    assert refused.value.code == "spawn_failed"


def test_a_call_that_must_be_made_is_made_on_the_threads_own_loop() -> None:
    assert anyio.run(in_worker_or_here, threading.current_thread) is not threading.current_thread()
    with no_threads():
        assert anyio.run(in_worker_or_here, threading.current_thread) is threading.current_thread()


def test_an_error_of_the_call_is_its_own() -> None:
    def call() -> None:
        raise RuntimeError("can't start new thread")

    with pytest.raises(RuntimeError, match="can't"):
        anyio.run(in_worker, call)
