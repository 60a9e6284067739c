"""Agents on a model, from a real run to a real wire: each fault ends as what it is, and only what is clean says completed.

Two runs are made, one of agents that end well and one of agents that do not; each test reads one step of them.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.history.events import Event
from pixirnb.machine.outcome import RunOutcome
from pixirnb.operations.run import Run
from pixirnb.sessions.provider_input import replay
from pixirnb.sessions.state import SessionState, fold_session
from pixirnb.store.file_store import FileStore
from pixirnb.testing.wire.answers import Answer, Call, Received, Refusal, ScriptedReply
from pixirnb.testing.wire.server import ModelServer
from tests.stories.storyline import facts, spec

pytestmark = pytest.mark.story

KEY = "sk-wire-3f9c1a77e2"
DONE = "checkpoint_status: checkpoint_ready"
DRIP_LIMIT_S = 20
"""Long enough for a child to start on a busy machine, and to say something."""
READY = Call(
    "report_checkpoint",
    {"checkpoint_status": "checkpoint_ready", "summary": "It says forty-two.", "output": {"n": 42}},
)

GOOD: dict[str, list[ScriptedReply]] = {
    "clean": [Answer(("All ", "is well.\n", DONE))],
    "busy": [Refusal(429, "slow down", retry_after=0.2), Answer(("There.\n", DONE))],
    "tools": [
        Answer("Looking. ", calls=(Call("read", {"path": "a.txt"}),)),
        Answer(calls=(Call("read", '{"path": '),)),
        Answer(calls=(READY,)),
    ],
    "mended": [Answer(("Half a ", "sentence"), cut_after=1), Answer(("Whole.\n", DONE))],
    "whisper": [Answer(("The key is ", KEY[:7], KEY[7:], ".\n", DONE))],
}
BAD: dict[str, list[ScriptedReply]] = {
    "cut": [Answer(("It ", "wor", "ks"), cut_after=2)],
    "garbled": [Answer(("It ", "wor", "ks"), garbage_after=2)],
    "down": [Refusal(500, "the disk is full", retry_after=0.05)],
    "drip": [Answer(["drop "] * 600, delay_s=0.2)],
    "loop": [Answer("Again. ", calls=(Call("list", {"path": "."}),))],
}


@dataclass(frozen=True)
class Heard:
    """A run that has ended, and what the provider saw of it."""

    run: Run
    outcome: RunOutcome
    server: ModelServer

    def events(self, step: str, attempt: int = 1) -> list[Event]:
        """What the log of a session holds."""
        store = FileStore(self.run.folder.parent.parent)
        return store.read_session(self.run.id, f"{step}.{attempt}").events

    def session(self, step: str, attempt: int = 1) -> SessionState:
        """How a session stands."""
        return fold_session(self.events(step, attempt))

    def ended(self, step: str) -> dict[str, Any]:
        """What the run's log says of the end of a session."""
        ends = [fact for fact in facts(self.run, "subagent_event") if fact["step"] == step]
        return ends[-1]

    def kind(self, step: str) -> str:
        """The error kind of a step."""
        error = self.outcome.step(step).error
        return "" if error is None else str(error["kind"])

    def asked(self, step: str) -> list[Received]:
        """The requests of a step's agent."""
        return self.server.requests_for(step)


def agent(model: str, **fields: Any) -> dict[str, Any]:
    passed = ["OPENAI_API_KEY", "OPENAI_BASE_URL"]
    return {
        "runner": "llm",
        "model": model,
        "posture": "read_only",
        "pass_env": passed,
        **fields,
    }


def told(workspace: Path, server: ModelServer, models: dict[str, Any]) -> Heard:
    (workspace / "a.txt").write_text("forty-two\n")
    steps = [
        {"id": name, "task": f"Do what {name} does.", "agent": name, **fields.pop("step", {})}
        for name, fields in models.items()
    ]
    agents = {name: agent(**fields) for name, fields in models.items()}
    run = api.start(spec(*steps, agents=agents, max_concurrency=4), workspace=workspace)
    return Heard(run, run.wait(), server)


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer({**GOOD, **BAD}) as server, pytest.MonkeyPatch.context() as environment:
        environment.setenv("OPENAI_API_KEY", KEY)
        environment.setenv("OPENAI_BASE_URL", server.base_url)
        yield server


