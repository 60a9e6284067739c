"""The steps of an outcome as rows: each written step, and below one with items those that are worth a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pixirnb.machine.outcome_documents import StepDocument
from pixirnb.views.basics.phrases import why
from pixirnb.views.basics.sanitize import plural
from pixirnb.views.basics.status_marks import QUIET, Mark, in_view, step_mark
from pixirnb.views.basics.step_items import (
    WORST,
    count_marks,
    items_of,
    says_only_counts,
    span_of,
    worst,
    written_steps,
)
from pixirnb.views.basics.times import span
from pixirnb.views.blocks.model import (
    ROWS,
    Block,
    Counts,
    Details,
    Marked,
    Paragraph,
    Phrase,
    Table,
    Word,
)

SMALL: Final = 30
"""Steps up to which all of them are listed."""
Row = tuple[Phrase, ...]


def step_rows(
    steps: Sequence[StepDocument],
    counts: Sequence[tuple[Mark, int]],
    *,
    has_all_items: bool = False,
) -> list[Block]:
    """Return every step of a small run; of a large one those that a reader looks for, and the others behind a click.

    `counts`: of the written steps; `has_all_items`: each item has a row.
    """
    own, items = written_steps(steps), items_of(steps)
    if not own:
        return []
    if has_all_items or len(own) <= SMALL:
        return [steps_table(own, items, has_all_items=has_all_items)]
    listed = in_view(own)
    quiet = Counts([(mark, count) for mark, count in counts if mark.key in QUIET])
    others = Details(
        f"All {plural(len(own), 'step')}",
        [steps_table(own, items)],
        instead=[Paragraph(("and", quiet))] if quiet.counts else [],
    )
    return [*([steps_table(listed, items)] if listed else []), others]


def whole_table(steps: Sequence[StepDocument]) -> Table:
    """Return a row for each written step of these, and for the worst of its items."""
    return steps_table(written_steps(steps), items_of(steps))


def steps_table(
    steps: Sequence[StepDocument],
    items: Mapping[str, Sequence[StepDocument]] | None = None,
    *,
    has_all_items: bool = False,
) -> Table:
    """Return a row for each step outcome, with their `items`: the worst few, or all of them."""
    known = items or {}
    rows = [
        row
        for step in (steps if has_all_items else steps[:ROWS])
        for row in _rows(step, known.get(step.get("step_id") or "", ()), has_all_items)
    ]
    # As wide as any span, always: a slower run must not move the columns of a recorded notebook.
    heads = ("step", "status", "attempt", f"{'elapsed':>10}", "details")
    extra = len(rows) - len(steps[:ROWS])
    return Table(
        heads,
        rows,
        numeric=frozenset({2, 3}),
        count=len(rows) if has_all_items else len(steps) + extra,
        limit=max(ROWS, len(rows)),
    )


def item_blocks(items: Sequence[StepDocument], *, has_all: bool = False) -> list[Block]:
    """Return how the items of a step stand, and a row for each of the worst, or for all."""
    if not items:
        return []
    counts = count_marks([step_mark(item) for item in items])
    shown = items if has_all else worst(items)[:ROWS]
    return [
        Paragraph(f"{counts}."),
        *([steps_table(shown, has_all_items=has_all)] if shown else []),
    ]


def _rows(step: StepDocument, items: Sequence[StepDocument], has_all: bool) -> Iterator[Row]:
    if not items:
        yield _row(step, why(step), step.get("elapsed_ms"))
        return
    details = count_marks([step_mark(item) for item in items])
    took = span_of(step, items)
    yield _row(step, details if says_only_counts(step) else f"{details}; {why(step)}", took)
    shown = worst(items)
    left = 0 if has_all else len(shown) - WORST
    for item in items if has_all else shown[:WORST]:
        yield _row(item, why(item), item.get("elapsed_ms"))
    if left > 0:
        yield ("", "", "", "", f"and {left:,} more not ready")


def _row(step: StepDocument, details: str, elapsed_ms: int | None) -> Row:
    mark, attempt = step_mark(step), step.get("attempt")
    return (
        Marked(mark, step.get("step_id"), step.get("title") or ""),
        Word(mark),
        str(attempt) if attempt else "",
        span(elapsed_ms),
        details,
    )
