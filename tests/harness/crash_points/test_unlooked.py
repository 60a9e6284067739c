"""A run that a fault kept from looking beside the claims of a step may say so, and differ from others by nothing else."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

from harness.crash_points.faults import Fault
from harness.crash_points.offspring import End
from harness.crash_points.verdict import plain

REFUSED = Fault("eio", 3)
UNLOOKED = f"writes_not_checked: The state folder cannot be used: {os.strerror(errno.EIO)}."


def end(*limitations: str, summary: str = "") -> End:
    """Of a run with one step that is ready with these."""
    step: dict[str, Any] = {"step_id": "a", "checkpoint": {"known_limitations": list(limitations)}}
    held = {"step_id": "b", "checkpoint": None}
    outcome = {
        "run_id": "run-7",
        "workspace": "/world",
        "warnings": [],
        "summary": summary,
        "steps": [step, held],
    }
    return End(False, False, {"outcome": outcome}, [], [], "", {})


def test_that_nobody_looked_because_of_the_fault_is_no_difference() -> None:
    assert plain(end("a draft", UNLOOKED), [REFUSED]) == plain(end("a draft"))


@pytest.mark.parametrize(
    "fault", [None, Fault("enospc", 3), Fault("eintr", 3), Fault("die-after", 3)]
)
def test_that_nobody_looked_for_another_reason_than_what_befell_it_is_one(
    fault: Fault | None,
) -> None:
    assert plain(end(UNLOOKED), [] if fault is None else [fault]) != plain(end())


@pytest.mark.parametrize(
    "told",
    [
        end(f"writes_outside_write_set: {os.strerror(errno.EIO)}"),
        end("writes_not_checked: The repository cannot be read."),
        end(UNLOOKED, summary="otherwise"),
    ],
)
def test_nothing_else_is_passed_over(told: End) -> None:
    assert plain(told, [REFUSED]) != plain(end())


def test_the_uninterrupted_run_has_looked() -> None:
    assert plain(end(UNLOOKED)) != plain(end())
