"""A workflow is written as YAML that loads back to an equal one, whatever its texts hold, and that a person can read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pixirnb.errors import Problem
from pixirnb.spec.loader import load_mapping, load_text
from pixirnb.spec.workflow import Workflow
from pixirnb.spec.yaml.reader import read_yaml
from pixirnb.spec.yaml.writer import write
from pixirnb.testing.generators.strategies import json_values, workflows
from tests.sweeps import examples

ROOT = Path(__file__).parents[3]
OURS = [*sorted((ROOT / "examples").glob("*.yaml")), ROOT / "docs/reference/every-key.yaml"]

TEXTS = st.text(
    alphabet=st.sampled_from("ab:#-?{}[]!&*|>%@`'\"\\,= \n\t01.eExo~<\u0085\u2028\u202e\x1b\x7fü€😀\ufeff")
) | st.sampled_from(
    ["no", "yes", "null", "~", "1e3", "0o7", "0x1F", "1:30", ".5", "+1", "2026-11-22", "true", "<<", "=", "---", "a: b"]
)  # fmt: skip


def loaded(value: dict[str, Any]) -> Workflow:
    found = load_mapping(value).workflow
    assert found is not None
    return found


def again(workflow: Workflow) -> Workflow:
    text = write(workflow)
    # Both parsers there are read the same of it.
    assert read_yaml(text).value == read_yaml(text, in_python=True).value
    read = load_text(text)
    assert read.workflow is not None, (text, read.problems)
    return read.workflow


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_every_workflow_of_ours_comes_back_as_it_was(path: Path) -> None:
    workflow = load_text(path.read_bytes()).workflow
    assert workflow is not None
    found = again(workflow)
    assert found == workflow
    assert found.canonical() == workflow.canonical()
    assert write(found) == write(workflow)


@given(workflows())
@settings(max_examples=examples(60), deadline=None)
def test_any_workflow_comes_back_as_it_was(value: dict[str, Any]) -> None:
    workflow = loaded(value)
    assert again(workflow) == workflow


@given(TEXTS, json_values)
@example("a\n b\n", None)
@example(" a\nb", None)
@example("a\n\n\n", None)
@example("\na", None)
@example("a\nb", None)
@example("a \nb", None)
@settings(max_examples=examples(300), deadline=None)
def test_any_text_and_any_value_come_back_as_they_were(text: str, value: Any) -> None:
    steps = [
        {"id": "a", "call": "m:f", "with": {"text": text, text: value}, "description": text},
        {"id": "b", "run": ["x", text], "env": {"A": text}},
    ]
    workflow = loaded({"name": "w", "description": text, "steps": steps})
    assert again(workflow) == workflow


def test_nothing_that_a_terminal_obeys_is_written_as_it_is() -> None:
    text = "a\x1b[31m \u202e b\x07\u0085"
    written = write(loaded({"name": "w", "description": text, "steps": [{"id": "a", "run": "x"}]}))
    assert all(char.isprintable() or char == "\n" for char in written)


def test_notes_stand_above_as_comments_that_nothing_in_them_can_end() -> None:
    note = Problem("relay_inert", "swarm.pattern", "says nothing\nsteps: []\u2028x", "leave it", 3)
    workflow = loaded({"name": "w", "steps": [{"id": "a", "run": "x"}]})
    written = write(workflow, [note])
    assert written.splitlines()[0] == "# swarm.pattern: says nothing steps: [] x (relay_inert)"
    assert load_text(written).workflow == workflow


def test_it_reads_as_a_person_would_write_it() -> None:
    workflow = loaded(
        {
            "steps": [
                {
                    "retry": {"delay": "15s", "max_attempts": 2},
                    "depends_on": ["a", "b"],
                    "task": "One line.\nAnd another.\n",
                    "agent": "w",
                    "timeout": 90,
                    "id": "c",
                },
            ],
            "agents": {"w": {"command": "claude", "runner": "cli"}},
            "name": "w",
            "readiness": "lenient",
        }
    )
    assert write(workflow) == (
        "name: w\n"
        "readiness: lenient\n"
        "\n"
        "agents:\n"
        "  w: {runner: cli, command: claude}\n"
        "\n"
        "steps:\n"
        "  - id: c\n"
        "    task: |\n"
        "      One line.\n"
        "      And another.\n"
        "    agent: w\n"
        "    depends_on: [a, b]\n"
        "    timeout: 90s\n"
        "    retry: {max_attempts: 2, delay: 15s}\n"
    )
