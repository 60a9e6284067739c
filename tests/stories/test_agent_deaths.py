"""An agent may die, its reaper may, its kernel may: the end is noticed at once, the session says how, and nothing is lost."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from pixirnb import api
from pixirnb.engine.engine import engine
from pixirnb.history.events import Event
from pixirnb.operations.run import Run
from tests.stories.storyline import facts, kinds, python, spec, until

pytestmark = pytest.mark.story

HANGS: list[dict[str, Any]] = [
    {"tool": "read", "args": {"path": "a"}, "result": "x"},
    {"say": "Half of it"},
    {"hang": True},
]
READY: list[dict[str, Any]] = [
    {"report": {"checkpoint_status": "checkpoint_ready", "summary": "done"}}
]


def flow(*attempts: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """A first step that is ready, and an agent that does what its script says, attempt by attempt."""
    agents = {"w": {"posture": "read_only", "script": {"look": list(attempts)}}}
    look = {"id": "look", "task": "Look.", "agent": "w", "depends_on": ["first"], **fields}
    return spec({"id": "first", "run": "true"}, look, agents=agents)


def session(run: Run, name: str = "look.1") -> list[Event]:
    return run.store.read_session(run.id, name).events


def terminals(run: Run) -> list[tuple[str, str]]:
    return [(data["session_id"], data["event"]) for data in facts(run, "subagent_event")]


def under_way(run: Run) -> int:
    """The agent's process id, once it has said something."""
    until(lambda: run.output("look") and len(facts(run, "attempt_started")) == 2)
    return int(facts(run, "attempt_started")[1]["pid"])


def test_an_agent_that_is_killed_has_failed_within_a_second_and_its_text_is_kept(
    tmp_path: Path,
) -> None:
    run = api.start(flow(HANGS), workspace=tmp_path)
    pid = under_way(run)
    os.kill(pid, signal.SIGKILL)
    began = time.monotonic()
    run.wait()
    assert time.monotonic() - began < 10  # a loaded machine's second
    assert ((at := run.outcome.step("look").error) and at["kind"]) == "crash"
    last = session(run)[-1].data
    assert (last["terminal_status"], last["error_kind"]) == ("partial_failed", "crash")
    assert terminals(run) == [("look.1", "failed")]


def test_an_agent_whose_reaper_is_killed_is_lost_and_ended(tmp_path: Path) -> None:
    run = api.start(flow(HANGS), workspace=tmp_path)
    agent = psutil.Process(under_way(run))
    reaper = agent.parent()
    assert reaper is not None
    reaper.kill()
    run.wait()
    assert ((at := run.outcome.step("look").error) and at["kind"]) == "lost"
    until(lambda: not agent.is_running() or agent.status() == psutil.STATUS_ZOMBIE)
    assert session(run)[-1].data["error_kind"] == "lost"
    assert engine().slots.taken == 0


def test_a_started_attempt_names_its_session(tmp_path: Path) -> None:
    run = api.start(flow(READY), workspace=tmp_path)
    run.wait()
    told = [d.get("session_id") for d in facts(run, "attempt_started")]
    assert told == [None, "look.1"]
    assert [d.get("session_id") for d in facts(run, "attempt_ended")] == [None, "look.1"]


KERNEL = """
from pixirnb import api
run = api.start("flow.yaml", workspace=".")
print(run.id, flush=True)
run.wait()
"""


def dead(home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run whose process was killed while its agent was at work."""
    monkeypatch.chdir(home)
    (home / "flow.yaml").write_text(json.dumps(flow(HANGS, READY)))
    child: subprocess.Popen[str] = python("-c", KERNEL, cwd=home)
    assert child.stdout is not None
    run = api.open_run(child.stdout.readline().strip())
    under_way(run)
    until(lambda: len(session(run)) == 4)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    return run


def test_a_session_whose_kernel_was_killed_is_closed_before_anything_reruns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = dead(tmp_path, monkeypatch)
    again = api.resume(run.id)
    assert again.wait().status == "completed"
    events = session(run)
    assert [event.kind for event in events[-2:]] == ["assistant_message", "turn_failed"]
    assert (events[-2].data["text"], events[-2].data["partial"]) == ("Half of it", True)
    failed = events[-1].data
    assert (failed["terminal_status"], failed["reason"]) == ("interrupted", "owner_died")
    assert failed["child_session_id"] == "look.1"
    assert terminals(run) == [("look.1", "interrupted"), ("look.2", "finished")]
    order = kinds(again)
    assert order.index("subagent_event") < order.index("step_scheduled", order.index("run_resumed"))
    closed = facts(run, "subagent_event")[0]
    assert (closed["reason"], closed["next_actions"]) == ("owner_died", ["inspect_session"])


def test_a_dead_run_that_is_cancelled_closes_its_sessions_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = dead(tmp_path, monkeypatch)
    run.cancel()
    assert session(run)[-1].kind == "turn_failed"
    assert terminals(run) == [("look.1", "interrupted")]


def test_a_fork_has_the_sessions_of_its_history(tmp_path: Path) -> None:
    run = api.start(flow(READY), workspace=tmp_path)
    run.wait()
    fork = api.resume(run.folder, checkpoint="end", from_step="look")
    fork.wait()
    assert fork.id != run.id
    assert session(fork) == session(run)
    assert [e.kind for e in session(fork, "look.2")] == [e.kind for e in session(run)]


def test_a_limit_of_agents_that_is_none_is_told_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIXIRNB_MAX_AGENTS", "many")
    (tmp_path / "flow.yaml").write_text(json.dumps(flow(READY)))
    child = python("-m", "pixirnb", "run", "flow.yaml", cwd=tmp_path)
    _, err = child.communicate()
    assert (child.returncode, "bad_setting" in err or "PIXIRNB_MAX_AGENTS" in err) == (2, True)
    assert not list((tmp_path / ".pixirnb" / "runs").glob("r-*"))


def test_one_agent_at_a_time_is_enough_for_any_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIXIRNB_MAX_AGENTS", "1")
    agents = {"w": {"posture": "read_only", "script": {"*": [READY]}}}
    steps = [{"id": f"s{n}", "task": "Look.", "agent": "w"} for n in range(4)]
    run = api.start(spec(*steps, agents=agents), workspace=tmp_path)
    assert run.wait().status == "completed"
    spans = sorted(
        (told[0].at, told[-1].at) for told in (session(run, f"s{n}.1") for n in range(4))
    )
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))
    assert engine().slots.taken == 0
