"""Inputs of a run: the given values, checked against the declarations of the workflow."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from pixirnb.errors import InvalidArguments, InvalidSpec, Problem
from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.expressions.conditions import is_same
from pixirnb.spec.fields import shown
from pixirnb.spec.known_words import one_of
from pixirnb.spec.limits import nests_too_deep
from pixirnb.spec.policies import Input, InputType
from pixirnb.spec.problems import SpecProblem, problems
from pixirnb.spec.source_map import PathParts
from pixirnb.spec.workflow import Workflow


def resolve_inputs(workflow: Workflow, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return every declared input with its value, given or default.

    Raises InvalidSpec with all mistakes (code of the first: `input_missing`, `input_unknown`, `input_invalid`),
    InvalidArguments if `given` is not a mapping.
    """
    if not isinstance(given, Mapping):
        raise InvalidArguments(
            f"inputs must be a mapping, got {type(given).__name__}",
            fix='pass them as `{"name": value}`',
        )
    mistakes = [_unknown(str(name), workflow) for name in given if name not in workflow.inputs]
    values: dict[str, Any] = {}
    for name, declared in workflow.inputs.items():
        if name in given:
            if (wrong := misfit(declared, given[name])) is None:
                values[name] = _kept(given[name])
            else:
                message, fix = wrong
                mistakes.append(
                    SpecProblem(
                        "input_invalid", ("inputs", name), f"input `{name}`: {message}", fix
                    )
                )
        elif declared.is_required:
            mistakes.append(
                SpecProblem(
                    "input_missing",
                    ("inputs", name),
                    f"missing input `{name}` ({declared.type})",
                    f"pass `--input {name}={_example(declared)}`",
                )
            )
        else:
            values[name] = _kept(declared.default)
    if mistakes:
        raise _refusal(problems(mistakes, workflow.source_map), workflow.name)
    return values


def _unknown(name: str, workflow: Workflow) -> SpecProblem:
    parts: PathParts = ("inputs", name)
    message = f"unknown input `{name}`"
    if not workflow.inputs:
        fix = "remove it: the workflow declares no inputs"
        return SpecProblem("input_unknown", parts, message, fix)
    fix = did_you_mean(name, workflow.inputs, otherwise=f"use {one_of(workflow.inputs)}")
    return SpecProblem("input_unknown", parts, message, fix)


def _refusal(wrong: tuple[Problem, ...], workflow: str) -> InvalidSpec:
    """Return the error for inputs given wrongly: the workflow itself is fine."""
    first = wrong[0]
    is_single = len(wrong) == 1
    return InvalidSpec(
        first.message if is_single else f"{len(wrong)} errors in the inputs of `{workflow}`",
        first.fix if is_single else "",
        code=first.code,
        path=first.path,
        line=first.line,
        problems=wrong,
    )


def parse_input_text(declared: Input, text: str) -> Any:
    """Return the value of an input from `k=TEXT` on a command line.

    Text of a `string` is taken unchanged; all else is read as JSON. Text that is not JSON is returned as text, so
    that `resolve_inputs` refuses it with all other mistakes.
    """
    if declared.type == "string":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def misfit(declared: Input, value: Any) -> tuple[str, str] | None:
    """Return why `value` cannot be this input, as message and fix; None if it can."""
    if not _is_of(declared.type, value):
        article = "an" if declared.type[0] in "aio" else "a"
        return (
            f"expected {article} {declared.type}, got {shown(value)}",
            f"use a value such as `{_example(declared)}`",
        )
    if declared.enum is not None and not any(is_same(value, each) for each in declared.enum):
        choices = [str(choice) for choice in declared.enum]
        return f"{shown(value)} is not one of the choices", f"use {one_of(choices)}"
    return None


def _is_of(kind: InputType, value: Any) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool) and _is_json(value)
        case "number":
            return (
                isinstance(value, int | float)
                and not isinstance(value, bool)
                and math.isfinite(value)
            )
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list | tuple) and _is_json(value)
        case "object":
            return isinstance(value, Mapping) and _is_json(value)


def _is_json(value: Any) -> bool:
    try:
        back = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return False
    return not nests_too_deep(value) and _keys(value) == _keys(back)


def _kept(value: Any) -> Any:
    """Return a valid value as the log has it: its lists and mappings are the run's own."""
    is_plain = not isinstance(value, list | tuple | dict)
    return value if is_plain else json.loads(json.dumps(value))


def _keys(value: Any) -> list[Any]:
    """Return the keys of all mappings: JSON converts keys that are not text."""
    if isinstance(value, Mapping):
        return [*value, *(key for inner in value.values() for key in _keys(inner))]
    return (
        [key for inner in value for key in _keys(inner)] if isinstance(value, list | tuple) else []
    )


def _example(declared: Input) -> str:
    if declared.enum:
        return str(declared.enum[0])
    return {
        "string": "text",
        "integer": "3",
        "number": "0.5",
        "boolean": "true",
        "array": "'[1, 2]'",
        "object": "'{\"a\": 1}'",
    }[declared.type]
