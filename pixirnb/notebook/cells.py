"""From the text of a `%%workflow` cell to its plan, with every mistake at once and on the line where the author sees it.

The magic is the first line of its cell, so line n of the body is line n + 1. The body is read behind one line that
stands for the magic: an empty one, or `name: NAME` where only the magic names the workflow.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from pixirnb import api
from pixirnb.errors import InvalidSpec, Problem
from pixirnb.planning.facts import Facts
from pixirnb.planning.report import PlanReport, report
from pixirnb.spec.loader import Loaded, load_text
from pixirnb.spec.mistakes import refusal
from pixirnb.spec.workflow import Workflow
from pixirnb.workspace.survey import survey

_HERE: Final = "this cell"


def define(
    body: str, *, name: str | None = None, workspace: str | Path | None = None
) -> PlanReport:
    """The plan of the workflow a cell writes. Raises InvalidSpec with every mistake, InvalidArguments."""
    loaded = _read(body, name)
    workflow = loaded.workflow
    if workflow is not None:
        planned = report(workflow, facts_of(workflow, workspace))
        found = (*_name_differs(workflow, name), *planned.errors)
        if found:
            raise _refused(found)
        return planned
    rest = None if loaded.salvage is None else loaded.salvage.workflow
    facts = Facts() if rest is None else facts_of(rest, workspace)
    found = api.problems_of(loaded, facts)
    if rest is not None and not any(problem.path == "name" for problem in found):
        found = (*_name_differs(rest, name), *found)
    raise _refused(found)


def facts_of(workflow: Workflow, workspace: str | Path | None = None) -> Facts:
    """What planning must know of the world: paths, repositories, functions of the notebook."""
    place = api.workspace_of(workflow, workspace)
    return survey(workflow, place, api.notebook_functions(workflow))


def _read(body: str, name: str | None) -> Loaded:
    loaded = load_text("\n" + body)
    is_nameless = any(m.code == "missing_key" and m.parts == ("name",) for m in loaded.mistakes)
    return load_text(_named(body, name)) if name is not None and is_nameless else loaded


def _named(body: str, name: str) -> str:
    """The body with the name the magic gives it; no line of it moves."""
    quoted = json.dumps(name)
    rows = body.split("\n")
    for place, row in enumerate(rows):
        said = row.strip()
        if said.startswith("{"):
            rows[place] = row.replace("{", f'{{"name": {quoted}, ', 1)
            return "\n" + "\n".join(rows)
        if said == "---":
            rows[place] = ""
        elif said and not said.startswith(("#", "%")):
            break
    return f"name: {quoted}\n" + "\n".join(rows)


def _name_differs(workflow: Workflow, name: str | None) -> tuple[Problem, ...]:
    if name is None or workflow.name == name:
        return ()
    return (
        Problem(
            "name_differs",
            "name",
            f"the cell is called `{name}` and its YAML `{workflow.name}`",
            "keep one of the two names",
            workflow.places.line(("name",)),
        ),
    )


def _refused(found: tuple[Problem, ...]) -> InvalidSpec:
    return refusal(tuple(sorted(found, key=lambda problem: problem.line or 0)), _HERE)
