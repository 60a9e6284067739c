"""From the text of a `%%workflow` cell to its plan, with every mistake at once and on the line where the author sees it.

The magic is the first line of its cell, so line n of the body is line n + 1. The body is read behind one line that
stands for the magic: an empty one, or `name: NAME` where only the magic names the workflow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from pixirnb.errors import InvalidSpec, Problem
from pixirnb.notebook.cells.draft import WorkflowDraft
from pixirnb.notebook.cells.registry import REGISTRY
from pixirnb.operations.locations import workspace_of
from pixirnb.operations.survey import survey
from pixirnb.operations.workflow_source import adopt_roles, surroundings
from pixirnb.planning.environment import Environment
from pixirnb.planning.report import problems_of, report
from pixirnb.spec.loader import Loaded, load_text
from pixirnb.spec.problems import refusal
from pixirnb.spec.source_map import SourceMap
from pixirnb.spec.workflow import Workflow
from pixirnb.spec.yaml.reader import read_yaml

_HERE: Final = "this cell"
_STAND_IN: Final = "\nsteps: [{id: stand-in, run: 'true'}]\n"
"""For the steps of a cell that leaves them to others: so that what it does say can be checked."""


def define(
    body: str, *, name: str | None = None, workspace: str | Path | None = None
) -> WorkflowDraft:
    """Return the workflow a cell writes, with the `%%step` cells that are there already.

    Raises InvalidSpec with every mistake, InvalidArguments.
    """
    text = _text(body, name)
    loaded = load_text(text, context=surroundings())
    header = _header(text, loaded)
    has_own_steps, loaded = header is None, adopt_roles(header or loaded, workspace)
    differs = _name_differs(text, loaded.source_map, name)
    workflow = loaded.workflow
    if workflow is not None:
        draft = REGISTRY.draft(workflow.name).with_header(workflow, has_own_steps=has_own_steps)
        if differs:
            raise _refused((*differs, *report(workflow, facts_of(workflow, workspace)).errors))
        draft.checked(partial(facts_of, workspace=workspace))
        return draft
    rest = None if loaded.salvage is None else loaded.salvage.workflow
    facts = Environment() if rest is None else facts_of(rest, workspace)
    raise _refused((*differs, *problems_of(loaded, facts)))


def facts_of(
    workflow: Workflow, workspace: str | Path | None = None, draft: WorkflowDraft | None = None
) -> Environment:
    """Return the environment of a plan: paths, repositories, functions of the notebook and of a draft's cells."""
    folder = workspace_of(workflow, workspace)
    return survey(workflow, folder, REGISTRY.functions(workflow, draft))


def _header(text: str, loaded: Loaded) -> Loaded | None:
    """Read the cell as one that leaves its steps to `%%step` cells; None where it is not one."""
    if not any(
        wrong.code == "missing_key" and wrong.parts == ("steps",) for wrong in loaded.mistakes
    ):
        return None
    completed = load_text(text + _STAND_IN)
    # A mapping in braces takes no line after it: such a cell lacks its steps, and is told so.
    known = {wrong.code for wrong in loaded.mistakes}
    return completed if {wrong.code for wrong in completed.mistakes} <= known else None


def _text(body: str, name: str | None) -> str:
    """Return the text to be read: as many lines as the cell."""
    text = "\n" + body
    if name is None:
        return text
    value = read_yaml(text).value
    is_nameless = isinstance(value, Mapping) and "name" not in value
    return _named(body, name) if is_nameless else text


def _named(body: str, name: str) -> str:
    """Return the body with the name the magic gives it; no line of it moves."""
    quoted = json.dumps(name)
    rows = body.split("\n")
    for index, row in enumerate(rows):
        text = row.strip()
        if text.startswith("{"):
            rows[index] = row.replace("{", f'{{"name": {quoted}, ', 1)
            return "\n" + "\n".join(rows)
        if text == "---":
            rows[index] = ""
        elif text and not text.startswith(("#", "%")):
            break
    return f"name: {quoted}\n" + "\n".join(rows)


def _name_differs(text: str, source_map: SourceMap, name: str | None) -> tuple[Problem, ...]:
    value = read_yaml(text).value
    written = value.get("name") if isinstance(value, Mapping) else None
    if name is None or not isinstance(written, str) or written == name:
        return ()
    message = f"the cell names the workflow `{name}` and the YAML names it `{written}`"
    line = source_map.line(("name",))
    return (Problem("name_differs", "name", message, "remove one of the two names", line),)


def _refused(problems: Iterable[Problem]) -> InvalidSpec:
    problems = [
        replace(each, fix="name the workflow: `%%workflow NAME`")
        if (each.code, each.path) == ("missing_key", "name")
        else each
        for each in problems
    ]
    return refusal(tuple(sorted(problems, key=lambda problem: problem.line or 0)), _HERE)
