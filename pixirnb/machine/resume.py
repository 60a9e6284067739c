"""The plan of a resume: what it would do with each step, and why, before anything runs. Source: contract.md §6.

Reused: a step that is ready or decided and whose fingerprint is unchanged. All others run again, but for steps left out. A
ready step behind one that reruns is planned as a rerun (`upstream_changed`); if the new result turns out equal, the machine
keeps what it had (`admission`), and says so in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from pixirnb.errors import InvalidArguments
from pixirnb.history.events import ResumeAction, ResumeFlags, ResumeReason, ResumeStep
from pixirnb.history.file_state import undone_merge
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.json_types import JsonMapping
from pixirnb.machine import fingerprint
from pixirnb.machine.items import open_items, step_named
from pixirnb.planning.plan import Plan, PlannedStep, reach
from pixirnb.spec.expressions.references import Reference, pick
from pixirnb.wording import join_names

Standing = Literal[
    "ready", "decided", "asking", "partial", "failed", "retrying", "in_flight", "held", "new"
]
"""State in which the history left a step."""

REASONS: Final[dict[Standing, ResumeReason]] = {
    "ready": "ready",
    "decided": "decided",
    "asking": "waiting",
    "partial": "partial",
    "failed": "failed",
    "retrying": "failed",
    "in_flight": "in_flight",
    "held": "held",
    "new": "spec_changed",
}


class Selection(Struct, frozen=True):
    """Selection of steps by a person; empty: every step that is not reusable."""

    from_step: str | None = None
    """Rerun this step (of several, with commas between them, all) and all after it; run stale steps before any of them, and
    nothing else."""
    only: str | None = None
    """Rerun this step and nothing else."""
    until: str | None = None
    """Stop after this step: run what it needs, no more."""
    is_decision: bool = False
    """A decision continues a parked run: what failed or waits for another decision stays as it is."""

    @property
    def is_empty(self) -> bool:
        """Return whether no flag was given."""
        return not (self.from_step or self.only or self.until or self.is_decision)

    @property
    def begins(self) -> list[str]:
        """Return the steps of `from_step`."""
        return [] if self.from_step is None else self.from_step.split(",")

    def flags(self) -> ResumeFlags:
        """Return the selection as `run_resumed` has it."""
        flags: ResumeFlags = {}
        if self.from_step:
            flags["from"] = self.from_step
        if self.only:
            flags["only"] = self.only
        if self.until:
            flags["until"] = self.until
        if self.is_decision:
            flags["decided"] = True
        return flags


def by_number(selection: Selection, run: RunState) -> Selection:
    """Return the selection with items that are named by their keys (`resize@cat.png`) named by their numbers."""

    def named(name: str | None) -> str | None:
        return None if name is None else step_named(run, name)

    # A key may have commas, too.
    begins = named(selection.from_step)
    if begins is not None and begins == selection.from_step:
        begins = ",".join(step_named(run, name) for name in selection.begins)
    return replace(
        selection,
        from_step=begins,
        only=named(selection.only),
        until=named(selection.until),
    )


def plan_resume(
    plan: Plan,
    run: RunState,
    selection: Selection,
    *,
    inputs: JsonMapping | None = None,
    repos: Mapping[str, str] | None = None,
    unusable: Mapping[str, ResumeReason] | None = None,
    reads: Mapping[str, str] | None = None,
) -> list[ResumeStep]:
    """Return one entry for each written step, in spec order, and one for each item that a person selected or whose value is
    lost: what becomes of the others is decided when their list is known.

    `unusable`: steps whose stored value is lost or may not be loaded here, and why; `reads`: present digests of the files that
    steps with `reuse: reads` read.

    `plan` is that of the resume (edited spec included), `run` the history so far, `inputs` and `repos` those of the resume if
    they differ.
    Raises InvalidArguments for a selection that names no step of the plan.
    """
    _check(plan, selection)
    given = run.inputs if inputs is None else inputs
    planned: dict[int, ResumeStep] = {}
    forced = _forced(plan, selection)
    kept = _kept(plan, selection, forced)
    edges = {step["id"]: step.get("depends_on") for step in run.spec.get("steps", [])}
    known = edges.keys() | {
        name for name, state in run.steps.items() if state.attempt or state.held_by
    }
    for index in in_dependency_order(plan):
        step = plan.steps[index]
        state = run.steps.get(step.id) or StepState()
        standing = standing_of(state, is_known=step.id in known)
        before = [plan.steps[i].id for i in plan.before(step)]
        again = {name for name in before if _is_open(planned[plan.index[name]])}
        stale = [name for name in before if name in again or _is_undecided(run, name)]
        is_fresh = index not in forced and standing in {"ready", "decided"}
        # What is left out is not made anew, so that nothing changes for those after it. Items have no entry that could say so.
        is_never = step.spec.reuse == "never" and (kept(index) or step.template is not None)
        # A decision goes on from what was decided on: to make that anew would be to ask again, for ever.
        is_never = is_never and not (selection.is_decision or state.has_open_decision)
        waits_for = open_items(plan, run, step) if is_fresh else []
        if index in forced:
            entry = _entry(step, "rerun", "selected")
        elif selection.is_decision and not state.is_selected and _is_held(state):
            entry = _entry(step, "hold", "not_selected")
        elif selection.is_decision and state.is_permitted:
            entry = _entry(step, "rerun", "decided")
        elif selection.is_decision and standing in {"failed", "partial", "asking"}:
            entry = _entry(step, "hold", REASONS[standing])
        elif waits_for:
            entry = _entry(step, "rerun", "upstream_changed", waits_for)
        elif not is_fresh:
            why = "in_flight" if _asks_of_death(state) else REASONS[standing]
            own = undone_merge(run.merges, step.id, state.attempt)
            is_undone = state.is_undone or own is not None
            if why == "held" and not _is_held(state) and is_undone:
                why = "partial"  # it ran, and what it did does not stand
            entry = _entry(step, "rerun", why)
        elif (changed := _changed(plan, run, step, given, is_never=is_never)) is not None:
            entry = _entry(step, "rerun", changed)
        elif fingerprint.has_moved(step, state, run.repos if repos is None else repos):
            entry = _entry(step, "rerun", "spec_changed")
        elif reads is not None and _reads_changed(step, state, reads):
            entry = _entry(step, "rerun", "input_changed")
        elif unusable is not None and (lost := _lost(plan, step, unusable)) is not None:
            entry = _entry(step, "rerun", lost)
        elif stale:
            entry = _entry(step, "rerun", "upstream_changed", stale)
        elif _input_differs(plan, run, index, given):
            is_edited = (edges.get(step.id) or []) != list(step.spec.depends_on)
            entry = _entry(step, "rerun", "spec_changed" if is_edited else "input_changed")
        else:
            entry = _entry(step, "reuse", REASONS[standing])
        planned[index] = entry
    for index, entry in planned.items():
        if entry["action"] == "rerun" and not kept(index):
            step = plan.steps[index]
            waits = entry["reason"] in {"partial", "waiting"} and run.step(step.id).awaits_human
            if waits:
                planned[index] = _entry(step, "hold", entry["reason"])  # it can still be decided
                continue
            is_stale = entry["reason"] in {"upstream_changed", "selected"}
            # It stays ready after all if these leave equal results.
            changing = [i for i in plan.before(step) if is_stale and _may_change(planned[i])]
            because = [plan.steps[i].id for i in changing]
            planned[index] = _entry(step, "hold", "not_selected", because)
    entries = [planned[step.index] for step in plan.written]
    return [*entries, *_of_items(plan, planned, forced, unusable or {}, kept)]


def _may_change(entry: ResumeStep) -> bool:
    return entry["action"] == "rerun" or bool(entry["because"])


def _of_items(
    plan: Plan,
    planned: Mapping[int, ResumeStep],
    forced: set[int],
    unusable: Mapping[str, ResumeReason],
    kept: Callable[[int], bool],
) -> list[ResumeStep]:
    entries: list[ResumeStep] = []
    for parent, items in plan.items.items():
        if planned[parent]["action"] == "rerun":
            for index in items:
                step = plan.steps[index]
                if index in forced:
                    entries.append(_entry(step, "rerun", "selected"))
                elif step.id in unusable and kept(index):
                    entries.append(_entry(step, "rerun", unusable[step.id]))
    return entries


def _lost(
    plan: Plan, step: PlannedStep, unusable: Mapping[str, ResumeReason]
) -> ResumeReason | None:
    """Return why a step's value, or that of one of its items, cannot be used."""
    names = (step.id, *plan.carriers(step.id))
    return next((unusable[name] for name in names if name in unusable), None)


