"""The list of runs, which shows itself: the result of `runs()`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex, TypeVar, cast, overload

from pixirnb.machine.document_access import Attributes
from pixirnb.machine.outcome_documents import RunRow
from pixirnb.views.basics.sanitize import plural
from pixirnb.views.basics.status_marks import count_mark, run_mark
from pixirnb.views.basics.times import moment
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.blocks.model import Block, Code, Counts, Paragraph, Phrase, Status, Table
from pixirnb.views.blocks.text_renderer import draw_text

T = TypeVar("T")


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
