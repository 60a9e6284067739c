"""Lists that show themselves: the results of `runs()`, `history()`, `plan_resume()` and `explain()`.

They are plain lists otherwise. A slice of one is one too, so that `run.history()[-20:]` reads as well as the whole. Printing
one shows what a terminal shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, SupportsIndex, TypeVar, cast, overload

from pixirnb.history.events import Event, ResumeStep
from pixirnb.machine.document_access import Attributes
from pixirnb.machine.outcome_documents import RunRow
from pixirnb.views.basics.sanitize import plural
from pixirnb.views.basics.status_marks import count_mark, run_mark
from pixirnb.views.basics.times import moment
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.blocks.model import (
    Block,
    Code,
    Counts,
    Paragraph,
    Phrase,
    Section,
    Status,
    Table,
)
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.event_lines import event_sentence
from pixirnb.views.run.outcome_view import explain_blocks
from pixirnb.views.run.resume_preview import resume_blocks

T = TypeVar("T")
_FIRST: Final = 30
_LAST: Final = 150
"""Events shown of a history that is longer than both together; a step that failed is found near the end."""
_HEADS: Final = ("", "at", "event")


class Listing(list[T]):
    """A list that shows itself."""

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> T: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[T]: ...
    def __getitem__(self, index: Any, /) -> Any:
        result = list.__getitem__(self, index)
        return self._like(result) if isinstance(index, slice) else result

    def _like(self, entries: list[T]) -> list[T]:
        return type(self)(entries)

    def _blocks(self) -> list[Block]:
        raise NotImplementedError

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return mimebundle(self._blocks())

    def __repr__(self) -> str:
        return draw_text(self._blocks())


class Rows(Listing[Attributes]):
    """The runs of a state folder that a filter lets pass."""

    def __init__(self, rows: Iterable[Attributes] = (), total: int = 0) -> None:
        """`total`: number of runs; where no run passes the filter, of all in the folder."""
        super().__init__(rows)
        self.total = total

    def _like(self, entries: list[Attributes]) -> list[Attributes]:
        return Rows(entries, self.total)

    def _blocks(self) -> list[Block]:
        return run_list_blocks(cast("Sequence[RunRow]", self), self.total)


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


def run_list_blocks(runs: Sequence[RunRow], total: int = 0) -> list[Block]:
    """Return a row for each run; without one, `total` is the number of runs that a filter left out."""
    if not runs:
        others = f"No run matches; {plural(total, 'run')} in all." if total else "No runs yet."
        return [Paragraph(others, "mute")]
    rows: list[tuple[Phrase, ...]] = [
        (
            Status(run_mark(run["status"])),
            Code(run["run_id"], 60),
            run["workflow"] or "",
            moment(run["started_at"]),
            Counts(
                [
                    (count_mark(name, run_status=run["status"]), count)
                    for name, count in _counts(run).items()
                ]
            ),
        )
        for run in runs
    ]
    columns = ["status", "run", "workflow", "started", "steps"]
    extra = {
        "name": [run.get("name") or "" for run in runs],
        "tags": [", ".join(run.get("tags") or ()) for run in runs],
        "error": [run.get("error") or "" for run in runs],
    }
    for key, cells in extra.items():
        if any(cells):
            columns.append(key)
            rows = [(*row, cell) for row, cell in zip(rows, cells, strict=True)]
    return [Table(tuple(columns), rows)]


def _counts(run: RunRow) -> dict[str, int]:
    """Return the counts with the words of the steps' own views: what was stopped has not failed by itself."""
    stopped = run.get("failed_as", {})
    if not stopped:
        return run["counts"]
    counts = {**run["counts"], **stopped}
    counts["failed"] = counts.get("failed", 0) - sum(stopped.values())
    return {name: count for name, count in counts.items() if count > 0}


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
