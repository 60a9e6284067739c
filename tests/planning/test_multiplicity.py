"""A plan says how many items a step has, as far as that is known, else what decides it."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.planning.environment import Environment
from pixirnb.planning.multiplicity import Multiplicity, multiplicities
from pixirnb.planning.report import report, require
from pixirnb.spec.loader import load
from pixirnb.spec.workflow import Workflow
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.plan_view import plan_blocks

INPUTS = """
inputs:
  files: {type: array, default: [a, b, c]}
  named: {type: object, default: {list: [1, 2]}}
  given: {type: array}
"""


def workflow(for_each: str) -> Workflow:
    text = f"""
name: w
{INPUTS}
steps:
  - {{id: find, run: 'true', read_set: []}}
  - {{id: size, depends_on: find, for_each: {for_each}, run: "echo {{{{ item }}}}", read_set: []}}
  - {{id: double, for_each: {{same_as: size, max_parallel: 2}}, run: "true", read_set: []}}
"""
    return require(load(text))


@pytest.mark.parametrize(
    ("for_each", "count", "source"),
    [
        ("[x, y]", 2, None),
        ("[]", 0, None),
        ('"{{ inputs.files }}"', 3, "inputs.files"),
        ('"{{ inputs.named }}"', 1, "inputs.named"),
        ('"{{ inputs.named.list }}"', 2, "inputs.named.list"),
        ('"{{ inputs.named.other }}"', None, "inputs.named.other"),
        ('"{{ inputs.given }}"', None, "inputs.given"),
        ('"{{ steps.find.output }}"', None, "steps.find.output"),
    ],
)
def test_the_number_of_items_is_that_of_the_list_and_of_who_shares_it(
    for_each: str, count: int | None, source: str | None
) -> None:
    known = Multiplicity(count, source)
    assert multiplicities(workflow(for_each), {}) == {"size": known, "double": known}


def test_lists_shared_in_a_circle_or_with_nobody_are_no_number() -> None:
    steps: list[dict[str, Any]] = [
        {"id": "a", "for_each": {"same_as": "b"}, "run": "true"},
        {"id": "b", "for_each": {"same_as": "a"}, "run": "true"},
        {"id": "c", "for_each": {"same_as": "nobody"}, "run": "true"},
    ]
    written = load({"name": "w", "steps": steps}).workflow
    assert written is not None
    assert {each.count for each in multiplicities(written, {}).values()} == {None}


def test_the_document_has_items_of_steps_with_for_each_alone() -> None:
    found = report(workflow("[x, y]"), Environment()).document()["steps"]
    assert "items" not in found[0]
    policies = {
        key: found[2].get(key) for key in ("items", "items_from", "max_parallel", "require", "key")
    }
    assert policies == {
        "items": 2,
        "items_from": None,
        "max_parallel": 2,
        "require": "all",
        "key": None,
    }
    assert found[1]["kind"] == "shell"


def test_agent_minutes_count_items_and_say_nothing_of_an_unknown_number() -> None:
    agents: dict[str, Any] = {"w": {"script": {"*": [[{"say": "x"}]]}}}
    step = {
        "id": "a",
        "for_each": "{{ inputs.l }}",
        "task": "Look.",
        "agent": "w",
        "timeout": "30m",
    }
    inputs = {"l": {"type": "array", "default": [1, 2]}, "m": {"type": "array"}}

    def minutes(**said: Any) -> tuple[float, bool]:
        flow = {"name": "t", "inputs": inputs, "agents": agents, "steps": [{**step, **said}]}
        planned = report(require(load(flow)), Environment()).with_inputs({"l": [1] * 5, "m": [1]})
        plain = report(require(load(flow)), Environment())
        is_told = "agent minutes" in draw_text(plan_blocks(plain.document()))
        return planned.agent_minutes, is_told

    assert minutes() == (150.0, True)
    assert minutes(for_each="{{ inputs.m }}") == (30.0, False)
