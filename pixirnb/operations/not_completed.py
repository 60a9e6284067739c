"""The error of a run that was expected to complete: its status, the first step to look at, and the next action, on one line."""

from __future__ import annotations

from pixirnb.errors import RunInterrupted, RunNotCompleted
from pixirnb.machine.outcome import RunOutcome
from pixirnb.views.basics.phrases import clashing, why


def not_completed(outcome: RunOutcome, *, is_shown: bool = False) -> RunNotCompleted:
    """Return the error for an outcome that is not accepted.

    `is_shown`: a view stands above the error, with the failed steps and the next actions.
    """
    kind = RunInterrupted if outcome.status == "interrupted" else RunNotCompleted
    action = outcome.next_actions[0] if outcome.next_actions else None
    fix = f"{action['action'].replace('_', ' ')}: {action['cell']}" if action else ""
    if action and action["step"] in clashing(outcome.document()):
        fix = f"resolve the conflicting files in your folder, then {action['cell']}"
        fix += f"; both versions: %pixir merge {outcome.run_id} --preview"
    cause = "" if is_shown else _first_cause(outcome)
    ended = "is still running" if outcome.status == "running" else f"ended as {outcome.status}"
    return kind(
        f"{outcome.run_id} {ended}: {outcome.summary}{cause}",
        fix="" if is_shown else fix,
        details={"run_id": outcome.run_id, "status": outcome.status},
    )


def _first_cause(outcome: RunOutcome) -> str:
    """Return the first step to look at and its error, as one line for a log."""
    if outcome.status in {"running", "interrupted"}:
        return ""
    asks = outcome.status == "needs_orchestrator"
    statuses = {"needs_orchestrator"} if asks else {"failed", "partial"}
    step = next((step for step in outcome.steps if step.checkpoint_status in statuses), None)
    reason = "" if step is None else why(step.document(), 200)
    if step is None or not reason:
        return ""
    return f" `{step.step_id}`: {reason}" + ("" if reason[-1] in ".?!…" else ".")
