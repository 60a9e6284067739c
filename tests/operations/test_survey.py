"""What the agents of a workflow lack here is found before a run: the extra of their runner, their program on PATH."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pixirnb.operations.survey import survey
from pixirnb.spec.loader import load_mapping
from pixirnb.spec.workflow import Workflow


def workflow(**agent: Any) -> Workflow:
    steps = [{"id": "t", "task": "x", "agent": "b"}]
    return load_mapping({"name": "w", "agents": {"b": agent}, "steps": steps}).require()


def lacks(folder: Path, **agent: Any) -> dict[str, str]:
    found = survey(workflow(**agent), folder, {}).agents
    return {name: lack.code for name, lack in found.items()}


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("no-such-agent", "agent_command_unknown"),
        (["no-such-agent", "--acp"], "agent_missing_binary"),
        (["/nowhere/agent", "--acp"], "agent_missing_binary"),
        ("/nowhere/agent --acp", "agent_missing_binary"),
        (["sh", "agent.sh"], None),
        ([sys.executable, "agent.py"], None),
        (["./made-later", "x"], None),
        (["bin/made-later", "x"], None),
    ],
)
def test_a_program_that_is_not_there_is_found_before_the_run(
    command: Any, code: str | None, tmp_path: Path
) -> None:
    assert lacks(tmp_path, runner="acp", command=command) == ({} if code is None else {"b": code})


def test_a_tool_next_to_this_python_is_found(tmp_path: Path) -> None:
    name = Path(sys.executable).name
    assert lacks(tmp_path, runner="cli", command=[name, "x.py"]) == {}


def test_scripted_and_model_agents_need_no_program(tmp_path: Path) -> None:
    assert lacks(tmp_path) == {}
    assert lacks(tmp_path, runner="llm", model="openai:m") == {}


@pytest.mark.parametrize(
    ("agent", "code"),
    [
        ({"runner": "pty", "command": ["cat"]}, "prompt_nowhere"),
        ({"runner": "pty", "command": ["cat", "{prompt_file}"]}, None),
        ({"runner": "llm", "model": "opneai:m"}, "model_unknown"),
        ({"runner": "llm", "model": "openai-chat:m"}, None),
        ({"runner": "llm", "model": "house-blend:m"}, None),
        ({"runner": "llm", "model": "cohere:m"}, "extra_missing"),
    ],
)
def test_an_agent_that_cannot_get_its_task_or_its_model_is_found_before_the_run(
    agent: dict[str, Any], code: str | None, tmp_path: Path
) -> None:
    assert lacks(tmp_path, **agent) == ({} if code is None else {"b": code})


def test_a_misspelt_provider_is_told_with_the_one_that_was_meant(tmp_path: Path) -> None:
    found = survey(workflow(runner="llm", model="opneai:gpt"), tmp_path, {}).agents["b"]
    assert found.fix == "did you mean `openai`?"


@pytest.mark.parametrize(
    ("module", "agent"),
    [
        ("acp", {"runner": "acp", "command": ["sh", "x"]}),
        ("pydantic_ai", {"runner": "llm", "model": "openai:m"}),
    ],
)
def test_an_extra_that_is_not_installed_is_found_before_the_run(
    module: str, agent: dict[str, Any], tmp_path: Path
) -> None:
    code = f"""
import sys
sys.modules[{module!r}] = None
import pixirnb
spec = {{"name": "w", "agents": {{"b": {agent!r}}}, "steps": [{{"id": "t", "task": "x", "agent": "b"}}]}}
[error] = pixirnb.plan(spec).errors
print(error.code, "|", error.path, "|", error.fix)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    extra = agent["runner"]
    assert done.stdout == (
        f"extra_missing | agents.b.runner | run `pip install 'pixirnb[{extra}]'`\n"
    )
