"""Agents inside a run have our tools: a coding agent by the server it is told of, a model that only reads by a dry run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.agent_tools.definitions import definitions
from pixirnb.runners.agents.tools.engine_calls import EngineTools
from pixirnb.testing.fakes.agent_lines import TapedLine
from pixirnb.testing.fakes.agent_stage import fake
from tests.stories.storyline import spec
from tests.sweeps import first_of

pytestmark = pytest.mark.story

INNER = {"name": "inner", "steps": [{"id": "touch", "run": "touch made", "write_set": ["made"]}]}
READY = "say:checkpoint_status: checkpoint_ready"


@pytest.mark.parametrize("mode", first_of(["read_only", "ask"]))
def test_a_coding_agent_in_a_run_may_try_a_workflow_and_may_not_start_one(
    mode: str, tmp_path: Path
) -> None:
    dry, real = json.dumps({"workflow": INNER, "dry_run": True}), json.dumps({"workflow": INNER})
    command = fake("acp", f"use:run_workflow:{dry}", f"use:run_workflow:{real}", READY)
    agent = {"runner": "acp", "command": command, "permission_mode": mode}
    agent["posture"] = "read_only" if mode == "read_only" else "writer"
    step = {"id": "look", "task": "Look.", "agent": "coder", "workspace": "shared"}
    run = api.start(spec(step, agents={"coder": agent}), workspace=tmp_path)
    run.wait()
    assert run.outcome.status == "completed"
    said = run.output("look")
    assert "inner" in said
    assert "touch" in said
    assert "`run_workflow` makes changes" in said
    assert not (tmp_path / "made").exists()
    assert len(api.runs(workspace=tmp_path)) == 1


def test_a_coding_agent_in_a_run_may_look_at_its_run(tmp_path: Path) -> None:
    look = "use:inspect_run:" + json.dumps({"run_id": "$PIXIRNB_RUN_ID"})
    agent = {"runner": "acp", "command": fake("acp", look, READY), "permission_mode": "auto"}
    step = {"id": "look", "task": "Look.", "agent": "coder", "write_set": ["a"]}
    run = api.start(spec(step, agents={"coder": agent}), workspace=tmp_path)
    run.wait()
    assert run.id in run.output("look")
    assert "running" in run.output("look")


def reader(**session: Any) -> tuple[EngineTools, TapedLine]:
    """The tools of a model that may only read, and what it asks the engine."""
    line = TapedLine({"call": lambda _: {"ok": True, "text": "It would run `touch`."}})
    said = {"posture": "read_only", "permission_mode": "auto", **session}
    work = {"session": said, "cwd": "/w", "workspace": "/w", "surface": definitions()}
    return EngineTools(work, line), line


@pytest.mark.parametrize("is_changed", [False, True], ids=["kept", "changed meanwhile"])
def test_a_word_on_a_workflows_file_counts_for_its_text(tmp_path: Path, is_changed: bool) -> None:
    file = tmp_path / "flow.yaml"
    file.write_text(json.dumps(INNER))

    def answer(_: Any) -> dict[str, Any]:
        if is_changed:
            file.write_text(json.dumps({**INNER, "name": "another"}))
        return {"verdict": "allow"}

    line = TapedLine({"permit": answer, "call": lambda _: {"ok": True, "text": "done"}})
    said = {"posture": "writer", "permission_mode": "ask"}
    folders = {"cwd": str(tmp_path), "workspace": str(tmp_path)}
    work = {"session": said, "surface": definitions(), **folders}
    result = EngineTools(work, line).use("run_workflow", {"file": "flow.yaml"}, "c1")
    [requested] = [data for how, (kind, data) in line.tape if (how, kind) == ("ask", "permit")]
    assert requested["args"] == {"file": "flow.yaml", "content": json.dumps(INNER)}
    assert result["ok"] is not is_changed
    again = {**work, "granted": {requested["digest"]: {"request_id": "r", "by": "ada", "note": ""}}}
    file.write_text(json.dumps({**INNER, "name": "yet another"}))
    later = TapedLine({"permit": lambda _: {"verdict": "deny"}})
    assert not EngineTools(again, later).use("run_workflow", {"file": "flow.yaml"}, "c2")["ok"]
    assert [what[0] for how, what in later.tape if how == "ask"] == ["permit"]


def test_a_model_that_only_reads_may_try_a_workflow_and_is_refused_the_run_of_it() -> None:
    tools, line = reader()
    names = {tool["name"] for tool in tools.definitions()}
    assert {"run_workflow", "resume_workflow", "inspect_run"} <= names
    assert "decide_step" not in names
    tried = tools.use("run_workflow", {"workflow": INNER, "dry_run": True}, "c1")
    assert tried == {"ok": True, "output": "It would run `touch`."}
    asked = [what for how, what in line.tape if how == "ask"]
    started = tools.use("run_workflow", {"workflow": INNER}, "c2")
    assert (started["ok"], started["error"]["kind"]) == (False, "permission_denied")
    assert "dry_run" in started["output"]
    assert [what for how, what in line.tape if how == "ask"] == asked
