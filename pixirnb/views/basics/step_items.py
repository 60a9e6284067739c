"""Items of steps with `for_each` in documents of plans and outcomes: how many they are, how they stand, which need a row.

An item is `STEP@NUMBER`, and no written id has an `@`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from pixirnb.machine.items import NOT_READY
from pixirnb.machine.outcome_documents import StepDocument
from pixirnb.planning.documents import PlannedDocument
from pixirnb.views.basics.status_marks import QUIET, STEP_MARKS, Mark, step_mark, tally
from pixirnb.views.basics.times import epoch_ms

WORST: Final = 5
"""Items of a step that have a row where not all of them are asked for."""
_GENTLE: Final = (
    *("starting", "running", "ended", "retrying", "recheck"),
    *("held", "skipped", "queued", "checkpoint_ready"),
)
_RANKS: Final = {
    name: rank
    for rank, name in enumerate(
        [*(mark.key for mark in STEP_MARKS if mark.key not in _GENTLE), *_GENTLE]
    )
}
"""Looks of items from the worst on."""


def parent_of(step: object) -> str:
    """Return the step whose item this is by its id; empty for a written one."""
    name, at, _ = str(step).partition("@")
    return name if at else ""


def written_steps(steps: Iterable[StepDocument]) -> list[StepDocument]:
    """Return the steps of the workflow, without items."""
    return [step for step in steps if not parent_of(step.get("step_id"))]


def items_of(steps: Iterable[StepDocument]) -> dict[str, list[StepDocument]]:
    """Return the items of each step that has any."""
    items: dict[str, list[StepDocument]] = {}
    for step in steps:
        if parent := parent_of(step.get("step_id")):
            items.setdefault(parent, []).append(step)
    return items


def times(count: int | None) -> str:
    """Return `× 3`, or `× ?` where the number is not known."""
    return f"× {'?' if count is None else format(count, ',')}"


def multiplicity(step: PlannedDocument) -> str:
    """Return `× 3` or `× ? (steps.find.output)` of a planned step with `for_each`; empty for any other."""
    if "items" not in step:
        return ""
    source = step.get("items_from")
    return times(step["items"]) + (f" ({source})" if step["items"] is None and source else "")


def count_marks(marks: Sequence[Mark]) -> str:
    """Return `38 of 40 items ready, 2 failed`; skipped ones do not count."""
    return counted_of(marks, len(marks))


def counted_of(marks: Sequence[Mark], total: int) -> str:
    """Return how these of `total` items stand."""
    counts = {mark.key: (mark, count) for mark, count in tally(marks)}
    ready, skipped = (
        counts.pop(key)[1] if key in counts else 0 for key in ("checkpoint_ready", "skipped")
    )
    rest = [f"{count:,} {mark.counted(count)}" for mark, count in counts.values()]
    rest += [f"{skipped:,} skipped"] * bool(skipped)
    return ", ".join([f"{ready:,} of {total - skipped:,} items ready", *rest])


def rank(mark: Mark) -> int:
    """Return the place of a look among those of items, the worst first."""
    return _RANKS.get(mark.key, 0)


def worst(items: Iterable[StepDocument]) -> list[StepDocument]:
    """Return the items that are not ready by their own doing, the worst first: none that another item holds."""
    looks = [(step_mark(item), item) for item in items]
    loud = [
        (mark, item)
        for mark, item in looks
        if mark.key not in QUIET and mark.key != "skipped" and not _is_held_by_item(item)
    ]
    return [item for _, item in sorted(loud, key=lambda pair: rank(pair[0]))]


def _is_held_by_item(item: StepDocument) -> bool:
    held_by = item.get("held_by")
    return held_by is not None and bool(parent_of(held_by.get("step")))


def span_of(step: StepDocument, items: Sequence[StepDocument]) -> int | None:
    """Return how long a step took in ms: one with items from the start of the first on, where all ran in one go."""
    if not items:
        return step.get("elapsed_ms")
    begun = [moment for item in items if (moment := epoch_ms(item.get("started_at"))) is not None]
    ended = epoch_ms(step.get("ended_at"))
    is_again = step.get("attempt") != 1 or ended is None or not begun
    return None if is_again or ended is None else max(0, ended - min(begun))


def says_only_counts(step: StepDocument) -> bool:
    """Return whether all that a step with items has to say is how they stand."""
    error = step.get("error")
    return step.get("held_by") is None and (error is None or error["kind"] == NOT_READY)
