"""Launches prepared runs on the engine of this process, and warns runs that may write the same files.

launch_start(…) launch_resume(…) launch_fork(…)   a run prepared and driven in the background
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from pixirnb.engine.agent_slots import agent_limit
from pixirnb.engine.broadcast import News
from pixirnb.engine.engine import engine
from pixirnb.engine.held_inbox import HeldInbox
from pixirnb.engine.live_run import LiveRun
from pixirnb.engine.prepared_run import NO_WATCHERS, PreparedRun, Watchers
from pixirnb.errors import HeldByAnother, PixirnbError
from pixirnb.history.events import Event, Parent
from pixirnb.history.run_state import RunState, fold
from pixirnb.ids import attempt_name, is_run_id
from pixirnb.machine.board import RunStop
from pixirnb.machine.requests import Request, workspace_shared
from pixirnb.machine.resume import Selection
from pixirnb.machine.step_claims import claim_of
from pixirnb.operations import prepare
from pixirnb.operations.cluster import cluster_of
from pixirnb.operations.request_delivery import post, request
from pixirnb.operations.resume_plan import pinned_plan
from pixirnb.operations.run_environment import HERE, RunEnvironment
from pixirnb.operations.start_options import StartOptions
from pixirnb.operations.workflow_source import Edit
from pixirnb.planning.claims import Claim, ClaimIndex
from pixirnb.planning.items import as_planned
from pixirnb.planning.plan import Plan
from pixirnb.runners.processes.thread_children import children_of_this_thread
from pixirnb.spec.workflow import Workflow
from pixirnb.store.file_store import FileStore
from pixirnb.store.inbox import FileInbox
from pixirnb.store.lease import live_owner

if TYPE_CHECKING:
    from distributed import Client

_clusters: Final[dict[str, str | Client]] = {}
"""The clusters that runs of this process were given: a resume of such a run need not name its own again."""

_NEIGHBOURS: Final = 32
"""Number of the newest runs checked for one that another process drives in the same workspace."""


def launch_start(
    workflow: Workflow,
    inputs: Mapping[str, object],
    *,
    workspace: Path,
    store: FileStore,
    sources: Mapping[str, str],
    parent: Parent | None = None,
    options: StartOptions = StartOptions(),  # noqa: B008 - frozen
    watchers: Watchers = NO_WATCHERS,
    cluster: str | Client | None = None,
) -> LiveRun:
    """Start a new run in the background. Raises as `operations.prepare.prepare_start`, and LogWriteFailed.

    `parent`: the agent that starts it.
    """
    agent_limit(os.environ)  # a mistake in it is told before anything is made
    prepared = prepare.prepare_start(
        workflow,
        inputs,
        workspace=workspace,
        store=store,
        sources=sources,
        parent=parent,
        options=options,
        environment=_environment(cluster),
    )
    return _launch(store, prepared, watchers, cluster)


def launch_resume(
    store: FileStore,
    run_id: str,
    *,
    edit: Edit | None = None,
    selection: Selection | None = None,
    request: Request | None = None,
    stop: RunStop | None = None,
    take_over: bool = False,
    recover: bool = False,
    watchers: Watchers = NO_WATCHERS,
    cluster: str | Client | None = None,
) -> LiveRun | None:
    """Resume a run in the background; None when there is nothing to do. `stop`: resume it only to end it.

    Raises as `operations.prepare.prepare_resume`.
    """
    agent_limit(os.environ)
    _refuse_copy(store, run_id)
    cluster = cluster if cluster is not None else _clusters.get(run_id)
    prepared = prepare.prepare_resume(
        store,
        run_id,
        edit=edit,
        selection=selection,
        request=request,
        take_over=take_over,
        recover=recover,
        environment=_environment(cluster),
    )
    if prepared is None:
        return None
    if prepared.stop is None:
        prepared = replace(prepared, stop=stop)
    return _launch(store, prepared, watchers, cluster)


def launch_fork(
    store: FileStore,
    run_id: str,
    checkpoint: str,
    *,
    edit: Edit | None = None,
    selection: Selection | None = None,
    watchers: Watchers = NO_WATCHERS,
    cluster: str | Client | None = None,
) -> LiveRun:
    """Start a new run from a named checkpoint of another, in the background. Raises as `operations.prepare.prepare_fork`."""
    agent_limit(os.environ)
    cluster = cluster if cluster is not None else _clusters.get(run_id)
    prepared = prepare.prepare_fork(
        store,
        run_id,
        checkpoint,
        edit=edit,
        selection=selection,
        environment=_environment(cluster),
    )
    _copy_outputs(store.folder(run_id), prepared.log.folder, prepared.run)
    return _launch(store, prepared, watchers, cluster)


def _environment(cluster: str | Client | None) -> RunEnvironment:
    return HERE if cluster is None else replace(HERE, cluster=cluster_of(cluster))


def _launch(
    store: FileStore,
    prepared: PreparedRun,
    watchers: Watchers,
    cluster: str | Client | None,
) -> LiveRun:
    if cluster is not None:
        _clusters[prepared.log.run_id] = cluster
    plan, log, run = prepared.plan, prepared.log, prepared.run
    drafts = list(prepared.opening)
    others = [other for other in engine().live_runs() if other.scheduler.log.run_id != log.run_id]
    workspace = run.workspace or drafts[0].data.get("workspace")
    for other in others:
        theirs = other.ask(lambda scheduler: scheduler.board.run.workspace)
        if theirs == workspace and share_writes(plan, other.scheduler.plan):
            drafts.append(workspace_shared(other.scheduler.log.run_id))
            other.record([workspace_shared(log.run_id)])
    here = {log.run_id, *(other.scheduler.log.run_id for other in others)}
    warned: list[tuple[str, Request]] = []
    for run_id in store.run_ids()[:_NEIGHBOURS]:
        if run_id not in here and _is_in_the_way(store, run_id, str(workspace), plan):
            drafts.append(workspace_shared(run_id))
            warned.append((run_id, request(run_id, "neighbour", run_id=log.run_id)))

    def warn(news: News) -> None:
        # Once the log names the workspace: the owner of the other run looks there.
        while warned and isinstance(news, Event):
            run_id, pending = warned.pop()
            post(store, run_id, pending)

    def is_neighbour(run_id: str) -> bool:
        is_other = is_run_id(run_id) and run_id != log.run_id
        return is_other and _is_in_the_way(store, run_id, str(workspace), plan)

    inbox = None
    if log.folder is not None:
        requests = FileInbox(
            log.folder / "inbox", engine().sender, run_id=log.run_id, instance=store.instance
        )
        inbox = HeldInbox(requests, log, is_neighbour)
    if warned:
        watchers = replace(watchers, listeners=(*watchers.listeners, warn))
    live = engine().launch(replace(prepared, opening=tuple(drafts)), watchers, inbox=inbox)
    if (step := children_of_this_thread()) is not None:
        step.hold_run(live)
    return live


def _refuse_copy(store: FileStore, run_id: str) -> None:
    """Refuse a second folder with the id of a run that this process drives. Raises HeldByAnother."""
    live = engine().find(run_id)
    if live is None or live.ended.is_set() or live.scheduler.log.folder == store.folder(run_id):
        return
    raise HeldByAnother(
        f"{run_id} is already running in this process, in {live.scheduler.log.folder}; this folder is a copy",
        fix="wait until that run has finished, or resume the copy in another process",
        details={"run_id": run_id},
    )


def _is_in_the_way(store: FileStore, run_id: str, workspace: str, plan: Plan) -> bool:
    """Return whether another process drives that run in the same workspace, with overlapping writers."""
    try:
        if live_owner(store.folder(run_id)) is None:
            return False
        theirs = fold(store.read(run_id).events)
        return theirs.workspace == workspace and share_writes(plan, pinned_plan(theirs))
    except PixirnbError:
        return False  # a run that cannot be read is named where it is looked at, not where another starts


def _copy_outputs(source: Path, target: Path | None, run: RunState) -> None:
    """Copy the printed output of a forked history, for people to read: a fork is independent."""
    if target is None:
        return
    for step, state in run.steps.items():
        for attempt in range(1, state.attempt + 1):
            name = f"{attempt_name(step, attempt)}.log"
            result = source / "output" / name
            if result.is_file() and not result.is_symlink():
                copied = target / "output" / name
                shutil.copyfile(result, copied)
                copied.chmod(0o600)


def share_writes(one: Plan, other: Plan) -> bool:
    """Return whether a shared writer of one overlaps a shared writer of the other."""
    index = ClaimIndex()
    for key, claim in enumerate(_writers(one)):
        index.add(key, claim)
    return any(index.conflicts(claim) for claim in _writers(other))


def _writers(plan: Plan) -> list[Claim]:
    steps = [step if step.template is None else step.template for step in plan.steps]
    claims = [
        claim_of(replace(step, write_set=as_planned(step.write_set)), plan.roots)
        for step in steps
        if step.write_set
    ]
    return [
        Claim(reads=(), writes=claim.writes, shared=True)
        for claim in claims
        if claim is not None and claim.shared
    ]
