"""The plan the machine drives: who said which time-out, who writes, who runs as a process."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.planning.environment import Environment
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.planning.report import compile_plan
from pixirnb.spec.loader import load_mapping

AGENT = {"b": {"runner": "scripted"}}


def planned(*steps: dict[str, Any], **keys: Any) -> Plan:
    spec = {"name": "w", "steps": list(steps), **keys}
    return compile_plan(load_mapping(spec).require(), Environment(), {})


def only(step: dict[str, Any], **keys: Any) -> PlannedStep:
    return planned({"id": "a", **step}, **keys).steps[0]


@pytest.mark.parametrize(
    ("step", "keys", "expected"),
    [
        ({"run": "x"}, {}, (1_800_000, "standard")),
        ({"run": "x"}, {"defaults": {"timeout": "20m"}}, (1_200_000, "defaults")),
        ({"run": "x", "timeout": 5}, {"defaults": {"timeout": "20m"}}, (5_000, "step")),
        ({"task": "x", "agent": "b"}, {"agents": {"b": {"timeout": "1m"}}}, (60_000, "agent")),
        (
            {"task": "x", "agent": "b"},
            {"agents": {"b": {"timeout": "1m"}}, "defaults": {"timeout": "2m"}},
            (60_000, "agent"),
        ),
        ({"ask": {"question": "?"}}, {"defaults": {"timeout": "2m"}}, (None, "none")),
        ({"ask": {"question": "?"}, "timeout": "2m"}, {}, (120_000, "step")),
    ],
)
def test_the_nearest_level_sets_the_time_out(
    step: dict[str, Any], keys: dict[str, Any], expected: tuple[int | None, str]
) -> None:
    found = only(step, **keys)
    assert (found.timeout_ms, found.timeout_source) == expected


def test_the_nearest_level_sets_the_retries() -> None:
    keys: dict[str, Any] = {"defaults": {"retry": {"max_attempts": 2}}, "agents": AGENT}
    task = {"task": "x", "agent": "b"}
    assert only(task, **keys).retry.max_attempts == 2
    keys["agents"] = {"b": {"retry": {"max_attempts": 3}}}
    assert only(task, **keys).retry.max_attempts == 3
    assert only({**task, "retry": {"max_attempts": 4}}, **keys).retry.max_attempts == 4
    assert only({"run": "x"}).retry.max_attempts == 1


def test_defaults_speak_where_a_step_is_silent() -> None:
    keys = {"defaults": {"env": {"A": "1"}, "posture": "read_only", "rerun": "ask"}}
    assert only({"run": "x"}, **keys).spec.env == {"A": "1"}
    assert only({"run": "x"}, **keys).spec.rerun == "ask"
    assert only({"run": "x", "env": {}}, **keys).spec.env == {}
    assert only({"run": "x", "posture": "writer"}, **keys).posture == "writer"


ALL = ("**/*",)


@pytest.mark.parametrize(
    ("step", "keys", "expected"),
    [
        ({"run": "x"}, {}, ("undeclared", (), ())),
        ({"run": "x"}, {"undeclared_writers": "serialize"}, ("undeclared", (), ALL)),
        ({"run": "x", "posture": "writer"}, {}, ("writer", (), ALL)),
        ({"run": "x", "posture": "read_only"}, {}, ("read_only", ALL, ())),
        ({"run": "x", "write_set": ["o"]}, {}, ("writer", (), ("o",))),
        ({"run": "x", "read_set": ["i"]}, {}, ("read_only", ("i",), ())),
        ({"run": "x", "write_set": []}, {}, ("read_only", ALL, ())),
        ({"call": "m:f"}, {}, ("read_only", (), ())),
        ({"call": "m:f", "write_set": ["o"]}, {}, ("writer", (), ("o",))),
        ({"call": "m:f", "posture": "writer"}, {}, ("writer", (), ALL)),
        ({"task": "x", "agent": "b"}, {"agents": AGENT}, ("writer", (), ALL)),
        (
            {"task": "x", "agent": "b"},
            {"agents": {"b": {"posture": "read_only"}}},
            ("read_only", ALL, ()),
        ),
        (
            {"task": "x", "agent": "b", "posture": "writer"},
            {"agents": {"b": {"posture": "read_only"}}},
            ("writer", (), ALL),
        ),
        ({"ask": {"question": "?"}}, {}, ("read_only", (), ())),
    ],
)
def test_a_step_claims_what_it_says_or_what_its_kind_does(
    step: dict[str, Any],
    keys: dict[str, Any],
    expected: tuple[str, tuple[str, ...], tuple[str, ...]],
) -> None:
    found = only(step, **keys)
    assert (found.posture, found.read_set, found.write_set) == expected
    is_isolated = found.kind == "agent" and found.posture == "writer"
    assert found.workspace == ("isolated" if is_isolated else "shared")


@pytest.mark.parametrize(
    ("step", "is_process"),
    [
        ({"call": "m:f"}, False),
        ({"call": "m:f", "process": True}, True),
        ({"call": "m:f", "env": {"A": "1"}}, True),
        ({"call": "m:f", "cwd": "."}, True),
        ({"call": "m:f", "workspace": "isolated"}, True),
        ({"call": "m:f", "workspace": "isolated", "process": False}, True),
        ({"call": "m:f", "write_set": ["o"]}, True),
        ({"call": "m:f", "write_set": ["o"], "process": False}, True),
        ({"call": "m:f", "retry": {"max_attempts": 2}}, True),
        ({"call": "m:f", "retry": {"max_attempts": 2, "classes": ["crash"]}}, False),
        ({"call": "m:f", "retry": {"max_attempts": 1}}, False),
        ({"run": "x"}, False),
    ],
)
def test_a_python_step_that_may_have_to_be_killed_is_a_process(
    step: dict[str, Any], is_process: bool
) -> None:
    assert only(step).process is is_process


def test_the_plan_knows_edges_waves_and_phases_by_index() -> None:
    plan = planned(
        {"id": "a", "run": "x", "phase": "one"},
        {"id": "b", "run": "x", "depends_on": ["a"], "phase": "two"},
        {"id": "c", "run": "x", "depends_on": ["a"]},
        {"id": "d", "run": "x", "depends_on": ["c", "b"]},
        max_concurrency=1,
    )
    assert plan.index == {"a": 0, "b": 1, "c": 2, "d": 3}
    assert [step.depends_on for step in plan.steps] == [(), (0,), (0,), (2, 1)]
    assert [step.dependents for step in plan.steps] == [(1, 2), (3,), (3,), ()]
    assert [step.wave for step in plan.steps] == [0, 1, 2, 3]
    assert plan.phases == (("one", (0,)), ("two", (1,)), ("rest", (2, 3)))
    assert [step.phase for step in plan.steps] == ["one", "two", "rest", "rest"]
    assert (plan.max_concurrency, plan.timeout_ms, plan.sources) == (1, None, {})


def test_references_come_in_order_of_appearance() -> None:
    step = only(
        {
            "run": "echo {{ inputs.a }}",
            "env": {"B": "{{ inputs.b }}"},
            "cwd": "{{ inputs.c }}",
            "verify": [{"command": ["test", "{{ run.id }}"]}],
            "when": "{{ inputs.d }} == 1",
        },
        inputs={name: {"type": "string", "default": ""} for name in "abcd"},
    )
    assert [reference.name for reference in step.references] == ["a", "b", "c", "run"]
    assert step.when is not None
    assert [reference.name for reference in step.when.references] == ["d"]
