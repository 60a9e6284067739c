"""Lists that show themselves: the results of `history()`, `plan_resume()` and `explain()`; for `runs()` see `run_rows`.

They are plain lists otherwise. A slice of one is one too, so that `run.history()[-20:]` reads as well as the whole. Printing
one shows what a terminal shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from pixirnb.history.events import Event, ResumeStep
from pixirnb.views.basics.sanitize import plural
from pixirnb.views.basics.times import moment
from pixirnb.views.blocks.model import (
    Block,
    Paragraph,
    Section,
    Table,
)
from pixirnb.views.run.event_lines import event_sentence
from pixirnb.views.run.outcome_view import explain_blocks
from pixirnb.views.run.resume_preview import resume_blocks
from pixirnb.views.run.run_rows import Listing

_FIRST: Final = 30
_LAST: Final = 150
"""Events shown of a history that is longer than both together; a step that failed is found near the end."""
_HEADS: Final = ("", "at", "event")


class History(Listing[Event]):
    """The events of a run."""

    def _blocks(self) -> list[Block]:
        return _history_blocks(self)


class Forecast(Listing[ResumeStep]):
    """Forecast of a resume: the action for each step."""

    def __init__(self, steps: Iterable[ResumeStep] = (), run_id: str = "") -> None:
        super().__init__(steps)
        self.run_id = run_id

    def _like(self, entries: list[ResumeStep]) -> list[ResumeStep]:
        return Forecast(entries, self.run_id)

    def _blocks(self) -> list[Block]:
        return resume_blocks({"run_id": self.run_id, "steps": list(self)})


class Sentences(Listing[str]):
    """Sentences, a line each."""

    def _blocks(self) -> list[Block]:
        return explain_blocks(self)


def _history_blocks(events: Sequence[Event]) -> list[Block]:
    """Return a row for each event: its number, its moment and a sentence. Of a long history, its beginning and its end.

    Moments bear their date, so that a recorded notebook is compared without them (see spans.py).
    """
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
