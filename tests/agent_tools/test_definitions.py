"""The tools as data: sound schemas, nothing but what they name, and the same for everybody who is offered them."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from pixirnb import api
from pixirnb.agent_tools.definitions import OUTSIDE, SURFACE, Tool, definitions, is_mutation
from pixirnb.engine.engine import engine
from pixirnb.planning.checks.agents import TOOLS as NAMED_IN_SPECS

EVERY = [*SURFACE, OUTSIDE[-1]]


@pytest.mark.parametrize("tool", EVERY, ids=lambda tool: f"{tool.name}-{tool.mutates}")
def test_every_schema_is_one_and_takes_nothing_it_does_not_name(tool: Tool) -> None:
    Draft202012Validator.check_schema(tool.parameters)
    assert tool.parameters["type"] == "object"
    assert tool.parameters["additionalProperties"] is False
    assert set(tool.parameters["required"]) <= set(tool.parameters["properties"])
    assert not {"oneOf", "anyOf", "allOf", "not"} & set(tool.parameters)


@pytest.mark.parametrize("tool", EVERY, ids=lambda tool: f"{tool.name}-{tool.mutates}")
def test_every_argument_says_what_it_is(tool: Tool) -> None:
    assert all(each.get("description") for each in tool.parameters["properties"].values())
    assert 40 < len(tool.description) < 400


def test_what_makes_runs_go_is_a_mutation_and_what_looks_is_none() -> None:
    assert {tool.name for tool in SURFACE if tool.mutates} == {
        "run_workflow",
        "resume_workflow",
        "decide_step",
    }


def test_a_dry_run_changes_nothing_and_only_true_is_one() -> None:
    run_workflow = SURFACE[0]
    assert not is_mutation(run_workflow, {"dry_run": True})
    assert is_mutation(run_workflow, {"dry_run": "true"})
    assert is_mutation(run_workflow, {})


def test_an_agent_outside_names_the_run_it_marks_and_that_is_a_mutation() -> None:
    outside = next(tool for tool in OUTSIDE if tool.name == "workflow_checkpoint_save")
    assert outside.mutates
    assert "run_id" in outside.parameters["required"]


def test_the_engine_of_this_process_hands_agents_this_surface() -> None:
    assert callable(api.start)
    delegate = engine().delegate
    assert delegate is not None
    assert delegate.definitions == definitions(SURFACE)


def test_a_spec_may_give_an_agent_every_one_of_them_by_name() -> None:
    assert {tool.name for tool in SURFACE} <= set(NAMED_IN_SPECS)
