"""A run made ready to be driven: its start, each time a process takes it up again, and the fork of another's checkpoint.

    prepare_start(…)    a new run: plan, inputs and sources pinned in `run_started`
    prepare_resume(…)   a run taken up again: what a person asked first, then `run_resumed`
    prepare_fork(…)     a new run with the history of another up to a named checkpoint

Each holds the run's lock and decides on what it then reads, so that of two resumers one wins. A `PreparedRun` is all the loop
needs to begin; `launch` hands it to the engine of this process, a simulator to one of its own. Source: contract.md §3, §6.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pixirnb.engine.folders import AttemptFolders, roots_of, shared_place
from pixirnb.engine.isolation import copy_left
from pixirnb.engine.merge import Merger, recover_merges
from pixirnb.engine.services import SystemClock
from pixirnb.errors import Cannot
from pixirnb.history.codec import storable
from pixirnb.history.events import Event, EventDraft, Owner, Parent, ResumeStep, warning
from pixirnb.history.run_state import RunState, fold
from pixirnb.ids import run_id as make_run_id
from pixirnb.machine.board import RunStop
from pixirnb.machine.requests import Request, grant
from pixirnb.machine.resume import Selection
from pixirnb.operations.fork_data import adopt_trees, copy_blobs, copy_sessions, undone_since
from pixirnb.operations.log_recovery import recovery_event
from pixirnb.operations.orphan_sessions import close_left
from pixirnb.operations.resume_plan import (
    Edit,
    ResumePlan,
    called_sources,
    history_at,
    pinned_plan,
    plan_resumption,
    sound_events,
)
from pixirnb.planning.digest import spec_digest
from pixirnb.planning.environment import Environment
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import compile_plan
from pixirnb.planning.roots import Roots
from pixirnb.protocols.ports import Contents, LogContents, Mend, RunLog, RunStore
from pixirnb.protocols.trees import Files
from pixirnb.runners.processes.orphans import end_strays
from pixirnb.runners.processes.thread_children import INSTANCE
from pixirnb.spec.inputs import resolve_inputs
from pixirnb.spec.workflow import Workflow
from pixirnb.store import detached_threads
from pixirnb.system.version import release
from pixirnb.workspace.local_files import LocalFiles, require_workspace
from pixirnb.workspace.read_digest import contents_digest
from pixirnb.workspace.survey import survey


def _this_process() -> Owner:
    return {"host": socket.gethostname(), "pid": os.getpid(), "instance": INSTANCE}


def _end_strays(run: RunState) -> None:
    end_strays(run.run_id, run.owners)


def _local_files(log: RunLog, roots: Roots, never_copy: Sequence[str]) -> Files | None:
    if log.folder is None:
        return None
    return LocalFiles(log.folder.parent.parent, roots, never_copy=never_copy)


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """What a course takes from where it begins: time, chance, this process, and what lies around it."""

    wall: Callable[[], str] = SystemClock().wall
    chance: Callable[[int], bytes] = secrets.token_bytes
    owner: Callable[[], Owner] = _this_process
    end_strays: Callable[[RunState], object] = _end_strays
    """Ends what the dead owner of a run left running."""
    contents: Contents = contents_digest
    files: Callable[[RunLog, Roots, Sequence[str]], Files | None] = _local_files
    """What keeps the files of a run on these roots, less what is never copied; None where its store keeps no folders."""


HERE: Final = RunEnvironment()
"""This process, on this machine."""


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A course about to begin: its log is held, and is closed by whoever drives it."""

    plan: Plan
    log: RunLog
    run: RunState
    """The history so far, folded."""
    opening: tuple[EventDraft, ...]
    """The facts it begins with."""
    place: AttemptFolders
    """The folders it works on."""
    files: Files | None = None
    """What keeps its isolated folders and does its merges."""
    stop: RunStop | None = None
    """The operator's wish as it begins."""


