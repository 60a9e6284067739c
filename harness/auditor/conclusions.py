"""What a run amounts to, worked out from where its steps stand: status, counts, reasons, and who holds whom."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from harness.auditor.readings import Reading, StepReading
from harness.auditor.record import OPERATOR_CODES
from harness.auditor.standing import NEW, Standing

STEP_CODES: Final = frozenset(
    {
        "step_failed", "step_timed_out", "step_partial", "step_needs_decision",
        "step_not_selected", "step_cancelled", "step_run_stopped", "merge_undone",
    }
)  # fmt: skip
RUN_CODES: Final = frozenset(
    {*OPERATOR_CODES.values(), "owner_died", "run_timed_out", "decided_not_resumed", "log_damaged"}
)

Standings = Mapping[str, Standing]


def excused(reading: Reading, steps: Standings) -> set[str]:
    """Steps that are not required: a `when` is false, or nothing but such steps holds them."""
    found = {name for name, each in steps.items() if (each.held_by or {}).get("kind") == "when"}
    while True:
        more = set()
        for name, step in reading.steps.items():
            kind = (steps[name].held_by or {}).get("kind")
            if name in found or kind not in {"dependency", "not_selected"}:
                continue
            if (steps[name].held_by or {}).get("seen"):
                continue  # its list is another one now
            missing = [name for name in awaited(step) if not steps.get(name, NEW).is_ready]
            items = [item.id for item in getattr(step, "items", None) or ()]
            if any(names and found.issuperset(names) for names in (missing, items)):
                more.add(name)
        if not more:
            return found
        found |= more


def awaited(step: StepReading) -> list[str]:
    """What a step depends on, but not the items that it collects."""
    own = {item.id for item in getattr(step, "items", None) or ()}
    return [name for name in step.depends_on if name not in own]


def status_of(
    reading: Reading, steps: Standings, codes: Collection[str], *, has_seams: bool
) -> str:
    """The first status that holds, of a run that no process drives; `codes` are the reasons of the run itself."""
    free = excused(reading, steps)
    if not has_seams and all(steps[name].is_ready for name in reading.written if name not in free):
        return "completed"
    if {"owner_died", *OPERATOR_CODES.values()}.intersection(codes):
        return "interrupted"
    statuses = {each.status for each in steps.values()}
    if "needs_orchestrator" in statuses or has_seams:
        return "needs_orchestrator"
    if statuses & {"checkpoint_ready", "partial"}:
        return "partial"
    if "run_timed_out" in codes or any(each.subagent == "timed_out" for each in steps.values()):
        return "timed_out"
    return "failed"


def counts_of(reading: Reading, steps: Standings, skipped: Collection[str] = ()) -> dict[str, int]:
    """How many steps stand as what; those that have no checkpoint status are running or queued, and some are skipped.

    Items count by the step that has them: it runs once one of them has begun.
    """
    found: dict[str, int] = {}
    for step in reading.written:
        each = steps[step]
        name = "skipped" if step in skipped else each.status
        if name is None:
            items = [steps[item] for item in reading.carriers([step]) if item != step]
            has_begun = any(item.stage != "idle" for item in items)
            is_running = each.stage in {"under_way", "ended"} or has_begun
            name = "running" if is_running else "queued"
        found[name] = found.get(name, 0) + 1
    return found


def reasons_of(reading: Reading, steps: Standings) -> dict[str, str | None]:
    """The reason that each step gives; an item of a step that is ready all the same gives none, unless it holds items of one
    that is not, by itself or through others, and a person can say a word on it.
    """
    lacking = {
        item
        for name in reading.written
        if steps[name].status != "checkpoint_ready"
        for item in reading.carriers([name])
        if item != name
    }
    blamed: set[str] = set()
    while lacking:
        lacking = {str((steps[each].held_by or {}).get("step")) for each in lacking} & steps.keys()
        lacking -= blamed
        blamed |= lacking
    excused_items = {
        item
        for name in reading.written
        if steps[name].status == "checkpoint_ready"
        for item in reading.carriers([name])
        if not (item in blamed and steps[item].status in {"partial", "needs_orchestrator"})
    }
    silent = excused_items | {
        name for name in excused(reading, steps) if step_reason(steps[name]) == "step_not_selected"
    }
    return {name: None if name in silent else step_reason(each) for name, each in steps.items()}


def step_reason(stood: Standing) -> str | None:
    """The reason a step gives for a run that is not completed; None where another says it."""
    if stood.is_undone:
        return "merge_undone"
    match stood.status:
        case "failed":
            return "step_timed_out" if stood.subagent == "timed_out" else "step_failed"
        case "partial":
            return "step_partial"
        case "needs_orchestrator":
            return "step_needs_decision"
        case "held":
            kind = (stood.held_by or {}).get("kind")
            named = {"not_selected": "step_not_selected", "cancelled": "step_cancelled"}
            return named.get(str(kind))
        case _:
            return None


def held_dependents(reading: Reading, steps: Standings) -> dict[str, list[str]]:
    """Each step that holds others by itself, and all it holds, in spec order."""
    by_dependency = {
        name for name, each in steps.items() if (each.held_by or {}).get("kind") == "dependency"
    }
    found = {}
    for name, each in steps.items():
        if each.status in {None, "checkpoint_ready"} or name in by_dependency:
            continue
        below: set[str] = set()
        edge = {name}
        while edge:
            following = {d for blocker in edge for d in reading.dependents[blocker]}
            edge = (following & by_dependency) - below
            below |= edge
        if below:
            found[name] = [step for step in reading.steps if step in below]
    return found
