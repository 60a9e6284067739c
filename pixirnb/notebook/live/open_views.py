"""Views of runs and plans that this kernel's notebooks show: one live view a run, however many outputs show it.

attended, not too large     a live view; the file keeps the picture next to it
  a plan                    its card, and a button that runs it
else, in a notebook         a picture that is redrawn
in a terminal               text, once

The saved notebook holds the last picture. It is drawn off the engine's thread, so that no picture ever delays a step.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from IPython.display import DisplayHandle, display
from msgspec import Struct, field

from pixirnb.errors import PixirnbError
from pixirnb.machine.outcome import RunOutcome
from pixirnb.notebook.cells.registry import REGISTRY
from pixirnb.notebook.kernel.cell_wait import honest
from pixirnb.notebook.kernel.front_ends import is_attended, view_for
from pixirnb.notebook.live.live_view import LiveView
from pixirnb.notebook.live.plan_button import Offer, PlanButton
from pixirnb.notebook.rendering import in_cell
from pixirnb.operations.run import Run
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.live.scene import LIVE_ITEMS, LIVE_STEPS
from pixirnb.views.picture.drawing import edges_of
from pixirnb.views.run.outcome_view import outcome_blocks

if TYPE_CHECKING:  # imported when a view is first shown
    from pixirnb.notebook.live.widget import RunWidget

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
        document = REGISTRY.with_cells(outcome.document())
        if outcome.status == "running":
            # The log knows it once the run rests; until then a clock that stands still would mislead.
            document["elapsed_ms"] = None
        return mimebundle(
            REGISTRY.reach.blocks(outcome_blocks(document, self._edges, plan=self._plan))
        )


MOST_VIEWS: Final = 12
"""Live views a kernel keeps; the oldest whose run is at rest gives way and leaves its picture."""


class _Shown(Struct):
    execution: str
    """Id of the cell's execution: another one begins with an empty output."""
    runs: set[str] = field(default_factory=set)
    """By their folders."""
    buttons: list[PlanButton] = field(default_factory=list)
    """Buttons of its plans."""

    def close(self) -> None:
        """Take its buttons off the page."""
        for button in self.buttons:
            button.close()


