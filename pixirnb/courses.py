"""Courses of a run: its start, and each time a process takes it up again.

    begin(…)       a new run: plan, inputs and sources pinned in `run_started`
    resumption(…)  what a resume would do with each step, and why; runs nothing
    go_on(…)       the resume itself: `run_resumed`, then the loop
    record(…)      facts from a person, for a run nobody drives

Each takes the run's lock first and decides on what it then reads, so that of two resumers one wins.
Source: contract.md §3, §6, §9.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast

from pixirnb import values
from pixirnb.engine.broadcast import Listener
from pixirnb.engine.clock import SystemClock
from pixirnb.engine.host import engine
from pixirnb.engine.live import LiveRun
from pixirnb.engine.overlap import share_writes
from pixirnb.errors import LogDamaged, PixirnbError
from pixirnb.history.bundles import stored_output
from pixirnb.history.events import Draft, Event, Owner, ResumeStep, StoredValue
from pixirnb.history.state import RunState, fold
from pixirnb.ids import run_id as make_run_id
from pixirnb.machine.board import RunStop
from pixirnb.machine.requirement import required
from pixirnb.machine.resume import Selection, is_no_op, plan_resume
from pixirnb.planning.digest import spec_digest
from pixirnb.planning.facts import Facts
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import compile_plan, require
from pixirnb.ports import Blobs, Reading, RunLog
from pixirnb.release import release
from pixirnb.runners.processes import end_strays
from pixirnb.spec.inputs import resolve_inputs
from pixirnb.spec.loader import load_mapping
from pixirnb.spec.workflow import Workflow
from pixirnb.store.files import FileStore
from pixirnb.store.lease import live_owner
from pixirnb.workspace.contents import contents_digest
from pixirnb.workspace.survey import survey

_INSTANCE: Final = secrets.token_hex(8)
"""Tells this process from another that bears its pid."""

_NEIGHBOURS: Final = 32
"""So many of the newest runs are looked at for one that another process drives in the same workspace."""


@dataclass(frozen=True, slots=True)
class Edit:
    """What a resume changes of the pinned run; empty: nothing."""

    workflow: Workflow | None = None
    inputs: Mapping[str, Any] | None = None
    sources: Mapping[str, str] | None = None
    """Notebook functions as they are now; the pinned source stands in for those that are gone."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """A resume, planned."""

    plan: Plan
    run: RunState
    inputs: dict[str, Any]
    steps: list[ResumeStep]
    is_no_op: bool


def begin(
    workflow: Workflow,
    inputs: Mapping[str, Any],
    *,
    workspace: Path,
    store: FileStore,
    sources: Mapping[str, str],
    listeners: Sequence[Listener] = (),
) -> LiveRun:
    """Start a new run in the background. Raises InvalidSpec, InvalidArguments, StateUnusable, LogWriteFailed."""
    pinned = _called(workflow, sources)
    plan = compile_plan(workflow, survey(workflow, workspace, pinned), pinned)
    given = resolve_inputs(workflow, inputs)
    wall = SystemClock().wall()
    stamp = "".join(character for character in wall if character.isdigit())
    run_id = make_run_id(stamp, secrets.token_bytes(6))
    log = store.create(run_id)
    opening = Draft(
        "run_started",
        {
            "run_id": run_id,
            "workflow": workflow.name,
            "spec": workflow.canonical(),
            "spec_digest": spec_digest(workflow),
            "inputs": given,
            "workspace": str(workspace.resolve()),
            "source": workflow.places.source,
            "sources": pinned,
            "owner": _owner(),
            "pixirnb": release(),
        },
    )
    return _launch(store, plan, log, RunState(), [opening], listeners)


def resumption(
    store: FileStore, run_id: str, *, edit: Edit | None = None, selection: Selection | None = None
) -> Resumption:
    """What a resume would do. Raises UnknownRun, LogDamaged, InvalidSpec, InvalidArguments."""
    reading = store.read(run_id)
    if reading.damage is not None and reading.damage.code != "torn_tail":
        raise LogDamaged(
            f"the log of {run_id} is damaged: {reading.damage.message}",
            fix="It can be shown up to there; start a new run to go on.",
            details={"line": reading.damage.line, "damage": reading.damage.code},
        )
    return _planned(reading, store.blobs(run_id), edit or Edit(), selection or Selection())


def go_on(
    store: FileStore,
    run_id: str,
    *,
    edit: Edit | None = None,
    selection: Selection | None = None,
    facts: Sequence[Draft] = (),
    stop: RunStop | None = None,
    take_over: bool = False,
    listeners: Sequence[Listener] = (),
) -> LiveRun | None:
    """Resume a run in the background, `facts` (a decision) recorded first; None when there is nothing to do.

    `stop`: take it up only to end it.

    Raises UnknownRun, HeldByAnother, LogDamaged, InvalidSpec, InvalidArguments.
    """
    chosen = selection or Selection()
    with _held(store, run_id, take_over=take_over) as (log, release):
        reading = log.reading
        drafts = list(facts)
        known = Reading([*reading.events, *_as_events(drafts, reading.events)], reading.damage)
        planned = _planned(known, log.blobs, edit or Edit(), chosen)
        if planned.is_no_op and not drafts:
            cut = _cautions(reading, ())
            if cut:
                log.append(_as_events(cut, reading.events))
            return None
        in_flight = [s["step_id"] for s in planned.steps if s["reason"] == "in_flight"]
        if planned.run.finished is None:
            end_strays(run_id)
        drafts.append(_resumed(planned, chosen, edit or Edit()))
        drafts += _cautions(reading, in_flight)
        run = fold(reading.events)
        live = _launch(store, planned.plan, log, run, drafts, listeners, stop)
        release()
        return live


def record(
    store: FileStore, run_id: str, facts: Sequence[Draft], *, take_over: bool = False
) -> None:
    """Add facts from a person to a run nobody drives. Raises UnknownRun, HeldByAnother, LogDamaged, LogWriteFailed."""
    with _held(store, run_id, take_over=take_over) as (log, _):
        log.append(_as_events(list(facts), log.reading.events))


def pinned_plan(run: RunState) -> Plan:
    """The plan of the workflow a run has pinned; its paths are not looked up again."""
    return compile_plan(require(load_mapping(run.spec)), Facts(), run.sources)


@contextlib.contextmanager
def _held(store: FileStore, run_id: str, *, take_over: bool) -> Iterator[tuple[RunLog, Any]]:
    """Hold a run's log; it is let go of at the end unless it was handed on."""
    log = store.acquire(run_id, take_over=take_over)
    stack = contextlib.ExitStack()
    stack.callback(log.close)
    with stack:
        yield log, stack.pop_all


