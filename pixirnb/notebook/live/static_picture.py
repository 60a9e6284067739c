"""The picture of a run in a cell's output: redrawn as its steps change, and a last time when it has come to rest.

The saved notebook holds the last one. It is drawn off the engine's thread, so that no picture ever delays a step.
"""

from __future__ import annotations

import threading
from typing import Any, Final

from IPython.display import DisplayHandle, display

from pixirnb.machine.outcome import RunOutcome
from pixirnb.notebook.cells.registry import SHELF
from pixirnb.operations.run import Run
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.picture.drawing import edges_of
from pixirnb.views.run.outcome_view import outcome_blocks

_PAUSE_S: Final = 0.5
_PAUSE_PER_STEP_S: Final = 0.005
"""A large picture is redrawn less often: 1,000 steps make a few hundred kilobytes."""


class Picture:
    """A run's picture. `is_moving` says whether an output can be changed once it is shown: not in a terminal."""

    def __init__(self, run: Run, *, is_moving: bool) -> None:
        self._run = run
        self._is_moving = is_moving
        plan = run.compiled()
        self._edges = edges_of(plan)
        self._plan = run.plan.document()
        self._pause_s = _PAUSE_S + _PAUSE_PER_STEP_S * len(plan.steps)
        self._lock = threading.Lock()
        self._handle: DisplayHandle | None = None
        self._drawn_statuses: Any = None
        self._is_settled = False

    def show(self) -> None:
        """Show it in the current cell; where an output can change, keep it true from now on."""
        with self._lock:
            drawn = self._drawn(self._run.outcome)
            if not self._is_moving:
                display(drawn, raw=True)
                return
            self._handle = display(drawn, raw=True, display_id=True)
        if not self._run.is_live_here:
            return
        threading.Thread(target=self._follow, name="pixirnb-picture", daemon=True).start()

    def settle(self) -> None:
        """Draw it a last time, now that the run is at rest. Later calls do nothing."""
        with self._lock:
            if self._is_settled:
                return
            self._is_settled = True
            drawn = self._drawn(self._run.outcome)
            if self._handle is None:
                display(drawn, raw=True)
            else:
                self._handle.update(drawn, raw=True)

    def _follow(self) -> None:
        live = self._run.live
        assert live is not None
        while not live.ended.wait(self._pause_s):
            self._refresh()
        self.settle()

    def _refresh(self) -> None:
        outcome = self._run.outcome
        statuses = [(s.checkpoint_status, s.subagent_status, s.attempt) for s in outcome.steps]
        with self._lock:
            if (
                statuses != self._drawn_statuses
                and self._handle is not None
                and not self._is_settled
            ):
                self._drawn_statuses = statuses
                self._handle.update(self._drawn(outcome), raw=True)

    def _drawn(self, outcome: RunOutcome) -> dict[str, str]:
        document = SHELF.with_cells(outcome.document())
        if outcome.status == "running":
            # The log knows it once the run rests; until then a clock that stands still would mislead.
            document["elapsed_ms"] = None
        return mimebundle(
            SHELF.reach.blocks(outcome_blocks(document, self._edges, plan=self._plan))
        )
