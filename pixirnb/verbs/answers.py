"""Answers of verbs: a document to show, a run under way or watched, or a log to follow. Source: contract.md §9.

Surfaces show answers, wait for runs, and turn raised errors into one or two lines. Exit codes are decided here, once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from pixirnb import api
from pixirnb.engine.broadcast import Listener
from pixirnb.errors import (
    EXIT_CANNOT,
    EXIT_COMPLETED,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_INVALID,
    EXIT_NEEDS_DECISION,
    EXIT_PARTIAL,
)
from pixirnb.history.events import Event
from pixirnb.machine.outcome import RunOutcome
from pixirnb.operations.run import Run
from pixirnb.operations.start_options import not_selected
from pixirnb.planning.report import PlanDocument, PlanReport
from pixirnb.spec.workflow import Workflow
from pixirnb.system import gc_pause
from pixirnb.verbs.activity import StepActivity, step_activity
from pixirnb.views.picture.drawing import edges_of
from pixirnb.wording import join_names

Kind = Literal[
    "plan",
    "prompt",
    "outcome",
    "resume",
    "runs",
    "bundle",
    "log",
    "output",
    "session",
    "acp",
    "message",
    "diagnosis",
    "comparison",
    "export",
    "conversion",
    "prune",
    "examples",
    "smoke",
    "diff",
    "merge",
    "rendering",
    "schema",
]

EXIT_OF: Final[Mapping[str, int]] = {
    "completed": EXIT_COMPLETED,
    "partial": EXIT_PARTIAL,
    "failed": EXIT_FAILED,
    "timed_out": EXIT_FAILED,
    "needs_orchestrator": EXIT_NEEDS_DECISION,
    "interrupted": EXIT_INTERRUPTED,
    "running": EXIT_COMPLETED,
}
"""Exit code for each status of a run."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A document, ready to be shown or printed as JSON."""

    kind: Kind
    document: Mapping[str, object]
    exit_code: int = EXIT_COMPLETED
    edges: Sequence[tuple[str, str]] = ()
    plan: Callable[[], PlanDocument] | None = None
    """Makes the plan for an outcome, for a surface that draws it."""
    lines: tuple[str, ...] = ()
    """Sentences to show with the document: `explain`, a note."""
    is_json: bool = False
    report: PlanReport | None = None
    """The plan of `document`, for surfaces that show more of it: the agents of tasks."""
    running: Sequence[StepActivity] = ()
    """The running steps of a live run."""
    run: Run | None = None
    """The run of an outcome, for a surface that follows it."""


@dataclass(frozen=True, slots=True)
class Underway:
    """A run driven by this process."""

    run: Run
    is_tailed: bool = False
    is_json: bool = False
    is_quiet: bool = False
    """True if only the final line is wanted."""
    warnings: tuple[str, ...] = ()
    """The warnings of its plan, a line each."""
    form: str = "text"
    """Form of the outcome: `text`, `github` or `json`."""
    junit: Path | None = None
    """The file for its JUnit XML."""


@dataclass(frozen=True, slots=True)
class Following:
    """A log, or the output of a step, to follow to its end."""

    run: Run
    is_json: bool = False
    step: str | None = None
    """The step whose output is followed; None: the events of the run."""
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Watching:
    """A run that any process drives, to watch until it finishes or pauses."""

    run: Run
    is_json: bool = False


Result = Answer | Underway | Following | Watching
_NAMED: Final = 6
"""Maximum number of steps that a sentence names."""


@dataclass(slots=True)
class Desk:
    """The context that a surface gives to the verbs."""

    workflows: dict[str, Workflow] = field(default_factory=dict)
    """Workflows defined in the notebook, by name: a name may be used for a file."""
    functions: Callable[[Workflow], Mapping[str, str]] = api.notebook_functions
    """Sources of the notebook functions that a workflow calls."""
    listeners: Callable[[bool], Sequence[Listener]] = lambda _: ()
    """Makes new listeners for each run that starts, with `--tail` or without."""
    is_attended: Callable[[], bool] = lambda: False
    """True if a person can be asked for permissions."""
    before_start: Callable[[], None] = lambda: None
    """Called before a run starts or goes on: an interrupt is to end it once it has."""
    is_notebook: bool = False
    """True if a name that is not a file may be a workflow whose cell was not run yet."""


def plan_answer(
    report: PlanReport,
    edges: Sequence[tuple[str, str]],
    *,
    is_json: bool = False,
    targets: Sequence[str] = (),
) -> Answer:
    """Return a plan as an answer: exit 2 if it cannot run. `targets` leave out the steps that none of them needs."""
    code = EXIT_COMPLETED if report.ok else EXIT_INVALID
    document = report.document()
    lines: tuple[str, ...] = ()
    if targets:
        document["not_selected"] = left_out = not_selected(report.spec.steps, targets)
        named = join_names(left_out, _NAMED, lambda step: f"`{step}`")
        lines = (f"Not selected, held: {named or 'no step'}.",)
    return Answer("plan", document, code, edges, lines=lines, is_json=is_json, report=report)


def prompt_answer(report: PlanReport, step: str, *, is_json: bool = False) -> Answer:
    """Return the prompt of an agent. Raises as `PlanReport.prompt`."""
    document = {"workflow": report.workflow, "step": step, "prompt": report.prompt(step)}
    return Answer("prompt", document, is_json=is_json)


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
