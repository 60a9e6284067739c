"""Steps that a run needs to be whole, and those that it skips. Source: contract.md §4, §11.

A step whose `when` is false is skipped, and so is one with a skipped dependency whose others are ready or skipped: every
chain of reasons why such a step did not start ends at a false `when`. A list is skipped with all its items. The log keeps
`held` for all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pixirnb.history.events import OTHER_LIST
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.planning.plan import Plan, PlannedStep


def required_steps(plan: Plan, run: RunState) -> list[int]:
    """Return the indices of the steps that must be ready for the run to be completed; items count by the step that has them."""
    skipped = skipped_steps(plan, run)
    return [step.index for step in plan.written if step.index not in skipped]


def skipped_steps(plan: Plan, run: RunState) -> set[int]:
    """Return the indices of the skipped steps."""
    skipped: set[int] = set()
    refused = [step.index for step in plan.steps if run.step(step.id).hold == "when"]
    add_skipped(plan, run, refused, skipped)
    return skipped


def add_skipped(plan: Plan, run: RunState, indices: Iterable[int], skipped: set[int]) -> list[int]:
    """Add steps that were just held, and the held steps below them, to `skipped` as far as they are; return what was added."""
    added: list[int] = []
    layer = dict.fromkeys(indices)
    while layer:
        below: dict[int, None] = {}
        for index in layer:
            step = plan.steps[index]
            if index not in skipped and _is_skipped(plan, run, step, skipped):
                skipped.add(index)
                added.append(index)
                below.update(dict.fromkeys(step.dependents))
        layer = below
    return added


def _is_skipped(plan: Plan, run: RunState, step: PlannedStep, skipped: set[int]) -> bool:
    state = run.steps.get(step.id) or StepState()
    if state.hold == "when":
        return True
    if state.stage != "settled" or state.hold not in {"dependency", "not_selected"}:
        return False
    if state.held_by is not None and state.held_by.get("seen") == OTHER_LIST:
        return False
    items = plan.items.get(step.index, ())
    return bool(blocked_by(plan, run, step, skipped)) or (bool(items) and skipped.issuperset(items))


def blocked_by(plan: Plan, run: RunState, step: PlannedStep, skipped: Collection[int]) -> list[int]:
    """Return the skipped steps that alone keep a step from starting; none where anything else does, too."""
    blockers = [
        i
        for i in plan.awaited(step)
        if run.step(plan.steps[i].id).checkpoint_status != "checkpoint_ready"
    ]
    return blockers if all(i in skipped for i in blockers) else []
