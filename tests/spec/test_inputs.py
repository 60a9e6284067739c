"""Inputs: declared, given, read from a command line, and refused all at once."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.errors import InvalidSpec
from pixirnb.spec.inputs import parse_input_text, resolve_inputs
from pixirnb.spec.loader import load_mapping
from pixirnb.spec.policies import Input
from pixirnb.spec.workflow import Workflow


def workflow(**inputs: dict[str, Any]) -> Workflow:
    spec = {"name": "w", "inputs": inputs, "steps": [{"id": "a", "run": "x"}]}
    return load_mapping(spec).require()


def test_given_values_win_over_defaults() -> None:
    declared = workflow(n={"type": "integer", "default": 3}, t={"type": "string"})
    assert resolve_inputs(declared, {"t": "x"}) == {"n": 3, "t": "x"}
    assert resolve_inputs(declared, {"t": "x", "n": 4}) == {"n": 4, "t": "x"}


def test_all_that_is_wrong_is_told_at_once() -> None:
    declared = workflow(
        n={"type": "integer", "default": 3},
        must={"type": "string"},
        scope={"type": "string", "enum": ["quick", "full"], "default": "quick"},
    )
    with pytest.raises(InvalidSpec) as raised:
        resolve_inputs(declared, {"n": "four", "scope": "huge", "scpoe": 1})
    told = {(each.code, each.path) for each in raised.value.problems}
    assert told == {
        ("input_invalid", "inputs.n"),
        ("input_invalid", "inputs.scope"),
        ("input_unknown", "inputs.scpoe"),
        ("input_missing", "inputs.must"),
    }
    fixes = " ".join(each.fix for each in raised.value.problems)
    assert "did you mean `scope`?" in fixes


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("string", "x", 1),
        ("integer", 1, True),
        ("integer", 10**30, 1.0),
        ("number", 1, "1"),
        ("number", 1.5, float("nan")),
        ("boolean", False, 0),
        ("array", [1, "x"], "x"),
        ("array", [], [object()]),
        ("object", {"a": 1}, []),
    ],
)
def test_a_value_has_the_declared_type(kind: str, good: object, bad: object) -> None:
    declared = workflow(x={"type": kind})
    assert resolve_inputs(declared, {"x": good}) == {"x": good}
    with pytest.raises(InvalidSpec) as raised:
        resolve_inputs(declared, {"x": bad})
    assert [each.code for each in raised.value.problems] == ["input_invalid"]


@pytest.mark.parametrize(
    ("kind", "choices", "value", "is_one"),
    [
        ("integer", [1, 2], True, False),
        ("array", [[1]], [True], False),
        ("object", [{"n": False}], {"n": 0}, False),
        ("number", [1, 2], 1.0, True),
        ("array", [[1, 2]], (1, 2), True),
    ],
)
def test_an_input_is_a_choice_as_json_compares(
    kind: str, choices: list[object], value: object, is_one: bool
) -> None:
    declared = workflow(x={"type": kind, "enum": choices})
    if is_one:
        assert resolve_inputs(declared, {"x": value}).keys() == {"x"}
        return
    with pytest.raises(InvalidSpec):
        resolve_inputs(declared, {"x": value})


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("string", "3", "3"),
        ("integer", "3", 3),
        ("number", "0.5", 0.5),
        ("boolean", "true", True),
        ("array", '["a", 1]', ["a", 1]),
        ("object", '{"a": null}', {"a": None}),
        ("integer", "three", "three"),
        ("boolean", "yes", "yes"),
    ],
)
def test_text_of_a_command_line_is_read_by_the_declared_type(
    kind: str, text: str, value: object
) -> None:
    assert parse_input_text(Input.model_validate({"type": kind}), text) == value
