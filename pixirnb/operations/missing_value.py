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
