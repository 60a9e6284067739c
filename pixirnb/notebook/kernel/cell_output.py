"""Results of steps in the cell that waits for its run: printed text as it comes with `--tail`, else its end; small figures."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from typing import Final

from IPython.display import display

from pixirnb.engine.broadcast import STEP_OUTPUT, Live, News, NewsQueue
from pixirnb.history.bundles import stored_output
from pixirnb.history.step_state import StepState
from pixirnb.notebook.cells.registry import REGISTRY
from pixirnb.notebook.live.value_previews import rich_preview
from pixirnb.operations.run import Run
from pixirnb.store.private_files import read_output
from pixirnb.views.basics.ansi import render_ansi
from pixirnb.views.basics.sanitize import plain, plural

_LONGEST: Final = 64 * 1024
"""Characters of a line that are waited for, and bytes of an output whose end is shown."""
_LINES: Final = 10
"""Lines shown of the end of a step's output."""
_STEPS: Final = 20
"""Steps whose output is shown."""
_FIGURE: Final = "matplotlib.figure.Figure"
_FIGURES: Final = 4
_WIDTH: Final = 320
"""Pixels."""


class CellOutput:
    """Output of steps: collected on the engine's thread, printed on the cell's."""

    def __init__(self) -> None:
        self._news = NewsQueue()
        self._open: dict[tuple[str, str], str] = {}

    def on_news(self, news: News) -> None:
        """Keep an event to tell later: a listener."""
        if isinstance(news, Live) and news.topic == STEP_OUTPUT:
            self._news.put(news)

    def tell(self) -> None:
        """Print the lines that are complete."""
        while not self._news.empty():
            news = self._news.get()
            assert isinstance(news, Live)
            key = (news.step, str(news.data["stream"]))
            *lines, rest = (self._open.get(key, "") + str(news.data["chunk"])).split("\n")
            for line in lines if len(rest) <= _LONGEST else (*lines, rest):
                _write(news.step, line)
            self._open[key] = rest if len(rest) <= _LONGEST else ""

    def finish(self) -> None:
        """Print what is left, though no line end came."""
        self.tell()
        for (step, _), rest in self._open.items():
            if rest:
                _write(step, rest)
        self._open.clear()


def print_endings(run: Run) -> None:
    """Print the end of what the Python steps of this invocation printed; what a failed step printed is in its evidence."""
    printed = ((step, lines) for step, _ in _ready_now(run) if (lines := _last_lines(run, step)))
    for step, lines in islice(printed, _STEPS):
        if (left := len(lines) - _LINES) > 0:
            whole = REGISTRY.reach.text(f"%pixir logs {run.id} {step}")
            _write(step, f"… {plural(left, 'line')} before: {whole}")
        for line in lines[-_LINES:]:
            _write(step, line)
    if next(printed, None) is not None:
        whole = REGISTRY.reach.text(f"%pixir logs {run.id}")
        sys.stdout.write(f"… more steps printed text: {whole}\n")


def show_figures(run: Run) -> None:
    """Show the figures that steps of this invocation returned, small."""
    figures = (
        step for step, state in _ready_now(run) if stored_output(state).get("type") == _FIGURE
    )
    for step in islice(figures, _FIGURES):
        drawn = rich_preview(run.value(step))
        if drawn["form"] == "image":
            bundle = {drawn["mime"]: drawn["data"], "text/plain": f"[{step}] Figure"}
            display(bundle, metadata={drawn["mime"]: {"width": _WIDTH}}, raw=True)


def _ready_now(run: Run) -> Iterator[tuple[str, StepState]]:
    """Yield the Python steps that this invocation made ready."""
    state = run.state
    for step in run.compiled().steps:
        known = state.step(step.id)
        is_ready = known.checkpoint_status == "checkpoint_ready"
        if step.kind == "python" and is_ready and known.attempt > known.tried_before:
            yield step.id, known


def _last_lines(run: Run, step: str) -> list[str]:
    path = run.output_path(step)
    size = path.stat().st_size if path.exists() else 0
    text = read_output(path, max(0, size - _LONGEST)).decode("utf-8", "replace")
    return render_ansi(text).text.rstrip().splitlines()


def _write(step: str, line: str) -> None:
    sys.stdout.write(f"[{step}] {plain(line.rstrip(chr(13)))}\n")
