"""A run whose process was killed can be given up from anywhere, and can still be gone on with later."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pixirnb

SPEC = """
name: abandoned
steps:
  - {id: first, run: "echo first", posture: read_only}
  - {id: second, run: "sleep 30", posture: read_only, depends_on: [first]}
"""


def test_cancel_ends_what_a_dead_owner_left_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(SPEC)
    state = tmp_path / "state"
    command = [sys.executable, "-m", "pixirnb", "run", "w.yaml", "--state", str(state)]
    owner = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    run_id = _first_run_with_a_ready_step(state)
    os.kill(owner.pid, signal.SIGKILL)
    owner.wait()

    abandoned = pixirnb.open_run(run_id, state=state)
    assert abandoned.outcome.reasons[0]["code"] == "owner_died"
    show = [sys.executable, "-m", "pixirnb", "show", run_id, "second", "--state", str(state)]
    said = subprocess.run(show, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert said.startswith("■ was running · second")
    displayed = abandoned["second"]._repr_mimebundle_()["text/plain"]
    assert displayed.startswith("■ was running · second")
    assert "second  was running" in repr(abandoned.steps)
    abandoned.cancel()

    outcome = pixirnb.open_run(run_id, state=state).outcome
    assert outcome.status == "interrupted"
    assert outcome.reasons[0]["code"] == "cancelled"
    assert outcome.step("first").checkpoint_status == "checkpoint_ready"
    assert outcome.step("second").checkpoint_status == "held"
    with pytest.raises(pixirnb.Cannot) as refused:
        pixirnb.open_run(run_id, state=state).cancel()
    assert refused.value.code == "not_live"


def _first_run_with_a_ready_step(state: Path) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        rows = pixirnb.runs(state=state)
        if rows and rows[0]["counts"] == {"checkpoint_ready": 1, "running": 1}:
            return str(rows[0]["run_id"])
        time.sleep(0.05)
    raise AssertionError("the run did not get to its second step")
