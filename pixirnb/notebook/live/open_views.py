"""Views of runs that this kernel's notebooks show: one live view a run, however many outputs show it.

attended, not too large     a live view; the file keeps the picture next to it
else, in a notebook         a picture that is redrawn
in a terminal               text, once
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from IPython.display import display

from pixirnb.errors import PixirnbError
from pixirnb.notebook.cells.registry import SHELF
from pixirnb.notebook.kernel.cell_guards import honest
from pixirnb.notebook.kernel.front_ends import is_attended, view_for
from pixirnb.notebook.live.live_view import LiveView
from pixirnb.notebook.live.static_picture import Picture
from pixirnb.notebook.rendering import in_cell
from pixirnb.operations.run import Run
from pixirnb.views.live.scene import LIVE_STEPS

MOST_VIEWS: Final = 12
"""Live views a kernel keeps; the oldest whose run is at rest gives way and leaves its picture."""


@dataclass(slots=True)
class _Shown:
    execution: str
    """Id of the cell's execution: another one begins with an empty output."""
    runs: set[str] = field(default_factory=set)
    """By their folders."""


@dataclass(slots=True)
class Gallery:
    """The live views of this kernel, oldest first."""

    views: dict[str, LiveView] = field(default_factory=dict)
    """By the folder of the run."""
    _cells: dict[str, _Shown] = field(default_factory=dict)
    """Content of each cell's output."""
    _has_shown_note: bool = False
    """True if the limits of the front-end have been shown."""

    def show(self, run: Run, shell: Any, *, is_staying: bool = False) -> Callable[[], None]:
        """Show a run in the current cell; returns what brings its saved picture up to date. `is_staying`: the cell waits."""
        if not self._is_live(run, shell):
            is_notebook = getattr(shell, "kernel", None) is not None
            picture = Picture(run, is_moving=is_notebook)
            # A terminal cannot redraw, nor can nbval, which compares what was first shown with what was saved: where nobody
            # watches, a cell that stays shows only the end.
            if is_attended(shell) or not is_staying:
                picture.show()
            return picture.settle
        view = self._view(run)
        cell, execution = _current_cell(shell)
        if cell is not None:
            self._enter(cell, execution, str(run.folder))
        view.show(cell)
        return view.settle

    def _is_live(self, run: Run, shell: Any) -> bool:
        if not is_attended(shell) or len(run.compiled().steps) > LIVE_STEPS:
            return False
        view, note = view_for(shell)
        if note and not self._has_shown_note:
            self._has_shown_note = True
            sys.stdout.write(note + "\n")
        return view == "live"

    def close(self) -> None:
        """Close every view; each leaves its picture."""
        for view in list(self.views.values()):
            view.close()
        self.views.clear()
        self._cells.clear()

    def _view(self, run: Run) -> LiveView:
        key = str(run.folder)
        view = self.views.get(key)
        if view is None:
            resting = [key for key, old in self.views.items() if not old.run.is_live_here]
            for old in resting[: max(0, len(self.views) + 1 - MOST_VIEWS)]:
                self.views.pop(old).close()
            view = self.views[key] = LiveView(run)
        return view

    def _enter(self, cell: str, execution: str, key: str) -> None:
        shown = self._cells.get(cell)
        if shown is None or shown.execution != execution:
            self._cells[cell] = _Shown(execution)
            for before in sorted(shown.runs) if shown is not None else ():
                self._leave(cell, before, key)
        self._cells[cell].runs.add(key)

    def _leave(self, cell: str, before: str, key: str) -> None:
        """The cell is run again: what it showed before is gone, and its view with it unless it hangs elsewhere."""
        view = self.views.get(before)
        if view is None or view.forget(cell) or before == key:
            return
        if not view.run.is_live_here:
            self.views.pop(before).close()


def _current_cell(shell: Any) -> tuple[str | None, str]:
    """The current cell, and which of its executions this is."""
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    cell = (parent.get("metadata") or {}).get("cellId")
    execution = (parent.get("header") or {}).get("msg_id")
    return cell if isinstance(cell, str) else None, str(execution)


GALLERY: Final = Gallery()
"""The gallery of this kernel."""


def show_runs(shell: Any) -> None:
    """From now on a `Run` that is displayed shows itself live."""

    def shown(run: Run) -> None:
        with honest():
            SHELF.states[run.store.state] = None
            if is_attended(shell):
                GALLERY.show(run, shell)
            else:
                _show_picture(run)

    shell.display_formatter.ipython_display_formatter.for_type(Run, shown)


def _show_picture(run: Run) -> None:
    try:
        Picture(run, is_moving=False).show()
    except PixirnbError:  # its folder was removed
        bundle = run._repr_mimebundle_()
        display({mime: in_cell(text) for mime, text in bundle.items()}, raw=True)


def forget_runs(shell: Any) -> None:
    """Undo `show_runs`."""
    shell.display_formatter.ipython_display_formatter.pop(Run, None)
