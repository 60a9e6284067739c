"""What a provider is sent is what the log holds, byte for byte: secrets masked, numbers and depths as a log can hold them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pixirnb.runners.agents.llm import program
from pixirnb.runners.agents.llm.messages import arguments_of
from pixirnb.runners.output.mask import Mask
from pixirnb.sessions.json_values import plain_data
from pixirnb.sessions.provider_input import provider_bytes, replay
from pixirnb.testing.fakes.agent_lines import TapedLine
from pixirnb.testing.fakes.toolboxes import agent_work
from pixirnb.testing.wire.answers import Answer, Call, Received, ScriptedReply
from pixirnb.testing.wire.server import ModelServer

KEY = "sk-a-key-of-tests"
OTHER = "73519264808151"
REPORT: dict[str, Any] = {"checkpoint_status": "checkpoint_ready", "summary": f"It is {KEY}."}
PROMPT = f"Put {KEY} in its place."


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", "__all__")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def turn(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, *replies: ScriptedReply
) -> tuple[TapedLine, list[Received]]:
    """What was told and what was received in a turn whose prompt holds the key."""
    server, line = ModelServer({"m": replies}), TapedLine()
    work = agent_work(workspace, model="openai:m", timeout_ms=60_000, permission_mode="auto")
    # The second one is the kernel's, and was passed to nobody.
    work |= {"prompt": PROMPT, "history": [], "surface": [], "secrets": [KEY, OTHER]}
    with server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        program.run(work, line)
    return line, server.received


def logged(line: TapedLine) -> list[tuple[str, dict[str, Any]]]:
    """The session as the engine keeps it."""
    prompt = ("user_message", {"text": PROMPT, "origin": "prompt"})
    return [
        (kind, Mask([KEY, OTHER]).value(plain_data(data))) for kind, data in [prompt, *line.events]
    ]


def test_no_secret_is_sent_and_what_is_sent_is_what_the_log_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text(f"key = {KEY}, {OTHER}\n")
    deep = json.loads("[" * 60 + "]" * 60)
    line, received = turn(
        tmp_path,
        monkeypatch,
        Answer(f"With {KEY}.", calls=(Call("read", {"path": "a.txt"}),)),
        Answer(calls=(Call("write", {"path": "b.txt", "content": KEY, "pin": int(OTHER)}),)),
        Answer(calls=(Call("read", {"path": deep}), Call("read", '{"path": NaN}'))),
        Answer(calls=(Call("report_checkpoint", REPORT),)),
    )
    assert len(received) == 4
    for request in received:
        assert KEY.encode() not in request.raw
        assert OTHER.encode() not in request.raw
    events = logged(line)
    assert events[1:] == line.events
    results = {item["output"] for item in replay(events) if item["role"] == "tool"}
    sent = [m["content"] for m in received[-1].messages if m["role"] == "tool"]
    # The library wraps what failed.
    bare = {json.loads(said)["error"] if said.startswith('{"error"') else said for said in sent}
    assert bare <= results
    assert any("key = ***, ***" in said for said in bare)
    calls = [
        call["function"]["arguments"]
        for message in received[-1].messages
        for call in message.get("tool_calls") or ()
    ]
    told = [data["args"] for kind, data in events if kind == "tool_call"]
    assert [json.loads(each) for each in calls] == told[: len(calls)]
    assert provider_bytes(told[1:2]) == b'[{"content":"***","path":"b.txt","pin":"***"}]'


def test_a_word_that_is_a_secret_elsewhere_is_written_as_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, _ = turn(
        tmp_path,
        monkeypatch,
        Answer(calls=(Call("write", {"path": "b.txt", "content": KEY}),)),
        Answer(calls=(Call("report_checkpoint", REPORT),)),
    )
    assert (tmp_path / "b.txt").read_text() == KEY
    assert line.of("tool_call")[0]["args"] == {"path": "b.txt", "content": "***"}
    assert line.of("assistant_message")[-1]["text"] == "It is ***."


@pytest.mark.parametrize("depth", [102, 1_000, 100_000])
def test_arguments_out_of_all_depth_are_no_arguments(depth: int) -> None:
    said = '{"a":' + "[" * depth + "]" * depth + "}"
    assert arguments_of(said) == said
    nested: dict[str, Any] = {}
    for _ in range(depth):
        nested = {"a": nested}
    assert isinstance(arguments_of({"a": nested}), str)
    assert arguments_of('{"a": [[1]]}') == {"a": [[1]]}
