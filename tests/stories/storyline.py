"""What the stories share: a workspace, a workflow as a dict, and a count of what really happened.

A step's effect is a line in a file of the workspace: the log says what pixirnb believes, the file says what it did.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pixirnb
from pixirnb import api
from pixirnb.machine.outcome import RunOutcome
from pixirnb.operations.run import Run

ROOT = Path(__file__).parents[2]
EFFECTS = "effects.txt"


def mark(step: str, then: str = "") -> str:
    """A shell text that leaves a line in the effects file, then does `then`."""
    return f"echo {step} >> {EFFECTS}" + (f"; {then}" if then else "")


def effects(workspace: Path) -> list[str]:
    """What steps really did, in order."""
    path = workspace / EFFECTS
    return path.read_text().split() if path.is_file() else []


def spec(*steps: dict[str, Any], name: str = "story", **fields: Any) -> dict[str, Any]:
    """A workflow as a dict."""
    return {"name": name, **fields, "steps": list(steps)}


def shell(step: str, run: str | list[str], *after: str, **fields: Any) -> dict[str, Any]:
    """A shell step."""
    return {"id": step, "run": run, "depends_on": list(after), **fields}


def over(step: str, items: Any, run: str, *after: str, **fields: Any) -> dict[str, Any]:
    """A shell step with items."""
    return shell(step, run, *after, for_each=items, **fields)


def started(workspace: Path, *steps: dict[str, Any], **fields: Any) -> Run:
    """A run under way in `workspace`."""
    inputs = fields.pop("given", None)
    return api.start(spec(*steps, **fields), inputs, workspace=workspace)


def ended(workspace: Path, *steps: dict[str, Any], **fields: Any) -> tuple[Run, RunOutcome]:
    """A run that came to rest, and its outcome."""
    run = started(workspace, *steps, **fields)
    return run, run.wait()


def kinds(run: Run) -> list[str]:
    """The kinds of its recorded events, in order."""
    return [event.kind for event in run.history()]


def facts(run: Run, kind: str) -> list[dict[str, Any]]:
    """The data of its recorded events of a kind."""
    return [event.data for event in run.history() if event.kind == kind]


def statuses(outcome: RunOutcome) -> dict[str, str | None]:
    """Step to checkpoint status."""
    return {step.step_id: step.checkpoint_status for step in outcome.steps}


def until(is_so: Callable[[], object]) -> None:
    """Wait until it is so; pytest's own time-out ends a wait in vain."""
    while not is_so():
        time.sleep(0.02)


def python(
    *arguments: str, cwd: Path, by: Sequence[str] = (), **options: Any
) -> subprocess.Popen[str]:
    """Another process of pixirnb's, started by the words of another command."""
    # Of the package under test, which may be a copy with a bug.
    here = Path(pixirnb.__file__).parents[1]
    env = {**os.environ, "PYTHONPATH": str(here), **options.pop("env", {})}
    return subprocess.Popen(
        [*by, sys.executable, *arguments],
        cwd=cwd,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )
