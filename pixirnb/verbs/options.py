"""Options and arguments of many verbs: common options, workflows by file or name, inputs, values."""

from __future__ import annotations

import json as json_text
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, cast

from cyclopts import Parameter

from pixirnb import api
from pixirnb.errors import InvalidArguments, InvalidSpec, Problem, ProblemDocument
from pixirnb.ids import is_step_id
from pixirnb.json_types import JsonObject
from pixirnb.operations.run import Run
from pixirnb.operations.run_names import LAST
from pixirnb.operations.workflow_source import STANDARD_INPUT
from pixirnb.spec.inputs import parse_input_text
from pixirnb.spec.limits import MAX_CONCURRENCY
from pixirnb.spec.workflow import Workflow
from pixirnb.verbs.answers import Answer, Desk
from pixirnb.views.run.problem_list import gather_warnings
from pixirnb.views.session.session_view import SessionView

_OF_FILES: Final = frozenset({"convert", "plan", "run"})
"""Verbs whose first argument is a workflow's file."""


@Parameter(name="*")
@dataclass
class Common:
    """Options of every verb."""

    state: Path | None = None
    """State folder, instead of the nearest `.pixirnb`."""
    json: Annotated[bool, Parameter(negative="")] = False
    """Print one JSON document on stdout."""


DeskHere = Annotated[Desk, Parameter(parse=False)]
"""What a surface gives to the verbs: no word of the line."""
RunName = Annotated[
    str,
    Parameter(
        help="Run id or a unique part of it, its `--name`, `@last` or `-`, a workflow name, or the path of a run folder."
    ),
]
Inputs = Annotated[
    list[str] | None,
    Parameter(
        name=("--input", "-i"),
        negative="",
        metavar="NAME=VALUE",
        help="Set an input; repeatable.",
    ),
]
Workspace = Annotated[
    Path | None,
    Parameter(name=("--workspace", "-C"), help="Folder to work in, instead of the folder of FILE."),
]
Note = Annotated[str, Parameter(help="Reason, for the record.")]
Flag = Annotated[bool, Parameter(negative="")]
DryRun = Annotated[bool, Parameter(name=("--dry-run", "-n"), negative="")]
Quiet = Annotated[
    bool, Parameter(name=("--quiet", "-q"), negative="", help="Print only the final line.")
]
Tail = Annotated[bool, Parameter(negative="", help="Print the output of steps as it arrives.")]
NoResume = Annotated[
    bool, Parameter(negative="", help="Only record the decision; do not continue the run.")
]
TakeOver = Annotated[
    bool,
    Parameter(
        negative="", help="Take ownership of a run whose process on another host no longer runs."
    ),
]
TakeOverGone = Annotated[
    bool, Parameter(negative="", help="Take ownership of a run whose process no longer runs.")
]


def state_of(common: Common | None) -> Path | None:
    """Return the requested state folder."""
    return None if common is None else common.state


def is_json(common: Common | None) -> bool:
    """Return whether one JSON document is requested."""
    return common is not None and common.json


def is_attended(desk: Desk, common: Common | None) -> bool:
    """Return whether a person may be asked for permissions: one is there, and the answer is for people."""
    return desk.is_attended() and not is_json(common)


def done(sentence: str, run: str, common: Common | None) -> Answer:
    """Return the answer of a verb with nothing to show but its success."""
    document = {"ok": True, "run_id": run, "message": sentence}
    return Answer("message", document, is_json=is_json(common))


def source_of(desk: Desk, file: str) -> api.Source:
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


def functions_of(desk: Desk, source: api.Source) -> Mapping[str, str] | None:
    """Return sources of the notebook functions that a workflow of this notebook calls; None for a file: looked up later."""
    return desk.functions(source) if isinstance(source, Workflow) else None


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


def with_last(tokens: Sequence[str]) -> list[str]:
    """Return the words of a line with `@last` for a lone `-` and that of `-/STEP.1.1`, or standard input where a verb takes
    a workflow's file.

    A `-` after an option is the option's.
    """
    meant = STANDARD_INPUT if tokens and tokens[0] in _OF_FILES else LAST
    return [
        meant + word[1:] if f"{word}/".startswith("-/") and not before.startswith("-") else word
        for before, word in zip(["", *tokens], tokens, strict=False)
    ]


def value_of(text: str | None) -> Any:
    """Return a typed value: JSON if it is valid, else the text itself."""
    if text is None:
        return None
    try:
        return json_text.loads(text)
    except (ValueError, RecursionError):
        return text


def edges(workflow: Workflow) -> list[tuple[str, str]]:
    """Return the workflow's edges, from dependency to dependent."""
    return [(before, step.id) for step in workflow.steps for before in step.depends_on]


def outputs_of(run: Run, step: str | None, attempt: int | None) -> JsonObject:
    """Return what steps printed, as JSON: of one, or of every step of the workflow with output. Raises InvalidArguments."""
    steps = list(run.compiled().index) if step is None else [step]
    outputs = [
        {
            "step": each,
            "path": str(run.output_path(each, attempt)),
            "attempt": run.state.step(each).attempt if attempt is None else attempt,
            "text": run.output(each, attempt),
        }
        for each in steps
        if step is not None or run.output_path(each).exists()
    ]
    return {"run_id": run.id, "outputs": outputs}


def session_of(run: Run, name: str) -> SessionView:
    """Return the session named STEP or STEP.ATTEMPT. Raises InvalidArguments, UnknownRun (`unknown_session`)."""
    step, dot, number = name.partition(".")
    if not dot:
        return run.session(step)
    if not (number.isascii() and number.isdigit() and len(number) <= 9):
        raise InvalidArguments(
            f"invalid session `{name:.80}`",
            fix="use STEP or STEP.ATTEMPT, such as `review.2`",
        )
    return run.session(step, int(number))