def asking(plan: Plan, run: RunState, entries: Iterable[ResumeStep]) -> set[str]:
    """Return the steps that a resume by these entries would not run again before a person was asked: see `rerun: ask`."""
    questions: set[str] = set()
    for entry in entries:
        state = run.steps.get(entry["step_id"]) or StepState()
        may_have_run = state.doubt is not None or entry["reason"] == "in_flight"
        is_plain = entry["action"] == "rerun" and entry["reason"] != "selected"
        step = plan.steps[plan.index[entry["step_id"]]]
        if is_plain and may_have_run and step.spec.rerun == "ask":
            questions.add(step.id)
    return questions


def is_no_op(entries: list[ResumeStep]) -> bool:
    """Return whether a resume by these entries would run nothing at all."""
    return all(entry["action"] == "reuse" for entry in entries)


def _entry(
    step: PlannedStep, action: ResumeAction, reason: ResumeReason, because: list[str] | None = None
) -> ResumeStep:
    return {"step_id": step.id, "action": action, "reason": reason, "because": because or []}


def _check(plan: Plan, selection: Selection) -> None:
    if selection.only is not None and (selection.from_step or selection.until):
        raise InvalidArguments(
            "`--only` cannot be combined with `--from` or `--until`",
            fix="use `--only STEP` alone, or `--from STEP --until STEP`",
        )
    for name in (*selection.begins, selection.only, selection.until):
        if name is not None and name not in plan.index:
            raise InvalidArguments(
                f"unknown step `{name}`",
                fix="use one of: " + join_names(list(plan.index), 6),
                code="unknown_step",
            )
    if selection.until and (parent := plan.steps[plan.index[selection.until]].parent) is not None:
        raise InvalidArguments(
            f"`--until` does not stop after an item such as `{selection.until}`",
            fix=f"use `--until {plan.steps[parent].id}`, or `--only {selection.until}`",
        )
    if selection.from_step and selection.until:
        after = reach(
            plan, {plan.index[name] for name in selection.begins}, lambda step: step.dependents
        )
        if plan.index[selection.until] not in after:
            raise InvalidArguments(
                f"nothing to run: `{selection.until}` does not depend on `{selection.from_step}`",
                fix="use a dependent of the `--from` step for `--until`",
            )


