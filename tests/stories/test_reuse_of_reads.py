"""`reuse: reads` compares what a step really read: the files as they are when its attempt begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.operations.run import Run
from tests.stories.storyline import shell, started

READS: dict[str, Any] = {"posture": "read_only", "read_set": ["data/**"], "reuse": "reads"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data" / "x"
    path.parent.mkdir()
    path.write_text("v0")
    return path


def reasons(run: Run, workspace: Path) -> dict[str, str]:
    planned = api.plan_resume(run.id, workspace=workspace)
    return {entry["step_id"]: entry["reason"] for entry in planned}


def test_a_reader_that_waited_for_a_writer_is_kept_by_what_the_writer_left(
    tmp_path: Path, data: Path
) -> None:
    run = started(
        tmp_path,
        shell("writer", "sleep 0.3; printf v1 > data/x", write_set=["data/**"]),
        shell("reader", "cat data/x", **READS),
    )
    assert run.wait(30).ok
    assert run.output("reader") == "v1"
    assert reasons(run, tmp_path)["reader"] == "ready"
    data.write_text("v0")
    assert reasons(run, tmp_path)["reader"] == "input_changed"


def test_a_later_attempt_is_kept_by_what_it_read_itself(tmp_path: Path, data: Path) -> None:
    run = started(
        tmp_path,
        shell(
            "reader",
            "cat data/x; grep -q v1 data/x || { touch looked; exit 1; }",
            **READS,
            retry={"max_attempts": 9, "delay": "200ms", "jitter": 0},
        ),
    )
    while not (tmp_path / "looked").exists():
        run.wait(0.02)
    data.write_text("v1")
    assert run.wait(30).ok
    assert reasons(run, tmp_path)["reader"] == "ready"
    data.write_text("v0")
    assert reasons(run, tmp_path)["reader"] == "input_changed"


@pytest.mark.parametrize("before", [[], [shell("made", "echo made", reuse="never")]])
def test_a_partial_result_that_a_person_accepts_is_not_made_again_for_what_it_wrote(
    before: list[dict[str, Any]], tmp_path: Path, data: Path
) -> None:
    writer = {
        "id": "writer",
        "task": "look",
        "agent": "g",
        "depends_on": [step["id"] for step in before],
        "workspace": "shared",
        "read_set": ["data/**"],
        "write_set": ["data/**"],
        "reuse": "reads",
    }
    agent = {
        "runner": "cli",
        "posture": "writer",
        "command": ["sh", "-c", ": {prompt_file}; echo more >> data/x; echo half of it"],
    }
    run = started(tmp_path, *before, writer, agents={"g": agent})
    assert run.wait(30).step("writer").checkpoint_status == "partial"
    assert run.decide("writer", "accept").wait(30).ok
    assert data.read_text() == "v0more\n"
    assert reasons(run, tmp_path)["writer"] == "input_changed"
