"""Printed text of steps, in the cell that waits for its run: as it comes with `--tail`, else its end when the run is over."""

from __future__ import annotations

import sys
from typing import Final

from pixirnb.engine.broadcast import STEP_OUTPUT, Live, News, NewsQueue
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


class CellOutput:
    """Hears on the engine's thread, tells on the cell's."""

    def __init__(self) -> None:
        self._news = NewsQueue()
        self._open: dict[tuple[str, str], str] = {}

    def hear(self, news: News) -> None:
        """A listener."""
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
    state, shown = run.state, 0
    for step in run.compiled().steps:
        known = state.step(step.id)
        if step.kind != "python" or known.checkpoint_status != "checkpoint_ready":
            continue
        if known.attempt <= known.tried_before or not (lines := _last_lines(run, step.id)):
            continue
        shown += 1
        if shown > _STEPS:
            sys.stdout.write(f"… more steps printed text: %pixir logs {run.id}\n")
            return
        if (left := len(lines) - _LINES) > 0:
            _write(step.id, f"… {plural(left, 'line')} before: %pixir logs {run.id} {step.id}")
        for line in lines[-_LINES:]:
            _write(step.id, line)


def _last_lines(run: Run, step: str) -> list[str]:
    path = run.output_path(step)
    size = path.stat().st_size if path.exists() else 0
    text = read_output(path, max(0, size - _LONGEST)).decode("utf-8", "replace")
    return render_ansi(text).text.rstrip().splitlines()


def _write(step: str, line: str) -> None:
    sys.stdout.write(f"[{step}] {plain(line.rstrip(chr(13)))}\n")
