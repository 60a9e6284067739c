"""What a stranger found: each of these once hung, broke or said more than it knew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from storyline import shell, until

from pixirnb import api

pytestmark = pytest.mark.story

NAP = """def nap():
    import pathlib, time
    while not pathlib.Path({go!r}).exists():
        time.sleep(0.02)
    return 1
"""


def nap(workspace: Path, **fields: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """A step in a thread that outlives its time until a file `go` is there, and its function."""
    step = {"id": "nap", "call": ":nap", "timeout": 0.2, **fields}
    return step, {":nap": NAP.format(go=str(workspace / "go"))}


def test_what_waited_for_a_detached_thread_s_claim_starts_when_it_returns(tmp_path: Path) -> None:
    step, functions = nap(tmp_path, read_set=["x/**"])
    writes = shell("writes", "echo done", write_set=["x/**"])
    spec = {"name": "t", "steps": [step, writes]}
    run = api.start(spec, workspace=tmp_path, functions=functions)
    until(lambda: run.outcome.step("nap").subagent_status == "detached")
    (tmp_path / "go").touch()
    assert run.wait(timeout=20).step("writes").checkpoint_status == "checkpoint_ready"


def test_a_run_resumed_beside_its_detached_thread_goes_on_when_that_returns(tmp_path: Path) -> None:
    step, functions = nap(tmp_path)
    run = api.start({"name": "t", "steps": [step]}, workspace=tmp_path, functions=functions)
    assert run.wait().step("nap").subagent_status == "detached"
    resumed = api.resume(run.id, workspace=tmp_path)
    (tmp_path / "go").touch()
    outcome = resumed.wait(timeout=20)
    assert (outcome.status, outcome.step("nap").attempt) == ("completed", 2)
