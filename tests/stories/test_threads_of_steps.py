"""Python steps in a row: what one leaves on its thread reaches no other."""

from __future__ import annotations

from pathlib import Path

import pytest

import pixirnb

pytestmark = pytest.mark.story

MODULE = """
import asyncio, contextvars, signal, threading, time

held, local = contextvars.ContextVar("held", default=0), threading.local()


def leaves():
    held.set(7)
    local.left = 7
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.close()


def finds():
    try:
        asyncio.get_event_loop()
        has_loop = True
    except RuntimeError:
        has_loop = False
    blocked = signal.SIGTERM in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    return [held.get(), getattr(local, "left", 0), has_loop, blocked]
"""


def test_what_a_step_leaves_on_its_thread_reaches_no_other(tmp_path: Path) -> None:
    (tmp_path / "steps_in_a_row.py").write_text(MODULE)
    steps = [
        {"id": "a", "call": "steps_in_a_row:leaves"},
        {"id": "b", "call": "steps_in_a_row:finds", "depends_on": ["a"]},
    ]
    run = pixirnb.start({"name": "row", "steps": steps}, workspace=tmp_path)
    assert run.wait().status == "completed"
    assert run["b"].value == [0, 0, False, False]
