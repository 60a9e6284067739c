"""What makes a step's result stale, and what does not: the contract's list, one line each."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.machine import fingerprint
from pixirnb.testing.generators.histories import Rehearsal, plan_of

SHELL = {"id": "a", "run": "x"}
PYTHON = {"id": "a", "call": ":f"}
AGENT = {"id": "a", "task": "x", "agent": "w"}
ASK = {"id": "a", "ask": {"question": "?"}}


def static(step: dict[str, Any], source: str = "1", **agent: Any) -> str:
    workflow = {"name": "t", "agents": {"w": agent, "v": agent}, "steps": [step]}
    workflow["phases"] = [{"name": "p", "steps": ["a"]}] if "phase" not in step else []
    sources = {":f": source}
    return fingerprint.static(plan_of(workflow, sources).steps[0], sources)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SHELL, {"id": "a", "run": ["x"]}),
        (SHELL, {**SHELL, "run": "y"}),
        (SHELL, {"id": "a", "call": "m:x"}),
        (PYTHON, {**PYTHON, "with": {"n": 1}}),
        (ASK, {"id": "a", "ask": {"question": "?", "choices": [1]}}),
        (SHELL, {**SHELL, "cwd": "sub"}),
        (SHELL, {**SHELL, "env": {"A": "1"}}),
        (SHELL, {**SHELL, "output": {"type": "object"}}),
        (SHELL, {**SHELL, "verify": [{"exit_code": 0}]}),
        (SHELL, {**SHELL, "artifacts": ["*.whl"]}),
        (AGENT, {**AGENT, "task": "y"}),
    ],
)
def test_what_the_step_does_counts(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert static(before) != static(after)


@pytest.mark.parametrize(
    "agent",
    [
        {"role": "r"},
        {"tools": ["read"]},
        {"model": "m"},
        {"command": ["c"]},
        {"script": {"a": [[{"say": "hi"}]]}},
        {"script": {"*": [[{"say": "hi"}]]}},
        {"cwd": "sub"},
        {"runner": "cli", "command": ["c"]},
    ],
)
def test_who_the_agent_is_counts(agent: dict[str, Any]) -> None:
    assert static(AGENT) != static(AGENT, **agent)


def test_where_the_agent_works_counts_only_where_the_step_does_not_say() -> None:
    here = {**AGENT, "cwd": "here"}
    assert static(here) == static(here, cwd="sub")
    assert static(AGENT, cwd="here") == static(here)


def test_the_pinned_source_counts_for_calls_and_checks() -> None:
    assert static(PYTHON) != static(PYTHON, "2")
    check = {**SHELL, "verify": [{"python": ":f"}]}
    assert static(check) != static(check, "2")
    assert static(SHELL) == static(SHELL, "2")


@pytest.mark.parametrize(
    "words",
    [
        {"description": "d"},
        {"title": "T"},
        {"phase": "q"},
        {"timeout": "5s"},
        {"retry": {"max_attempts": 3}},
        {"read_set": ["a"]},
        {"write_set": ["a"]},
        {"posture": "writer"},
        {"rerun": "ask"},
        {"when": "1 == 1"},
        {"env": {}},
        {"verify": []},
        {"artifacts": []},
    ],
)
def test_what_only_says_how_or_when_does_not_count(words: dict[str, Any]) -> None:
    assert static(SHELL) == static({**SHELL, **words})


@pytest.mark.parametrize(
    "agent",
    [
        {"timeout": "5s"},
        {"permission_mode": "auto"},
        {"retry": {"max_attempts": 2}},
        {"script": {"b": [[]]}},
    ],
)
def test_what_an_agent_is_allowed_does_not_count(agent: dict[str, Any]) -> None:
    assert static(AGENT) == static(AGENT, **agent)
    assert static(AGENT) == static({**AGENT, "agent": "v"})


def given(**left: Any) -> str:
    """What `b` is given by an `a` that left this."""
    plan = plan_of(
        {
            "name": "t",
            "steps": [
                {"id": "a", "run": "x"},
                {"id": "b", "run": ["x", "{{ steps.a.output.k }}"], "depends_on": ["a"]},
            ],
        }
    )
    play = Rehearsal(plan).begin().end("a", **left)
    return str(play.data_of("step_scheduled")[0]["fingerprint"]["dynamic"])


def test_what_dependencies_left_counts_and_how_long_they_took_does_not() -> None:
    assert given(value={"k": 1}) == given(value={"k": 1}, elapsed_ms=99, summary="other")
    assert given(value={"k": 1}) != given(value={"k": 2})
    assert given(value={"k": 1}) != given(value={"k": 1}, artifacts=[{"path": "p", "blob": "b2:1"}])


def test_a_large_value_is_seen_by_its_blob_whether_it_was_loaded_or_not() -> None:
    plan = plan_of(
        {
            "name": "t",
            "steps": [
                {"id": "a", "run": "x"},
                {"id": "b", "run": "x", "depends_on": ["a"]},
                {"id": "c", "run": ["x", "{{ steps.a.output.k }}"], "depends_on": ["b"]},
            ],
        }
    )

    def seen(blob: str, loaded: dict[str, Any]) -> Any:
        play = Rehearsal(plan).begin()
        play.board.values.update(loaded)
        play.end("a", output={"format": "json", "blob": blob, "bytes": 9}).end("b")
        return play.data_of("step_scheduled")[0]["fingerprint"]["dynamic"]

    assert seen("b2:1", {}) == seen("b2:1", {"a": {"k": 1}})
    assert seen("b2:1", {}) != seen("b2:2", {})


def test_a_script_for_one_item_counts_for_its_list() -> None:
    def script(value: int) -> dict[str, Any]:
        ready = {"checkpoint_status": "checkpoint_ready", "summary": str(value)}
        return {"runner": "scripted", "script": {"a@1": [[{"report": ready}]], "a": [[]]}}

    step = {**AGENT, "for_each": ["x", "y"]}
    assert static(step, **script(1)) != static(step, **script(2))
    assert static(step, **script(1)) == static(step, **script(1))
