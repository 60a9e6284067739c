"""The scenarios that partial outcomes are required to pass, as the caller of `run_workflow` and an editor see them.

Each is a real run, started by the tool; the text and the editor's view are made of its one document.
"""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path
from typing import Any, cast

import anyio
import pytest

from pixirnb import api
from pixirnb.agent_tools.caller import Asker
from pixirnb.agent_tools.dispatch import use
from pixirnb.agent_tools.result import Result
from pixirnb.history.events import Event
from pixirnb.operations.locations import store_of
from pixirnb.operations.run import Run
from pixirnb.testing.wire.answers import Answer, Call
from pixirnb.testing.wire.server import ModelServer
from pixirnb.views.session.acp import acp_of_outcome
from tests.stories.storyline import shell, spec, until
from tests.sweeps import first_of

READY = {"report": {"checkpoint_status": "checkpoint_ready", "summary": "found it"}}
HALF = {"report": {"checkpoint_status": "partial", "summary": "half of it"}}
TORN = {"report": {"checkpoint_status": "needs_orchestrator", "summary": "two ways to go"}}
COMPLETION = re.compile("complet", re.IGNORECASE)


def task(step: str, *after: str, **fields: Any) -> Any:
    """A step of a scripted agent that only reads."""
    return {
        "id": step,
        "task": f"Do {step}.",
        "agent": "w",
        "posture": "read_only",
        "depends_on": list(after),
        **fields,
    }


def scripted(*steps: Any, **script: list[dict[str, Any]]) -> Any:
    """A workflow of such steps; what each does, by its id."""
    written = {step: [actions] for step, actions in script.items()}
    return spec(*steps, agents={"w": {"runner": "scripted", "script": written}})


def run_workflow(workspace: Path, workflow: Any) -> Result:
    """The tool, as an agent outside any run uses it."""
    who = Asker(workspace, store_of(workspace, None), "auto", "an agent")
    return anyio.run(lambda: use("run_workflow", {"workflow": workflow}, who))


def entries(document: Any) -> dict[str, str]:
    """Step to status, of the plan an editor shows."""
    shown = acp_of_outcome(document)
    return {
        entry["_meta"]["pixirnb"]["step"]: entry["status"]
        for entry in shown["updates"][0]["entries"]
    }


def shown_text(document: Any) -> str:
    """The message an editor shows."""
    updates = acp_of_outcome(document)["updates"][1:]
    return "".join(update["content"]["text"] for update in updates)


# --- on the tool, and in an editor -------------------------------------------------------------------------------


@pytest.mark.story
def test_all_steps_ready_is_completed_everywhere(tmp_path: Path) -> None:
    flow = scripted(task("a"), task("b", "a"), a=[READY], b=[READY])
    result = run_workflow(tmp_path, flow)
    assert result.data["status"] == "completed"
    assert re.search(r"\bcompleted\b", result.text)
    shown = acp_of_outcome(cast("Any", result.data))
    assert shown["stopReason"] == "end_turn"
    assert entries(result.data) == {"a": "completed", "b": "completed"}


@pytest.mark.story
def test_one_that_times_out_beside_one_that_is_usable_holds_what_depends_on_it(
    tmp_path: Path,
) -> None:
    flow = scripted(
        task("good"),
        task("late", timeout="500ms"),
        task("after", "late"),
        good=[READY],
        late=[{"say": "I have completed half"}, {"hang": True}],
    )
    result = run_workflow(tmp_path, flow)
    assert result.ok
    document: Any = result.data
    assert document["status"] == "partial"
    assert document["usable_checkpoints"] == ["good"]
    assert document["timed_out_steps"] == ["late"]
    assert document["held_dependents"] == {"late": ["after"]}
    assert "ended partial" in result.text
    assert not COMPLETION.search(result.text)
    assert "Ready to use: `good`" in result.text
    shown = acp_of_outcome(document)
    assert shown["stopReason"] != "end_turn"
    assert entries(document) == {"good": "completed", "late": "pending", "after": "pending"}
    about = shown["_meta"]["pixirnb"]
    assert (about["timed_out"], about["held"]) == (["late"], ["after"])
    assert not re.search(r"\bcompleted\b", shown_text(document))


