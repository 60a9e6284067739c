"""A history as a table: each event with its number, its moment and a sentence. Of a long one, its beginning and its end.

Moments bear their date, so that a recorded notebook is compared without them (see spans.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pixirnb.history.events import Event
from pixirnb.views.basics.sanitize import plural
from pixirnb.views.basics.times import moment
from pixirnb.views.blocks.model import Block, Paragraph, Section, Table
from pixirnb.views.run.event_lines import event_sentence

_FIRST: Final = 30
_LAST: Final = 150
"""Events shown of a history that is longer than both together; a step that failed is found near the end."""
_HEADS: Final = ("", "at", "event")


def history_blocks(events: Sequence[Event]) -> list[Block]:
    """Return a row for each event."""
    first, last = _shown(events)
    rows = [*_rows(first), *_gap(events, first, last), *_rows(last)]
    return [
        Paragraph(plural(len(events), "event"), "mute"),
        Section("", [Table(_HEADS, rows, numeric=frozenset({0}), limit=len(rows))]),
    ]


def _shown(events: Sequence[Event]) -> tuple[Sequence[Event], Sequence[Event]]:
    if len(events) <= _FIRST + _LAST:
        return events, ()
    return events[:_FIRST], events[-_LAST:]


def _gap(
    events: Sequence[Event], first: Sequence[Event], last: Sequence[Event]
) -> list[tuple[str, str, str]]:
    left = len(events) - len(first) - len(last)
    if not left:
        return []
    return [("", "", f"… {left:,} more: history()[{len(first)}:{len(first) + left}]")]


def _rows(events: Sequence[Event]) -> list[tuple[str, str, str]]:
    return [(str(event.seq), moment(event.at), event_sentence(event)) for event in events]
