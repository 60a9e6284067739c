"""`--tail` in a cell: the steps' output, line by line, in the cell that stays with the run."""

from __future__ import annotations

import sys
from typing import Final

from pixirnb.engine.broadcast import STEP_OUTPUT, Live, News, NewsQueue
from pixirnb.views.basics.sanitize import plain

_LONGEST: Final = 64 * 1024
"""Characters of a line that are waited for."""


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
                self._say(news.step, line)
            self._open[key] = rest if len(rest) <= _LONGEST else ""

    def finish(self) -> None:
        """Print what is left, though no line end came."""
        self.tell()
        for (step, _), rest in self._open.items():
            if rest:
                self._say(step, rest)
        self._open.clear()

    def _say(self, step: str, line: str) -> None:
        sys.stdout.write(f"[{step}] {plain(line.rstrip(chr(13)))}\n")