def standing_of(state: StepState, *, is_known: bool) -> Standing:
    """Return the state in which the history left a step. `is_known`: the run's workflow had it."""
    if not is_known:
        return "new"
    is_spoken = state.decided or state.recheck or state.stage in {"settled", "asking"}
    if state.decision is not None and is_spoken and (state.recheck or not _is_held(state)):
        return "decided"
    # What a course set back and then held, or did not come to before it died, still is what it was.
    was_set_back = state.stage == "idle" or _is_held(state)
    status = state.kept if was_set_back else state.checkpoint_status
    if state.stage in {"scheduled", "running"}:
        return "in_flight"
    if state.stage == "retrying":
        return "retrying"
    match status:
        case "checkpoint_ready":
            return "ready"
        case "failed":
            return "failed"
        case "partial":
            return "partial"
        case "needs_orchestrator":
            return "asking" if state.stage == "asking" else "partial"
        case _:
            return "held"


def _is_open(entry: ResumeStep) -> bool:
    """Return whether the result of a step is not known yet: it runs again, or failed or asked and waits for another word."""
    return entry["action"] == "rerun" or entry["reason"] in {"failed", "partial", "waiting"}


def _is_undecided(run: RunState, name: str) -> bool:
    """Return whether a decision on a step was not acted on yet."""
    state = run.steps.get(name)
    return state is not None and state.has_open_decision


