"""The command line ends with its run, whatever threads a step has left in its process."""

from __future__ import annotations

import json
from pathlib import Path

from tests.stories.storyline import python

SLOW = """
from concurrent.futures import ThreadPoolExecutor
import time

def pool():
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(time.sleep, [600, 600]))

def left():
    ThreadPoolExecutor(1).submit(time.sleep, 600)
    return "done"
"""
FLOW = """
name: slow
steps:
  - {id: pool, call: "slow:pool", timeout: 1s}
  - {id: left, call: "slow:left"}
"""


def test_the_command_line_ends_with_its_run_though_a_pool_of_a_step_still_works(
    tmp_path: Path,
) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "flow.yaml").write_text(FLOW)
    child = python("-m", "pixirnb", "run", "flow.yaml", "--json", cwd=tmp_path)
    try:
        out, _ = child.communicate(timeout=100)  # the pools work for ten minutes
    finally:
        child.kill()
    outcome = json.loads(out)
    assert {step["step_id"]: step["subagent_status"] for step in outcome["steps"]} == {
        "pool": "detached",
        "left": "completed",
    }
    assert child.returncode == 1