def prepare_start(
    workflow: Workflow,
    inputs: Mapping[str, Any],
    *,
    workspace: Path,
    store: RunStore,
    sources: Mapping[str, str],
    parent: Parent | None = None,
    place: RunEnvironment = HERE,
) -> PreparedRun:
    """A new run; `parent`: the agent that starts it. Raises InvalidSpec, InvalidArguments, StateUnusable."""
    pinned = called_sources(workflow, sources)
    facts = survey(workflow, workspace, pinned)
    plan = compile_plan(workflow, facts, pinned)
    given = resolve_inputs(workflow, inputs)
    run_id = _new_run_id(place)
    log = store.create(run_id)
    opening = EventDraft(
        "run_started",
        {
            "run_id": run_id,
            "workflow": workflow.name,
            "spec": workflow.canonical(),
            "spec_digest": spec_digest(workflow),
            "inputs": given,
            "workspace": str(workspace.resolve()),
            **_repos(facts),
            "source": workflow.places.source,
            "sources": pinned,
            "owner": place.owner(),
            "pixirnb": release(),
            **({} if parent is None else {"parent": parent}),
        },
    )
    run = RunState()
    pinned_run = fold(_as_events([opening], (), place))
    return _course(plan, log, run, (opening,), pinned_run, place)


def prepare_resume(
    store: RunStore,
    run_id: str,
    *,
    edit: Edit | None = None,
    selection: Selection | None = None,
    request: Request | None = None,
    take_over: bool = False,
    recover: bool = False,
    place: RunEnvironment = HERE,
) -> PreparedRun | None:
    """A run taken up again, what was requested first; None when there is nothing to do. `recover`: from before a damage.

    Raises UnknownRun, HeldByAnother, LogDamaged, InvalidSpec, InvalidArguments, Cannot (`workspace_missing` …).
    """
    chosen, changed = selection or Selection(), edit or Edit()
    mend = (lambda setback: recovery_event(setback, place.wall())) if recover else None
    with _held(store, run_id, take_over=take_over, mend=mend) as (log, hand_on):
        reading = _with_merges(log, place)
        drafts, stop = _granted(request, reading)
        known = LogContents([*reading.events, *_as_events(drafts, reading.events, place)])
        planned = plan_resumption(known, log.blobs, changed, chosen, contents=place.contents)
        if planned.is_no_op and not drafts:
            cut = _as_events(_cautions(reading, ()), reading.events, place)
            if cut:
                log.append(cut)
            place.end_strays(planned.run)
            return None
        _require_returned(log, place.owner())
        left: list[EventDraft] = []
        place.end_strays(planned.run)
        if planned.run.finished is None:
            # The evidence of what a dead owner's agents came to, before anything of theirs begins again.
            owners, host = planned.run.owners, place.owner()["host"]
            is_elsewhere = bool(owners) and owners[-1].get("host") != host
            left = close_left(
                log, planned.run, reading.events, place.wall, is_elsewhere=is_elsewhere
            )
        opening = (*drafts, *_opening(planned, chosen, changed, reading, place), *left)
        run = fold(reading.events)
        course = _course(planned.plan, log, run, opening, run, place, stop)
        if course.files is not None:
            unswept = [copy_left(refused, None) for refused in course.files.sweep(run_id)]
            course = replace(course, opening=(*opening, *unswept))
            require_workspace(course.files, run)
        hand_on()
        return course


