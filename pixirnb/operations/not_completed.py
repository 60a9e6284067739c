"""The error of a run that was expected to complete: its status, the first step to look at, and the next action, on one line."""

from __future__ import annotations

from pixirnb.errors import RunInterrupted, RunNotCompleted
from pixirnb.machine.next_actions import NextAction
from pixirnb.machine.outcome import RunOutcome, StepOutcome
from pixirnb.views.basics.phrases import clashing, why


def not_completed(outcome: RunOutcome, *, is_shown: bool = False) -> RunNotCompleted:
    """Return the error for an outcome that is not accepted.

    `is_shown`: a view stands above the error, with the failed steps and the next actions.
    """
    kind = RunInterrupted if outcome.status == "interrupted" else RunNotCompleted
    step = _first_step(outcome)
    action = next((each for each in outcome.next_actions if _suits(each, step)), None)
    fix = f"{action['action'].replace('_', ' ')}: {action['cell']}" if action else ""
    if action and action["step"] in clashing(outcome.document()):
        fix = f"resolve the conflicting files in your folder, then {action['cell']}"
        fix += f"; both versions: %pixir merge {outcome.run_id} --preview"
    cause = "" if is_shown or step is None else _cause(step)
    ended = "is still running" if outcome.status == "running" else f"ended as {outcome.status}"
    return kind(
        f"{outcome.run_id} {ended}: {outcome.summary}{cause}",
        fix="" if is_shown else fix,
        details={"run_id": outcome.run_id, "status": outcome.status},
    )


def _first_step(outcome: RunOutcome) -> StepOutcome | None:
    """Return the first step to look at."""
    if outcome.status in {"running", "interrupted"}:
        return None
    asks = outcome.status == "needs_orchestrator"
    statuses = {"needs_orchestrator"} if asks else {"failed", "partial"}
    return next((step for step in outcome.steps if step.checkpoint_status in statuses), None)


def _suits(action: NextAction, step: StepOutcome | None) -> bool:
    """Return whether an action is one for the step that the message names, or for the run as a whole."""
    if step is None or action["step"] == step.step_id:
        return True
    is_timeout = action["action"] == "raise_timeout"
    return action["step"] is None and (not is_timeout or action in step.next_actions)


def _cause(step: StepOutcome) -> str:
    """Return the step and its error, as one line for a log."""
    reason = why(step.document(), 200)
    if not reason:
        return ""
    return f" `{step.step_id}`: {reason}" + ("" if reason[-1] in ".?!…" else ".")
