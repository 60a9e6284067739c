"""Steps that a run needs to be whole. Source: contract.md §4.

A step whose `when` is false is not required, and neither is what it alone holds: every chain of reasons why such a step did
not start ends at a false `when`.
"""

from __future__ import annotations

from pixirnb.history.run_state import RunState
from pixirnb.planning.plan import Plan


def required_steps(plan: Plan, run: RunState) -> list[int]:
    """Return the indices of the steps that must be ready for the run to be completed."""
    excused = _excused(plan, run)
    return [step.index for step in plan.steps if step.index not in excused]


def _excused(plan: Plan, run: RunState) -> set[int]:
    excused: set[int] = set()
    for step in plan.steps:
        held = run.step(step.id).held_by
        if held is not None and held["kind"] == "when":
            excused.add(step.index)
    pending = [d for index in excused for d in plan.steps[index].dependents]
    while pending:
        index = pending.pop()
        if index in excused or run.step(plan.steps[index].id).stage != "settled":
            continue
        held = run.step(plan.steps[index].id).held_by
        if held is None or held["kind"] not in {"dependency", "not_selected"}:
            continue
        blockers = [
            i
            for i in plan.steps[index].depends_on
            if run.step(plan.steps[i].id).checkpoint_status != "checkpoint_ready"
        ]
        if blockers and all(i in excused for i in blockers):
            excused.add(index)
            pending.extend(plan.steps[index].dependents)
    return excused
