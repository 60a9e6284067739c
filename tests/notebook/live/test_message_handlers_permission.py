"""Allow and Deny in the panel: what the agent hears, what a parked run does, and what is refused when someone was faster."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.notebook.live.message_handlers import MessageHandlers
from pixirnb.operations.run import Run
from tests.stories.storyline import until

ACTS = ["ask:edit:src/a.py", "say:On I go.\ncheckpoint_status: checkpoint_ready\n"]
SPEC: dict[str, Any] = {
    "name": "asking",
    "agents": {
        "worker": {
            "runner": "acp",
            "permission_mode": "ask",
            "command": [sys.executable, "-m", "pixirnb.testing.agents.acp", *ACTS],
        }
    },
    "steps": [
        {"id": "talk", "task": "Change it.", "agent": "worker", "workspace": "shared"},
    ],
}


def said(inquiries: MessageHandlers, **message: Any) -> dict[str, Any]:
    """The answer, which is there."""
    reply = inquiries.answer({"id": 1, **message})
    assert reply["ok"], reply["error"]
    return dict(reply["answer"])


def request_of(inquiries: MessageHandlers) -> dict[str, Any]:
    """What the panel of the step shows of the one request."""
    (asked,) = said(inquiries, ask="step", step="talk")["permissions"]
    return dict(asked)


@pytest.mark.parametrize(("button", "verdict"), [("allow", "allow"), ("deny", "deny")])
def test_a_click_is_the_word_the_agent_hears(tmp_path: Path, button: str, verdict: str) -> None:
    run = api.start(SPEC, workspace=tmp_path, attended=True)
    asking = MessageHandlers(run)
    until(lambda: run.state.permissions)
    panel = said(asking, ask="step", step="talk")
    assert panel["mark"]["key"] == "permission"
    asked = request_of(asking)
    said(asking, **asked["wishes"][button], note="so be it")
    run.wait()
    answered = request_of(asking)
    assert (answered["verdict"], answered["note"]) == (verdict, "so be it")
    assert answered["wishes"] is None
    assert (tmp_path / "src" / "a.py").exists() is (verdict == "allow")
    late = asking.answer({"id": 1, **asked["wishes"]["deny"]})
    assert late["error"]["code"] == "answered_already"


def test_a_run_that_was_parked_for_a_permission_goes_on_with_a_click(tmp_path: Path) -> None:
    run = api.start(SPEC, workspace=tmp_path)
    assert run.wait().status == "needs_orchestrator"
    followed: list[Run] = []
    asking = MessageHandlers(run, on_taken_up=followed.append)
    asked = request_of(asking)
    assert asked["is_open"]
    told = said(asking, **asked["wishes"]["allow"])
    assert told["is_live"]
    assert len(followed) == 1
    assert followed[0].wait().status == "completed"
    talk = said(asking, ask="session", step="talk")
    assert (talk["attempt"], talk["attempts"]) == (2, [1, 2])


def test_a_request_that_is_none_is_refused(tmp_path: Path) -> None:
    run = api.start({"name": "w", "steps": [{"id": "a", "run": "true"}]}, workspace=tmp_path)
    run.wait()
    asking = MessageHandlers(run)
    refused = asking.answer({"id": 1, "do": "approve", "request": f"{run.id}/a.1.1"})
    assert refused["error"]["code"] == "unknown_request"
    for wrong in ({}, {"request": 7}, {"request": "x", "note": []}):
        message = {"id": 1, "do": "deny", **wrong}
        assert asking.answer(message)["error"]["code"] == "message_unreadable"
