"""What many verbs take, and how it is read: options, workflows by file or name, inputs, values."""

from __future__ import annotations

import json as json_text
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from pixirnb import api
from pixirnb.errors import InvalidArguments, InvalidSpec
from pixirnb.operations.run import Run
from pixirnb.spec.inputs import parse_input_text
from pixirnb.spec.workflow import Workflow
from pixirnb.verbs.answers import Answer, Desk
from pixirnb.views.session.session_view import SessionView


@Parameter(name="*")
@dataclass
class Common:
    """What every verb takes."""

    state: Path | None = None
    """State folder to use instead of the nearest `.pixirnb`."""
    json: Annotated[bool, Parameter(negative="")] = False
    """Print exactly one JSON document on stdout."""


Inputs = Annotated[list[str] | None, Parameter(name="--input", negative="")]
Flag = Annotated[bool, Parameter(negative="")]


def state_of(common: Common | None) -> Path | None:
    """The state folder that was asked for."""
    return None if common is None else common.state


def is_json(common: Common | None) -> bool:
    """Whether one JSON document is wanted."""
    return common is not None and common.json


def is_attended(desk: Desk, common: Common | None) -> bool:
    """Whether a person may be asked for permissions: one is there, and the answer is meant for people."""
    return desk.is_attended() and not is_json(common)


def done(sentence: str, run: str, common: Common | None) -> Answer:
    """A verb that has nothing to show but that it was done."""
    document = {"ok": True, "run_id": run, "message": sentence}
    return Answer("message", document, is_json=is_json(common))


def source_of(desk: Desk, file: str) -> api.Source:
    """A workflow by its name in this notebook, or by its file. Raises InvalidSpec where there is neither."""
    known = desk.workflows.get(file)
    if known is not None:
        return known
    # Whatever was typed, these two do not raise; Path's own do, for a name too long or a home that is not there.
    is_there = os.path.exists(os.path.expanduser(file))  # noqa: PTH110, PTH111
    if not is_there and desk.is_notebook:
        here = ", ".join(sorted(desk.workflows)) or "none yet"
        raise InvalidSpec(
            f"There is neither a file `{file}` nor a workflow of that name in this notebook.",
            fix=f"Run the cell that defines it first. Known here: {here}.",
            code="spec_unreadable",
        )
    return Path(file)


def functions_of(desk: Desk, source: api.Source) -> Mapping[str, str] | None:
    """Sources of the notebook functions a workflow of this notebook calls; None: those of a file are looked up."""
    return desk.functions(source) if isinstance(source, Workflow) else None


def inputs_given(workflow: Workflow, given: list[str] | None) -> dict[str, Any]:
    """Inputs typed as NAME=VALUE, each read as its workflow declares it. Raises InvalidArguments."""
    found: dict[str, Any] = {}
    for item in given or ():
        name, equals, text = item.partition("=")
        if not equals:
            raise InvalidArguments(
                f"`{item}` is no input.", fix="Write --input NAME=VALUE.", code="bad_input"
            )
        declared = workflow.inputs.get(name)
        found[name] = text if declared is None else parse_input_text(declared, text)
    return found


def value_of(text: str | None) -> Any:
    """A typed value: JSON where it is some, else the text itself."""
    if text is None:
        return None
    try:
        return json_text.loads(text)
    except (ValueError, RecursionError):
        return text


def edges(workflow: Workflow) -> list[tuple[str, str]]:
    """The workflow's edges, from dependency to dependent."""
    return [(before, step.id) for step in workflow.steps for before in step.depends_on]


def session_of(run: Run, name: str) -> SessionView:
    """The session named STEP or STEP.ATTEMPT. Raises InvalidArguments, UnknownRun (`unknown_session`)."""
    step, dot, number = name.partition(".")
    if not dot:
        return run.session(step)
    if not (number.isascii() and number.isdigit() and len(number) <= 9):
        raise InvalidArguments(
            f"`{name:.80}` names no session.",
            fix="Write --session STEP, or --session STEP.ATTEMPT, as in `review.2`.",
        )
    return run.session(step, int(number))