@pytest.mark.story
def test_useful_and_not_done_unlocks_nothing(tmp_path: Path) -> None:
    result = run_workflow(tmp_path, scripted(task("a"), task("b", "a"), a=[HALF], b=[READY]))
    assert result.data["status"] == "partial"
    assert result.data["partial_steps"] == ["a"]
    assert result.data["held_steps"] == ["b"]
    assert not COMPLETION.search(result.text)
    assert entries(result.data) == {"a": "pending", "b": "pending"}


@pytest.mark.story
def test_what_an_agent_cannot_settle_comes_back_as_a_decision_to_make(tmp_path: Path) -> None:
    result = run_workflow(tmp_path, scripted(task("a"), task("b", "a"), a=[TORN], b=[READY]))
    assert result.data["status"] == "needs_orchestrator"
    assert "waits for a decision" in result.text
    assert "decide_step" in result.text
    assert not COMPLETION.search(result.text)
    assert acp_of_outcome(cast("Any", result.data))["_meta"]["pixirnb"]["needs_orchestrator"] == [
        "a"
    ]


@pytest.mark.story
def test_the_four_ends_of_a_step_are_told_apart(tmp_path: Path) -> None:
    flow = scripted(
        task("ready"),
        task("half"),
        task("broken"),
        task("waits", "broken"),
        ready=[READY],
        half=[HALF],
        broken=[{"fail": "context_overflow", "message": "too long"}],
    )
    document = run_workflow(tmp_path, flow).data
    shown = shown_text(document)
    for word in ("partial: half", "failed: broken", "held: waits", "ready: ready"):
        assert word in shown
    assert entries(document)["ready"] == "completed"
    assert {entries(document)[step] for step in ("half", "broken", "waits")} == {"pending"}


@pytest.mark.story
@pytest.mark.parametrize(
    "steps",
    [
        [shell("a", "true", "b"), shell("b", "true", "a")],
        [shell("a", "true", "nobody")],
        [shell("a", "true"), shell("a", "true")],
        [],
    ],
    ids=["cycle", "unknown", "twice", "empty"],
)
def test_a_graph_that_is_none_is_an_error_of_the_tool_and_no_outcome(
    steps: list[dict[str, Any]], tmp_path: Path
) -> None:
    result = run_workflow(tmp_path, spec(*steps))
    assert not result.ok
    assert result.data["error"]["code"] == "invalid_args"
    assert result.data["error"]["details"]["reason"] == "invalid_spec"
    assert "status" not in result.data
    assert not (tmp_path / ".pixirnb").exists()


# --- from inside a run, by an agent on a model -------------------------------------------------------------------


def outer(mode: str, **fields: Any) -> Any:
    """A workflow whose one step is an agent on the model `m`."""
    agent = {
        "runner": "llm",
        "model": "openai-chat:m",
        "permission_mode": mode,
        "pass_env": ["OPENAI_BASE_URL", "OPENAI_API_KEY"],
    }
    step = {"id": "lead", "task": "Delegate.", "agent": "lead", "workspace": "shared"}
    return spec({**step, "timeout": "2m", **fields}, name="outer", agents={"lead": agent})


