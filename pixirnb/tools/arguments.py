"""What an agent hands in, held to the tool's schema: every mistake at once, each with its place."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from pixirnb.errors import InvalidArguments, Problem
from pixirnb.spec.limits import NESTING, nests_too_deep
from pixirnb.tools.surface import Tool

if TYPE_CHECKING:  # imported where it is used: `import pixirnb` stays light
    from jsonschema.exceptions import ValidationError


def checked(tool: Tool, args: Any) -> dict[str, Any]:
    """The arguments, as a mapping. Raises InvalidArguments with each problem under `details.errors`."""
    if not isinstance(args, Mapping):
        raise InvalidArguments(
            f"`{tool.name}` takes a mapping of arguments, not {type(args).__name__}.",
            fix=f"Give it {_names(tool)}.",
        )
    if nests_too_deep(args):
        raise InvalidArguments(
            f"The arguments of `{tool.name}` nest deeper than {NESTING} levels.",
            fix="Flatten them.",
        )
    from jsonschema import Draft202012Validator

    found = [
        problem
        for error in Draft202012Validator(tool.parameters).iter_errors(dict(args))
        for problem in _problems(error, tool)
    ]
    if found:
        raise InvalidArguments(
            f"`{tool.name}` cannot be used like this: {found[0].message}",
            fix=found[0].fix,
            details={"errors": [problem.document() for problem in found]},
        )
    return dict(args)


def _problems(error: ValidationError, tool: Tool) -> list[Problem]:
    path = ".".join(str(part) for part in error.absolute_path)
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = tool.parameters["properties"]
        return [_strange(str(name), tool) for name in error.instance if name not in known]
    if error.validator == "required" and isinstance(error.instance, Mapping):
        missing = [name for name in tool.parameters["required"] if name not in error.instance]
        said = f"`{missing[0]}` is missing." if len(missing) == 1 else error.message
        return [Problem("argument_missing", path, said, f"It takes {_names(tool)}.")]
    argument = tool.parameters["properties"].get(str(error.absolute_path[0]), {})
    about = str(argument.get("description", "")).partition(". ")[0].rstrip(".")
    return [Problem("argument_wrong", path, f"`{path}`: {error.message}"[:400], f"{about}.")]


def _strange(name: str, tool: Tool) -> Problem:
    near = get_close_matches(name, list(tool.parameters["properties"]), 1)
    meant = f"Did you mean `{near[0]}`?" if near else f"It takes {_names(tool)}."
    return Problem("argument_unknown", name, f"`{name}` is no argument of it.", meant)


def _names(tool: Tool) -> str:
    return ", ".join(f"`{name}`" for name in tool.parameters["properties"])
