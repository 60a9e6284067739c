"""Threads of steps: kept where the step has left them as they were, and ended where nobody needs them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import pixirnb
from pixirnb.runners.python.kept_threads import KeptThreads


def done(
    threads: KeptThreads, call: Callable[[], object], *, is_clean: bool = True
) -> threading.Thread:
    """Make a call on a thread, to its end; the thread, idle or gone."""
    over = threading.Event()

    def first() -> bool:
        call()
        over.set()
        return is_clean

    thread = threads.call("t", first)
    assert over.wait(10)
    while thread.is_alive() and thread.name == "t":
        thread.join(0.001)
    return thread


def test_a_thread_is_kept_for_the_next_call() -> None:
    threads = KeptThreads()
    assert done(threads, lambda: None) is done(threads, lambda: None)


def test_two_calls_at_once_have_a_thread_each() -> None:
    threads, gate = KeptThreads(), threading.Barrier(2)
    both = [threads.call(name, lambda: gate.wait(10) >= 0) for name in "ab"]
    assert both[0] is not both[1]


def test_a_call_that_changed_its_thread_was_its_last() -> None:
    threads = KeptThreads()
    changed = done(threads, lambda: None, is_clean=False)
    changed.join(10)
    assert not changed.is_alive()
    assert done(threads, lambda: None) is not changed


@pytest.mark.parametrize("leave", [sys.settrace, sys.setprofile])
def test_a_thread_that_is_traced_is_not_kept(leave: Callable[[object], None]) -> None:
    threads = KeptThreads()
    traced = done(threads, lambda: leave(lambda *_: None))
    traced.join(10)
    assert done(threads, lambda: None) is not traced


def test_what_a_call_raises_ends_its_thread(recwarn: pytest.WarningsRecorder) -> None:
    def fall() -> bool:
        raise SystemExit

    thread = KeptThreads().call("t", fall)
    thread.join(10)
    assert not thread.is_alive()
    assert not recwarn.list


def test_an_idle_thread_ends_and_the_next_call_has_another() -> None:
    threads = KeptThreads(idle_s=0.01)
    idle = done(threads, lambda: None)
    idle.join(10)
    assert not idle.is_alive()
    assert done(threads, lambda: None) is not idle


def ran_on(folder: Path, *bodies: str) -> list[list[int]]:
    """What steps in a row return: each the number of its thread, beside what its body leaves in `left`."""
    (folder / "steps_in_a_row.py").write_text(
        "import contextvars, os, subprocess, threading\nheld = contextvars.ContextVar('held', default=0)\n"
        + "".join(
            f"def f{n}():\n    left = 0\n    {body}\n    return [threading.get_native_id(), left]\n"
            for n, body in enumerate(bodies)
        )
    )
    steps = [
        {"id": f"s{n}", "call": f"steps_in_a_row:f{n}", "depends_on": [f"s{n - 1}"] if n else []}
        for n in range(len(bodies))
    ]
    run = pixirnb.start({"name": "row", "steps": steps}, workspace=folder)
    assert run.wait().ok, run.outcome.summary
    return [run[f"s{n}"].value for n in range(len(bodies))]


def test_a_step_sees_no_context_of_the_one_before_on_its_thread(tmp_path: Path) -> None:
    assert [left for _, left in ran_on(tmp_path, "held.set(7)", "left = held.get()")] == [0, 0]


def test_a_thread_that_has_started_a_process_is_no_other_steps(tmp_path: Path) -> None:
    first, second = ran_on(tmp_path, "subprocess.run(['true'])", "pass")
    assert first[0] != second[0]
