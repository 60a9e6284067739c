"""Forecast of a resume for a person: which of the steps planned to run cannot, or only may. Source: contract.md §6, §11.

The log keeps the plan (`resume`): the machine finds out by itself what blocks a step. A reader has to know before.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from pixirnb.history.events import ResumeStep
from pixirnb.history.run_state import RunState
from pixirnb.json_types import JsonMapping
from pixirnb.machine.item_forecast import foresee_items
from pixirnb.machine.reference_values import value_of
from pixirnb.machine.required_steps import skipped_steps
from pixirnb.machine.resume import in_dependency_order
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.spec.expressions.references import Reference

_ENDS: Final = frozenset({"interrupted", "cancelled", "timed_out"})
"""Ends of attempts that every view tells from a failure."""


def foresee(
    plan: Plan,
    run: RunState,
    entries: list[ResumeStep],
    inputs: JsonMapping,
    asks: Collection[str] = (),
    *,
    only: str | None = None,
) -> list[ResumeStep]:
    """Return the entries with those held that stay blocked or skipped, and those marked that a `when` or a question may
    still keep from running. `asks`: the steps that a person is asked about before they run again; `only`: the selected one.
    """
    shown = list(entries)
    blocked: set[int] = set()
    skipped: set[int] = set()
    were_skipped = skipped_steps(plan, run)
    for index in in_dependency_order(plan):
        step, entry = plan.steps[index], entries[index]
        if entry["action"] != "rerun":
            if entry["action"] == "hold" and index in were_skipped:
                skipped.add(index)
            elif not _is_usable(run, entry):
                blocked.add(index)
                if entry["action"] == "reuse":
                    shown[index] = {**entry, "was": "rejected"}
            continue
        blockers = [i for i in plan.before(step) if i in blocked]
        absent = [i for i in plan.before(step) if i in skipped]
        holds = None if step.when is None else _condition(step, run, shown, plan, inputs)
        if blockers:
            blocked.add(index)
            shown[index] = _held(plan, entry, blockers)
        elif absent or holds is False:
            skipped.add(index)
            shown[index] = {**_held(plan, entry, absent), "skipped": True}
        else:
            open_ones = [name for i in plan.before(step) for name in shown[i].get("awaits", [])]
            open_ones += [
                plan.steps[i].id
                for i in plan.before(step)
                if shown[i]["action"] == "rerun"
                and (plan.steps[i].kind == "decision" or plan.steps[i].id in asks)
            ]
            if step.when is not None and holds is None:
                open_ones.append(step.id)
            shown[index] = _marked(entry, run, open_ones)
    if not any(step.template is not None for step in plan.written):
        return shown
    written = shown[: len(plan.written)]
    named = {entry["step_id"]: entry for entry in shown}
    return [*written, *foresee_items(plan, run, named, inputs, only)]


def _marked(entry: ResumeStep, run: RunState, open_ones: list[str]) -> ResumeStep:
    state, marked = run.step(entry["step_id"]), entry
    if open_ones:
        marked = {**marked, "awaits": list(dict.fromkeys(open_ones))}
    if entry["reason"] == "failed" and state.subagent_status in _ENDS:
        marked = {**marked, "was": state.subagent_status}
    elif entry["reason"] == "held" and state.hold == "not_selected":
        marked = {**marked, "was": "not_selected"}
    return marked


def _held(plan: Plan, entry: ResumeStep, by: list[int]) -> ResumeStep:
    because = [plan.steps[index].id for index in by]
    return {"step_id": entry["step_id"], "action": "hold", "reason": "held", "because": because}


def _is_usable(run: RunState, entry: ResumeStep) -> bool:
    """Return whether dependents may build on a step that does not run again."""
    state = run.step(entry["step_id"])
    if entry["action"] == "hold":
        return "checkpoint_ready" in {state.checkpoint_status, state.kept}
    return state.decision is None or state.decision["verdict"] != "reject"


def _condition(
    step: PlannedStep, run: RunState, shown: list[ResumeStep], plan: Plan, inputs: JsonMapping
) -> bool | None:
    """Return whether a `when` holds; None where it depends on a result that is not there yet, or not loaded."""
    assert step.when is not None

    def value(reference: Reference) -> Any:
        if reference.source == "step" and shown[plan.index[reference.name]]["action"] != "reuse":
            raise LookupError(reference.text)
        return value_of(run, reference, inputs=inputs)

    return step.when.holds(value)
