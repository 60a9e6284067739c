"""Forecast of a resume for a person: which of the steps planned to run cannot, or only may. Source: contract.md §6, §11.

The log keeps the plan (`resume`): the machine finds out by itself what blocks a step. A reader has to know before.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from pixirnb.history.events import ResumeStep
from pixirnb.history.run_state import RunState
from pixirnb.json_types import JsonMapping
from pixirnb.machine.item_forecast import as_decided, condition, foresee_items
from pixirnb.machine.required_steps import skipped_steps
from pixirnb.machine.resume import in_dependency_order
from pixirnb.planning.plan import Plan

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
    empty: set[str] = set()
    while True:
        shown = _foresee_steps(plan, run, entries, inputs, asks, empty)
        if not any(step.template is not None for step in plan.written):
            return shown
        named = {entry["step_id"]: entry for entry in shown}
        items = foresee_items(plan, run, named, inputs, only)
        # What is behind a list whose items are all skipped is skipped as well, and was foreseen before the items were.
        if not (more := _lists_of_skipped(items)):
            return [*shown[: len(plan.written)], *items]
        empty |= more


def _lists_of_skipped(items: list[ResumeStep]) -> set[str]:
    skipped: dict[str, bool] = {}
    for entry in items:
        name = entry["step_id"].partition("@")[0]
        if entry["reason"] != "gone":
            skipped[name] = skipped.get(name, True) and entry.get("skipped", False)
    return {name for name, is_skipped in skipped.items() if is_skipped}


def _foresee_steps(  # noqa: PLR0917 - a forecast depends on as much
    plan: Plan,
    run: RunState,
    entries: list[ResumeStep],
    inputs: JsonMapping,
    asks: Collection[str],
    empty: Collection[str],
) -> list[ResumeStep]:
    """Return the entries as `foresee` does, without those of items. `empty`: steps whose items are all skipped."""
    shown = [as_decided(run, entry) for entry in entries]
    blocked: set[int] = set()
    skipped: set[int] = set()
    were_skipped = skipped_steps(plan, run)

    def is_reused(name: str) -> bool:
        return shown[plan.index[name]]["action"] == "reuse"

    for index in in_dependency_order(plan):
        step, entry = plan.steps[index], shown[index]
        if entry["action"] != "rerun":
            if entry["action"] == "hold" and index in were_skipped:
                skipped.add(index)
            elif not _is_usable(run, entry):
                blocked.add(index)
                if entry["action"] == "reuse":
                    shown[index] = {**entry, "was": "rejected"}
            continue
        # Of a list that is shared, items that stand are used, whatever their own step has come to.
        is_shared = (
            step.leader is not None
            and entries[step.leader]["action"] != "rerun"
            and run.knows(plan.steps[step.leader].id)
        )
        blockers = [
            i for i in plan.before(step) if i in blocked and not (is_shared and i == step.leader)
        ]
        absent = [i for i in plan.before(step) if i in skipped]
        holds = condition(plan, run, step, is_reused, inputs)
        if step.template is not None and step.template.when is not None:
            # Where its list is known, its items tell.
            known = all(is_reused(plan.steps[i].id) for i in plan.before(step))
            holds = True if known else None
        if blockers:
            blocked.add(index)
            shown[index] = _held(plan, entry, blockers)
        elif absent or holds is False or step.id in empty:
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
            if holds is None:
                open_ones.append(step.id)
            shown[index] = _marked(entry, run, open_ones)
    return shown


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