def _planned(reading: Reading, blobs: Blobs, edit: Edit, selection: Selection) -> Resumption:
    run = fold(reading.events)
    workflow = edit.workflow or require(load_mapping(run.spec))
    sources = {**run.sources, **_called(workflow, edit.sources or {})}
    facts = Facts()
    if edit.workflow is not None:
        facts = survey(workflow, Path(run.workspace), sources)
    plan = compile_plan(workflow, facts, sources)
    inputs = dict(run.inputs)
    if edit.workflow is not None or edit.inputs:
        kept = {name: value for name, value in run.inputs.items() if name in workflow.inputs}
        inputs = resolve_inputs(workflow, {**kept, **(edit.inputs or {})})
    steps = plan_resume(
        plan,
        run,
        selection,
        inputs=inputs,
        untrusted=_untrusted(plan, run, blobs),
        reads=_reads(plan, run),
    )
    same = {step.id for step in plan.steps} == {s["id"] for s in run.spec["steps"]}
    finished = run.finished is not None and run.finished["status"] == "completed"
    relevant = steps
    if inputs == run.inputs and spec_digest(workflow) == run.spec_digest:
        # What a false `when` holds would be held again: it was asked about the same spec and inputs.
        needed = {plan.steps[index].id for index in required(plan, run)}
        relevant = [entry for entry in steps if entry["step_id"] in needed]
    nothing = finished and same and selection.is_empty and is_no_op(relevant)
    return Resumption(plan, run, inputs, steps, nothing)


def _resumed(planned: Resumption, selection: Selection, edit: Edit) -> Draft:
    data: dict[str, Any] = {
        "owner": _owner(),
        "flags": selection.flags(),
        "steps": planned.steps,
        "spec_digest": spec_digest(planned.plan.workflow),
        "inputs": planned.inputs,
    }
    if edit.workflow is not None:
        data["spec"] = edit.workflow.canonical()
    if planned.plan.sources != planned.run.sources:
        data["sources"] = dict(planned.plan.sources)
    return Draft("run_resumed", data)


