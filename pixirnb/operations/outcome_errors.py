"""Errors of an outcome that is not what was asked for: a run that did not complete, a step without a value."""

from __future__ import annotations

from pixirnb.errors import Cannot, RunInterrupted, RunNotCompleted
from pixirnb.machine.outcome import RunOutcome
from pixirnb.views.basics.phrases import clashing, why


def not_completed(outcome: RunOutcome, *, is_shown: bool = False) -> RunNotCompleted:
    """Return the error for an outcome that is not accepted: its status, the first step to look at, the next action. One line.

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


def no_value(outcome: RunOutcome, step_id: str) -> Cannot:
    """Return the error that says why a step that is not ready has no value, and what to read instead."""
    step = outcome.step(step_id)
    reason = why(step.document(), 200).removesuffix(".")
    held = step.held_by
    match step.checkpoint_status:
        case "held" if held is not None and held["kind"] == "dependency":
            cause = f"it was not run (held by `{held['step']}`)"
            fix = f"see `pixirnb show {outcome.run_id} {step_id}`"
        case "held":
            verb = "skipped" if held is not None and held["kind"] == "when" else "not run"
            cause = f"it was {verb} ({reason})"
            fix = f"see `pixirnb show {outcome.run_id} {step_id}`"
        case "failed":
            has_traceback = step.error is not None and step.error["details"].get("traceback")
            fix = f"print(run[{step_id!r}].{'traceback' if has_traceback else 'output'}) shows more"
            cause = f"it failed ({reason})"
        case "partial":
            cause = f"it is partial ({reason})"
            fix = f"read run.bundle({step_id!r}), or accept it: run.accept({step_id!r})"
        case "needs_orchestrator":
            cause = "it needs a decision"
            fix = f"run.accept({step_id!r}) or run.reject({step_id!r})"
        case _:
            cause = "it has not finished" if step.attempt else "it has not started"
            fix = (
                "wait for the run: run.wait()"
                if outcome.status == "running"
                else "continue the run: run.resume()"
            )
    details = {"step": step_id, "status": step.checkpoint_status or step.subagent_status}
    return Cannot(f"`{step_id}` has no value: {cause}", fix=fix, code="no_value", details=details)
