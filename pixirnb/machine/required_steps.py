"""Steps that a run needs to be whole, and those that it skips. Source: contract.md §4, §11.

A step whose `when` is false is skipped, and so is one with a skipped dependency whose others are ready or skipped: every
chain of reasons why such a step did not start ends at a false `when`. The log keeps `held` for both.
"""

from __future__ import annotations

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
    for step in plan.steps:
        if run.step(step.id).hold == "when":
            add_skipped(plan, run, step.index, skipped)
    return skipped


def add_skipped(plan: Plan, run: RunState, index: int, skipped: set[int]) -> list[int]:
    """Add a step that was just held, and the held steps below it, to `skipped` as far as they are; return what was added."""
    added: list[int] = []
    pending = [index]
    while pending:
        step = plan.steps[pending.pop()]
        if step.index not in skipped and _is_skipped(plan, run, step, skipped):
            skipped.add(step.index)
            added.append(step.index)
            pending.extend(step.dependents)
    return added


def _is_skipped(plan: Plan, run: RunState, step: PlannedStep, skipped: set[int]) -> bool:
    state = run.steps.get(step.id) or StepState()
    if state.hold == "when":
        return True
    if state.stage != "settled" or state.hold not in {"dependency", "not_selected"}:
        return False
    blockers = [
        i
        for i in step.depends_on
        if run.step(plan.steps[i].id).checkpoint_status != "checkpoint_ready"
    ]
    return bool(blockers) and skipped.issuperset(blockers)
