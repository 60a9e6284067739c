"""Names of steps and workflows as people read them: the title, and the id where it is needed for a command.

box of a graph, row of the timeline     name_of   the title alone; the id is in the tooltip
all other places                        label     `title (id)`
sentences, commands, logs, JSON         the id
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from pixirnb.views.basics.markup import code, text
from pixirnb.views.basics.sanitize import line

_TITLE: Final = 120
_LEAST: Final = 8
"""Columns of a title that are worth showing."""


def name_of(name: object, title: object) -> str:
    """Return the title of a step or a workflow, or its id if it has none."""
    return line(title or "", _TITLE) or line(name, 64)


def label(name: object, title: object, room: int = 64) -> str:
    """Return `title (id)` in at most `room` columns of a terminal; only the id if there is no title, or no room for it."""
    shown, known = line(title or "", _TITLE), line(name, 64)
    left = room - width(known) - len(" ()")
    return f"{_cut(shown, left)} ({known})" if shown and left >= _LEAST else known


def label_html(name: object, title: object) -> str:
    """Return `title (id)` as markup; only the id if there is no title."""
    if not (words := text(title or "", _TITLE)):
        return code(name, 80)
    return f'<span>{words}</span> <span class="pixirnb-mute">({text(name, 80)})</span>'


def titles_of(document: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the titles in the `steps` of a document, by id."""
    steps = (document or {}).get("steps") or ()
    return {step["step_id"]: step["title"] for step in steps if step.get("title")}


def width(words: str) -> int:
    """Return the terminal columns that `words` takes: wide letters take two, combining ones none."""
    if words.isascii():
        return len(words)
    return sum(map(_columns, words))


def _columns(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def _cut(words: str, columns: int) -> str:
    """Return `words`, or its beginning and `…` in at most `columns`."""
    if width(words) <= columns:
        return words
    left = columns - 1
    for position, letter in enumerate(words):
        left -= _columns(letter)
        if left < 0:
            return f"{words[:position].rstrip()}…"
    return words
