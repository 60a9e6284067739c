"""§4 of the contract, for the outcome: a view shows what the log says, and success only where there is success."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from harness.auditor.breaches import Finding
from harness.auditor.conclusions import (
    RUN_CODES,
    Standings,
    counts_of,
    excused,
    held_dependents,
    status_of,
)
from harness.auditor.facts import Course
from harness.auditor.readings import StepReading
from harness.auditor.record import Record, open_at
from harness.auditor.standing import Standing

_LISTS: Final = {
    "usable_checkpoints": "checkpoint_ready",
    "failed_steps": "failed",
    "partial_steps": "partial",
    "held_steps": "held",
    "needs_orchestrator_steps": "needs_orchestrator",
}
_PROOFS: Final = (
    "workflow_validated", "steps_scheduled", "dependencies_resolved", "conflicts_serialized",
    "summaries_collected", "completion_ready", "partial_outcome_ready",
)  # fmt: skip


def _shown(record: Record) -> Iterator[tuple[Course, Mapping[str, Any], Standings]]:
    """The outcome, with the last course and where its steps stand; nothing where no outcome was shown."""
    if record.outcome is not None and record.courses:
        course = record.courses[-1]
        yield course, record.outcome, record.standings(course, len(record.facts))


def _is_damaged(record: Record) -> bool:
    """Whether the log is not what was written. A torn tail had been promised to nobody."""
    return record.damage is not None and record.damage.code != "torn_tail"


def success_is_success(record: Record) -> Iterator[Finding]:
    """`ok` is true for `completed` alone, and a damaged log is never `completed`."""
    shown = record.outcome
    if shown is None:
        return
    if (shown.get("status") == "completed") != (shown.get("ok") is True):
        yield None, None, f"It is {shown.get('status')} with ok {shown.get('ok')}."
    if _is_damaged(record) and (shown.get("status") == "completed" or shown.get("ok") is True):
        yield None, None, "The log is damaged, and its outcome is completed."


def outcome_status(record: Record) -> Iterator[Finding]:
    """The outcome bears the run's name and the first status that holds; `owner_died` where nothing says it ended."""
    for course, shown, steps in _shown(record):
        started = record.facts[0].data
        if shown.get("run_id") != started["run_id"] or not _is_named(shown, course):
            yield None, None, f"It is shown as {shown.get('run_id')} of {shown.get('workflow')}."
        said = shown.get("status")
        told = {each.get("code") for each in shown.get("reasons") or ()}
        codes: set[str] = set()
        if course.finished is None:
            if said == "running":
                continue
            codes = {"owner_died"}
        else:
            reasons = record.facts[course.finished].data["reasons"]
            codes = {each["code"] for each in reasons} & RUN_CODES
        seams = open_at(record, course, len(record.facts))
        due = status_of(course.reading, steps, codes, has_seams=bool(seams))
        if _is_damaged(record):
            if said not in {due, "interrupted"} and due != "completed":
                yield None, None, f"The log is damaged, and it is shown as {said}."
        elif said != due:
            yield None, None, f"It is shown as {said}, and {due} holds."
        elif due != "completed" and not codes <= told:
            yield None, None, f"Its reasons {sorted(map(str, told))} miss {sorted(codes - told)}."


def _is_named(shown: Mapping[str, Any], course: Course) -> bool:
    return shown.get("workflow") == course.reading.workflow.name


def outcome_steps(record: Record) -> Iterator[Finding]:
    """Each step of the outcome stands as the log has it: status, attempt, hold, and their counts."""
    for course, shown, steps in _shown(record):
        told, skipped = shown.get("steps") or [], excused(course.reading, steps)
        names = [each.get("step_id") for each in told]
        if names != course.reading.listed:
            yield None, None, f"It shows the steps {names}."
            continue
        for each in told:
            name, stood = each["step_id"], steps[each["step_id"]]
            due = {
                "checkpoint_status": stood.status,
                "attempt": stood.attempt,
                "held_by": _hold(course.reading.steps[name], steps, skipped),
                "kind": course.reading.steps[name].kind,
            }
            if stood.stage in {"ended", "settled"} and stood.status != "held":
                due["subagent_status"] = stood.subagent
            for key, value in due.items():
                if each.get(key) != value:
                    yield None, name, f"Its {key} is shown as {each.get(key)}, and it is {value}."
        counts = counts_of(course.reading, steps, skipped)
        if shown.get("counts") != counts:
            yield None, None, f"It counts {shown.get('counts')}, and there are {counts}."


