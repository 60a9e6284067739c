"""An agent asks to be allowed something: a person answers, from here or elsewhere, at once or days later; never a step.

Told with real processes: a coding agent that speaks ACP, below a reaper, and `pixirnb` in a shell of its own.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.engine.engine import engine
from pixirnb.errors import InvalidArguments
from pixirnb.operations.run import Run
from tests.stories.filestory import said
from tests.stories.storyline import facts, python, spec, until
from tests.sweeps import first_of

pytestmark = pytest.mark.story

WISH = "ask:edit:src/a.py"
READY = "say:Done.\\ncheckpoint_status: checkpoint_ready"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace, and the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    return tmp_path


def workflow(*acts: str, beside: tuple[dict[str, Any], ...] = ()) -> dict[str, Any]:
    command = [sys.executable, "-m", "pixirnb.testing.agents.acp", *acts]
    agent = {
        "runner": "acp",
        "command": command,
        "posture": "writer",
        "pass_env": ["PYTHONPATH"],
    }
    task = {
        "id": "edit",
        "task": "Edit.",
        "agent": "coder",
        "workspace": "shared",
        "write_set": ["src/**"],
    }
    return spec(task, *beside, agents={"coder": {**agent, "permission_mode": "ask"}})


def asked(run: Run) -> str:
    """The id of the one request that waits, once it does."""
    until(lambda: run.state.open_permissions() or run.outcome.status != "running")
    [found] = run.state.open_permissions()
    return str(found["request_id"])


def test_an_agent_waits_for_a_person_who_is_there_and_goes_on_with_the_answer(home: Path) -> None:
    run = api.start(workflow(WISH, READY), workspace=home, attended=True)
    request = asked(run)
    assert request == f"{run.id}/edit.1.1"
    assert run.outcome.next_actions[0]["cell"] == f"%pixir approve {request}"
    assert not (home / "src" / "a.py").exists()
    run.approve(request, note="go on")
    assert run.wait().status == "completed"
    assert (home / "src" / "a.py").exists()
    events = [data["event"] for data in facts(run, "subagent_event")]
    assert events == ["permission_requested", "permission_decided", "finished"]


def test_an_agent_that_is_denied_goes_on_without(home: Path) -> None:
    run = api.start(workflow(WISH, READY), workspace=home, attended=True)
    run.deny(asked(run), note="not that file")
    assert run.wait().status == "completed"
    assert not (home / "src" / "a.py").exists()


def test_a_request_is_answered_once(home: Path) -> None:
    hang = {"id": "later", "run": "sleep 60"}
    run = api.start(workflow(WISH, READY, beside=(hang,)), workspace=home, attended=True)
    request = asked(run)
    run.approve(request)
    with pytest.raises(InvalidArguments) as error:
        run.deny(request)
    assert error.value.code == "answered_already"
    with pytest.raises(InvalidArguments) as error:
        run.approve(f"{run.id}/edit.1.7")
    assert error.value.code == "unknown_request"
    run.cancel()
    run.wait()


def test_where_nobody_is_there_the_run_parks_and_an_approval_makes_the_step_run_again(
    home: Path,
) -> None:
    run = api.start(workflow(WISH, READY), workspace=home)
    assert run.wait().status == "needs_orchestrator"
    step = run.outcome.step("edit")
    assert (step.error and step.error["kind"]) == "permission_required"
    request = asked(run)
    [wish] = step.requests
    assert (wish.request_id, wish["request_id"]) == (request, request)  # type: ignore[attr-defined]
    assert step.next_actions[0]["cell"] == f"%pixir approve {request}"
    words = ("approve", request, "--note", "fine", "--json")
    out, err = (child := python("-m", "pixirnb", *words, cwd=home)).communicate()
    assert out, err
    told = json.loads(out)
    assert (child.returncode, told["status"]) == (0, "completed")
    assert (home / "src" / "a.py").exists()
    assert told["steps"][0]["attempt"] == 2
    [line] = [s for s in run.explain("edit") if s.startswith("Attempt 1 ")]
    assert re.fullmatch("Attempt 1 waited for an approval: `.*` allowed by .+", line.rstrip("."))
    code, told = said(home, "deny", request)
    assert (code, told["error"]["code"]) == (2, "answered_already")
    for name in ("@last", "-", run.id.rpartition("-")[2]):  # as other verbs name a run
        code, told = said(home, "deny", f"{name}/edit.1.1")
        assert (code, told["error"]["code"]) == (2, "answered_already")


def test_an_approval_can_be_left_for_a_later_resume(home: Path) -> None:
    run = api.start(workflow(WISH, READY), workspace=home)
    run.wait()
    code, told = said(home, "approve", asked(run), "--no-resume")
    assert (code, told["status"]) == (4, "needs_orchestrator")
    assert told["reasons"][0]["code"] == "decided_not_resumed"
    assert api.resume(run.id).wait().status == "completed"


def test_a_denial_of_a_parked_step_is_its_failure(home: Path) -> None:
    run = api.start(workflow(WISH, READY), workspace=home)
    run.wait()
    code, told = said(home, "deny", asked(run), "--note", "no")
    assert code == 3
    assert told["steps"][0]["error"]["kind"] == "permission_denied"
    assert not (home / "src" / "a.py").exists()


@pytest.mark.parametrize("verb", first_of(["approve {request}", "decide {run} edit accept"]))
def test_a_step_cannot_speak_for_a_person(home: Path, verb: str) -> None:
    run = api.start(workflow(WISH, READY), workspace=home)
    run.wait()
    words = verb.format(request=asked(run), run=run.id)
    # With the tag taken off its environment, and in a session of its own, it is a step's process all the same.
    line = (
        f"env -u PIXIRNB_STEP setsid --wait {sys.executable} -m pixirnb {words} --json > told.json"
    )
    liar = api.run(spec({"id": "lie", "run": line}), workspace=home)
    assert not liar.ok
    told = json.loads((home / "told.json").read_text())
    assert told["error"]["code"] == "approval_by_agent"
    assert api.open_run(run.id).status == "needs_orchestrator"


def test_an_end_of_the_run_waits_for_no_answer(home: Path) -> None:
    run = api.start(workflow(WISH, READY), workspace=home, attended=True)
    asked(run)
    began = time.monotonic()
    run.interrupt()
    assert run.wait().status == "interrupted"
    assert time.monotonic() - began < 20
    assert engine().slots.taken == 0
    [ended] = [d for d in facts(run, "subagent_event") if d["event"] == "interrupted"]
    assert ended["turn"] == "interrupted"


def rehearsed(**limits: str) -> dict[str, Any]:
    """A scripted agent that writes one file and says so."""
    report = {"checkpoint_status": "checkpoint_ready", "summary": "written"}
    script = {"edit": [[{"write": "src/a.py", "text": "x\n"}, {"report": report}]]}
    task = {"id": "edit", "task": "Edit.", "agent": "coder", "workspace": "shared"}
    return spec(task, agents={"coder": {"posture": "writer", "script": script, **limits}})


def test_the_way_to_an_approval_can_be_rehearsed_with_a_script(home: Path) -> None:
    run = api.start(rehearsed(permission_mode="ask"), workspace=home, attended=True)
    request = asked(run)
    assert not (home / "src" / "a.py").exists()
    run.approve(request)
    assert run.wait().status == "completed"
    assert (home / "src" / "a.py").read_text() == "x\n"
    parked = api.start(rehearsed(permission_mode="ask"), workspace=home)
    assert parked.wait().status == "needs_orchestrator"
    code, told = said(home, "approve", asked(parked))
    assert (code, told["status"], told["steps"][0]["attempt"]) == (0, "completed", 2)


def test_while_another_step_runs_a_parked_request_is_answered_not_its_step_accepted(
    home: Path,
) -> None:
    flow = rehearsed(permission_mode="ask")
    waits = {"id": "other", "run": "until test -e go; do sleep 0.05; done", "posture": "read_only"}
    run = api.start({**flow, "steps": [*flow["steps"], waits]}, workspace=home)
    until(lambda: run.state.step("edit").checkpoint_status == "needs_orchestrator")
    offered = run.outcome.next_actions
    (home / "go").touch()
    run.wait()
    assert [each["action"] for each in offered] == ["approve_request", "abort"]


@pytest.mark.parametrize("limits", [{"permission_mode": "read_only"}, {"posture": "read_only"}])
def test_a_script_that_may_only_read_writes_nothing(home: Path, limits: dict[str, str]) -> None:
    outcome = api.start(rehearsed(**limits), workspace=home).wait()
    error = outcome.step("edit").error
    assert (outcome.status, error and error["kind"]) == ("failed", "permission_denied")
    assert not (home / "src" / "a.py").exists()


def test_a_script_that_is_denied_a_change_fails_without_it(home: Path) -> None:
    run = api.start(rehearsed(permission_mode="ask"), workspace=home, attended=True)
    run.deny(asked(run), note="not that file")
    outcome = run.wait()
    error = outcome.step("edit").error
    assert "not that file" in (error or {"message": ""})["message"]
    assert (outcome.status, (home / "src" / "a.py").exists()) == ("failed", False)


def test_a_script_without_a_written_permission_asks_nobody(home: Path) -> None:
    assert api.start(rehearsed(), workspace=home).wait().status == "completed"
