"""The events that a resume begins with: what it will do with each step, and warnings about what may have run twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pixirnb.history.event_draft import EventDraft, warning
from pixirnb.history.events import Event, ResumeStep, RunResumed
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.ids import item_id
from pixirnb.machine.resume import Selection
from pixirnb.operations.resume_plan import ResumePlan
from pixirnb.operations.run_environment import RunEnvironment
from pixirnb.operations.workflow_source import Edit
from pixirnb.planning.digest import spec_digest
from pixirnb.protocols.ports import LogContents
from pixirnb.views.basics.times import epoch_ms

_BY_OTHERS: Final = ("checkpoint_", "decision_", "merge_", "retry_planned", "seam_", "warning_")
"""Beginnings of the kinds that a process may also record after the owner's death: what follows from an end is as late as it."""


def resume_opening(
    planned: ResumePlan,
    selection: Selection,
    edit: Edit,
    reading: LogContents,
    environment: RunEnvironment,
) -> list[EventDraft]:
    """Return the events that a resume or a fork begins with."""
    data: RunResumed = {
        "owner": environment.owner(),
        "flags": selection.flags(),
        "steps": planned.steps,
        "spec_digest": planned.run.spec_digest
        if edit.workflow is None
        else spec_digest(planned.plan.workflow),
        "inputs": planned.inputs,
    }
    if edit.workflow is not None:
        data["spec"] = edit.workflow.canonical()
    if planned.plan.sources != planned.run.sources:
        data["sources"] = dict(planned.plan.sources)
    if planned.repos != planned.run.repos:
        data["repos"] = planned.repos
    if unfinished_ms := _unfinished_ms(planned.run, reading.events):
        data["unfinished_ms"] = unfinished_ms
    in_flight = [step["step_id"] for step in planned.steps if _was_in_flight(planned.run, step)]
    in_flight += _items_in_flight(planned.run, planned.steps, in_flight)
    return [
        EventDraft("run_resumed", data),
        *log_warnings(reading, in_flight, last=reading.events[-1]),
    ]


def _unfinished_ms(run: RunState, events: Sequence[Event]) -> int:
    """Return the length of the last invocation if its process died, by the wall clock."""
    if run.finished is not None or not run.courses:
        return 0
    last = next(
        event
        for event in reversed(events)
        if not event.kind.startswith(_BY_OTHERS) and "request" not in event.data
    )
    begin, end = epoch_ms(run.owners[-1]["at"]), epoch_ms(last.at)
    return 0 if begin is None or end is None else max(0, end - begin)


def _was_in_flight(run: RunState, planned: ResumeStep) -> bool:
    """Return whether a rerun step was active at a death, whatever other reasons it has. A list only gathers values."""
    if planned["step_id"] in run.items:
        return False
    state = run.steps.get(planned["step_id"])
    is_known = state is None or state.doubt != "unrecorded"
    if planned["reason"] == "in_flight" and is_known:
        return True
    return planned["action"] == "rerun" and state is not None and _is_open(state)


def _items_in_flight(
    run: RunState, planned: Sequence[ResumeStep], known: Sequence[str]
) -> list[str]:
    """Return the items that were active at a death, of steps that run again, without those `known`."""
    names = [
        item_id(entry["step_id"], item["number"])
        for entry in planned
        if entry["action"] == "rerun" and entry["step_id"] in run.items
        for item in run.items[entry["step_id"]].items
    ]
    return [name for name in names if name not in known and _is_open(run.step(name))]


def _is_open(state: StepState) -> bool:
    return state.is_lost or state.stage in {"scheduled", "running"}


def log_warnings(
    reading: LogContents, in_flight: Sequence[str], *, last: Event | None = None
) -> list[EventDraft]:
    """Return warnings about damage of the log, and about steps cut short.

    `last` tells a fork, which continues from another run's checkpoint, from a death.
    """
    warnings = []
    if reading.damage is not None:
        message = f"removed the incomplete last line of the log: {reading.damage.message}"
        warnings.append(warning("torn_tail", message, None))
    is_fork = last is not None and last.kind == "run_forked"
    when = "running at the checkpoint" if is_fork else "running when its process died"
    for step in in_flight:
        message = f"`{step}` was {when}; its side effects may be incomplete or duplicated"
        warnings.append(warning("side_effects_may_be_partial", message, step))
    return warnings
