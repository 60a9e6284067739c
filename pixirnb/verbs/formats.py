"""Other forms of plans and outcomes: pictures, and what CI reads, JUnit XML and GitHub annotations.

`--format json` is `--json`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from cyclopts import Parameter

from pixirnb.errors import EXIT_COMPLETED, EXIT_INVALID, InvalidArguments, PixirnbError, Problem
from pixirnb.operations.export import replace_file
from pixirnb.operations.run import Run
from pixirnb.operations.workflow_source import read_file
from pixirnb.planning.report import PlanReport
from pixirnb.verbs.answers import Answer, Underway, outcome_answer, plan_answer
from pixirnb.verbs.options import edges
from pixirnb.views.basics.sanitize import plain
from pixirnb.views.picture.dot import dot
from pixirnb.views.picture.mermaid import mermaid
from pixirnb.views.picture.svg import picture
from pixirnb.views.run.ci_reports import junit, outcome_annotations, problem_annotations

PlanFormat = Annotated[
    Literal["text", "mermaid", "dot", "svg", "json", "github"],
    Parameter(
        name="--format", help="Form of the answer: text, a picture, GitHub annotations, or JSON."
    ),
]
RunFormat = Annotated[
    Literal["text", "github", "json"],
    Parameter(name="--format", help="Form of the outcome: text, GitHub annotations, or JSON."),
]
ShowFormat = Annotated[
    Literal["text", "mermaid", "dot", "svg", "json", "github"],
    Parameter(
        name="--format", help="Form of the outcome: text, a picture, GitHub annotations, or JSON."
    ),
]
JUnit = Annotated[
    Path | None,
    Parameter(name="--junit", metavar="FILE", help="Write the outcome to FILE as JUnit XML."),
]
_PICTURES: Final = {"mermaid": mermaid, "dot": dot, "svg": picture}


def outcome_in(run: Run, form: str, *, exit_code: int | None = None) -> Answer:
    """Return the outcome of a run in one of the forms; the exit code is by default that of its status."""
    answer = outcome_answer(run, exit_code=exit_code, is_json=form == "json")
    if form in _PICTURES:
        draw = {"mermaid": run.to_mermaid, "dot": run.to_dot, "svg": run.to_svg}[form]
        return _rendering(form, draw(), answer.exit_code)
    if form != "github":
        return answer
    file, lines = _lines(run)
    commands = [
        *problem_annotations("warning", run.plan.document()["warnings"], file),
        *outcome_annotations(run.outcome.document(), file, lines),
    ]
    return _rendering(form, "\n".join(commands), answer.exit_code)


def ended_answer(underway: Underway) -> Answer:
    """Return the outcome of a run that has ended, as it was asked for."""
    return outcome_in(underway.run, "json" if underway.is_json else underway.form)


def write_junit(run: Run, path: Path) -> None:
    """Write the outcome of a run as JUnit XML, in the place of an older file. Raises Cannot (`file_unwritable`)."""
    replace_file(path, junit(run.outcome.document()).encode("utf-8", "replace"))


def _rendering(form: str, text: str, exit_code: int = 0) -> Answer:
    return Answer("rendering", {"format": form, "text": text.rstrip("\n")}, exit_code)


def _lines(run: Run) -> tuple[str | None, dict[str, int]]:
    """Return the file of a run's workflow from the current folder, and the lines of its steps, as far as it can be read."""
    source = run.state.source
    if source is None or not Path(source).is_file():
        return None, {}
    file = _from_here(source)
    try:
        loaded = read_file(Path(source))
    except PixirnbError:
        return file, {}  # it was edited since; its steps are still named
    steps = () if loaded.workflow is None else loaded.workflow.steps
    lines = {step.id: loaded.source_map.line(("steps", at)) for at, step in enumerate(steps)}
    return file, {step: line for step, line in lines.items() if line is not None}


def _from_here(file: str) -> str:
    try:
        here = Path.cwd()
    except FileNotFoundError:  # it was deleted
        return file
    return os.path.relpath(file, here) if Path(file).is_relative_to(here) else file


def report_in_cell(underway: Underway, *, is_waiting: bool) -> Callable[[], None]:
    """Print the warnings of the plan; return a function that writes the JUnit XML. Raises InvalidArguments."""
    # Not on stderr: a notebook shows that as an error, in red.
    sys.stdout.writelines(f"{plain(warning)}\n" for warning in underway.warnings)
    if underway.junit is not None and not is_waiting:
        raise InvalidArguments("--junit needs --wait: the file has the outcome", fix="add --wait")
    path = underway.junit
    return lambda: None if path is None else write_junit(underway.run, path)
