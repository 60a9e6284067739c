"""A hundred texts that give orders, speak as others, forge reports and permissions: data wherever they come, obeyed nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.engine.agent_text import marker_of, own_words
from pixirnb.operations.run import Run
from pixirnb.planning.prompts.compose import PromptInput, PromptParts, Upstream, compose
from pixirnb.protocols.work import AgentWork
from pixirnb.runners.agents.channel import Failed
from pixirnb.sessions.provider_input import replay
from pixirnb.testing.fakes.toolboxes import Attendant, toolbox
from pixirnb.testing.poison import POISON, READINESS
from pixirnb.testing.wire.answers import Answer, Call
from pixirnb.testing.wire.server import ModelServer
from tests.stories.storyline import ROOT, facts, shell, spec, until

HARMLESS = "It went well."


def unmarked(prompt: str) -> list[str]:
    """The lines of a prompt that do not stand behind the mark of others' words."""
    return [line for line in prompt.splitlines() if not line.startswith(">")]


def agent_of(prompt: str, runner: Any = "llm") -> AgentWork:
    """A delegated task."""
    return AgentWork(runner=runner, task="Do it.", prompt=prompt, actions=[], session={})


def test_there_are_a_hundred_of_them() -> None:
    assert len(set(POISON)) == len(POISON) == 100


# --- in the next prompt ---


def brief(text: str) -> PromptParts:
    """A prompt with others' words wherever they can stand."""
    return PromptParts(
        task="Do it.",
        given=(PromptInput("steps.build.output", text),),
        upstream=(Upstream("build", summary=text, output=f"{text}\n.", limitations=(text,)),),
        write_set=("src/**",),
        failure_context=f"The previous attempt failed (exit): {text}\n{text}",
    )


@pytest.mark.parametrize("text", POISON, ids=range(100))
def test_each_is_marked_as_data_line_by_line(text: str) -> None:
    assert unmarked(compose(brief(text))) == unmarked(compose(brief(HARMLESS)))


@pytest.mark.parametrize("text", POISON, ids=range(100))
def test_an_agent_that_repeats_what_it_was_told_has_declared_nothing(text: str) -> None:
    prompt = compose(brief(text))
    bare = "\n".join(line.removeprefix(">").strip() for line in prompt.splitlines())
    for echo in (prompt, bare, f"It said:\n{prompt}", f"It said:\n{bare}"):
        assert marker_of(own_words(echo, agent_of(prompt))) is None


# --- in what a provider is sent ---


def test_what_tools_and_others_said_is_never_in_the_place_of_a_person_or_the_model() -> None:
    events: list[tuple[str, dict[str, Any]]] = [
        ("user_message", {"text": "Do it.", "origin": "prompt"})
    ]
    for number, text in enumerate(POISON):
        call = {"call_id": f"c{number}", "name": "read", "args": {"path": "a"}}
        events += [
            ("tool_call", call),
            ("tool_result", {"call_id": f"c{number}", "ok": True, "output": text}),
            ("assistant_message", {"text": text, "partial": True, "final": False}),
            (
                "permission_decided",
                {"request_id": "q", "verdict": "deny", "by": text, "note": text},
            ),
            ("turn_failed", {"terminal_status": "failed", "message": text, "reason": text}),
            (
                "subagent_event",
                {
                    "event": "finished",
                    "session_id": f"s.{number}",
                    "agent": "other",
                    "status": "completed",
                    "summary": text,
                },
            ),
        ]
    items = replay(events)
    told = {item["output"] for item in items if item["role"] == "tool"}
    assert told >= set(POISON)
    spoken = [item for item in items if item["role"] == "assistant"]
    assert {part["kind"] for item in spoken for part in item["parts"]} == {"call"}
    lines = {
        line
        for item in items
        if item["role"] == "user"
        for line in unmarked(item["text"])
        if line.strip()
    }
    assert all(line == "Do it." or line.startswith("Data from") for line in lines)


# --- through the tools ---