@pytest.fixture(scope="module")
def good(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Heard:
    models: dict[str, Any] = {name: {"model": f"openai:{name}"} for name in GOOD}
    models["mended"]["step"] = {"retry": {"max_attempts": 2, "delay": 0}}
    return told(tmp_path_factory.mktemp("good"), server, models)


@pytest.fixture(scope="module")
def bad(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Heard:
    models: dict[str, Any] = {name: {"model": f"openai:{name}"} for name in BAD}
    models["drip"]["timeout"] = DRIP_LIMIT_S
    nowhere = {"env": {"OPENAI_BASE_URL": f"http://127.0.0.1:{closed_port()}/v1"}}
    models["unreachable"] = {"model": "openai:m", "step": nowhere}
    models["keyless"] = {"model": "openai:m", "pass_env": []}
    models["unknown"] = {"model": "openai:nobody-made-this"}
    return told(tmp_path_factory.mktemp("bad"), server, models)


def closed_port() -> int:
    """A port of loopback that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


# --- what ends well -----------------------------------------------------------------------------------------------------


def test_a_run_of_clean_agents_is_completed(good: Heard) -> None:
    assert {step.step_id: step.checkpoint_status for step in good.outcome.steps} == dict.fromkeys(
        GOOD, "checkpoint_ready"
    )
    assert good.outcome.status == "completed"


def test_a_clean_stream_is_a_completed_turn_with_its_usage(good: Heard) -> None:
    session = good.session("clean")
    assert session.turn == good.ended("clean")["turn"] == "completed"
    assert session.usage == {"input_tokens": 11, "output_tokens": 7, "requests": 1}
    assert good.run.output("clean").strip() == f"All is well.\n{DONE}"


def test_a_busy_provider_is_asked_again_and_the_log_shows_both_requests(good: Heard) -> None:
    usages = [event.data for event in good.events("busy") if event.kind == "provider_usage"]
    assert [usage.get("error", {}).get("status") for usage in usages] == [429, None]
    first, second = good.asked("busy")
    assert first.raw == second.raw
    assert good.outcome.step("busy").attempt == 1


def test_a_tool_s_round_trip_is_in_the_log_in_the_order_it_happened(good: Heard) -> None:
    kinds = [event.kind for event in good.events("tools")]
    spoken = [kind for kind in kinds if kind in {"tool_call", "tool_result", "assistant_message"}]
    assert spoken == ["assistant_message"] + ["tool_call", "tool_result"] * 3 + [
        "assistant_message"
    ]
    results = [event.data for event in good.events("tools") if event.kind == "tool_result"]
    assert [result["ok"] for result in results] == [True, False, True]
    assert good.run.value("tools") == {"n": 42}
    assert good.outcome.step("tools").summary == "It says forty-two."


def test_the_log_alone_gives_what_the_provider_was_sent(good: Heard) -> None:
    events = good.events("tools")
    requests = good.asked("tools")
    replies = [place for place, event in enumerate(events) if event.kind == "provider_usage"]
    assert len(requests) == len(replies) == 3
    for place, request in zip(replies, requests, strict=True):
        items = replay(events[:place], model="openai:tools")
        assert [item["role"] for item in items] == [m["role"] for m in request.messages]
        pairs = zip(map(said, items), map(said, request.messages), strict=True)
        assert [pair for pair in pairs if pair[0] not in pair[1]] == []
    assert json.dumps(requests[2].messages).startswith(json.dumps(requests[1].messages)[:-1])


def said(message: dict[str, Any]) -> str:
    """The text of a message, ours or the provider's."""
    if "parts" in message:
        return "".join(part["text"] for part in message["parts"] if part["kind"] == "text")
    return str(message.get("text") or message.get("output") or message.get("content") or "")


def test_a_cut_off_attempt_is_made_again_and_its_partial_text_is_never_sent(good: Heard) -> None:
    assert good.session("mended", 1).partial == "Half a "
    assert good.session("mended", 1).turn == "partial_failed"
    assert good.session("mended", 2).turn == "completed"
    first, second = good.asked("mended")
    assert first.raw == second.raw
    assert not second.has("Half a")


def test_a_secret_that_an_agent_prints_is_nowhere(good: Heard) -> None:
    found = [
        path.name
        for path in good.run.folder.rglob("*")
        if path.is_file() and KEY.encode() in path.read_bytes()
    ]
    assert found == []
    assert good.run.output("whisper").strip() == f"The key is ***.\n{DONE}"
    assert good.session("whisper").final == f"The key is ***.\n{DONE}"
    shown = [str(good.run.explain("whisper")), repr(good.run), str(good.outcome)]
    shown += good.run._repr_mimebundle_().values()
    assert [text for text in shown if KEY in text] == []


# --- what does not ------------------------------------------------------------------------------------------------------

ENDS = [
    # step, status of the attempt, of the checkpoint, error kind, terminal state, partial text, requests
    ("cut", "failed", "failed", "provider_stream_cut", "partial_failed", "It wor", 1),
    ("garbled", "failed", "failed", "provider_malformed", "partial_failed", "It wor", 1),
    ("down", "failed", "failed", "provider_transient", "failed", None, 3),
    ("drip", "timed_out", "failed", "timeout", "timed_out", "drop", 1),
    ("loop", "failed", "partial", "turn_limit", "failed", None, 50),
    ("unreachable", "failed", "failed", "provider_unreachable", "failed", None, 0),
    ("keyless", "failed", "failed", "provider_key_missing", "failed", None, 0),
    ("unknown", "failed", "failed", "model_unknown", "failed", None, 0),
]


@pytest.mark.parametrize(
    ("step", "attempt", "checkpoint", "kind", "terminal", "partial", "requests"),
    ENDS,
    ids=[end[0] for end in ENDS],
)
def test_a_fault_of_the_wire_ends_its_step_as_what_it_is(
    bad: Heard,
    step: str,
    attempt: str,
    checkpoint: str,
    kind: str,
    terminal: str,
    partial: str | None,
    requests: int,
) -> None:
    ended = bad.outcome.step(step)
    assert (ended.subagent_status, ended.checkpoint_status) == (attempt, checkpoint)
    assert bad.kind(step) == kind
    session = bad.session(step)
    assert session.turn == bad.ended(step)["turn"] == terminal
    assert (session.partial or "").startswith(partial or "")
    assert (session.partial is None) == (partial is None)
    assert session.failed is not None
    assert session.failed["child_session_id"] == f"{step}.1"
    assert session.failed["next_actions"]
    assert len(bad.asked(step)) == requests


@pytest.mark.parametrize("step", [end[0] for end in ENDS])
def test_nothing_says_completed_of_what_was_not(bad: Heard, step: str) -> None:
    assert bad.ended(step)["event"] != "finished"
    assert bad.session(step).final is None
    said = [str(bad.run.explain(step)), json.dumps(bad.ended(step))]
    assert [text for text in said if "completed" in text] == []


def test_the_run_is_partial_and_says_what_failed(bad: Heard) -> None:
    assert (bad.outcome.ok, bad.outcome.status) == (False, "partial")
    assert [step.step_id for step in bad.outcome.steps if step.checkpoint_status == "partial"] == [
        "loop"
    ]


def test_what_ran_out_of_time_says_how_long_it_had(bad: Heard) -> None:
    failed = bad.session("drip").failed
    assert failed is not None
    assert failed["timeout_ms"] == DRIP_LIMIT_S * 1000
    assert failed["elapsed_ms"] >= failed["timeout_ms"]


def test_every_call_of_an_endless_loop_has_its_result(bad: Heard) -> None:
    session = bad.session("loop")
    assert (session.open_calls, session.orphans) == ({}, 0)


@pytest.mark.parametrize("step", ["unreachable", "keyless", "unknown"])
def test_a_bad_setting_is_said_in_one_line_with_what_to_do(bad: Heard, step: str) -> None:
    error = bad.outcome.step(step).error
    assert error is not None
    assert "\n" not in error["message"]
    assert any(word in error["message"] for word in ("; check ", "pass_env"))
