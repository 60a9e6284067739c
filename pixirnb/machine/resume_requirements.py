"""Requirements of a resume on the steps that it leaves as they are: ready dependencies, answers with a value.

Source: contract.md §6.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pixirnb.errors import InvalidArguments
from pixirnb.history.bundles import stored_output
from pixirnb.history.events import ResumeStep
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.machine.required_steps import skipped_steps
from pixirnb.machine.resume import Selection, Standing, standing_of
from pixirnb.planning.plan import Plan, PlannedStep

_BLOCKS: Final[dict[Standing, str]] = {
    "decided": "was rejected",
    "asking": "needs a decision",
    "partial": "is not ready",
    "failed": "failed",
    "retrying": "failed",
    "in_flight": "was interrupted",
    "held": "has not run",
}
"""Standing of a dependency that a resume does not run, to what keeps its dependents from starting."""


_CHANGED: Final = frozenset({"new", "spec_changed", "input_changed"})
"""Reasons for which a ready step is not kept."""


def require_startable(
    plan: Plan,
    run: RunState,
    selection: Selection,
    entries: list[ResumeStep],
    unselected: Iterable[ResumeStep] = (),
) -> None:
    """Raise InvalidArguments where a selected step could not start, because a step that it needs would stay as it is.

    A step behind one that is skipped again is skipped, which is no failure. `unselected`: what a resume that selects all would
    do with each step and item, where one step is selected alone.
    """
    planned = {entry["step_id"]: entry for entry in entries}
    elsewise = {entry["step_id"]: entry for entry in unselected}
    skipped = skipped_steps(plan, run)
    named = [name for name in (selection.only, selection.until) if name] or selection.begins
    for name in named:
        pending = [plan.index[name]]
        seen: set[int] = set()
        while pending:
            for index in set(plan.awaited(plan.steps[pending.pop()])) - seen:
                seen.add(index)
                step = plan.steps[index]
                entry, other = planned.get(step.id), elsewise.get(step.id)
                if index in skipped and (not elsewise or _may_be_skipped(other)):
                    continue
                # An item that is not foreseen is of a list that depends on what runs again.
                is_unknown = index in skipped and other is None
                if is_unknown or (entry is not None and entry["action"] == "rerun"):
                    pending.append(index)
                    continue
                standing = standing_of(run.steps.get(step.id) or StepState(), is_known=True)
                if standing == "ready" or (standing == "decided" and not _is_rejected(run, step)):
                    if entry is not None and entry["reason"] != "not_selected":
                        continue
                    if other is None or other["reason"] not in _CHANGED:
                        pending.append(index)
                        continue
                    cause = "is not up to date"
                else:
                    cause = _BLOCKS[standing]
                raise InvalidArguments(
                    f"`{name}` needs `{step.id}`, which {cause}",
                    fix=f"decide `{step.id}` first"
                    if standing == "asking"
                    else f"use `--from {step.id}`",
                    code="dependency_not_ready",
                )


def _may_be_skipped(entry: ResumeStep | None) -> bool:
    return entry is not None and (entry["action"] != "rerun" or bool(entry.get("awaits")))


def _is_rejected(run: RunState, step: PlannedStep) -> bool:
    decision = run.step(step.id).decision
    return decision is not None and decision["verdict"] == "reject"


def require_answers(plan: Plan, run: RunState, entries: list[ResumeStep]) -> None:
    """Raise InvalidArguments where a step of an edited workflow refers to an answer that was accepted without a value."""
    for entry in entries:
        state = run.steps.get(entry["step_id"]) or StepState()
        step = plan.steps[plan.index[entry["step_id"]]]
        is_bare = stored_output(state) == {"format": "json", "value": None} and state.ended is None
        if entry["action"] == "reuse" and is_bare and step.is_referenced:
            raise InvalidArguments(
                f"`{step.id}` needs an answer: the edited workflow refers to its output, and it was accepted without one",
                fix=f"use `--from {step.id}`: it asks again",
                code="not_a_choice",
            )
