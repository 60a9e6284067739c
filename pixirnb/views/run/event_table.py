"""A history as a table: each event with its number, its moment and a sentence. Of a long one, its beginning and its end.

Moments bear their date, so that a recorded notebook is compared without them (see spans.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pixirnb.history.events import Event
from pixirnb.views.basics import html_cards
from pixirnb.views.basics.durations import moment
from pixirnb.views.basics.markup import text
from pixirnb.views.basics.sanitize import plain, plural
from pixirnb.views.basics.text_table import table
from pixirnb.views.run.event_lines import event_sentence

_FIRST: Final = 30
_LAST: Final = 150
"""Events shown of a history that is longer than both together; a step that failed is found near the end."""
_HEADS: Final = ("", "at", "what happened")
_NUMBER: Final = frozenset({0})


def history_text(events: Sequence[Event]) -> str:
    """For a terminal."""
    first, last = _shown(events)
    lines = table(
        _HEADS, [*_rows(first), *_gap(events, first, last), *_rows(last)], numeric=_NUMBER
    )
    return plain("\n".join([_head(events), *lines]), 60_000)


def history_html(events: Sequence[Event]) -> str:
    """For a notebook."""
    first, last = _shown(events)
    rows = [*_rows(first), *_gap(events, first, last), *_rows(last)]
    told = [[text(cell, 500) for cell in row] for row in rows]
    return html_cards.card(
        f'<p class="pixirnb-mute">{text(_head(events))}</p>',
        html_cards.scroll(html_cards.table(_HEADS, told, numeric=_NUMBER)),
    )


def _head(events: Sequence[Event]) -> str:
    return plural(len(events), "event")


def _shown(events: Sequence[Event]) -> tuple[Sequence[Event], Sequence[Event]]:
    if len(events) <= _FIRST + _LAST:
        return events, ()
    return events[:_FIRST], events[-_LAST:]


def _gap(events: Sequence[Event], first: Sequence[Event], last: Sequence[Event]) -> list[list[str]]:
    left = len(events) - len(first) - len(last)
    if not left:
        return []
    return [["", "", f"… {left:,} more: history()[{len(first)}:{len(first) + left}]"]]


def _rows(events: Sequence[Event]) -> list[list[str]]:
    return [[str(event.seq), moment(event.at), event_sentence(event)] for event in events]
