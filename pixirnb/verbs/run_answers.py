"""A run as the answer of a verb. Source: contract.md §9."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pixirnb.errors import EXIT_CANNOT, InvalidArguments, PixirnbError
from pixirnb.history.events import Event
from pixirnb.json_types import JsonObject
from pixirnb.machine.outcome import RunOutcome
from pixirnb.operations.export import replace_file
from pixirnb.operations.run import Run
from pixirnb.operations.workflow_source import read_file
from pixirnb.planning.documents import PlanDocument
from pixirnb.system import gc_pause
from pixirnb.verbs.activity import step_activity
from pixirnb.verbs.answers import EXIT_OF, PICTURES, Answer, Underway, path_from_here, rendering
from pixirnb.views.basics.sanitize import plain
from pixirnb.views.picture.drawing import edges_of

if TYPE_CHECKING:
    from pixirnb.views.session.session_view import SessionView


@gc_pause.gc_paused()
def outcome_answer(run: Run, *, exit_code: int | None = None, is_json: bool = False) -> Answer:
    """Return the state of a run as an answer; the exit code is by default that of its status."""
    result: RunOutcome = run.outcome
    code = EXIT_OF.get(result.status, EXIT_CANNOT) if exit_code is None else exit_code
    return Answer(
        "outcome",
        result.document(),
        code,
        edges_of(run.compiled()),
        partial(_plan_document, run),
        is_json=is_json,
        running=step_activity(run, run.history()) if result.status == "running" else (),
        run=run,
    )


def _plan_document(run: Run) -> PlanDocument:
    return run.plan.document()


def event_document(event: Event) -> dict[str, Any]:
    """Return a recorded event as JSON, without the chain."""
    return {"seq": event.seq, "at": event.at, "kind": event.kind, "data": event.data}


def outcome_in(run: Run, form: str, *, exit_code: int | None = None) -> Answer:
    """Return the outcome of a run in one of the forms; the exit code is by default that of its status."""
    answer = outcome_answer(run, exit_code=exit_code, is_json=form == "json")
    if form in PICTURES:
        draw = {"mermaid": run.to_mermaid, "dot": run.to_dot, "svg": run.to_svg}[form]
        return rendering(form, draw(), answer.exit_code)
    if form != "github":
        return answer
    from pixirnb.views.run.ci_reports import outcome_annotations, problem_annotations

    file, lines = _lines(run)
    commands = [
        *problem_annotations("warning", run.plan.document()["warnings"], file),
        *outcome_annotations(run.outcome.document(), file, lines),
    ]
    return rendering(form, "\n".join(commands), answer.exit_code)


def ended_answer(underway: Underway) -> Answer:
    """Return the outcome of a run that has ended, as it was asked for."""
    return outcome_in(underway.run, "json" if underway.is_json else underway.form)


def write_junit(run: Run, path: Path) -> None:
    """Write the outcome of a run as JUnit XML, in the place of an older file. Raises Cannot (`file_unwritable`)."""
    from pixirnb.views.run.ci_reports import junit

    replace_file(path, junit(run.outcome.document()).encode("utf-8", "replace"))


def _lines(run: Run) -> tuple[str | None, dict[str, int]]:
    """Return the file of a run's workflow from the current folder, and the lines of its steps, as far as it can be read."""
    source = run.state.source
    if source is None or not Path(source).is_file():
        return None, {}
    file = path_from_here(source)
    try:
        loaded = read_file(Path(source))
    except PixirnbError:
        return file, {}  # it was edited since; its steps are still named
    steps = () if loaded.workflow is None else loaded.workflow.steps
    lines = {step.id: loaded.source_map.line(("steps", at)) for at, step in enumerate(steps)}
    return file, {step: line for step, line in lines.items() if line is not None}


def report_in_cell(underway: Underway, *, is_waiting: bool) -> Callable[[], None]:
    """Print the warnings of the plan; return a function that writes the JUnit XML. Raises InvalidArguments."""
    # Not on stderr: a notebook shows that as an error, in red.
    sys.stdout.writelines(f"{plain(warning)}\n" for warning in underway.warnings)
    if underway.junit is not None and not is_waiting:
        raise InvalidArguments("--junit needs --wait: the file has the outcome", fix="add --wait")
    path = underway.junit
    return lambda: None if path is None else write_junit(underway.run, path)


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
