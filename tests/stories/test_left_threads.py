"""What a step in a thread leaves: threads that the command line does not wait for, runs and processes that end with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pixirnb import api
from tests.stories.storyline import python, spec, until

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


NESTED = """
import subprocess, time
import pixirnb

LONG = {"name": "inner", "steps": [{"id": "long", "run": "echo $$ > pid; exec sleep 600"}]}

def waits():
    pixirnb.run(LONG)

def leaves():
    run = pixirnb.start(LONG)
    while not run.store.folder(run.id).parents[2].joinpath("pid").exists():
        time.sleep(0.05)
    return run.id

def polls():
    while True:
        try:
            subprocess.run(["sh", "-c", "echo $$ >> pids; exec sleep 600"])
        except OSError:
            open("refused", "w").close()
            return
        time.sleep(0.1)
"""


@pytest.mark.parametrize(("call", "timeout"), [("waits", "2s"), ("leaves", "1m")])
def test_a_run_that_a_step_starts_in_its_thread_ends_with_the_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, timeout: str
) -> None:
    (tmp_path / "nested.py").write_text(NESTED)
    monkeypatch.chdir(tmp_path)
    run = api.start(spec({"id": "outer", "call": f"nested:{call}", "timeout": timeout}))
    outcome = run.wait()
    status = "timed_out" if call == "waits" else "completed"
    assert outcome.step("outer").subagent_status == status
    [inner] = [row for row in api.runs() if row["workflow"] == "inner"]
    assert inner["status"] == "interrupted"
    pid = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists()


def test_a_thread_that_was_stopped_starts_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nested.py").write_text(NESTED)
    monkeypatch.chdir(tmp_path)
    run = api.start(spec({"id": "outer", "call": "nested:polls", "timeout": "1s"}))
    run.wait()
    until((tmp_path / "refused").exists)
    pids = (tmp_path / "pids").read_text().split()
    assert pids
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
