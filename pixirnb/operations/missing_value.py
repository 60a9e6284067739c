"""The error of a step without a value: why it has none, and what to read instead."""

from __future__ import annotations

from pixirnb.errors import Cannot
from pixirnb.machine.outcome import RunOutcome
from pixirnb.views.basics.phrases import why


def no_value(outcome: RunOutcome, step_id: str) -> Cannot:
    """Return the error that says why a step that is not ready has no value, and what to read instead."""
    step = outcome.step(step_id)
    reason = why(step.document(), 200).removesuffix(".")
    held = step.held_by
    fix = f"see `pixirnb show {outcome.run_id} {step_id}`"
    match step.checkpoint_status:
        case "held" if held is not None and held["kind"] == "dependency":
            cause = f"it was not run (held by `{held['step']}`)"
        case "held":
            verb = "skipped" if held is not None and held["kind"] == "when" else "not run"
            cause = f"it was {verb} ({reason})"
        case "failed":
            cause = f"it failed ({reason})"
        case "partial":
            cause = f"it is partial ({reason})"
        case "needs_orchestrator":
            cause = "it needs a decision"
            if step.next_actions and "command" in step.next_actions[0]:
                fix = f"run `{step.next_actions[0]['command']}`"
        case _:
            cause = "it has not finished" if step.attempt else "it has not started"
            fix = (
                "wait until the run finishes"
                if outcome.status == "running"
                else f"continue the run: `pixirnb resume {outcome.run_id}`"
            )
    details = {"step": step_id, "status": step.checkpoint_status or step.subagent_status}
    return Cannot(f"`{step_id}` has no value: {cause}", fix=fix, code="no_value", details=details)
