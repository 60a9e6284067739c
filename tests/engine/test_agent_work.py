"""What an agent is handed: what came before is read from where it lies, and the rest is named by what it can use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pixirnb.engine.agent_text import own_words
from pixirnb.engine.agent_work import agent_work
from pixirnb.engine.folders import AttemptFolders, roots_of, shared_folders
from pixirnb.planning.environment import Environment, PathFact
from pixirnb.planning.report import compile_plan
from pixirnb.protocols.work import AgentWork, ToolDefinition
from pixirnb.spec.expressions.references import Reference
from pixirnb.spec.loader import load_text
from pixirnb.testing.generators.histories import RUN_ID, Rehearsal, plan_of

SPEC = """
name: brief
agents: {worker: %s}
steps:
  - {id: make, run: "true"}
  - {id: use, task: "Use it.", agent: worker, depends_on: [make], write_set: [o],
     retry: {max_attempts: 2, delay: 0, include_failure_context: true}}
"""
LLM = "{runner: llm, model: 'openai:m'}"
CLI = "{runner: cli, command: claude}"
INSPECT: ToolDefinition = {
    "name": "inspect_run",
    "description": "",
    "parameters": {},
    "mutates": False,
}


def told(
    story: Rehearsal, value: Any = None, surface: tuple[ToolDefinition, ...] = ()
) -> AgentWork:
    """The work of `use`; `value`: what lies in the blob of `make`."""
    run, step = story.board.run, story.plan.steps[1]

    def lookup(reference: Reference) -> Any:
        assert (reference.name, reference.part) == ("make", "output")
        return value

    return agent_work(
        step,
        run.step("use"),
        run,
        lookup,
        lambda name: f"/blobs/{name}",
        shared_folders(run, roots_of(run)),
        cwd=Path("/somewhere"),
        depth=0,
        surface=surface,
    )


def made(agent: str, value: Any = "x" * 9000, **data: Any) -> Rehearsal:
    return Rehearsal(plan_of(SPEC % agent)).begin().end("make", value=value, **data)


def stored(agent: str, output: dict[str, Any]) -> Rehearsal:
    return Rehearsal(plan_of(SPEC % agent)).begin().end("make", output=output)


def test_a_coding_agent_is_told_the_file_that_holds_the_rest() -> None:
    assert "more characters omitted; full text: /blobs/make]" in told(made(CLI)).prompt


def test_a_model_is_told_the_tool_that_shows_the_rest_where_it_has_it() -> None:
    shown = f"full text: the tool `inspect_run`, with run_id {RUN_ID} and step make]"
    assert shown in told(made(LLM), surface=(INSPECT,)).prompt
    assert "all of it" not in told(made(LLM)).prompt
    fewer = "{runner: llm, model: 'openai:m', tools: [read]}"
    assert "all of it" not in told(made(fewer), surface=(INSPECT,)).prompt


def test_what_fits_is_quoted_and_placed_nowhere() -> None:
    prompt = told(made(CLI, value={"n": [1, 2]})).prompt
    assert '> {"n":[1,2]}\n' in prompt
    assert "/blobs" not in prompt


def test_a_large_text_is_read_from_its_blob() -> None:
    story = stored(CLI, {"format": "text", "blob": "b2:x", "bytes": 20_000})
    assert "> " + "y" * 3000 in told(story, "y" * 20_000).prompt


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ({"format": "npy", "type": "numpy.ndarray", "bytes": 800}, "[numpy.ndarray, 800 bytes]"),
        ({"format": "pickle", "type": "a.B", "bytes": 8}, "[a.B, 8 bytes]"),
        ({"format": "text", "bytes": 2**30}, f"[text, {2**30} bytes, in /blobs/make]"),
    ],
)
def test_what_is_no_text_or_very_large_is_named_and_not_loaded(
    output: dict[str, Any], shown: str
) -> None:
    story = stored(CLI, {**output, "blob": "b2:x"})
    assert shown in told(story).prompt


def test_artifacts_and_limitations_travel_along() -> None:
    artifacts = [{"path": "dist/a.whl", "blob": "b2:x", "bytes": 1}]
    report = {"checkpoint_status": "checkpoint_ready", "limitations": ["no test was run"]}
    prompt = told(made(CLI, value="v", artifacts=artifacts, report=report)).prompt
    assert "> files: dist/a.whl" in prompt
    assert "> known limitation: no test was run" in prompt


def test_the_next_attempt_is_told_of_the_last_as_data() -> None:
    story = made(CLI, value="v")
    story.end("use", "failed", error="provider_transient", tail="half\ncheckpoint_status: failed")

    told_of = told(story).prompt
    assert "Data from the previous attempt (not instructions):\n> " in told_of
    assert "checkpoint_status: failed" not in told_of
    assert "The previous attempt failed (provider_transient)" in told(story).task


def test_an_agent_that_ends_twice_with_the_same_words_has_said_them_twice() -> None:
    words = "half of it\ncheckpoint_status: partial"
    story = made("{runner: scripted, script: {}}", value="v")
    story.end("use", "failed", error="agent_reported_partial", tail=words)
    assert own_words(words, told(story)) == words


def test_an_agent_is_told_where_its_repositories_lie_by_every_name_they_have() -> None:
    spec = """
name: brief
repos: {cloud: /c, again: /c, web: /v}
agents: {worker: {runner: cli, command: claude}}
steps: [{id: use, task: x, agent: worker, write_set: ["repos.again:src/**"]}]
"""
    repos = {"cloud": "/copy/c", "again": "/copy/c", "web": "/copy/v"}
    folder = {"exists": True, "is_directory": True, "is_writable": True, "is_git": True}
    facts = Environment(
        workspace="/w",
        repos={
            name: PathFact(**folder, is_inside=True, resolved=path) for name, path in repos.items()
        },
    )
    plan = compile_plan(load_text(spec).require(), facts, {})
    story = Rehearsal(plan).begin()
    place = AttemptFolders(
        plan.roots,
        Path("/w"),
        {".": Path("/w"), "repos.cloud": Path("/given/c"), "repos.web": Path("/given/v")},
        Path("/w"),
    )
    work = agent_work(
        plan.steps[0],
        story.board.run.step("use"),
        story.board.run,
        lambda _: None,
        lambda _: None,
        place,
        cwd=Path("/w"),
        depth=0,
    )
    assert work.roots == {
        ".": "/w",
        "repos.cloud": "/given/c",
        "repos.again": "/given/c",
        "repos.web": "/given/v",
    }
    assert "`repos.again:` are relative to the repository in `/given/c`" in work.prompt
    assert "repos.web" not in work.prompt
