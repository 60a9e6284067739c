"""A run as the answer of a verb. Source: contract.md §9."""

from __future__ import annotations

from functools import partial
from typing import Any

from pixirnb.errors import EXIT_CANNOT
from pixirnb.history.events import Event
from pixirnb.machine.outcome import RunOutcome
from pixirnb.operations.run import Run
from pixirnb.planning.report import PlanDocument
from pixirnb.system import gc_pause
from pixirnb.verbs.activity import step_activity
from pixirnb.verbs.answers import EXIT_OF, Answer
from pixirnb.views.picture.drawing import edges_of


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
