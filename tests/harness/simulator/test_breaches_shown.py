"""A broken promise is printed with all it takes to see it again, in the smallest world that shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.simulator import __main__
from harness.simulator.campaign import judged
from harness.simulator.seeds import world as world_of_seed
from harness.simulator.shrinking import shrunk
from harness.simulator.world import World, world_of

NEVER = 10_000_000.0
"""Seconds after which a thread returns that, for all purposes, does not."""


def endless() -> World:
    """A run that can never end again: a thread that never returns is in the way of the step's next attempt."""
    steps = [
        {"id": "stuck", "call": "simulated.work:step", "timeout": "20s"},
        {"id": "beside", "run": ["work"]},
    ]
    behaviours = {"stuck": [{"end": "hang", "returns": NEVER}]}
    workflow = {"name": "endless", "max_concurrency": 2, "steps": steps}
    return World("told", workflow, behaviours, acts=[{"form": "start"}, {"form": "resume"}])


def test_a_course_that_never_ends_breaks_a_promise() -> None:
    assert [breach.rule for breach in judged(endless()).breaches] == ["course_ends"]


def test_the_smallest_world_breaks_the_same_rule_with_nothing_that_has_no_part_in_it() -> None:
    small = shrunk(endless(), "course_ends")
    assert [step["id"] for step in small.workflow["steps"]] == ["stuck"]
    assert "max_concurrency" not in small.workflow
    assert [breach.rule for breach in judged(small).breaches] == ["course_ends"]


def test_a_world_that_keeps_its_promises_is_not_made_smaller() -> None:
    whole = world_of_seed(3)
    assert shrunk(whole, "course_ends", patience_s=0.5) == whole


def test_a_world_in_a_file_is_shown_shrunk_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "world.json"
    file.write_text(endless().text())
    assert __main__.main(["--world", str(file), "--show"]) == 1
    told = capsys.readouterr().out
    assert "course_ends" in told
    assert "operator" not in told
    assert world_of(json.loads(told.splitlines()[-1])).workflow["name"] == "endless"


def test_the_command_tells_its_figures_and_succeeds_where_no_promise_broke(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert __main__.main(["--seeds", "3", "--from", "3", "--jobs", "1"]) == 0
    told = capsys.readouterr().out
    assert "seeds 3 ·" in told
    assert "breaches 0" in told


def test_one_document_for_a_program_that_reads_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert __main__.main(["--seeds", "2", "--until-breach", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["seeds"], said["failures"]) == (2, [])