def prepare_fork(
    store: RunStore,
    run_id: str,
    checkpoint: str,
    *,
    edit: Edit | None = None,
    selection: Selection | None = None,
    place: RunEnvironment = HERE,
) -> PreparedRun:
    """A new run that goes on from a named checkpoint of another, which may be live and is not touched.

    Its log and blobs are its own: the other may be deleted. Raises UnknownRun, LogDamaged, InvalidSpec, InvalidArguments.
    """
    chosen, changed = selection or Selection(), edit or Edit()
    everything, theirs = store.read(run_id), store.blobs(run_id)
    source = history_at(everything, checkpoint)
    # Planned before anything is made, so that what cannot be planned leaves no folder behind.
    plan_resumption(LogContents(source), theirs, changed, chosen, contents=place.contents)
    fork_id = _new_run_id(place)
    begun = replace(source[0], data={**source[0].data, "run_id": fork_id})
    junction = EventDraft(
        "run_forked", {"run_id": run_id, "checkpoint": checkpoint, "seq": source[-1].seq}
    )
    history = [begun, *source[1:]]
    history += _as_events([junction, *undone_since(everything.events, source)], history, place)
    log = store.create(fork_id, history, lambda ours: copy_blobs(theirs, ours, history))
    with contextlib.ExitStack() as undo:
        undo.callback(log.close)
        copy_sessions(store, run_id, log, history)
        planned = plan_resumption(log.reading, log.blobs, changed, chosen, contents=place.contents)
        opening = _opening(planned, chosen, changed, log.reading, place)
        undo.pop_all()
    run = fold(history)
    course = _course(planned.plan, log, run, tuple(opening), run, place)
    if course.files is not None:
        adopt_trees(course.files, fork_id, history)
    return course


def _course(  # noqa: PLR0917 - all that a course begins with
    plan: Plan,
    log: RunLog,
    run: RunState,
    opening: tuple[EventDraft, ...],
    pinned: RunState,
    place: RunEnvironment,
    stop: RunStop | None = None,
) -> PreparedRun:
    folders = shared_place(pinned, roots_of(pinned))
    files = place.files(log, folders.roots, plan.workflow.never_copy)
    return PreparedRun(plan, log, run, opening, folders, files, stop)


def _repos(facts: Environment) -> dict[str, dict[str, str]]:
    """Where the repositories lie, from the workspace, so that a moved project finds them again."""
    found = {
        name: os.path.relpath(fact.resolved, facts.workspace) for name, fact in facts.repos.items()
    }
    return {"repos": found} if found else {}


def record(
    store: RunStore,
    run_id: str,
    request: Request,
    *,
    take_over: bool = False,
    place: RunEnvironment = HERE,
) -> None:
    """Record what was requested of a run nobody drives, and leave it at that.

    Raises UnknownRun, HeldByAnother, LogDamaged, LogWriteFailed, InvalidArguments.
    """
    with _held(store, run_id, take_over=take_over) as (log, _):
        drafts, _stop = _granted(request, log.reading)
        log.append(_as_events(drafts, log.reading.events, place))


def merge(
    store: RunStore,
    run_id: str,
    request: Request,
    *,
    take_over: bool = False,
    place: RunEnvironment = HERE,
) -> None:
    """Do a merge that was asked for of a run nobody drives, and record it. Nothing of the run starts.

    Raises UnknownRun, HeldByAnother, LogDamaged, LogWriteFailed, InvalidArguments, Cannot.
    """
    with _held(store, run_id, take_over=take_over) as (log, _):
        reading = _with_merges(log, place)
        run = fold(reading.events)
        course = _course(pinned_plan(run), log, run, (), run, place)
        wish = grant(request, course.plan, run).merge
        if course.files is not None and wish is not None:
            require_workspace(course.files, run)
            merger = Merger(course.plan, run, course.place.roots, course.files, log.blobs)
            _append_merges(log, course.files, merger.of_wish(wish), reading, place)


def _with_merges(log: RunLog, place: RunEnvironment) -> LogContents:
    """What a held log holds, once it has what a dead process left of merges: all that follows builds on it.

    Raises LogDamaged, LogWriteFailed, Cannot.
    """
    reading = replace(log.reading, events=sound_events(log.reading))
    begun = fold(reading.events[:1])
    files = place.files(log, roots_of(begun), ())
    if files is None:
        return reading
    return _append_merges(log, files, recover_merges(files, reading.events), reading, place)


def _append_merges(
    log: RunLog,
    files: Files,
    facts: Sequence[EventDraft],
    reading: LogContents,
    place: RunEnvironment,
) -> LogContents:
    events = _as_events(facts, reading.events, place)
    if not events:
        return reading
    log.append(events)
    for event in events:
        if event.kind == "merge_applied":
            files.recorded(log.run_id, event.data["merge"])
    return replace(reading, events=[*reading.events, *events])


