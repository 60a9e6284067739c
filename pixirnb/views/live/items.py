"""The items of a step with `for_each` as a live view lists them: their names, which the tape leaves out."""

from __future__ import annotations

from pixirnb.history.run_state import RunState
from pixirnb.json_types import PageObject
from pixirnb.machine.items import item_title
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.runners.output.mask import Mask
from pixirnb.views.basics.sanitize import line


def items_document(plan: Plan, run: RunState, step_id: str, mask: Mask) -> PageObject:
    """Return `[number, name]` of each item, in the order of the list; none before the list is known.

    Raises KeyError for a step that the plan does not have.
    """
    items = plan.items.get(plan.index[step_id], ())
    steps = [plan.steps[each] for each in items]
    return {
        "step": step_id,
        "seq": run.seq,
        "items": [
            [each.number, line(mask.text(item_title(plan, run, each)), 80)] for each in steps
        ],
    }


def item_document(plan: Plan, run: RunState, step: PlannedStep, mask: Mask) -> PageObject | None:
    """Return `{parent, number, name}` of an item; None for a written step."""
    if step.parent is None:
        return None
    name = line(mask.text(item_title(plan, run, step)), 120)
    return {"parent": plan.steps[step.parent].id, "number": step.number, "name": name}
