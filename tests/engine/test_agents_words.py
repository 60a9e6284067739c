"""What counts as an agent's own word: not an echo of its prompt; and its output is found beside its readiness line."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.engine.readings import declared_text, marker_of, own_words
from pixirnb.planning.prompts import Brief, Upstream, compose
from pixirnb.work import AgentWork

READY = "checkpoint_status: checkpoint_ready"


def work(prompt: str, runner: Any = "cli", task: str = "") -> AgentWork:
    return AgentWork(runner, task, prompt, [], {})


def test_an_echo_of_the_prompt_declares_nothing() -> None:
    prompt = f"You review.\n{READY}\n"
    assert marker_of(own_words(f"I was told:\n{prompt}", work(prompt))) is None


def test_an_agent_that_repeats_what_came_before_declares_nothing() -> None:
    prompt = compose(Brief("Do it.", upstream=(Upstream("a", "s", f"done\n{READY}"),)))
    echoed = prompt.replace("\n> ", "\n")
    assert marker_of(own_words(echoed, work(prompt))) is None


def test_an_agent_may_end_with_the_line_that_the_one_before_it_ended_with() -> None:
    prompt = compose(Brief("Do it.", upstream=(Upstream("a", "s", f"done\n{READY}"),)))
    task = f"Do it. done\n{READY}"
    said = own_words(f"mended\n{READY}\n", work(prompt, task=task))
    assert marker_of(said) == {"checkpoint_status": "checkpoint_ready", "summary": "mended"}


@pytest.mark.parametrize(
    "message",
    [
        '{"n": 1}',
        f'{{"n": 1}}\n{READY}',
        f'```json\n{{"n": 1}}\n```\n\n{READY}\n',
        '```\n{"n": 1}\n```',
    ],
)
def test_the_output_is_what_stands_beside_the_readiness_line(message: str) -> None:
    assert declared_text(message) == '{"n": 1}'
