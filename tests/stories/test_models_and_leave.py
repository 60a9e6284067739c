"""An agent on a model, in an engine that has room for one: it delegates, it is given leave, and its conversation goes on.

A real provider on loopback, a real child process; no time-out of a test is what ends anything here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.engine.engine import engine
from pixirnb.testing.wire.answers import Answer, Call
from pixirnb.testing.wire.server import ModelServer
from tests.stories.storyline import spec

pytestmark = [pytest.mark.story, pytest.mark.timeout(120)]

DONE = Answer(
    calls=(Call("report_checkpoint", {"checkpoint_status": "checkpoint_ready", "summary": "x"}),)
)
READY = [{"report": {"checkpoint_status": "checkpoint_ready", "summary": "inner"}}]


def lead(mode: str) -> dict[str, Any]:
    agent = {
        "runner": "llm",
        "model": "openai-chat:m",
        "posture": "writer",
        "permission_mode": mode,
        "pass_env": ["OPENAI_API_KEY", "OPENAI_BASE_URL"],
    }
    step = {"id": "lead", "task": "Do it.", "agent": "lead", "workspace": "shared"}
    return spec(step, agents={"lead": agent}, name="outer")


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-tests")
    monkeypatch.setenv("PIXIRNB_MAX_AGENTS", "1")


def test_with_room_for_one_agent_the_agents_of_its_own_run_work_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = {"w": {"posture": "read_only", "script": {"*": [READY]}}}
    tasks = [{"id": name, "task": "Look.", "agent": "w"} for name in ("a", "b")]
    inner = spec(*tasks, agents=agents, name="inner")
    calls = Answer(calls=(Call("run_workflow", {"workflow": inner}),))
    with ModelServer({"m": [calls, DONE]}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        run = api.start(lead("auto"), workspace=tmp_path)
        assert run.wait().status == "completed"
    statuses = {row["workflow"]: row["status"] for row in api.runs(workspace=tmp_path)}
    assert statuses == {"outer": "completed", "inner": "completed"}
    assert (engine().slots.taken, engine().slots.waiting) == (0, 0)


def test_a_model_that_was_given_leave_goes_on_from_where_it_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Call("write", {"path": "a.txt", "content": "x"})
    with ModelServer(
        {"m": [Answer("I will write.", (write,)), Answer(calls=(write,)), DONE]}
    ) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        run = api.start(lead("ask"), workspace=tmp_path)
        assert run.wait().status == "needs_orchestrator"
        assert not (tmp_path / "a.txt").exists()
        [asked] = run.state.open_permissions()
        run.approve(asked["request_id"], note="go on")
        assert run.wait().status == "completed"
        again = json.dumps(server.requests_for("m")[1].messages)
    assert (tmp_path / "a.txt").read_text() == "x"
    assert "I will write." in again
    assert "A person has approved your request" in again
    started = run.store.read_session(run.id, "lead.2").events[0].data
    assert started["continues"] == "lead.1"
