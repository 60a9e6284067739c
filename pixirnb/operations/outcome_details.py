"""Details of an outcome that no log has: masked inputs, and what the files say of the output of running steps.

The errors are of an outcome that is not what was asked for: a run that did not complete, a step without a value.

The log records neither the environment that names the secrets nor when a running step last printed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from pixirnb.engine.live_run import LiveRun
from pixirnb.errors import Cannot, RunInterrupted, RunNotCompleted, StateUnusable, UnknownRun
from pixirnb.history.events import WarningRaised
from pixirnb.ids import attempt_name
from pixirnb.machine.outcome import RunOutcome, StepOutcome
from pixirnb.machine.outcome_documents import NextAction
from pixirnb.runners.output.mask import Mask, mask_here
from pixirnb.views.basics.phrases import clashing, mark_placeholders, why


def outcome_in_memory(live: LiveRun, find_folder: Callable[[], Path]) -> RunOutcome:
    """Return the outcome of a run that this process drives, or drove; a refused run folder is a warning of it.

    Raises UnknownRun if the folder was removed after the end.
    """
    result, folder = live.outcome(), live.scheduler.log.folder
    try:
        return with_details(result, find_folder())
    except UnknownRun:
        if live.scheduler.write_error is None or folder is None:
            raise
    except StateUnusable as refused:
        if folder is None:
            raise
        warning: WarningRaised = {
            "code": refused.code,
            "message": refused.one_line(),
            "step": None,
        }
        result = replace(result, warnings=[*result.warnings, warning])
    return with_details(result, folder)


def with_details(
    result: RunOutcome, folder: Path, *, now: Callable[[], float] = time.time
) -> RunOutcome:
    """Return an outcome with the secrets of this process masked in its inputs and the titles of items, which may come of
    inputs, and with the output of its running steps.
    """
    mask = mask_here({})
    inputs = mask.value(result.inputs) if result.inputs else {}
    steps = [_masked(step, mask) if "@" in step.step_id else step for step in result.steps]
    if result.status == "running":
        steps = [
            _printing(step, folder, now()) if step.subagent_status == "running" else step
            for step in steps
        ]
    return replace(result, inputs=inputs, steps=steps)


def _masked(item: StepOutcome, mask: Mask) -> StepOutcome:
    title = mask.text(item.title or "")
    return replace(item, title=title) if title != (item.title or "") else item


def _printing(step: StepOutcome, folder: Path, now_s: float) -> StepOutcome:
    if step.started_at is None:
        return step
    path = folder / "output" / f"{attempt_name(step.step_id, step.attempt)}.log"
    last, size = datetime.fromisoformat(step.started_at).timestamp(), 0
    try:
        status = path.lstat()
    except OSError:
        pass  # it has printed nothing
    else:
        last, size = status.st_mtime, status.st_size
    age_ms = max(0, round((now_s - last) * 1000))
    return replace(step, output_path=str(path) if size else None, output_age_ms=age_ms)


def not_completed(outcome: RunOutcome, *, is_shown: bool = False) -> RunNotCompleted:
    """Return the error for an outcome that is not accepted.

    `is_shown`: a view stands above the error, with the failed steps and the next actions.
    """
    kind = RunInterrupted if outcome.status == "interrupted" else RunNotCompleted
    step = _first_step(outcome)
    action = next((each for each in outcome.next_actions if _suits(each, step)), None)
    fix = (
        f"{action['action'].replace('_', ' ')}: {mark_placeholders(action['cell'])}"
        if action
        else ""
    )
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


def no_value(outcome: RunOutcome, step_id: str) -> Cannot:
    """Return the error that says why a step that is not ready has no value, and what to read instead."""
    step = outcome.step(step_id)
    reason = why(step.document(), 200).removesuffix(".")
    held = step.held_by
    fix = f"see `pixirnb show {outcome.run_id} {step_id}`"
    match step.checkpoint_status:
        case "held" if step.skipped:
            cause = f"it was skipped ({reason})"
        case "held" if held is not None and held["kind"] == "dependency":
            cause = f"it was not run (held by `{held['step']}`)"
        case "held":
            cause = f"it was not run ({reason})"
        case "failed":
            cause = f"it failed ({reason})"
        case "partial":
            cause = f"it is partial ({reason})"
        case "needs_orchestrator":
            cause = "it needs a decision"
            if step.next_actions and "command" in step.next_actions[0]:
                fix = f"run `{mark_placeholders(step.next_actions[0]['command'])}`"
        case _:
            cause = "it has not finished" if step.attempt else "it has not started"
            fix = (
                "wait until the run finishes"
                if outcome.status == "running"
                else f"continue the run: `pixirnb resume {outcome.run_id}`"
            )
    details = {"step": step_id, "status": step.checkpoint_status or step.subagent_status}
    return Cannot(f"`{step_id}` has no value: {cause}", fix=fix, code="no_value", details=details)
