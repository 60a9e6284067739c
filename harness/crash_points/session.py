"""What a process does with a run: start it, take it up where another left it, decide what waits for a person.

Only through the public verbs. It ends when the run is at rest, or when something says why it cannot go on.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from harness.crash_points.shapes import EFFECTS, Shape
from pixirnb import api
from pixirnb.engine.engine import engine
from pixirnb.errors import InternalError, PixirnbError, UnknownRun
from pixirnb.machine.outcome import RunOutcome
from pixirnb.operations.locations import store_of

_COURSES: Final = 6
"""How often a run may be taken up before it is said not to come to rest."""


@dataclass(frozen=True, slots=True)
class World:
    """The folders of one point."""

    path: Path

    @property
    def disk(self) -> Path:
        """What operations are counted in, and what a power failure cuts back."""
        return self.path / "disk"

    @property
    def state(self) -> Path:
        """The state folder; made by the run."""
        return self.disk / "state"

    @property
    def work(self) -> Path:
        """The workspace."""
        return self.path / "work"

    def make(self) -> None:
        """Make the folders that are there before any run."""
        for folder in (self.disk / "tmp", self.disk / "config", self.work):
            folder.mkdir(parents=True)


def newest(world: World) -> str | None:
    """The newest run that began; None where none did."""
    for run_id in store_of(world.work, world.state).run_ids():
        try:
            if api.open_run(run_id, state=world.state).history():
                return run_id
        except UnknownRun:
            continue
    return None


def work(world: World, shape: Shape, *, is_recovery: bool) -> dict[str, Any]:
    """Bring the run to rest; a recovery takes it up again until it is completed. What became of it, as plain data."""
    try:
        outcome, is_quiet = _driven(world, shape, is_recovery=is_recovery)
        ended: dict[str, Any] = {"outcome": outcome.document(), "is_no_op": is_quiet}
    except InternalError as error:
        ended = {"traceback": f"{error.message} {error.details.get('traceback', '')}"}
    except PixirnbError as error:
        ended = {"error": error.code, "message": error.message}
    except BaseException:  # noqa: BLE001 - whatever it is, it is the finding
        ended = {"traceback": traceback.format_exc()}
    try:
        engine().close()
    except BaseException:  # noqa: BLE001 - as above
        ended = {"traceback": traceback.format_exc()}
    return ended


def _driven(world: World, shape: Shape, *, is_recovery: bool) -> tuple[RunOutcome, bool]:
    run_id = newest(world) if is_recovery else None
    if run_id is None:
        given = {"effects": str(world.work / EFFECTS), **shape.inputs}
        run = api.start(shape.workflow, given, workspace=world.work, state=world.state)
        outcome = run.wait()
    else:
        run = api.open_run(run_id, state=world.state)
        outcome = run.outcome
    for _ in range(_COURSES):
        if outcome.status == "completed":
            break
        waiting = [
            step.step_id
            for step in outcome.steps
            if step.kind == "decision" and step.checkpoint_status == "needs_orchestrator"
        ]
        is_decided = any(r["code"] == "decided_not_resumed" for r in outcome.reasons)
        if waiting and not is_decided and outcome.status == "needs_orchestrator":
            run.decide(waiting[0], "accept", note="by the drill")
        elif is_recovery:
            run = api.resume(run.id, state=world.state)
        else:
            return outcome, False
        outcome = run.wait()
    is_quiet = outcome.status == "completed" and is_recovery
    if is_quiet:
        is_quiet = api.resume(run.id, state=world.state).is_no_op
    return outcome, is_quiet
