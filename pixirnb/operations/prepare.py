"""Preparation of a run: its start, each resume by a process, and the fork from another run's checkpoint.

    prepare_start(…)    a new run: plan, inputs and sources pinned in `run_started`
    prepare_resume(…)   a resumed run: first a person's request, then `run_resumed`
    prepare_fork(…)     a new run with the history of another up to a named checkpoint

Each locks the run and decides on the log that it then reads, so that one of two resumers wins. The loop needs nothing
but a `PreparedRun`; `launch` hands it to the engine of this process, a simulator to its own. Source: contract.md §3,
§6.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from pixirnb.engine.folders import roots_of, shared_folders
from pixirnb.engine.isolation import copy_left
from pixirnb.engine.merge import Merger, recover_merges
from pixirnb.engine.messages import mask_words
from pixirnb.engine.prepared_run import PreparedRun
from pixirnb.errors import Cannot
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Owner, Parent, RunStarted
from pixirnb.history.run_state import RunState, fold
from pixirnb.history.validation import well_formed
from pixirnb.json_types import JsonMapping
from pixirnb.machine.board import RunStop
from pixirnb.machine.requests import Request, grant
from pixirnb.machine.resume import Selection
from pixirnb.operations.cluster import attempts_left
from pixirnb.operations.fork_data import (
    adopt_trees,
    copy_blobs,
    copy_sessions,
    fork_history,
    source_blobs,
    undone_in_sources,
)
from pixirnb.operations.locations import require_utf8
from pixirnb.operations.log_recovery import recovery_event
from pixirnb.operations.orphan_sessions import close_left
from pixirnb.operations.resume_opening import log_warnings, resume_opening
from pixirnb.operations.resume_plan import (
    ResumePlan,
    pinned_plan,
    pinned_repos,
    plan_resumption,
    sound_events,
)
from pixirnb.operations.run_environment import HERE, RunEnvironment, as_events, new_run_id
from pixirnb.operations.start_options import StartOptions
from pixirnb.operations.survey import survey
from pixirnb.operations.workflow_source import Edit, called_sources
from pixirnb.planning.digest import spec_digest
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import compile_plan
from pixirnb.protocols.ports import LogContents, Mend, RunLog, RunStore
from pixirnb.protocols.trees import Files
from pixirnb.spec.inputs import resolve_inputs
from pixirnb.spec.workflow import Workflow
from pixirnb.store import detached_threads
from pixirnb.system.version import release
from pixirnb.workspace.local_files import require_workspace


def prepare_start(
    workflow: Workflow,
    inputs: JsonMapping,
    *,
    workspace: Path,
    store: RunStore,
    sources: Mapping[str, str],
    parent: Parent | None = None,
    options: StartOptions = StartOptions(),  # noqa: B008 - frozen
    environment: RunEnvironment = HERE,
) -> PreparedRun:
    """Prepare a new run; `parent`: the agent that starts it. Raises InvalidSpec, InvalidArguments, StateUnusable."""
    require_utf8(workspace.resolve())
    pinned = called_sources(workflow, sources)
    facts = survey(workflow, workspace, pinned)
    plan = compile_plan(workflow, facts, pinned)
    cluster = environment.cluster(plan, {})
    given = resolve_inputs(workflow, inputs)
    run_id = new_run_id(environment)
    begun: RunStarted = {
        "run_id": run_id,
        "workflow": workflow.name,
        "spec": workflow.canonical(),
        "spec_digest": spec_digest(workflow),
        "inputs": given,
        "workspace": str(workspace.resolve()),
        "source": workflow.source_map.source,
        "sources": pinned,
        "owner": environment.owner(),
        "pixirnb": release(),
    }
    if facts.repos:
        begun["repos"] = pinned_repos(facts)
    if parent is not None:
        begun["parent"] = parent
    options.record(begun, workflow)
    log = store.create(run_id)
    opening = EventDraft("run_started", begun)
    run = RunState(run_id=run_id, workflow=workflow.name)  # shown before its first event is durable
    pinned_run = fold(as_events([opening], (), environment))
    prepared = _prepared_run(plan, log, run, (opening,), pinned_run, environment)
    return replace(prepared, cluster=cluster)


def prepare_resume(
    store: RunStore,
    run_id: str,
    *,
    edit: Edit | None = None,
    selection: Selection | None = None,
    request: Request | None = None,
    take_over: bool = False,
    recover: bool = False,
    environment: RunEnvironment = HERE,
) -> PreparedRun | None:
    """Prepare a resume, first with the request; None when there is nothing to do.

    `recover`: continue before log damage.

    Raises UnknownRun, HeldByAnother, LogDamaged, InvalidSpec, InvalidArguments, Cannot (`workspace_missing` …).
    """
    chosen, changed = selection or Selection(), edit or Edit()
    mend = (lambda setback: recovery_event(setback, environment.wall())) if recover else None
    with _held(store, run_id, take_over=take_over, mend=mend) as (log, hand_on):
        reading = _with_merges(store, log, environment)
        drafts, stop = _granted(request, reading)
        known = LogContents([*reading.events, *as_events(drafts, reading.events, environment)])
        planned = plan_resumption(known, log.blobs, changed, chosen, contents=environment.contents)
        if planned.is_no_op and not drafts:
            cut = as_events(log_warnings(reading, ()), reading.events, environment)
            if cut:
                log.append(cut)
            environment.end_strays(planned.run)
            return None
        behind = attempts_left(planned.run, _of_living_threads(log))
        cluster = None if stop is not None else environment.cluster(planned.plan, behind)
        if cluster is not None:
            cluster.end_left(run_id, behind)
        _require_returned(log, planned, environment.owner())
        left: list[EventDraft] = []
        environment.end_strays(planned.run)
        if planned.run.finished is None:
            # First the evidence of a dead owner's agents, then anything of the run.
            owners, host = planned.run.owners, environment.owner()["host"]
            is_elsewhere = bool(owners) and owners[-1].get("host") != host
            left = close_left(
                log, planned.run, reading.events, environment.wall, is_elsewhere=is_elsewhere
            )
        opening = (
            *drafts,
            *planned.verdicts,
            *resume_opening(planned, planned.selection, changed, reading, environment),
            *left,
        )
        is_ahead = drafts or planned.verdicts
        run = fold(reading.events) if is_ahead else planned.run
        prepared = _prepared_run(planned.plan, log, run, opening, run, environment, stop)
        prepared = replace(prepared, cluster=cluster)
        if prepared.files is not None:
            unswept = [copy_left(refused, None) for refused in prepared.files.sweep(run_id)]
            prepared = replace(prepared, opening=(*opening, *unswept))
            require_workspace(prepared.files, run)
        hand_on()
        return prepared


def prepare_fork(
    store: RunStore,
    run_id: str,
    checkpoint: str,
    *,
    edit: Edit | None = None,
    selection: Selection | None = None,
    environment: RunEnvironment = HERE,
) -> PreparedRun:
    """Prepare a new run from a named checkpoint of another, which may be live and is not changed.

    Its log and blobs are its own: the other may be deleted. Raises UnknownRun, LogDamaged, InvalidSpec,
    InvalidArguments.
    """
    chosen, changed = selection or Selection(), edit or Edit()
    everything, theirs = store.read(run_id), store.blobs(run_id)
    sources = [theirs, *source_blobs(store, everything.events)]
    undone = undone_in_sources(store, everything.events, environment)
    everything = replace(everything, events=[*everything.events, *undone])
    history = fork_history(everything, run_id, checkpoint, environment)
    # Planned first, so that an invalid plan leaves no folder behind.
    planned = plan_resumption(
        LogContents(history), theirs, changed, chosen, contents=environment.contents
    )
    fork_id = new_run_id(environment)
    begun = replace(history[0], data={**history[0].data, "run_id": fork_id})
    begun.data.pop("name", None)  # it names one run
    history[0] = begun
    cluster = environment.cluster(planned.plan, {})
    log = store.create(fork_id, history, lambda ours: copy_blobs(sources, ours, history))
    with contextlib.ExitStack() as undo:
        undo.callback(log.close)
        copy_sessions(store, run_id, log, well_formed(history))
        planned = plan_resumption(
            log.reading, log.blobs, changed, chosen, contents=environment.contents
        )
        opening = (
            *planned.verdicts,
            *resume_opening(planned, planned.selection, changed, log.reading, environment),
        )
        undo.pop_all()
    run = fold(history)
    prepared = _prepared_run(planned.plan, log, run, opening, run, environment)
    prepared = replace(prepared, cluster=cluster)
    if prepared.files is not None:
        adopt_trees(prepared.files, fork_id, well_formed(history))
    return prepared


def _prepared_run(  # noqa: PLR0917 - all that a course begins with
    plan: Plan,
    log: RunLog,
    run: RunState,
    opening: tuple[EventDraft, ...],
    pinned: RunState,
    environment: RunEnvironment,
    stop: RunStop | None = None,
) -> PreparedRun:
    folders = shared_folders(pinned, plan.roots)
    files = environment.files(log, folders.roots, plan.workflow.never_copy)
    return PreparedRun(plan, log, run, opening, folders, files, stop=stop)


def record(
    store: RunStore,
    run_id: str,
    request: Request,
    *,
    take_over: bool = False,
    environment: RunEnvironment = HERE,
) -> None:
    """Record a request for a run without an owner, and do nothing else.

    Raises UnknownRun, HeldByAnother, LogDamaged, LogWriteFailed, InvalidArguments.
    """
    with _held(store, run_id, take_over=take_over) as (log, _):
        drafts, _stop = _granted(request, log.reading)
        log.append(as_events(drafts, log.reading.events, environment))


def merge(
    store: RunStore,
    run_id: str,
    request: Request,
    *,
    take_over: bool = False,
    environment: RunEnvironment = HERE,
) -> None:
    """Do a requested merge for a run without an owner, and record it. Starts nothing of the run.

    Raises UnknownRun, HeldByAnother, LogDamaged, LogWriteFailed, InvalidArguments, Cannot.
    """
    with _held(store, run_id, take_over=take_over) as (log, _):
        reading = _with_merges(store, log, environment)
        run = fold(reading.events)
        prepared = _prepared_run(pinned_plan(run), log, run, (), run, environment)
        merge_request = grant(request, prepared.plan, run).merge
        if prepared.files is not None and merge_request is not None:
            require_workspace(prepared.files, run)
            merger = Merger(prepared.plan, run, prepared.folders.roots, prepared.files, log.blobs)
            _append_merges(
                log, prepared.files, merger.of_request(merge_request), reading, environment
            )


def _with_merges(store: RunStore, log: RunLog, environment: RunEnvironment) -> LogContents:
    """Return the contents of an owned log, after recording merges of a dead process, and merges that a fork's source has
    undone: all later events build on them.

    Raises LogDamaged, LogWriteFailed, Cannot.
    """
    reading = replace(log.reading, events=sound_events(log.reading))
    if undone := undone_in_sources(store, reading.events, environment):
        copy_blobs(source_blobs(store, reading.events), log.blobs, undone)
        log.append(undone)
        reading = replace(reading, events=[*reading.events, *undone])
    begun = fold(reading.events[:1])
    files = environment.files(log, roots_of(begun), ())
    if files is None:
        return reading
    return _append_merges(log, files, recover_merges(files, reading.events), reading, environment)


def _append_merges(
    log: RunLog,
    files: Files,
    facts: Sequence[EventDraft],
    reading: LogContents,
    environment: RunEnvironment,
) -> LogContents:
    events = as_events(facts, reading.events, environment)
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
    """Own a run's log until the block ends, unless it is passed on."""
    log = store.acquire(run_id, take_over=take_over, mend=mend)
    stack = contextlib.ExitStack()
    stack.callback(log.close)
    with stack:
        yield log, stack.pop_all


