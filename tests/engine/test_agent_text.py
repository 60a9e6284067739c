"""What counts as an agent's own word: not an echo of its prompt; and its output is found beside its readiness line."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from pixirnb.engine.agent_text import (
    declared_by,
    declared_text,
    marker_of,
    markers,
    own_words,
    without_declaration,
)
from pixirnb.planning.prompts.compose import PromptParts, Upstream, compose, fill_task
from pixirnb.protocols.work import AgentWork

READY = "checkpoint_status: checkpoint_ready"


def work(prompt: str, runner: Any = "cli", task: str = "") -> AgentWork:
    return AgentWork(runner, task, prompt, [], {})


def test_an_echo_of_the_prompt_declares_nothing() -> None:
    prompt = f"You review.\n{READY}\n"
    assert marker_of(own_words(f"I was told:\n{prompt}", work(prompt))) is None


def test_an_agent_that_repeats_what_came_before_declares_nothing() -> None:
    prompt = compose(PromptParts("Do it.", upstream=(Upstream("a", "s", f"done\n{READY}"),)))
    echoed = prompt.replace("\n> ", "\n")
    assert marker_of(own_words(echoed, work(prompt))) is None


def test_an_agent_may_end_with_the_line_that_the_one_before_it_ended_with() -> None:
    prompt = compose(PromptParts("Do it.", upstream=(Upstream("a", "s", f"done\n{READY}"),)))
    task = f"Do it. done\n{READY}"
    said = own_words(f"mended\n{READY}\n", work(prompt, task=task))
    assert marker_of(said) == {"checkpoint_status": "checkpoint_ready", "summary": "mended"}


BROKEN = [
    *(lambda text, width=width: textwrap.fill(text, width) for width in (20, 36, 60)),
    lambda text: "\n\n".join(text.split()),
    lambda text: text.replace(" ", "\n"),
    lambda text: text.replace(" check", "\n  check").replace("ready ", "ready  \n"),
    lambda text: text.replace("> ", "").replace("\n", " ").replace(" check", "\ncheck"),
    lambda text: text.replace("> ", "").replace("\n", ""),
    lambda text: text.replace("`", "").replace("*", "").replace("checkpoint_s", "\ncheckpoint_s"),
]
"""What becomes of a text on its way through a terminal, a pager, a model."""
TASKS = [
    f"Write to the next one, at the end, {READY} once it is done, and nothing else after it.",
    f"End with `{READY}` if all went well.",
    "End with `checkpoint_status:` **checkpoint_ready** if all went well.",
    "End with checkpoint_status:\u00a0\ncheckpoint_ready",
]


@pytest.mark.parametrize("broken", BROKEN, ids=range(len(BROKEN)))
@pytest.mark.parametrize("task", TASKS, ids=range(len(TASKS)))
def test_an_echo_of_the_task_with_other_line_breaks_declares_nothing(
    task: str, broken: Any
) -> None:
    prompt = compose(PromptParts(task))
    for echo in (broken(prompt), broken(f"{task}"), f"{broken(task)}\n{READY}"):
        assert marker_of(own_words(f"I was told:\n{echo}", work(prompt))) is None


OTHERS = [
    f"{'A' * 40} {READY} {'A' * 60}",
    f"done; {READY}",
    "**checkpoint_status:** checkpoint_ready",
    "checkpoint_status\n: checkpoint_ready",
    "check\npoint_status: checkpoint_ready",
    "check\x1b[1mpoint_status\x1b[0m: checkpoint_ready",
    "check\u200bpoint_status: checkpoint_ready",
    "checkpoint\\_status: checkpoint_ready",
]


@pytest.mark.parametrize("broken", BROKEN, ids=range(len(BROKEN)))
@pytest.mark.parametrize("text", OTHERS, ids=range(len(OTHERS)))
def test_no_echo_of_what_others_left_is_readiness_and_one_s_own_word_still_is(
    text: str, broken: Any
) -> None:
    upstream = (Upstream("b", f"so: {text}", f"x\n{text}", (text,), (text,)),)
    inline, _ = fill_task("Do {{ inputs.x }}.", lambda _: " ".join(text.split()))
    prompt = compose(PromptParts(inline, upstream=upstream, failure_context=text))
    for echo in (broken(prompt), broken(prompt.replace("> ", ""))):
        said = marker_of(own_words(f"I was told:\n{echo}", work(prompt)))
        assert (said or {}).get("checkpoint_status") != "checkpoint_ready"
        said = marker_of(own_words(f"I was told:\n{echo}\n\n{READY}", work(prompt)))
        assert (said or {}).get("checkpoint_status") == "checkpoint_ready"


@pytest.mark.parametrize(
    "shown", [f"src/p.txt:1: {READY}", f"12→{READY}", f"{READY} x", f"- **{READY}**"]
)
def test_readiness_anywhere_in_a_line_that_a_tool_has_shown_is_no_word_of_one_s_own(
    shown: str,
) -> None:
    told = markers(f"a line\n{shown}\nanother")
    assert marker_of(own_words(f"It said\n{READY}", work("Do it."), told)) is None
    partial = f"{READY}\ncheckpoint_status: partial"
    said = marker_of(own_words(partial, work("Do it."), told))
    assert said is not None
    assert said["checkpoint_status"] == "partial"


@pytest.mark.parametrize("word", ["failed", "partial", "needs_orchestrator", "failed.", "done"])
@pytest.mark.parametrize("before", ["", f"{READY}\n", f"so:\n{READY}\n\n"])
def test_a_last_word_that_is_not_ready_holds_though_the_task_or_a_tool_spells_it_out(
    before: str, word: str
) -> None:
    line = f"checkpoint_status: {word}"
    for prompt in (f"If tests fail, end with `{line}`", f"If tests fail, end with\n{line}"):
        for shown in (frozenset[str](), markers(line)):
            said = marker_of(own_words(f"{before}tests are red\n{line}\n", work(prompt), shown))
            assert said == {"checkpoint_status": word, "summary": "tests are red"}


def test_an_echo_of_what_is_not_ready_takes_nothing_from_the_word_after_it() -> None:
    prompt = "If tests fail, end with\ncheckpoint_status: failed\n"
    assert marker_of(own_words(f"{prompt}all is well\n{READY}", work(prompt))) == {
        "checkpoint_status": "checkpoint_ready",
        "summary": "all is well",
    }
    prompt += f"else with\n{READY}\n"
    assert marker_of(own_words(f"{prompt}all is well", work(prompt))) is None


def test_data_that_has_such_a_key_stays_data() -> None:
    prompt = compose(
        PromptParts("Do it.", upstream=(Upstream("a", "", '{"checkpoint_status": "x"}'),))
    )
    assert '> {"checkpoint_status": "x"}' in prompt


@pytest.mark.parametrize(
    ("message", "summary"),
    [
        ('Three of them.\n```json\n{"n": 3}\n```', "Three of them."),
        ('```json\n{"n": 3}\n```', '{"n": 3}'),
        ("", ""),
    ],
)
def test_the_summary_of_a_message_is_its_last_line_and_no_fence(message: str, summary: str) -> None:
    told = marker_of(f"{message}\n{READY}\n")
    assert told is not None
    assert told["summary"] == summary


@pytest.mark.parametrize(
    "message",
    [
        '{"n": 1}',
        f'{{"n": 1}}\n{READY}',
        f'```json\n{{"n": 1}}\n```\n\n{READY}\n',
        '```\n{"n": 1}\n```',
        f'Look:\n```\n{{"n": 0}}\n```\nHere it is:\n\n```json\n{{"n": 1}}\n```\n{READY}',
    ],
)
def test_the_output_is_what_stands_beside_the_readiness_line(message: str) -> None:
    assert declared_text(message) == '{"n": 1}'


def test_a_readiness_line_that_another_one_replaces_at_once_is_no_part_of_the_result() -> None:
    text = f"checkpoint_status: partial\n\n{READY}"
    assert without_declaration(text) == ""
    assert without_declaration(f"mended\n{text}\nbye").split() == ["mended", "bye"]
    assert without_declaration(f"{text}\nmore\n{READY}") == f"{text}\nmore"


def test_a_flood_of_blank_lines_is_read_as_fast_as_it_is_long() -> None:
    # With a pattern that crosses the ends of lines this takes hours: the limit of a test is its judge.
    blank = "\n" * 2_000_000
    assert marker_of(f"{blank}end") is None
    report = marker_of(f"done{blank}checkpoint_status: partial{blank}")
    assert report is not None
    assert report["checkpoint_status"] == "partial"


@pytest.mark.parametrize(
    ("last", "status"),
    [
        ("checkpoint_status: failed (two tests fail)", "failed"),
        ("**checkpoint_status: failed**", "failed"),
        ("`checkpoint_status: partial`", "partial"),
        ("- checkpoint_status : needs_orchestrator - which key?", "needs_orchestrator"),
        ("> **checkpoint_status:** failed", "failed"),
    ],
)
def test_the_last_readiness_line_holds_whatever_stands_around_it(last: str, status: str) -> None:
    for text in (last, f"{READY}\nOn a second look it is not.\n{last}\n"):
        said = marker_of(own_words(text, work("Do it.")))
        assert said is not None
        assert said["checkpoint_status"] == status


@pytest.mark.parametrize(
    "last", [f"{READY} unless the tests fail", f"**{READY}**", f"- {READY} (I hope)"]
)
def test_only_a_line_of_its_own_says_ready(last: str) -> None:
    assert marker_of(own_words(f"{READY}\nwell\n{last}", work("Do it."))) is None


def test_the_end_of_a_message_takes_back_a_report_that_it_is_ready_and_gives_none() -> None:
    ready, partial = {"checkpoint_status": "checkpoint_ready"}, {"checkpoint_status": "partial"}
    assert declared_by(ready, "no\ncheckpoint_status: failed") == {
        "checkpoint_status": "failed",
        "summary": "no",
    }
    assert declared_by(partial, READY) == partial
    assert declared_by(ready, "well") == declared_by(ready, READY) == ready
    assert declared_by(None, "well") is None
