"""Answers of verbs: a document to show, a run under way or watched, or a log to follow. Source: contract.md §9.

Surfaces show answers, wait for runs, and turn raised errors into one or two lines. Exit codes are decided here, once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct, field

from pixirnb.errors import (
    EXIT_COMPLETED,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_NEEDS_DECISION,
    EXIT_PARTIAL,
)

if TYPE_CHECKING:  # what an answer holds is loaded by whoever makes it
    from pixirnb.engine.broadcast import Listener
    from pixirnb.operations.run import Run
    from pixirnb.planning.documents import PlanDocument
    from pixirnb.planning.report import PlanReport
    from pixirnb.spec.workflow import Workflow
    from pixirnb.verbs.activity import StepActivity

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


class Answer(Struct, frozen=True):
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
    has_all_items: bool = False
    """True if each item of an outcome's steps has a row."""
    run: Run | None = None
    """The run of an outcome, for a surface that follows it."""


class Underway(Struct, frozen=True):
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
    is_resumed: bool = False


class Following(Struct, frozen=True):
    """A log, or the output of a step, to follow to its end."""

    run: Run
    is_json: bool = False
    step: str | None = None
    """The step whose output is followed; None: the events of the run."""
    attempt: int | None = None


class Watching(Struct, frozen=True):
    """A run that any process drives, to watch until it finishes or pauses."""

    run: Run
    is_json: bool = False


Result = Answer | Underway | Following | Watching


class Desk(Struct):
    """The context that a surface gives to the verbs."""

    workflows: dict[str, Workflow] = field(default_factory=dict)
    """Workflows defined in the notebook, by name: a name may be used for a file."""
    functions: Callable[[Workflow], Mapping[str, str]] | None = None
    """Returns the sources of the notebook functions that a workflow calls; None: those of `__main__`."""
    listeners: Callable[[bool], Sequence[Listener]] = lambda _: ()
    """Makes new listeners for each run that starts, with `--tail` or without."""
    is_attended: Callable[[], bool] = lambda: False
    """True if a person can be asked for permissions."""
    before_start: Callable[[], None] = lambda: None
    """Called before a run starts or goes on: an interrupt is to end it once it has."""
    is_notebook: bool = False
    """True if a name that is not a file may be a workflow whose cell was not run yet."""


PICTURES: Final = frozenset({"mermaid", "dot", "svg"})
"""Forms of an answer that are pictures."""


def rendering(form: str, text: str, exit_code: int = 0) -> Answer:
    """Return an answer in another form than text."""
    return Answer("rendering", {"format": form, "text": text.rstrip("\n")}, exit_code)


def path_from_here(file: str) -> str:
    """Return a path relative to the current folder, if it is in it."""
    try:
        here = Path.cwd()
    except FileNotFoundError:  # it was deleted
        return file
    return os.path.relpath(file, here) if Path(file).is_relative_to(here) else file