def results(run: Run, session: str = "lead.1") -> list[Event]:
    """What came of each of the agent's calls."""
    events = run.store.read_session(run.id, session).events
    return [event for event in events if event.kind == "tool_result"]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Points an agent at a server, for as long as the test lasts."""

    def point(server: ModelServer) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-not-a-real-one")

    return point


def calls(name: str, /, **args: Any) -> Answer:
    """The model wants one tool."""
    return Answer(calls=(Call(name, args),))


DONE = calls("report_checkpoint", checkpoint_status="checkpoint_ready", summary="delegated")
LATE = spec(shell("a", "echo 3 found"), shell("b", "sleep 60", timeout="500ms"), name="inner")


@pytest.mark.story
def test_an_agent_that_delegates_reads_how_it_really_ended(
    tmp_path: Path, environment: Any
) -> None:
    script = [
        calls("run_workflow", workflow=LATE),
        calls("workflow_checkpoint_save", name="delegated", note="before the report"),
        DONE,
    ]
    with ModelServer({"m": script}) as server:
        environment(server)
        run = api.start(outer("auto"), workspace=tmp_path)
        assert run.wait().status == "completed"
        told = server.requests_for("m")[1]
    inner = api.open_run(api.runs(workspace=tmp_path)[0]["run_id"], workspace=tmp_path)
    assert inner.status == "partial"
    assert inner.state.parent == {
        "run_id": run.id,
        "step": "lead",
        "attempt": 1,
        "session_id": "lead.1",
        "depth": 0,
    }
    answer = next(message for message in told.messages if message.get("role") == "tool")
    assert "ended partial" in str(answer["content"])
    assert not COMPLETION.search(str(answer["content"]))
    saved = [event.data["name"] for event in run.history() if event.kind == "checkpoint_saved"]
    assert "delegated" in saved
    kinds = [event.kind for event in run.store.read_session(run.id, "lead.1").events]
    assert kinds.count("subagent_event") == 2


@pytest.mark.story
def test_an_agent_decides_nothing_of_its_own_run_and_its_run_delegates_no_further(
    tmp_path: Path, environment: Any
) -> None:
    def decide(body: Any) -> Answer:
        run_id = api.runs(workspace=tmp_path)[0]["run_id"]
        return calls("decide_step", run_id=run_id, step="lead", verdict="accept")

    nested = {**outer("auto"), "name": "nested"}
    nested["agents"] = {"lead": {**nested["agents"]["lead"], "model": "openai-chat:n"}}
    with ModelServer(
        {
            "m": [decide, calls("run_workflow", workflow=nested), DONE],
            "n": [calls("run_workflow", workflow=LATE), DONE],
        }
    ) as server:
        environment(server)
        run = api.start(outer("auto"), workspace=tmp_path)
        assert run.wait().status == "completed"
    errors = [event.data.get("error", {}).get("kind") for event in results(run)]
    assert errors[0] == "decision_by_agent"
    inner = api.open_run(api.runs(workspace=tmp_path)[0]["run_id"], workspace=tmp_path)
    assert inner.state.depth == 1
    refused = results(inner)[0].data["error"]
    assert refused["kind"] == "depth_exceeded"
    assert (refused["details"]["current"], refused["details"]["max"]) == (1, 1)
    assert len(api.runs(workspace=tmp_path)) == 2


@pytest.mark.story
def test_where_nobody_is_there_to_ask_a_run_is_not_started_and_the_step_parks(
    tmp_path: Path, environment: Any
) -> None:
    with ModelServer({"m": [calls("run_workflow", workflow=LATE), DONE]}) as server:
        environment(server)
        run = api.start(outer("ask"), workspace=tmp_path)
        assert run.wait().status == "needs_orchestrator"
    assert len(api.runs(workspace=tmp_path)) == 1
    error = run.outcome.step("lead").error
    assert error is not None
    assert error["kind"] == "permission_required"
    assert "run_workflow" in json.dumps(run.outcome.document())


@pytest.mark.story
def test_who_may_only_read_may_try_it_dry_and_is_refused_the_run(
    tmp_path: Path, environment: Any
) -> None:
    with ModelServer({"m": [calls("run_workflow", workflow=LATE), DONE]}) as server:
        environment(server)
        run = api.start(outer("read_only", posture="read_only"), workspace=tmp_path)
        run.wait()
        offered = {tool["function"]["name"] for tool in server.requests_for("m")[0].body["tools"]}
    assert "inspect_run" in offered
    assert "decide_step" not in offered
    assert results(run)[0].data["error"] is not None
    assert len(api.runs(workspace=tmp_path)) == 1


@pytest.mark.story
@pytest.mark.parametrize("how", first_of(["cancelled", "timed out"]))
def test_what_an_agent_started_ends_with_its_attempt_and_that_is_recorded(
    how: str, tmp_path: Path, environment: Any
) -> None:
    long = spec(shell("nap", f"echo {os.getpid()} > napping; sleep 300"), name="long")
    fields = {"timeout": "15s"} if how == "timed out" else {}
    with ModelServer({"m": [calls("run_workflow", workflow=long), DONE]}) as server:
        environment(server)
        run = api.start(outer("auto", **fields), workspace=tmp_path)
        until((tmp_path / "napping").is_file)
        if how == "cancelled":
            threading.Thread(target=run.cancel).start()
        run.wait()
    rows = {row["workflow"]: row for row in api.runs(workspace=tmp_path)}
    inner = api.open_run(rows["long"]["run_id"], workspace=tmp_path)
    assert inner.status == "interrupted"
    assert inner.history()[-1].kind == "run_finished"
    assert run.outcome.step("lead").checkpoint_status != "checkpoint_ready"
    told = [
        event.data["status"]
        for event in run.store.read_session(run.id, "lead.1").events
        if event.kind == "subagent_event"
    ]
    assert told == ["running", "interrupted"]