def _hold(
    step: StepReading, steps: Mapping[str, Standing], skipped: Collection[str]
) -> dict[str, Any] | None:
    """The hold of a step, with every further dependency that is not ready for a reason of its own; one that is skipped was
    left out by no selection.
    """
    by = steps[step.id].held_by
    if by is not None and by["kind"] == "not_selected" and step.id in skipped:
        absent = next(name for name in step.depends_on if name in skipped)
        if absent.startswith(f"{step.id}@"):
            return {"kind": "when", "step": None, "seen": "no item"}
        return {"kind": "dependency", "step": absent}
    if by is None or by["kind"] != "dependency":
        return by
    others = {name: steps[name] for name in step.depends_on if name != by["step"]}
    also = [
        name
        for name, each in others.items()
        if each.status not in {None, "checkpoint_ready"}
        and (each.held_by or {}).get("kind") not in {"dependency", "when"}
    ]
    return by if not also else {**by, "also": also}


def outcome_lists(record: Record) -> Iterator[Finding]:
    """The lists of the outcome hold the steps that stand so, in spec order, and who keeps whom from starting."""
    for course, shown, steps in _shown(record):
        for key, status in _LISTS.items():
            due = [name for name in course.reading.listed if steps[name].status == status]
            if shown.get(key) != due:
                yield None, None, f"{key} is {shown.get(key)}, and should be {due}."
        timed_out = [
            name
            for name, stood in steps.items()
            if stood.subagent == "timed_out" and stood.stage in {"ended", "settled"}
        ]
        said = shown.get("timed_out_steps")
        if not isinstance(said, list) or not set(timed_out) <= set(said):
            yield None, None, f"timed_out_steps is {said}, and should be {timed_out}."
        holds = held_dependents(course.reading, steps)
        if _written_first(course, shown.get("held_dependents")) != _written_first(course, holds):
            yield None, None, f"held_dependents is {shown.get('held_dependents')}, not {holds}."


def _written_first(course: Course, held: Any) -> Any:
    """Steps by who holds them, items behind the written ones: their order is that in which lists became known."""
    if not isinstance(held, Mapping):
        return held
    written = course.reading.written
    return {
        by: [*(n for n in names if n in written), *sorted(n for n in names if n not in written)]
        for by, names in held.items()
    }


def outcome_proofs(record: Record) -> Iterator[Finding]:
    """Proofs are known, in order, read from the log; the last says whether the outcome is whole or partial."""
    for course, shown, _ in _shown(record):
        said = shown.get("proof_states") or []
        known = [proof for proof in _PROOFS if proof in said]
        if said != known:
            yield None, None, f"proof_states are {said}."
        status = shown.get("status")
        last = "completion_ready" if status == "completed" else "partial_outcome_ready"
        ends = {"completion_ready", "partial_outcome_ready"}.intersection(said)
        if not _is_damaged(record) and ends != ({last} if status != "running" else set()):
            yield None, None, f"It is {status}, and proves {sorted(ends)}."
        for proof, is_true in _evidence(record, course).items():
            if proof in said and not is_true:
                yield None, None, f"It claims {proof}, and the log does not show it."
            if proof == "steps_scheduled" and is_true and proof not in said:
                yield None, None, "Steps were scheduled, and it does not say so."


def _has_settled(record: Record, step: StepReading) -> bool:
    """Whether a step behind others has a verdict, be it without an attempt: its list or its `when` could not be read."""
    stood = record.standing(step.id, len(record.facts))
    return bool(step.depends_on) and stood.stage == "settled" and stood.status != "held"


def _evidence(record: Record, course: Course) -> dict[str, bool]:
    """What the log holds for each proof."""
    steps = course.reading.steps
    begun = [a for a in record.attempts if a.step in steps]
    names = sorted({a.step for a in begun})
    has_met = any(course.reading.conflict(a, b) for a in names for b in names if a < b)
    return {
        "workflow_validated": True,
        # A question about a step that the log never began has the number 0.
        "steps_scheduled": any(a.number for a in begun),
        "dependencies_resolved": any(steps[a.step].depends_on for a in begun)
        or any(_has_settled(record, step) for step in steps.values()),
        "conflicts_serialized": has_met,
        "summaries_collected": any(a.ended is not None for a in begun),
    }