def _of_living_threads(log: RunLog) -> set[str]:
    """Return the steps with a thread that goes on and whose owner lives: it waits for it."""
    if log.folder is None:
        return set()
    return {thread["step"] for thread in detached_threads.find_living(log.folder)}


def _require_returned(log: RunLog, planned: ResumePlan, owner: Owner) -> None:
    """Raise Cannot if a thread still runs whose step could start meanwhile, or whose claims the plan does not keep."""
    living = [] if log.folder is None else detached_threads.find_living(log.folder)
    for thread in living:
        there, step = thread["owner"], thread["step"]
        if there["instance"] != owner["instance"]:
            where = f"process {there['pid']}, which this process cannot stop"
            fix = f"resume the run in that process, or end it: `kill {there['pid']}`"
        elif _claims(planned.plan, step) != _claims(pinned_plan(planned.run), step):
            where = "this process, and the edited workflow removes the step or changes its sets"
            fix = "resume when it has returned, or restart this process"
        else:
            continue
        raise Cannot(
            f"`{step}` is still running in a thread of {where}",
            fix=fix,
            code="thread_alive",
            details={"step": step, "owner": there},
        )


def _claims(plan: Plan, step: str) -> object:
    """Return the files that a step claims in a plan; None if the plan lacks it."""
    planned = plan.steps[plan.index[step]] if step in plan.index else None
    return planned and (planned.read_set, planned.write_set, planned.workspace)


def _granted(
    request: Request | None, reading: LogContents
) -> tuple[list[EventDraft], RunStop | None]:
    if request is None:
        return [], None
    run = fold(reading.events)
    granted = grant(request, pinned_plan(run), run)
    return list(mask_words(granted.drafts, run)), granted.stop