class OpenViews(Struct):
    """The live views of this kernel, oldest first."""

    views: dict[str, LiveView] = field(default_factory=dict)
    """By the folder of the run."""
    _cells: dict[str, _Shown] = field(default_factory=dict)
    """Content of each cell's output."""
    _lock: threading.RLock = field(default_factory=threading.RLock)
    """Cells show runs, and buttons start them on threads of their own."""
    _cell_began_at: str = ""
    """When the current cell began, as events have their times."""
    _has_shown_note: bool = False
    """True if the limits of the front-end have been shown."""

    def show(self, run: Run, shell: Any, *, is_waiting: bool = False) -> Callable[[], None]:
        """Show a run in the current cell; returns what brings its saved picture up to date. `is_waiting`: the cell waits."""
        plan = run.compiled()
        is_small = len(plan.steps) <= LIVE_ITEMS
        if not self._is_live(len(plan.written if is_small else plan.steps), shell):
            is_notebook = getattr(shell, "kernel", None) is not None
            picture = Picture(run, is_moving=is_notebook)
            # A terminal cannot redraw, nor can nbval, which compares what was first shown with what was saved: where nobody
            # watches, a cell that stays shows only the end.
            if is_attended(shell) or not is_waiting:
                picture.show()
            return picture.settle
        with self._lock:
            view = self._view(run)
            cell, execution = _current_cell(shell)
            if cell is not None:
                self._enter(cell, execution, str(run.folder)).runs.add(str(run.folder))
            view.show(cell, _count(shell), began_at=self._cell_began_at)
        return view.settle

    def show_plan(self, card: Mapping[str, str], offer: Offer | None, shell: Any) -> None:
        """Show a plan in the current cell; with a button, if its run is offered and would be shown live."""
        if offer is None or not self._is_live(len(offer.document()["steps"]), shell, is_plan=True):
            display({**card}, raw=True)
            return
        (cell, execution), number = _current_cell(shell), _count(shell)
        with self._lock:
            shown = self._enter(cell or execution, execution)

            def begin(button: PlanButton, run: Run) -> None:
                with self._lock:
                    REGISTRY.take(run)
                    if button.card is None or shown is not self._cells.get(cell or execution):
                        return  # the cell shows something else by now
                    view = self._view(run, button.widget)
                    shown.runs.add(str(run.folder))
                    view.attach(cell, number, button.card)

            button = PlanButton(offer, begin)
            shown.buttons.append(button)
            button.show(card)

    def cell_begins(self, _info: object = None) -> None:
        """Keep when a cell began: called before each."""
        self._cell_began_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def _is_live(self, steps: int, shell: Any, *, is_plan: bool = False) -> bool:
        if not is_attended(shell) or steps > LIVE_STEPS:
            return False
        view, note = view_for(shell)
        if note and not is_plan and not self._has_shown_note:
            self._has_shown_note = True
            sys.stdout.write(note + "\n")
        return view == "live"

    def close(self) -> None:
        """Close every view; each leaves its picture."""
        with self._lock:
            for view in self.views.values():
                view.close()
            for shown in self._cells.values():
                shown.close()
            self.views.clear()
            self._cells.clear()

    def _view(self, run: Run, widget: RunWidget | None = None) -> LiveView:
        key = str(run.folder)
        view = self.views.get(key)
        if view is None:
            resting = [key for key, old in self.views.items() if not old.run.is_live_here]
            for old in resting[: max(0, len(self.views) + 1 - MOST_VIEWS)]:
                self.views.pop(old).close()
            view = self.views[key] = LiveView(run, widget)
        return view

    def _enter(self, cell: str, execution: str, key: str = "") -> _Shown:
        """Return what a cell shows, to add to it; `key` is the folder of the run that is added."""
        shown = self._cells.get(cell)
        if shown is None or shown.execution != execution:
            self._cells[cell] = _Shown(execution)
            if shown is not None:
                shown.close()
                for before in sorted(shown.runs):
                    self._leave(cell, before, key)
        return self._cells[cell]

    def _leave(self, cell: str, before: str, key: str) -> None:
        """Forget what a cell showed that is run again, and close its view unless another cell shows it."""
        view = self.views.get(before)
        if view is None or view.forget(cell) or before == key:
            return
        if not view.run.is_live_here:
            self.views.pop(before).close()


def _count(shell: Any) -> int | None:
    """Return the execution count of the current cell."""
    # What the front-end shows of the count depends on IPython's version; its display hook knows.
    return getattr(getattr(shell, "displayhook", None), "prompt_count", None)


def _current_cell(shell: Any) -> tuple[str | None, str]:
    """Return the current cell, and which of its executions this is."""
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    cell = (parent.get("metadata") or {}).get("cellId")
    execution = (parent.get("header") or {}).get("msg_id")
    return cell if isinstance(cell, str) else None, str(execution)


OPEN_VIEWS: Final = OpenViews()
"""The open views of this kernel."""


def show_runs(shell: Any) -> None:
    """Let each `Run` that is displayed from now on show itself live."""

    def shown(run: Run) -> None:
        with honest():
            REGISTRY.states[run.store.state] = None
            if is_attended(shell):
                OPEN_VIEWS.show(run, shell)
            else:
                _show_picture(run)

    shell.display_formatter.ipython_display_formatter.for_type(Run, shown)
    shell.events.register("pre_run_cell", OPEN_VIEWS.cell_begins)


def _show_picture(run: Run) -> None:
    try:
        Picture(run, is_moving=False).show()
    except PixirnbError:  # its folder was removed
        bundle = run._repr_mimebundle_()
        display({mime: in_cell(text) for mime, text in bundle.items()}, raw=True)


def forget_runs(shell: Any) -> None:
    """Undo `show_runs`."""
    shell.display_formatter.ipython_display_formatter.pop(Run, None)
    if OPEN_VIEWS.cell_begins in shell.events.callbacks["pre_run_cell"]:
        shell.events.unregister("pre_run_cell", OPEN_VIEWS.cell_begins)
