"""Forecast of a resume for the items of steps that run again: which are reused, run again, are new, or are gone.

Where the list depends on a step that runs again, nothing is foreseen: it is not known before.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace

from pixirnb.history.events import ItemData, ResumeReason, ResumeStep
from pixirnb.history.file_events import CONFLICT
from pixirnb.history.items import ItemList
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.ids import item_id
from pixirnb.json_types import JsonMapping
from pixirnb.machine import fingerprint
from pixirnb.machine.expansion import item_steps, without_items
from pixirnb.machine.items import BadList, read_list
from pixirnb.machine.reference_values import value_of
from pixirnb.machine.required_steps import skipped_steps
from pixirnb.machine.resume import REASONS, standing_of
from pixirnb.planning.items import lookup_in
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.spec.expressions.references import Reference


def foresee_items(
    plan: Plan,
    run: RunState,
    shown: Mapping[str, ResumeStep],
    inputs: JsonMapping,
    only: str | None = None,
) -> list[ResumeStep]:
    """Return an entry for each item of the steps that run again, as far as their lists are known.

    `shown`: entries by step; `only`: the one step that was selected, if it is one alone.
    """
    bare = without_items(plan)
    were_skipped = {plan.steps[each].id for each in skipped_steps(plan, run)}
    lists: dict[int, list[ItemData]] = {}
    index, grown = dict(bare.index), bare
    entries: dict[str, ResumeStep] = {}
    known = ChainMap(entries, dict(shown))
    for step in bare.steps:
        if step.template is None:
            continue
        is_kept = shown[step.id]["action"] != "rerun"
        earlier = run.items.get(step.id) or ItemList()
        items = earlier.items if is_kept else _items(bare, run, step, shown, lists, inputs)
        if items is None:
            continue
        lists[step.index] = items
        steps = item_steps(bare, step, items, index, len(grown.steps))
        grown = replace(grown, steps=(*grown.steps, *steps))
        index.update((one.id, one.index) for one in steps)
        if is_kept:
            continue  # its items are what those of another that shares its list depend on
        names = [item_id(step.id, each["number"]) for each in earlier.items]
        selected = [name for name in names if _is_selected(shown.get(name))]
        is_forced = _is_selected(shown[step.id]) and not selected
        for one in steps:
            before = [grown.steps[each].id for each in one.depends_on]
            again = [name for name in before if name in known and known[name]["action"] == "rerun"]
            entry = shown.get(one.id) or _entry(grown, run, one, again, inputs)
            if is_forced and not entry.get("new"):
                entry = {**entry, "action": "rerun", "reason": "selected", "because": []}
            elif only in selected and one.id != only and entry["action"] == "rerun":
                entry = _left(one.id, "not_selected")
            if entry["action"] != "hold":
                absent = [
                    each for each in before if _is_skipped(known.get(each), each in were_skipped)
                ]
                entry = _admitted(grown, run, one, entry, known, absent, inputs)
            entries[one.id] = entry
        for name in names:
            if name not in entries:
                entries[name] = _left(name, "gone")
    return list(entries.values())


def _admitted(  # noqa: PLR0917 - a condition depends on as much
    plan: Plan,
    run: RunState,
    item: PlannedStep,
    entry: ResumeStep,
    shown: Mapping[str, ResumeStep],
    absent: list[str],
    inputs: JsonMapping,
) -> ResumeStep:
    """Return the entry of an item, or that of one which a failure before it holds, or a `when` skips.

    `absent`: what it depends on and is foreseen to be skipped.
    """
    before = [plan.steps[each].id for each in item.depends_on]
    blockers = [
        name
        for name in before
        if (name not in shown or shown[name]["action"] == "hold")
        and name not in absent
        and "checkpoint_ready" not in {run.step(name).checkpoint_status, run.step(name).kept}
    ]
    if blockers:
        return {**_left(item.id, "held"), "because": blockers}

    def is_reused(name: str) -> bool:
        return name in shown and shown[name]["action"] == "reuse"

    holds = entry["action"] == "reuse" or condition(plan, run, item, is_reused, inputs)
    if absent or holds is False:
        return {**_left(item.id, "held"), "because": absent, "skipped": True}
    return entry if holds else {**entry, "awaits": [item.id]}


def as_decided(run: RunState, entry: ResumeStep) -> ResumeStep:
    """Return the entry of a step whose conflict a person has resolved as one that runs again: so it is acted on."""
    state = run.step(entry["step_id"])
    is_resolved = state.has_open_decision and state.error_kind == CONFLICT
    if not is_resolved or state.decision is None or state.decision["verdict"] == "reject":
        return entry
    return {**entry, "action": "rerun"} if entry["action"] == "reuse" else entry


def condition(
    plan: Plan,
    run: RunState,
    step: PlannedStep,
    is_reused: Callable[[str], bool],
    inputs: JsonMapping,
) -> bool | None:
    """Return whether the `when` of a step holds, if it has one; None where it depends on a result that is not there yet, or
    not loaded.
    """

    def value(reference: Reference) -> Any:
        if reference.source == "step" and not is_reused(reference.name):
            raise LookupError(reference.text)
        return value_of(run, reference, inputs=inputs)

    return step.when is None or step.when.holds(lookup_in(plan, step, value))


def _is_skipped(entry: ResumeStep | None, was_skipped: bool) -> bool:
    """Return whether a step, or an item of one that does not run again, is foreseen to be skipped."""
    return was_skipped if entry is None else entry.get("skipped", False)


def _is_selected(entry: ResumeStep | None) -> bool:
    return entry is not None and entry["reason"] == "selected"


def _left(name: str, reason: ResumeReason) -> ResumeStep:
    return {"step_id": name, "action": "hold", "reason": reason, "because": []}


def _items(  # noqa: PLR0917 - a list depends on as much
    plan: Plan,
    run: RunState,
    step: PlannedStep,
    shown: Mapping[str, ResumeStep],
    lists: Mapping[int, list[ItemData]],
    inputs: JsonMapping,
) -> list[ItemData] | None:
    """Return the list that a step will have; None where that is not known."""
    known = run.items.get(step.id) or ItemList()
    if step.leader is not None:
        leader = run.items.get(plan.steps[step.leader].id)
        is_kept = shown[plan.steps[step.leader].id]["action"] == "reuse"
        return leader.items if is_kept and leader is not None else lists.get(step.leader)
    if any(shown[plan.steps[each].id]["action"] != "reuse" for each in step.depends_on):
        return None

    def lookup(reference: Reference) -> Any:
        return value_of(run, reference, inputs=inputs)

    try:
        return read_list(step, known, lookup)
    except (LookupError, BadList):
        return None


def _entry(
    plan: Plan,
    run: RunState,
    step: PlannedStep,
    again: list[str],
    inputs: JsonMapping,
) -> ResumeStep:
    state = run.steps.get(step.id) or StepState()
    entry: ResumeStep = {
        "step_id": step.id,
        "action": "rerun",
        "reason": "spec_changed",
        "because": [],
    }
    if not state.attempt and state.held_by is None and state.decision is None:
        return {**entry, "new": True}
    standing = standing_of(state, is_known=True)
    if standing not in {"ready", "decided"}:
        return {**entry, "reason": REASONS[standing]}
    if step.spec.reuse == "never":
        return {**entry, "reason": "never"}
    if again:
        return {**entry, "reason": "upstream_changed", "because": again}
    known = state.fingerprint or {}
    if known.get("static") != fingerprint.static(step, plan.sources):
        return entry
    seen_by = lookup_in(plan, step, lambda reference: value_of(run, reference, inputs=inputs))
    is_other = known.get("dynamic") != fingerprint.dynamic(plan, run, step, inputs=inputs)
    if is_other or not fingerprint.still_holds(step, seen_by):
        return {**entry, "reason": "input_changed"}
    return as_decided(run, {**entry, "action": "reuse", "reason": REASONS[standing]})