@contextlib.contextmanager
def _held(
    store: RunStore, run_id: str, *, take_over: bool, mend: Mend | None = None
) -> Iterator[tuple[RunLog, Callable[[], object]]]:
    """Hold a run's log; it is let go of at the end unless it was handed on."""
    log = store.acquire(run_id, take_over=take_over, mend=mend)
    stack = contextlib.ExitStack()
    stack.callback(log.close)
    with stack:
        yield log, stack.pop_all


def _require_returned(log: RunLog, owner: Owner) -> None:
    """Raise Cannot where a thread of the run goes on in another process: what it does must not be begun beside it."""
    living = [] if log.folder is None else detached_threads.find_living(log.folder)
    for thread in living:
        there = thread["owner"]
        if there["instance"] != owner["instance"]:
            raise Cannot(
                f"`{thread['step']}` still works in a thread of process {there['pid']}, and cannot be ended from here.",
                fix=f"Resume the run in that process, or end it: kill {there['pid']}.",
                code="thread_alive",
                details={"step": thread["step"], "owner": there},
            )


def _granted(
    request: Request | None, reading: LogContents
) -> tuple[list[EventDraft], RunStop | None]:
    if request is None:
        return [], None
    run = fold(reading.events)
    granted = grant(request, pinned_plan(run), run)
    return list(granted.facts), granted.stop


def _opening(
    planned: ResumePlan,
    selection: Selection,
    edit: Edit,
    reading: LogContents,
    place: RunEnvironment,
) -> list[EventDraft]:
    data: dict[str, Any] = {
        "owner": place.owner(),
        "flags": selection.flags(),
        "steps": planned.steps,
        "spec_digest": spec_digest(planned.plan.workflow),
        "inputs": planned.inputs,
    }
    if edit.workflow is not None:
        data["spec"] = edit.workflow.canonical()
    if planned.plan.sources != planned.run.sources:
        data["sources"] = dict(planned.plan.sources)
    in_flight = [step["step_id"] for step in planned.steps if _was_in_flight(planned.run, step)]
    return [
        EventDraft("run_resumed", data),
        *_cautions(reading, in_flight, last=reading.events[-1]),
    ]


def _was_in_flight(run: RunState, planned: ResumeStep) -> bool:
    """Whether what reruns was under way at a death, whatever else is a reason to run it again."""
    if planned["reason"] == "in_flight":
        return True
    state = run.steps.get(planned["step_id"])
    is_open = state is not None and (state.is_lost or state.stage in {"scheduled", "running"})
    return is_open and planned["action"] == "rerun"


def _cautions(
    reading: LogContents, in_flight: Sequence[str], *, last: Event | None = None
) -> list[EventDraft]:
    """What to be careful about. `last` tells a fork, which goes on from another run's checkpoint, from a death."""
    cautions = []
    if reading.damage is not None:
        message = f"The end of the log was torn and has been cut: {reading.damage.message}"
        cautions.append(warning("torn_tail", message, None))
    is_fork = last is not None and last.kind == "run_forked"
    when = "under way at the checkpoint" if is_fork else "running when its process died"
    for step in in_flight:
        message = f"`{step}` was {when}; what it had done by then may be there twice or half."
        cautions.append(warning("side_effects_may_be_partial", message, step))
    return cautions


def _new_run_id(place: RunEnvironment) -> str:
    stamp = "".join(character for character in place.wall() if character.isdigit())
    return make_run_id(stamp, place.chance(6))


def _as_events(
    drafts: Sequence[EventDraft], before: Sequence[Event], place: RunEnvironment
) -> list[Event]:
    at = place.wall()
    seq = before[-1].seq if before else 0
    return [
        Event(seq + n, at, draft.kind, storable(draft.data))
        for n, draft in enumerate(drafts, start=1)
    ]
