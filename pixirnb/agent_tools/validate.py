"""Validation of an agent's arguments against the tool's schema: every mistake at once, each with its position."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from pixirnb.agent_tools.definitions import Tool
from pixirnb.errors import InvalidArguments, Problem
from pixirnb.json_types import JsonObject
from pixirnb.spec.limits import NESTING, nests_too_deep
from pixirnb.spec.schemas import validator

if TYPE_CHECKING:  # imported where it is used: `import pixirnb` stays light
    from jsonschema.exceptions import ValidationError


def validate_arguments(tool: Tool, args: Any) -> JsonObject:
    """Return the arguments, as a mapping.

    Raises InvalidArguments with a `details.reason`, and each problem in `details.errors`.
    """
    if not isinstance(args, Mapping):
        raise InvalidArguments(
            f"`{tool.name}` takes a mapping of arguments, got {_typed(args)}",
            fix=f"pass {_names(tool)}",
            details={"reason": "argument_wrong"},
        )
    if nests_too_deep(args):
        raise InvalidArguments(
            f"the arguments of `{tool.name}` nest deeper than {NESTING} levels",
            fix="Flatten them.",
            details={"reason": "argument_wrong"},
        )
    try:
        json.dumps(args, allow_nan=False)
    except ValueError as error:
        raise InvalidArguments(
            f"the arguments of `{tool.name}` contain a number that JSON cannot represent",
            fix="use finite numbers",
            details={"reason": "argument_wrong"},
        ) from error
    problems = [
        problem
        for error in validator(tool.parameters).iter_errors(dict(args))
        for problem in _problems(error, tool)
    ]
    if problems:
        is_one = len(problems) == 1
        raise InvalidArguments(
            problems[0].message
            if is_one
            else f"{len(problems)} invalid arguments for `{tool.name}`",
            fix=problems[0].fix if is_one else "",
            details={
                "reason": problems[0].code,
                "errors": [problem.document() for problem in problems],
            },
        )
    return dict(args)


def _problems(error: ValidationError, tool: Tool) -> list[Problem]:
    path = ".".join(str(part) for part in error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = tool.parameters["properties"]
        return [_strange(str(name), tool) for name in error.instance if name not in known]
    if error.validator == "required" and isinstance(error.instance, Mapping):
        missing = [name for name in tool.parameters["required"] if name not in error.instance]
        message = f"missing argument `{missing[0]}`" if len(missing) == 1 else error.message
        return [Problem("argument_missing", path, message, f"pass {_names(tool)}")]
    argument = tool.parameters["properties"].get(str(error.absolute_path[0]), {})
    fix = f"{str(argument.get('description', '')).partition('. ')[0].rstrip('.')}"
    message = error.message
    if error.validator == "type":
        expected = _expected(error.validator_value)
        message, fix = (
            f"expected {expected}, got {_typed(error.instance)}",
            f"pass {expected}: {fix}",
        )
    return [Problem("argument_wrong", path, f"`{path}`: {message}"[:400], fix)]


_TYPES: Final = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}


def _expected(types: Any) -> str:
    """Return the types of a schema in words."""
    names = types if isinstance(types, list) else [types]
    return " or ".join(str(_TYPES.get(name, name)) for name in names)


def _typed(value: object) -> str:
    """Return the type of a value in words."""
    match value:
        case None:
            return "null"
        case bool():
            return _TYPES["boolean"]
        case int() | float():
            return _TYPES["number"]
        case str():
            return _TYPES["string"]
        case Mapping():
            return _TYPES["object"]
        case list() | tuple():
            return _TYPES["array"]
        case _:
            return type(value).__name__


def _strange(name: str, tool: Tool) -> Problem:
    near = get_close_matches(name, list(tool.parameters["properties"]), 1)
    meant = f"did you mean `{near[0]}`?" if near else f"use {_names(tool)}"
    return Problem("argument_unknown", name, f"unknown argument `{name}`", meant)


def _names(tool: Tool) -> str:
    return ", ".join(f"`{name}`" for name in tool.parameters["properties"])