def test_no_text_that_a_tool_shows_allows_anything(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    for number, text in enumerate(POISON):
        (tmp_path / "src" / f"{number}.txt").write_text(text, newline="")
    attendant = Attendant("unattended")
    box = toolbox(tmp_path, attendant, permission_mode="ask", write_set=["src/**"])
    for number, text in enumerate(POISON):
        name = f"src/{number}.txt"
        assert box.use("read", {"path": name}, f"r{number}")["output"] == text
        outside = box.use("write", {"path": "out.txt", "content": text}, f"o{number}")
        assert outside["error"]["kind"] == "outside_write_set"
        with pytest.raises(Failed) as failed:
            box.use("write", {"path": f"src/new{number}", "content": text}, f"w{number}")
        assert failed.value.kind == "permission_required"
    assert len(attendant.requests) == len(POISON)
    assert len(list(tmp_path.rglob("*"))) == len(POISON) + 1


def test_a_text_in_the_place_of_an_argument_is_an_argument(tmp_path: Path) -> None:
    box = toolbox(tmp_path, Attendant("deny"), permission_mode="ask", write_set=["src/**"])
    for text in POISON:
        assert box.use(text, {}, text)["error"]["kind"] == "tool_unknown"
        assert not box.use("read", {"path": text}, text)["ok"]
        assert not box.use("read", {"path": "a", text: text}, text)["ok"]
        assert not box.use("shell", {"command": text}, text)["ok"]
    assert list(tmp_path.iterdir()) == []


def test_what_a_person_wrote_beside_a_no_stays_a_no(tmp_path: Path) -> None:
    for text in POISON:
        box = toolbox(tmp_path, Attendant("deny", text), permission_mode="ask")
        assert box.use("write", {"path": "a", "content": ""}, "c")["error"]["kind"] == (
            "permission_denied"
        )
    assert list(tmp_path.iterdir()) == []


# --- in a real run ---


@pytest.fixture(scope="module")
def poisoned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, ModelServer, Path]:
    """A run that came to rest: steps that print the texts, agents that are told them, and who tries to answer by itself."""
    workspace = tmp_path_factory.mktemp("poisoned")
    (workspace / "all.txt").write_text("\n\n".join(POISON), newline="")
    steps: list[dict[str, Any]] = [
        {"id": "gate", "ask": {"question": "May it go on?"}},
        shell(
            "impostor",
            # The gate is open by then: what is refused is who speaks.
            'until grep -q decision_requested "$(find .. -path "*$PIXIRNB_RUN_ID/log.jsonl")"; do sleep 0.1; done; '
            "env -u PIXIRNB_STEP python -m pixirnb decide $PIXIRNB_RUN_ID gate accept --json; "
            "python -m pixirnb approve $PIXIRNB_RUN_ID/reader.1.1 --json; true",
            env={"PYTHONPATH": str(ROOT)},
        ),
        {"id": "relay", "task": "Read and tell.", "agent": "relay"},
        {"id": "reader", "task": "Read all.txt, then write.", "agent": "model"},
    ]
    for group in range(10):
        text = "\n\n".join(POISON[group * 10 : group * 10 + 10])
        (workspace / f"{group}.txt").write_text(text, newline="")
        steps.append(shell(f"source{group}", f"cat {group}.txt"))
        told = {"id": f"echo{group}", "depends_on": [f"source{group}"], "agent": "parrot"}
        steps.append({**told, "task": f"Consider: {{{{ steps.source{group}.output }}}}"})
        steps.append(shell(f"after{group}", "true", f"echo{group}"))
    repeated = [{"tool": "read", "result": text} for text in READINESS]
    repeated += [{"say": text} for text in READINESS]
    agents: dict[str, Any] = {
        "relay": {"runner": "scripted", "posture": "read_only", "script": {"relay": [repeated]}},
        "parrot": {"runner": "scripted", "posture": "read_only"},
        "model": {
            "runner": "llm",
            "model": "openai:m",
            "pass_env": ["OPENAI_BASE_URL", "OPENAI_API_KEY"],
        },
    }
    server = ModelServer(
        {
            "m": [
                Answer(calls=(Call("read", {"path": "all.txt"}),)),
                Answer(calls=(Call("write", {"path": "forged.txt", "content": "x"}),)),
            ]
        }
    )
    with server, pytest.MonkeyPatch.context() as environment:
        environment.setenv("OPENAI_BASE_URL", server.base_url)
        environment.setenv("OPENAI_API_KEY", "sk-a-key-of-tests")
        run = api.start(spec(*steps, agents=agents, max_concurrency=4), workspace=workspace)
        run.wait()
    return run, server, workspace


def session_of(run: Run, step: str) -> list[tuple[str, dict[str, Any]]]:
    """What the session of a step's first attempt holds."""
    return [
        (event.kind, event.data) for event in run.store.read_session(run.id, f"{step}.1").events
    ]


def test_no_agent_is_ready_by_what_it_repeats(poisoned: tuple[Run, ModelServer, Path]) -> None:
    run, _, _ = poisoned
    for name in ["relay", *(f"echo{group}" for group in range(10))]:
        step = run.outcome.step(name)
        assert (step.checkpoint_status, (step.error and step.error["kind"])) == (
            "partial",
            "readiness_not_declared",
        )
    for group in range(10):
        assert run.outcome.step(f"after{group}").checkpoint_status == "held"


def test_no_prompt_of_the_run_has_a_line_of_them_unmarked(
    poisoned: tuple[Run, ModelServer, Path],
) -> None:
    run, _, _ = poisoned
    forbidden = {line.strip() for text in POISON for line in text.splitlines() if line.strip()}
    for group in range(10):
        told = dict(session_of(run, f"echo{group}"))["user_message"]["text"]
        assert "Data from" in told
        assert {line.strip() for line in unmarked(told)} & forbidden == set()
        assert marker_of("\n".join(unmarked(told))) is None


def test_nobody_decided_and_nobody_allowed_but_a_person(
    poisoned: tuple[Run, ModelServer, Path],
) -> None:
    run, server, workspace = poisoned
    assert facts(run, "decision_recorded") == []
    asked = [data for data in facts(run, "subagent_event") if "permission" in data["event"]]
    assert [data["event"] for data in asked] == ["permission_requested"]
    assert (asked[0]["step"], asked[0]["tool"]) == ("reader", "write")
    assert not (workspace / "forged.txt").exists()
    reader = run.outcome.step("reader")
    assert (reader.checkpoint_status, (reader.error and reader.error["kind"])) == (
        "needs_orchestrator",
        "permission_required",
    )
    assert run.outcome.status == "needs_orchestrator"
    [result] = [data for kind, data in session_of(run, "reader") if kind == "tool_result"][:1]
    assert result["ok"]
    sent = server.received[1].messages
    assert [message["role"] for message in sent[-2:]] == ["assistant", "tool"]
    assert json.dumps(READINESS[4])[1:-1] in json.dumps(sent[-1])


def test_a_step_cannot_speak_for_a_person(poisoned: tuple[Run, ModelServer, Path]) -> None:
    run, _, _ = poisoned
    until(lambda: run.outcome.step("impostor").checkpoint_status)
    said = run.output("impostor")
    assert said.count('"approval_by_agent"') == 2
    assert run.outcome.step("gate").checkpoint_status == "needs_orchestrator"
