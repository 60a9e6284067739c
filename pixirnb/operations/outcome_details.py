"""Details of an outcome that no log has: masked inputs, and what the files say of the output of running steps.

The log records neither the environment that names the secrets nor when a running step last printed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from pixirnb.ids import attempt_name
from pixirnb.machine.outcome import RunOutcome, StepOutcome
from pixirnb.runners.output.mask import mask_here


def with_details(
    result: RunOutcome, folder: Path, *, now: Callable[[], float] = time.time
) -> RunOutcome:
    """Return an outcome with the secrets of this process masked in its inputs, and the output of its running steps."""
    inputs = mask_here({}).value(result.inputs) if result.inputs else {}
    if result.status != "running":
        return replace(result, inputs=inputs)
    steps = [
        _printing(step, folder, now()) if step.subagent_status == "running" else step
        for step in result.steps
    ]
    return replace(result, inputs=inputs, steps=steps)


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