def _is_held(state: StepState) -> bool:
    return state.checkpoint_status == "held"


def _changed(
    plan: Plan, run: RunState, step: PlannedStep, given: JsonMapping, *, is_never: bool
) -> ResumeReason | None:
    """Return the reason for which the step's definition or inputs differ from when it became ready, if they do."""
    state = run.steps[step.id]
    known = (state.fingerprint or {}).get("static")
    if known != fingerprint.static(step, plan.sources):
        return "spec_changed"
    if is_never:
        return "never"
    # A condition is asked again, too: where it holds as before, the step is kept.
    when = (step.template or step).when
    refers = [*step.references, *(() if when is None else when.references)]
    references = [reference for reference in refers if reference.source == "input"]
    # Not those of the last course, which may have held it.
    if any(_input(state.inputs, each) != _input(given, each) for each in references):
        return "input_changed"
    return "spec_changed" if fingerprint.admits_more(plan, run, step, given) else None


def _input(inputs: JsonMapping, reference: Reference) -> Any:
    try:
        return pick(inputs.get(reference.name), reference)
    except LookupError:
        return None


def _asks_of_death(state: StepState) -> bool:
    """Return whether the question about a death in flight is still open: then a resume asks again, and runs nothing."""
    return (
        state.stage == "asking"
        and state.request is not None
        and state.request["reason"] == "in_flight"
    )


def _input_differs(plan: Plan, run: RunState, index: int, given: JsonMapping) -> bool:
    """Return whether the step's input would differ though nothing before it reruns.

    Its edges were edited, or a resume that left it out ran what is before it.
    """
    before = [run.steps.get(plan.steps[i].id) for i in plan.steps[index].depends_on]
    if any(state is None or not (state.stage == "settled" or state.recheck) for state in before):
        return False
    known = (run.steps[plan.steps[index].id].fingerprint or {}).get("dynamic")
    return known != fingerprint.dynamic(plan, run, plan.steps[index], inputs=given)


def _reads_changed(step: PlannedStep, state: StepState, reads: Mapping[str, str]) -> bool:
    """Return whether the files a step reads differ from when it began. A decision is of those that it left."""
    known = (state.fingerprint or {}).get("reads")
    return not state.has_open_decision and step.id in reads and known != reads[step.id]


def _forced(plan: Plan, selection: Selection) -> set[int]:
    if selection.only is not None:
        step = plan.steps[plan.index[selection.only]]
        return {step.index} if step.parent is None else {step.index, step.parent}
    begins = {plan.index[name] for name in selection.begins}
    return reach(plan, begins, lambda step: step.dependents)


def _kept(plan: Plan, selection: Selection, forced: set[int]) -> Callable[[int], bool]:
    """Return a test whether a step may run at all."""
    allowed: set[int] | None = None
    if selection.only is not None:
        allowed = set(forced)
    elif selection.from_step is not None:
        allowed = reach(plan, forced, lambda step: step.depends_on)
    if selection.until is not None:
        needed = reach(plan, {plan.index[selection.until]}, lambda step: step.depends_on)
        allowed = needed if allowed is None else allowed & needed
    return lambda index: allowed is None or index in allowed


def in_dependency_order(plan: Plan) -> list[int]:
    """Return the indices of the written steps, each after its dependencies."""
    steps = plan.written
    waits = [len(plan.before(step)) for step in steps]
    order = [step.index for step in steps if not waits[step.index]]
    for index in order:
        for dependent in steps[index].dependents:
            if dependent < len(steps):
                waits[dependent] -= 1
                if waits[dependent] == 0:
                    order.append(dependent)
    return order
