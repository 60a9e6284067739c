"""Completion between braces: `{{ steps.make.output }}` and its kin, part by part."""

from __future__ import annotations

import re
from typing import Any, Final

from pixirnb.notebook.completion.context import Candidate
from pixirnb.notebook.completion.outline import Outline

_OPEN: Final = re.compile(r"\{\{[ \t]*([A-Za-z0-9_.-]*)$")
_PARTS: Final = (
    Candidate("output", "its value"),
    Candidate("output_path", "a file with its printed text"),
    Candidate("summary", "its last printed line, or the agent's summary"),
)
_STARTS: Final = (
    Candidate("steps.", "results of a step"),
    Candidate("inputs.", "inputs of the run"),
    Candidate("run.id", "the id of this run"),
)


def reference_at(line: str) -> str | None:
    """The reference that is open at the end of a line's text; None outside of braces."""
    match = _OPEN.search(line)
    return None if match is None else match[1]


def candidates(
    typed: str, following: str, outline: Outline, step: str | None
) -> tuple[str, list[Candidate]]:
    """Return the last part of a reference, and the candidates for it.

    `following` is the rest of the line; where it does not close the braces, what ends a reference closes them.
    """
    *before, last = typed.split(".")
    is_closed = re.match(r"[\w.-]*[ \t]*\}\}", following) is not None
    end = "" if is_closed else " }" if following.startswith("}") else " }}"
    match before:
        case []:
            return last, [
                Candidate(c.text if c.text.endswith(".") else c.text + end, c.about)
                for c in _STARTS
            ]
        case ["steps"]:
            return last, _steps(outline, step)
        case ["steps", _]:
            return last, [Candidate(part.text + end, part.about) for part in _PARTS]
        case ["steps", name, "output", *fields]:
            candidates_here = _fields(outline.steps.get(name, {}).get("output"), fields)
            return last, [Candidate(each.text + end, each.about) for each in candidates_here]
        case ["inputs"]:
            return last, [Candidate(c.text + end, c.about) for c in outline.names("inputs")]
        case ["run"]:
            return last, [Candidate("id" + end, "the id of this run")]
        case _:
            return last, []


def _steps(outline: Outline, step: str | None) -> list[Candidate]:
    """Steps to refer to: those this one waits on first, none that wait on it."""
    if step is None:
        return [Candidate(name, outline.kind(name)) for name in outline.steps]
    before, after = outline.ancestors(step), outline.descendants(step)
    names = [name for name in outline.steps if name != step and name not in after]
    return [Candidate(name, outline.kind(name)) for name in names if name in before] + [
        Candidate(name, "not in depends_on yet") for name in names if name not in before
    ]


def _fields(schema: Any, path: list[str]) -> list[Candidate]:
    """Properties that a step's declared output has at a path."""
    for name in ["", *path]:
        if name and isinstance(schema, dict):
            schema = schema.get(name)
        schema = schema.get("properties") if isinstance(schema, dict) else None
    properties = schema if isinstance(schema, dict) else {}
    return [Candidate(name, "field of the declared output") for name in properties]
