"""Agents on the workers of a cluster: their questions are answered where the run is, their keys are those of the worker.

Told with real workers, coding agents that are processes, and a model on loopback.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from distributed import Client

from pixirnb import api
from pixirnb.operations.run import Run
from pixirnb.runners.cluster.connection import close_local
from pixirnb.testing.fakes.agent_stage import fake
from pixirnb.testing.wire.answers import Answer, Call
from pixirnb.testing.wire.server import ModelServer
from tests.runners.cluster.workers import client_of_workers
from tests.stories.storyline import facts, spec, until

pytestmark = [pytest.mark.story, pytest.mark.timeout(120)]

KEY = "sk-a-key-of-the-worker"
READY = "say:Done.\\ncheckpoint_status: checkpoint_ready"


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A client of two workers, which have a key that this process does not have."""
    close_local()
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("WORKER_NAME", "not for agents")
    client = client_of_workers(2)
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.delenv("WORKER_NAME")
    yield client
    close_local()


def delegated(agent: dict[str, Any], **fields: Any) -> dict[str, Any]:
    step = {"id": "a", "task": "Do it.", "agent": "w", "placement": "cluster", **fields}
    return spec(step, agents={"w": agent})


def asked(run: Run) -> str:
    """The id of the request that waits, once one does."""
    until(lambda: run.state.open_permissions() or run.outcome.status != "running")
    [found] = run.state.open_permissions()
    return str(found["request_id"])


def test_an_agent_on_a_worker_waits_for_a_person_and_goes_on_with_the_answer(
    tmp_path: Path, workers: Client
) -> None:
    command = fake("acp", "ask:edit:src/a.py", READY)
    agent = {"runner": "acp", "command": command, "posture": "writer", "permission_mode": "ask"}
    (tmp_path / "src").mkdir()
    flow = delegated(agent, workspace="shared", write_set=["src/**"])
    run = api.start(flow, workspace=tmp_path, cluster=workers, attended=True)
    request = asked(run)
    assert not (tmp_path / "src" / "a.py").exists()
    run.approve(request, note="go on")
    assert run.wait().status == "completed"
    assert (tmp_path / "src" / "a.py").exists()
    [started] = facts(run, "attempt_started")
    assert started["worker"] in workers.scheduler_info()["workers"]
    events = [data["event"] for data in facts(run, "subagent_event")]
    assert events == ["permission_requested", "permission_decided", "finished"]


def test_variables_that_are_passed_are_those_of_the_worker_and_its_secrets_are_masked_there(
    tmp_path: Path, workers: Client
) -> None:
    names = ("OPENAI_API_KEY", "WORKER_NAME", "WRITTEN")
    agent = {
        "runner": "cli",
        "command": fake("cli", *(f"env:{name}" for name in names), READY),
        "pass_env": ["OPENAI_API_KEY"],
        "posture": "read_only",
    }
    flow = delegated(agent, env={"WRITTEN": "here"})
    run = api.start(flow, workspace=tmp_path, cluster=workers)
    assert run.wait().status == "completed", run.outcome
    assert run.output("a").splitlines()[:3] == [
        "OPENAI_API_KEY=***",
        "WORKER_NAME=<unset>",
        "WRITTEN=here",
    ]
    kept = [path for path in run.folder.rglob("*") if path.is_file()]
    assert not [path for path in kept if KEY.encode() in path.read_bytes()]


def test_what_an_agent_tells_is_masked_on_its_worker(tmp_path: Path, workers: Client) -> None:
    agent = {
        "runner": "acp",
        "command": fake("acp", "env:OPENAI_API_KEY", READY),
        "pass_env": ["OPENAI_API_KEY"],
        "posture": "read_only",
    }
    run = api.start(delegated(agent), workspace=tmp_path, cluster=workers)
    assert run.wait().status == "completed", run.outcome
    assert "***" in str(run.session("a"))
    kept = [path for path in run.folder.rglob("*") if path.is_file()]
    assert not [path for path in kept if KEY.encode() in path.read_bytes()]


def test_a_model_on_a_worker_uses_its_tools_there_and_those_of_the_run_at_home(
    tmp_path: Path, workers: Client
) -> None:
    agent = {
        "runner": "llm",
        "model": "openai-chat:m",
        "posture": "writer",
        "permission_mode": "auto",
        "pass_env": ["OPENAI_API_KEY"],
    }
    write = Call("write", {"path": "a.txt", "content": "x"})
    look = Call("inspect_run", {"run_id": "@last"})
    report = {"checkpoint_status": "checkpoint_ready", "summary": "wrote it"}
    done = Answer(calls=(Call("report_checkpoint", report),))
    with ModelServer({"m": [Answer(calls=(write, look)), done]}) as server:
        flow = delegated(agent, workspace="shared", env={"OPENAI_BASE_URL": server.base_url})
        run = api.start(flow, workspace=tmp_path, cluster=workers)
        assert run.wait().status == "completed", run.outcome
        said = str(server.requests_for("m")[1].messages)
    assert (tmp_path / "a.txt").read_text() == "x"
    assert run.id in said
    assert run.outcome.step("a").summary == "wrote it"


def test_isolated_agents_on_workers_each_change_a_copy(tmp_path: Path, workers: Client) -> None:
    agent = {
        "runner": "cli",
        "command": fake("cli", "exec:echo made > $NAME.txt", READY),
        "posture": "writer",
    }
    step = {
        "id": "a",
        "for_each": ["x", "y"],
        "task": "Make {{ item }}.",
        "agent": "w",
        "env": {"NAME": "{{ item }}"},
        "workspace": "isolated",
        "write_set": ["{{ item }}.txt"],
    }
    flow = spec(step, agents={"w": agent}, placement="cluster")
    outcome = api.run(flow, workspace=tmp_path, cluster=workers)
    assert outcome.status == "completed", outcome
    run = api.open_run(outcome.run_id, workspace=tmp_path)
    changed = [run.changes(f"a@{number}")["files"] for number in (0, 1)]
    assert [[file["path"] for file in files] for files in changed] == [["x.txt"], ["y.txt"]]
    assert len(facts(run, "attempt_started")) == 2
    assert all("worker" in started for started in facts(run, "attempt_started"))
    assert not list(tmp_path.glob("*.txt"))


def test_an_agent_that_only_a_worker_has_is_no_mistake_of_a_plan(tmp_path: Path) -> None:
    agent = {"runner": "cli", "command": ["only-there", "-p"], "pass_env": ["ONLY_THERE"]}
    missing = {"agent_missing_binary", "env_not_set"}

    def found(**fields: Any) -> set[str]:
        report = api.plan(delegated(agent, **fields), workspace=tmp_path)
        return {each.code for each in (*report.errors, *report.warnings)}

    assert found() & missing == set()
    assert found(placement="local") & missing == missing


def test_an_agent_ends_with_its_run(tmp_path: Path, workers: Client) -> None:
    agent = {"runner": "cli", "command": fake("cli", "exec:touch begun", "hang")}
    flow = delegated(agent, workspace="shared")
    run = api.start(flow, workspace=tmp_path, cluster=workers)
    until((tmp_path / "begun").exists)
    run.cancel()
    assert run.wait().step("a").subagent_status == "cancelled"
