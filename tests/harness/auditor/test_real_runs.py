"""Runs of the engine itself, on a disk: what it logged, what it kept beside the log and what it shows keep every promise."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from harness.auditor.audit import Breach, audit
from harness.auditor.breaches import Sighting
from pixirnb import api
from pixirnb.operations.locations import store_of
from pixirnb.operations.run import Run


def breaches_of(run: Run, workspace: Path, *seen: Sighting) -> list[Breach]:
    """The audit of a run that nobody drives any more."""
    store = store_of(workspace, None)
    return audit(
        (workspace / ".pixirnb" / "runs" / run.id / "log.jsonl").read_bytes(),
        blobs=store.blobs(run.id).get,
        outcome=run.outcome.document(),
        sightings=seen,
    )


def step(name: str, run: str, *after: str, **said: Any) -> dict[str, Any]:
    """A shell step."""
    return {"id": name, "run": run, "depends_on": list(after), **said}


READY = "say:Done.\ncheckpoint_status: checkpoint_ready"
WORKFLOW: dict[str, Any] = {
    "name": "real",
    "max_concurrency": 3,
    "inputs": {"n": {"type": "integer", "default": 2}},
    "agents": {
        "worker": {
            "script": {
                "look": [
                    [{"report": {"checkpoint_status": "checkpoint_ready", "summary": "done"}}]
                ],
                "doubt": [[{"say": "hm"}]],
            }
        }
    },
    "phases": [{"name": "build", "steps": ["make", "large", "flaky"]}],
    "steps": [
        step("make", "echo made", write_set=["out/**"], verify=[{"output_contains": "made"}]),
        step("large", "head -c 40000 /dev/zero | tr '\\0' x", write_set=["out/x"]),
        step(
            "flaky",
            "test -e once || { touch once; exit 3; }",
            retry={"max_attempts": 2, "delay": "0s"},
        ),
        {"id": "look", "task": "Look.", "agent": "worker", "posture": "read_only"},
        {"id": "doubt", "task": "Doubt.", "agent": "worker", "posture": "read_only"},
        step("never", "true", when="{{ inputs.n }} > 9"),
        step("sized", "true", "large", when="{{ steps.large.output }} != ''"),
        step("slow", "sleep 20", timeout="1s"),
        step("broken", "test -e mended", "make"),
        step("after", "true", "broken"),
        {"id": "gate", "ask": {"question": "Go?", "choices": ["yes"]}, "depends_on": ["make"]},
        step("land", "echo {{ steps.make.output }}", "gate"),
    ],
}


def test_a_run_that_fails_parks_is_decided_mended_resumed_and_forked(tmp_path: Path) -> None:
    run = api.start(WORKFLOW, workspace=tmp_path)
    run.wait()
    assert breaches_of(run, tmp_path) == []
    run.decide("gate", "accept", value="yes")
    run.wait()
    assert breaches_of(run, tmp_path) == []
    (tmp_path / "mended").touch()
    again = api.resume(run.id, workspace=tmp_path)
    again.wait()
    assert breaches_of(again, tmp_path) == []
    fork = api.resume(run.id, checkpoint="build", workspace=tmp_path)
    fork.wait()
    assert breaches_of(fork, tmp_path) == []


@pytest.mark.parametrize("how", ["cancel", "drain"])
def test_a_run_that_is_stopped(tmp_path: Path, how: str) -> None:
    workflow = {"name": "stop", "steps": [step("a", "sleep 0.5"), step("b", "true", "a")]}
    run = api.start(workflow, workspace=tmp_path)
    has_started = threading.Event()
    run.on("attempt_started", lambda _: has_started.set())
    has_started.wait(20)
    run.cancel(drain=how == "drain")
    run.wait()
    assert breaches_of(run, tmp_path) == []


def test_a_run_with_lists_that_is_mended_and_resumed_with_other_items(tmp_path: Path) -> None:
    few = {"items": "{{ inputs.names }}", "max_parallel": 2, "require": "any"}
    look = step("look", "test {{ item }} != c || test -e mended", write_set=["out/{{ item }}"])
    workflow = {
        "name": "lists",
        "inputs": {"names": {"type": "array", "default": ["a", "b", "c"]}},
        "steps": [
            {**look, "for_each": few},
            {**step("size", "echo {{ item }}"), "for_each": {"same_as": "look"}},
            step("all", "echo {{ steps.look.output }}", "look"),
        ],
    }
    run = api.start(workflow, workspace=tmp_path)
    run.wait()
    assert breaches_of(run, tmp_path) == []
    assert run.outcome.step("size").checkpoint_status == "partial"
    (tmp_path / "mended").touch()
    again = api.resume(run.id, workspace=tmp_path, inputs={"names": ["d", "c", "a"]})
    again.wait()
    assert breaches_of(again, tmp_path) == []
    assert again.outcome.ok


@pytest.mark.parametrize("mode", ["read_only", "ask"])
def test_an_agent_that_asks_leave_to_read_is_no_breach(tmp_path: Path, mode: str) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    program = [sys.executable, "-m", "pixirnb.testing.agents.acp", "ask:read:a.py"]
    agent = {"runner": "acp", "command": [*program, READY], "permission_mode": mode}
    look = {"id": "look", "task": "Look.", "agent": "w", "posture": "read_only"}
    run = api.start({"name": "r", "agents": {"w": agent}, "steps": [look]}, workspace=tmp_path)
    assert run.wait().status == "completed"
    folder = tmp_path / ".pixirnb" / "runs" / run.id
    session = (folder / "sessions" / "look.1.jsonl").read_bytes()
    assert b"permission_decided" in session
    assert audit((folder / "log.jsonl").read_bytes(), sessions={"look.1": session}) == []
