"""Steps that are held: why a step does not start in this course, and what it keeps from starting. Source: contract.md §4.

A step whose `when` is false, or that was not selected, is held as its turn comes (`admission`), one that a person has cancelled
while it waited at once (`advance`); all others when the run comes to rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import NO_ITEM, HeldBy
from pixirnb.history.run_state import RunState
from pixirnb.machine.instructions import Snapshot
from pixirnb.machine.items import may_be_decided, tally
from pixirnb.machine.required_steps import blocked_by, skipped_steps
from pixirnb.planning.plan import Plan, PlannedStep


def held(step: PlannedStep, kind: str, by: str | None = None, seen: str = "") -> EventDraft:
    """Return the hold of a step that will not start in this course. `seen`: a false `when` with its values."""
    held_by: HeldBy = {"kind": kind, "step": by}
    if seen:
        held_by["seen"] = seen
    return EventDraft("step_held", {"step": step.id, "held_by": held_by})


def held_at_rest(snapshot: Snapshot, step: PlannedStep) -> EventDraft:
    """Return why a step did not start, once nothing of its run can start any more: the first reason that applies."""
    if not snapshot.board.state(step.index).is_selected:
        return held(step, "not_selected")
    for dependency in _blamed(snapshot, step):
        if not snapshot.board.is_ready(dependency):
            return held(step, "dependency", snapshot.plan.steps[dependency].id)
    if snapshot.is_timed_out:
        return held(step, "run_timeout")
    if snapshot.board.stop in {"cancel", "drain"}:
        return held(step, "cancelled")
    return held(step, "run_stopped")


def skipped_list(snapshot: Snapshot, step: PlannedStep) -> list[EventDraft]:
    """Return the hold of a list whose items are all skipped, or that only skipped steps keep from starting."""
    plan, run = snapshot.plan, snapshot.board.run
    items = tally(plan, run, step.index)
    if items.skipped > 0 and items.skipped == len(plan.items[step.index]):
        return [held(step, "when", seen=NO_ITEM)]
    by = blocked_by(plan, run, step, skipped_steps(plan, run)) if items.others else []
    return [held(step, "dependency", plan.steps[by[0]].id)] if by else []


def _blamed(snapshot: Snapshot, step: PlannedStep) -> Iterable[int]:
    """Return the steps that may keep a step from starting, most to blame first: of a list, items that a person can decide."""
    if step.index not in snapshot.plan.items:
        return step.depends_on
    items = [each for each in step.depends_on if each != step.leader]
    run, steps = snapshot.board.run, snapshot.plan.steps

    def blame(each: int) -> tuple[bool, bool]:
        return not snapshot.board.state(each).awaits_human, not may_be_decided(run, steps[each].id)

    return sorted(items, key=blame)


def hold_of(
    plan: Plan, run: RunState, step: PlannedStep, skipped: Collection[int]
) -> HeldBy | None:
    """Return the hold of a step for a person, with all dependencies to blame: the log names the first of them.

    A step that is skipped was left out by no selection, though a resume that did not select it says so.
    """
    by = run.step(step.id).held_by
    if by is not None and by["kind"] == "not_selected" and step.index in skipped:
        absent = next(index for index in step.depends_on if index in skipped)
        if plan.steps[absent].parent == step.index:
            return {"kind": "when", "step": None, "seen": NO_ITEM}
        return {"kind": "dependency", "step": plan.steps[absent].id}
    if by is None or by["kind"] != "dependency":
        return None if by is None else {**by}
    others = {plan.steps[index].id: run.step(plan.steps[index].id) for index in step.depends_on}
    also = [
        name
        for name, state in others.items()
        if name != by["step"]
        and state.checkpoint_status not in {None, "checkpoint_ready"}
        and state.hold not in {"dependency", "when"}
    ]
    return {**by, "also": also} if also else {**by}


def held_dependents(plan: Plan, run: RunState) -> dict[str, list[str]]:
    """Map each step that is not ready and not itself held by a dependency to all steps that it keeps from starting."""
    blocked: dict[str, list[str]] = {}
    for step in plan.steps:
        state = run.step(step.id)
        if state.checkpoint_status in {None, "checkpoint_ready"}:
            continue
        if state.held_by is not None and state.held_by["kind"] == "dependency":
            continue
        below: set[int] = set()
        pending = list(step.dependents)
        while pending:
            index = pending.pop()
            by = run.step(plan.steps[index].id).held_by
            if index not in below and by is not None and by["kind"] == "dependency":
                below.add(index)
                pending.extend(plan.steps[index].dependents)
        if below:
            blocked[step.id] = [plan.steps[i].id for i in sorted(below)]
    return blocked
