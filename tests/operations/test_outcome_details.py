"""What no log has of a running step, and secrets of this process among inputs."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pixirnb import api

TALKS = """
name: talks
inputs: {text: {type: string, default: ""}}
steps:
  - {id: loud, run: "echo hello; sleep 60"}
  - {id: quiet, run: "sleep 60"}
"""


def test_a_running_step_has_the_age_of_its_output_and_the_path_of_what_it_printed(
    tmp_path: Path,
) -> None:
    run = api.start(TALKS, workspace=tmp_path, state=tmp_path / "state")
    try:
        # What runs is in the log a little later than it prints.
        while not run.output("loud") or any(
            step.subagent_status != "running" for step in api.open_run(run.folder).outcome.steps
        ):
            time.sleep(0.02)
        elsewhere = api.open_run(run.folder)
        for found in (run.outcome, elsewhere.outcome):
            loud, quiet = (step.document() for step in found.steps)
            assert loud["output_age_ms"] >= 0
            assert loud["output_path"] is not None
            assert Path(loud["output_path"]).read_text(encoding="utf-8") == "hello\n"
            assert quiet["output_path"] is None
            assert quiet["output_age_ms"] >= 0
    finally:
        run.cancel()
        run.wait()
    assert "output_age_ms" not in run.outcome.step("loud").document()
    assert run.outcome.step("loud").output_path == str(run.output_path("loud"))


def test_a_secret_of_this_process_is_masked_in_the_inputs_of_an_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "abcdefgh12345678")
    text = TALKS.replace("sleep 60", "true")
    given = {"text": "use abcdefgh12345678 here"}
    outcome = api.run(text, given, workspace=tmp_path, state=tmp_path / "state")
    assert outcome.inputs == {"text": "use *** here"}