def _cautions(reading: Reading, in_flight: Sequence[str]) -> list[Draft]:
    cautions = []
    if reading.damage is not None:
        message = f"The end of the log was torn and has been cut: {reading.damage.message}"
        cautions.append(_warning("torn_tail", message, None))
    for step in in_flight:
        message = f"`{step}` was running when its process died; what it had done by then may be there twice or half."
        cautions.append(_warning("side_effects_may_be_partial", message, step))
    return cautions


def _launch(  # noqa: PLR0917 - a course has as many parts
    store: FileStore,
    plan: Plan,
    log: RunLog,
    run: RunState,
    drafts: list[Draft],
    listeners: Sequence[Listener],
    stop: RunStop | None = None,
) -> LiveRun:
    others = [other for other in engine().live_runs() if other.scheduler.log.run_id != log.run_id]
    workspace = run.workspace or drafts[0].data.get("workspace")
    for other in others:
        theirs = other.ask(lambda scheduler: scheduler.board.run.workspace)
        if theirs == workspace and share_writes(plan, other.scheduler.plan):
            drafts.append(_shared(other.scheduler.log.run_id))
            other.record([_shared(log.run_id)])
    here = {log.run_id, *(other.scheduler.log.run_id for other in others)}
    drafts += [
        _shared(run_id)
        for run_id in store.run_ids()[:_NEIGHBOURS]
        if run_id not in here and _is_in_the_way(store, run_id, str(workspace), plan)
    ]
    return engine().launch(plan, log, run, drafts, listeners, stop=stop)


def _is_in_the_way(store: FileStore, run_id: str, workspace: str, plan: Plan) -> bool:
    """Whether another process drives that run in the same workspace, with writers that overlap ours."""
    try:
        if live_owner(store.folder(run_id)) is None:
            return False
        theirs = fold(store.read(run_id).events)
        return theirs.workspace == workspace and share_writes(plan, pinned_plan(theirs))
    except PixirnbError:
        return False  # a run that cannot be read is named where it is looked at, not where another starts


def _shared(other: str) -> Draft:
    message = f"{other} is live in the same workspace and may write the same files."
    return _warning("workspace_shared", message, None)


def _warning(code: str, message: str, step: str | None) -> Draft:
    return Draft("warning_raised", {"code": code, "message": message, "step": step})


def _untrusted(plan: Plan, run: RunState, blobs: Blobs) -> set[str]:
    """Ready steps whose stored value cannot be loaded here, or is lost: it has to be made anew."""
    found: set[str] = set()
    for step in plan.steps:
        state = run.steps.get(step.id)
        if state is None or state.checkpoint_status != "checkpoint_ready":
            continue
        stored = cast("StoredValue", stored_output(state))
        digest = stored.get("blob")
        if digest is not None and not blobs.has(digest):
            found.add(step.id)  # lost: what it held must be made again
            continue
        if stored["format"] != "pickle":
            continue
        data = None if digest is None else blobs.get(digest)
        if not values.is_trusted(stored, data, values.user_key()):
            found.add(step.id)
    return found


def _reads(plan: Plan, run: RunState) -> dict[str, str]:
    """Digests of what steps with `reuse: reads` would read now."""
    workspace = Path(run.workspace)
    return {
        step.id: contents_digest(workspace, step.read_set)
        for step in plan.steps
        if step.spec.reuse == "reads"
    }


def _called(workflow: Workflow, sources: Mapping[str, str]) -> dict[str, str]:
    """The sources a workflow calls for, of those that are known."""
    names = {getattr(step, "call", "") for step in workflow.steps}
    names |= {check.python or "" for step in workflow.steps for check in step.verify}
    return {name: sources[name] for name in sorted(names) if name in sources}


def _as_events(drafts: Sequence[Draft], before: Sequence[Event]) -> list[Event]:
    at = SystemClock().wall()
    seq = before[-1].seq if before else 0
    return [Event(seq + n, at, draft.kind, draft.data) for n, draft in enumerate(drafts, start=1)]


def _owner() -> Owner:
    return {"host": socket.gethostname(), "pid": os.getpid(), "instance": _INSTANCE}
