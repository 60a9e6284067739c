"""Short spellings of a workflow, turned into the long ones before the models see them.

    depends_on: a        [a]                     retry: 2          {max_attempts: 2}
    inputs: {n: 3}       {type, default}         ask: "Ship it?"   {question: …}
    env: {N: 3}          "3"                     steps: {a: …}     [{id: a, …}]
    {"call": f}          `module:f` or `:f`      verify: {…}       [{…}]

Only what a model holds is pinned and fingerprinted, so both spellings are the same workflow. A value that is not a
shorthand is returned unchanged: the model then says what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pixirnb.spec.did_you_mean import nearest

_INPUT_KEYS: Final = ("type", "default", "enum", "description")
_INPUT_TYPES: Final[tuple[tuple[type | tuple[type, ...], str], ...]] = (
    (bool, "boolean"),  # a bool is an int too
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    ((list, tuple), "array"),
    (Mapping, "object"),
)


def items(value: object) -> object:
    """Return a list for a single text."""
    return [value] if isinstance(value, str) else value


def checks(value: object) -> object:
    """Return a list for a single check."""
    return [value] if isinstance(value, Mapping) else value


def retry(value: object) -> object:
    """Return the mapping for a number of attempts."""
    return {"max_attempts": value} if type(value) is int else value


def question(value: object) -> object:
    """Return the mapping for the text of a question."""
    return {"question": value} if isinstance(value, str) else value


def input_declaration(value: object) -> object:
    """Return the declaration of an input for its default."""
    if isinstance(value, Mapping) and (
        not value.keys().isdisjoint(_INPUT_KEYS)
        or any(nearest(str(key), _INPUT_KEYS) for key in value)
    ):
        return value
    for kind, name in _INPUT_TYPES:
        if isinstance(value, kind):
            return {"type": name, "default": value}
    return value


def variables(value: object) -> object:
    """Return environment variables with numbers and booleans as text."""
    if not isinstance(value, Mapping):
        return value
    return {name: _variable(text) for name, text in value.items()}


def _variable(value: object) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if type(value) in {int, float} else value


def steps(value: object) -> object:
    """Return the list of steps for a mapping from id to step."""
    if not isinstance(value, Mapping):
        return value
    return [
        {"id": name, **step} if isinstance(step, Mapping) else step for name, step in value.items()
    ]


def function_reference(function: Callable[..., Any]) -> str | None:
    """Return how a workflow names a function: `module:f`, `:f` for one of the notebook; None if no name leads to it."""
    name = getattr(function, "__qualname__", None)
    module = getattr(function, "__module__", None)
    if not isinstance(name, str) or not isinstance(module, str) or "<" in name:
        return None
    return f":{name}" if module == "__main__" else f"{module}:{name}"
