"""The turn of a model, asked of a server that others made: what holds on our own wire must hold on theirs.

The server is `@copilotkit/aimock`, put into build/aimock by `.ci/wire` where node is there. Elsewhere this file holds no test.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pixirnb.runners.agents.channel import Failed
from pixirnb.runners.agents.llm import program
from pixirnb.testing.fakes.agent_lines import TapedLine
from pixirnb.testing.fakes.toolboxes import agent_work

ROOT = Path(__file__).parents[4]
SERVER = ROOT / "build" / "aimock" / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
NODE = shutil.which("node")

REPORT = {"checkpoint_status": "checkpoint_ready", "summary": "It says forty-two."}
FIXTURES: list[dict[str, Any]] = [
    {
        "match": {"userMessage": "clean"},
        "response": {"content": "All is well, and has been for a good while now."},
    },
    {
        "match": {"userMessage": "cut"},
        "response": {"content": "All is well, and has been for a good while now."},
        "latency": 50,  # what is destroyed takes with it what it has not sent
        "chunkSize": 5,
        "truncateAfterChunks": 4,
    },
    {
        "match": {"userMessage": "busy", "sequenceIndex": 0},
        "response": {
            "error": {"message": "slow down", "type": "rate_limit_error"},
            "status": 429,
            "retryAfter": 0,
        },
    },
    {"match": {"userMessage": "busy"}, "response": {"content": "There."}},
    {
        "match": {"toolCallId": "call_read"},
        "response": {"toolCalls": [{"name": "report_checkpoint", "arguments": json.dumps(REPORT)}]},
    },
    {
        "match": {"userMessage": "tool"},
        "response": {
            "toolCalls": [{"name": "read", "arguments": '{"path": "a.txt"}', "id": "call_read"}]
        },
    },
]


@pytest.fixture(scope="module")
def base_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    fixtures = tmp_path_factory.mktemp("aimock") / "fixtures.json"
    fixtures.write_text(json.dumps({"fixtures": FIXTURES}))
    assert NODE is not None
    command = [NODE, str(SERVER), "--port", "0", "--fixtures", str(fixtures), "--strict"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                yield f"{found[0]}/v1"
                break
        else:
            raise AssertionError("the server did not say where it listens")
    finally:
        process.terminate()
        process.communicate()


def turn(prompt: str, base_url: str, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> TapedLine:
    """What a turn told. Raises Failed."""
    (workspace / "a.txt").write_text("forty-two\n")
    monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", "__all__")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-tests")
    monkeypatch.setenv("OPENAI_BASE_URL", base_url)
    work = agent_work(workspace, model="openai:gpt-4o", timeout_ms=60_000)
    line = TapedLine()
    try:
        program.run({**work, "prompt": prompt, "history": [], "secrets": []}, line)
    except Failed as failed:
        line.tape.append(("failed", failed))
    return line


if SERVER.is_file() and NODE is not None:

    def test_a_clean_stream(base_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        line = turn("clean", base_url, tmp_path, monkeypatch)
        [message] = line.of("assistant_message")
        assert (message["final"], message["partial"]) == (True, False)
        assert line.text.strip() == message["text"]

    def test_a_stream_that_is_cut(
        base_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        line = turn("cut", base_url, tmp_path, monkeypatch)
        how, failed = line.tape[-1]
        assert (how, failed.kind) == ("failed", "provider_stream_cut")
        [message] = line.of("assistant_message")
        assert (message["final"], message["partial"]) == (False, True)
        assert "All is well".startswith(message["text"][:11])
        assert message["text"]

    def test_429_and_then_an_answer(
        base_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        line = turn("busy", base_url, tmp_path, monkeypatch)
        statuses = [usage.get("error", {}).get("status") for usage in line.of("provider_usage")]
        assert statuses == [429, None]
        assert line.of("assistant_message")[-1]["text"] == "There."

    def test_a_tool_s_round_trip(
        base_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        line = turn("tool", base_url, tmp_path, monkeypatch)
        assert [call["name"] for call in line.of("tool_call")] == ["read", "report_checkpoint"]
        assert line.of("tool_result")[0]["output"] == "forty-two\n"
        assert line.reports == [REPORT]
