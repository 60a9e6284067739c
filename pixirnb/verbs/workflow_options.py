"""A workflow as a line names it: by file or by name, with inputs, and with other limits."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

from pixirnb.errors import InvalidArguments, InvalidSpec, Problem, ProblemDocument
from pixirnb.ids import is_step_id
from pixirnb.json_types import JsonObject
from pixirnb.operations.workflow_source import Source, notebook_functions
from pixirnb.spec.inputs import parse_input_text
from pixirnb.spec.limits import MAX_CONCURRENCY
from pixirnb.spec.workflow import Workflow
from pixirnb.verbs.answers import Desk
from pixirnb.views.run.problem_list import gather_warnings


def source_of(desk: Desk, file: str) -> Source:
    """Return a workflow by its name in this notebook, or by its file. Raises InvalidSpec if there is neither."""
    known = desk.workflows.get(file)
    if known is not None:
        return known
    # Whatever was typed, these two do not raise; Path's own do, for a name too long or a home that is not there.
    is_there = os.path.exists(os.path.expanduser(file))  # noqa: PTH110, PTH111
    if not is_there and desk.is_notebook and is_step_id(file):
        here = ", ".join(sorted(desk.workflows)) or "none yet"
        raise InvalidSpec(
            f"no file and no workflow of this notebook is named `{file}`",
            fix=f"run the cell that defines it first (known: {here})",
            code="spec_unreadable",
        )
    return Path(file)


def functions_of(desk: Desk, source: Source) -> Mapping[str, str] | None:
    """Return sources of the notebook functions that a workflow of this notebook calls; None for a file: looked up later."""
    functions = desk.functions or notebook_functions
    return functions(source) if isinstance(source, Workflow) else None


def with_concurrency(workflow: Workflow, max_concurrency: int | None) -> Workflow:
    """Return the workflow with another `max_concurrency`, if one is given. Raises InvalidArguments."""
    if max_concurrency is None:
        return workflow
    if not 1 <= max_concurrency <= MAX_CONCURRENCY:
        raise InvalidArguments(
            f"invalid --max-concurrency {max_concurrency}", fix=f"use 1 to {MAX_CONCURRENCY}"
        )
    return workflow.model_copy(update={"max_concurrency": max_concurrency})


def refuse_with_resume(*given: tuple[str, object]) -> None:
    """Refuse options of a new run next to --resume. Raises InvalidArguments."""
    for option, value in given:
        if value:
            raise InvalidArguments(
                f"{option} cannot be combined with --resume: a resume keeps those of its run",
                fix=f"remove {option}, or start a new run",
            )


def warning_lines(problems: Iterable[Problem]) -> list[str]:
    """Return the warnings of a plan as lines: place, message, fix, code."""
    entries = gather_warnings(problem.document() for problem in problems)
    shown = [Problem(**cast("ProblemDocument", entry)) for entry in entries]
    return [f"warning: {problem.sentence()} [{problem.code}]" for problem in shown]


def inputs_given(workflow: Workflow, given: list[str] | None) -> JsonObject:
    """Return inputs typed as NAME=VALUE, each parsed by its declaration. Raises InvalidArguments."""
    values: JsonObject = {}
    for item in given or ():
        name, equals, text = item.partition("=")
        if not equals:
            raise InvalidArguments(
                f"invalid input `{item}`", fix="write --input NAME=VALUE", code="bad_input"
            )
        declared = workflow.inputs.get(name)
        values[name] = text if declared is None else parse_input_text(declared, text)
    return values


def edges(workflow: Workflow) -> list[tuple[str, str]]:
    """Return the workflow's edges, from dependency to dependent."""
    return [(before, step.id) for step in workflow.steps for before in step.depends_on]
