"""Steps on a cluster: which can be placed there, and what is a mistake of the plan."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.errors import InvalidSpec
from pixirnb.planning.environment import Environment
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import compile_plan
from pixirnb.spec.loader import load_mapping


def compiled(*steps: dict[str, Any], **fields: Any) -> Plan:
    """The plan of a workflow."""
    spec = {"name": "placed", "steps": list(steps), **fields}
    return compile_plan(load_mapping(spec).require(), Environment(), {})


def placements(plan: Plan) -> list[str]:
    return [step.placement for step in plan.steps]


def test_a_step_wins_over_defaults_and_these_over_the_workflow() -> None:
    bare, here = {"id": "a", "run": "true"}, {"id": "b", "run": "true", "placement": "local"}
    assert placements(compiled(bare, here)) == ["local", "local"]
    assert placements(compiled(bare, here, placement="cluster")) == ["cluster", "local"]
    defaults = {"placement": "local"}
    assert placements(compiled(bare, placement="cluster", defaults=defaults)) == ["local"]
    assert placements(compiled(bare, defaults={"placement": "cluster"})) == ["cluster"]


def test_questions_and_collecting_steps_of_a_placed_workflow_stay_here() -> None:
    plan = compiled(
        {"id": "a", "call": "math:sqrt", "for_each": [1, 2]},
        {"id": "b", "ask": "Go?"},
        {"id": "c", "run": "true", "workspace": "isolated", "write_set": ["x"]},
        placement="cluster",
    )
    assert placements(plan) == ["local", "local", "cluster"]
    template = plan.steps[0].template
    assert template is not None
    assert template.placement == "cluster"


def test_resources_are_numbers_and_sizes() -> None:
    resources = {"GPU": 1, "memory": "8GiB", "disk": "2 GB", "share": 0.5}
    [step] = compiled(
        {"id": "a", "run": "true", "placement": "cluster", "resources": resources}
    ).steps
    assert step.spec.resources == {"GPU": 1, "memory": 8 * 2**30, "disk": 2e9, "share": 0.5}


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ({"ask": "Go?", "placement": "cluster"}, "cluster_unsupported"),
        ({"run": "true", "resources": {"GPU": 1}}, "resources_unused"),
        ({"run": "true", "placement": "cluster", "resources": {"GPU": "many"}}, "bad_resources"),
        ({"run": "true", "placement": "cluster", "resources": {"GPU": 0}}, "bad_resources"),
        ({"run": "true", "placement": "cluster", "resources": {"G\nU": 1}}, "bad_resources"),
        ({"run": "true", "placement": "there"}, "not_a_choice"),
    ],
)
def test_what_a_worker_cannot_do_is_a_mistake(written: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidSpec) as invalid:
        compiled({"id": "a", **written})
    assert code in str(invalid.value)
