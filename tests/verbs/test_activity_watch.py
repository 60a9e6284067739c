"""A run that another process drives is watched to its end: its changes, what runs now, and the exit code of its outcome."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.errors import UnknownRun
from pixirnb.operations.run import Run
from pixirnb.verbs.activity import activity_blocks, step_activity
from pixirnb.views.blocks.text_renderer import draw_text
from tests.stories.storyline import ROOT
from tests.verbs.command import command, written

FLOW = """
name: gated
steps:
  - {id: loud, run: "echo hello; until [ -e go ]; do sleep 0.1; done; exit 3", posture: read_only}
  - {id: quiet, run: "until [ -e go ]; do sleep 0.1; done", posture: read_only}
"""
ASKING = """
name: asking
agents:
  w: {permission_mode: ask, script: {"*": [[{write: a.txt, text: x}]]}}
steps:
  - {id: fx, task: Write., agent: w, write_set: a.txt}
"""


@pytest.fixture
def driven(tmp_path: Path) -> Iterator[Run]:
    """A run that another process drives; its steps end when the file `go` is there."""
    arguments = [sys.executable, "-m", "pixirnb", "run", str(written(tmp_path, FLOW))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(arguments, cwd=tmp_path, env=environment, stdout=subprocess.PIPE)
    try:
        yield _begun(process)
    finally:
        (tmp_path / "go").touch()
        process.communicate(timeout=60)


def _begun(process: subprocess.Popen[bytes]) -> Run:
    while process.poll() is None:
        rows = api.runs()
        with suppress(UnknownRun):  # its folder is there, and its first event is not yet
            run = api.open_run(str(rows[0]["run_id"])) if rows else None
            if (
                run is not None
                and len(step_activity(run, run.history())) == 2
                and run.output("loud")
            ):
                return run
        time.sleep(0.05)
    raise AssertionError("the run ended before both steps ran")


def test_a_watched_run_prints_each_change_and_ends_with_its_exit_code(driven: Run) -> None:
    Path("go").touch()
    watched = command("watch", "@last")
    assert watched.code == 1
    lines = watched.out.splitlines()
    assert any(line.endswith("✗ loud: failed: exited with code 3") for line in lines)
    assert any(line.endswith("✓ quiet: ready") for line in lines)
    assert driven.status == "partial"


def test_a_watched_run_prints_what_its_agents_ask_and_the_answers(tmp_path: Path) -> None:
    command("run", str(written(tmp_path, ASKING)))
    asked = f"fx: asks to use write a.txt: {api.runs()[0]['run_id']}/fx.1.1\n"
    assert asked in command("watch", "@last").out
    assert "Accept the result" not in command("watch", "@last").out, "its request says it"
    command("deny", "@last/fx.1.1", "--no-resume")
    assert "fx: denied by " in command("watch", "@last").out


def test_a_watched_question_is_printed_once(tmp_path: Path) -> None:
    command("run", written(tmp_path, "{name: asks, steps: [{id: gate, ask: {question: 'Ship?'}}]}"))
    assert command("watch", "@last").out.count("◆ gate: needs a decision: Ship?") == 1


def test_a_watched_run_is_one_document_as_json(driven: Run) -> None:
    Path("go").touch()
    assert command("watch", driven.id, "--json").document()["status"] == "partial"


def test_a_run_that_is_over_is_shown_at_once(driven: Run) -> None:
    Path("go").touch()
    command("watch", driven.id)
    again = command("watch", driven.id)
    assert (again.code, "partial" in again.out) == (1, True)


def test_a_live_run_shows_elapsed_time_and_the_age_of_the_last_output(driven: Run) -> None:
    shown = command("show", driven.id).out
    assert "running now" in shown
    [loud, quiet] = step_activity(driven, driven.history())
    assert (loud.step, loud.attempt, loud.is_stalled) == ("loud", 1, False)
    assert loud.output_age_ms is not None
    assert loud.output_age_ms <= loud.elapsed_ms
    assert quiet.output_age_ms is None


def test_a_step_without_activity_is_stalled(driven: Run) -> None:
    past = time.time() - 3600
    os.utime(driven.output_path("loud"), (past, past))
    events = [
        type(event)(event.seq, "2026-01-01T00:00:00.000Z", event.kind, event.data)
        for event in driven.history()
    ]
    [loud, quiet] = step_activity(driven, events)
    assert (loud.is_stalled, quiet.is_stalled) == (True, True)
    table = draw_text(activity_blocks([loud, quiet], {}))
    assert table.count("stalled") == 2
    assert "none yet" in table
