"""What `import pixirnb` offers: load, plan, start, run, resume, open_run, runs. Wires floors together, decides nothing.

A workflow may come as a path, as YAML text, as a dict or as a `Workflow`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, get_args

from pixirnb.agent_tools.delegate import SurfaceDelegate
from pixirnb.engine.broadcast import Listener
from pixirnb.engine.engine import engine
from pixirnb.errors import InvalidArguments, RunInterrupted, RunNotCompleted
from pixirnb.history.events import RunStatus
from pixirnb.machine.outcome import RunOutcome
from pixirnb.machine.resume import Selection
from pixirnb.operations import launch
from pixirnb.operations.resume_plan import Edit, history_at, plan_resumption
from pixirnb.operations.run import Run, load_run
from pixirnb.operations.run_list import list_runs
from pixirnb.operations.workflow_source import (
    Source,
    adopt_roles,
    convert_source,
    is_path,
    notebook_functions,
    read,
    require_valid,
    store_of,
    surroundings,
    workspace_of,
)
from pixirnb.planning.report import PlanReport, problems_of, report, require
from pixirnb.protocols.ports import LogContents
from pixirnb.spec.workflow import Workflow
from pixirnb.store.file_store import FileStore
from pixirnb.store.log_encoding import is_recoverable, log_damaged
from pixirnb.system import gc_pause
from pixirnb.views.basics.phrases import clashing, why
from pixirnb.views.run.listings import Forecast, Rows
from pixirnb.workspace.survey import survey

engine().delegate = (
    SurfaceDelegate()
)  # whoever starts a run comes by here, and no floor below may know the tools

ENDS: Final = tuple(status for status in get_args(RunStatus) if status != "running")
"""How a run can end."""


@gc_pause.gc_paused()
def load(
    source: Source,
    *,
    workspace: str | Path | None = None,
    functions: Mapping[str, str] | None = None,
) -> Workflow:
    """Read a workflow, with the roles it names. Raises InvalidSpec with every mistake at once, those of paths included.

    `functions` are sources of notebook functions, as for `plan`.
    """
    return require_valid(read(source, workspace), workspace, functions)


@gc_pause.gc_paused()
def plan(
    source: Source,
    *,
    workspace: str | Path | None = None,
    functions: Mapping[str, str] | None = None,
) -> PlanReport:
    """What a run would do; runs nothing. Raises InvalidSpec only where the text is no workflow at all.

    `functions` are sources of notebook functions (`{":name": text}`); by default those the workflow brings along and
    those of `__main__`.
    """
    loaded = read(source, workspace)
    workflow = loaded.workflow or require_valid(loaded, workspace, functions)
    known = notebook_functions(workflow) if functions is None else functions
    found = report(workflow, survey(workflow, workspace_of(workflow, workspace), known))
    if not found.ok:
        require(loaded)  # raises what is wrong with the text; what is wrong around it is reported
    return found


@gc_pause.gc_paused()
def start(
    source: Source,
    inputs: Mapping[str, Any] | None = None,
    *,
    workspace: str | Path | None = None,
    state: str | Path | None = None,
    functions: Mapping[str, str] | None = None,
    listeners: Sequence[Listener] = (),
    attended: bool = False,
) -> Run:
    """Start a run in the background and return at once. Raises InvalidSpec, InvalidArguments, StateUnusable.

    `attended`: a person stays who can be asked for permissions while it runs.
    """
    loaded = read(source, workspace)
    # Its plan, below, refuses what else is wrong.
    workflow = loaded.workflow or require_valid(loaded, workspace, functions)
    place = workspace_of(workflow, workspace)
    store = store_of(place, state)
    known = notebook_functions(workflow) if functions is None else functions
    live = launch.launch_start(
        workflow,
        inputs or {},
        workspace=place,
        store=store,
        sources=known,
        listeners=listeners,
        is_attended=attended,
    )
    return Run(live.scheduler.log.run_id, store, live)


def run(
    source: Source,
    inputs: Mapping[str, Any] | None = None,
    *,
    workspace: str | Path | None = None,
    state: str | Path | None = None,
    attended: bool = False,
) -> RunOutcome:
    """Run a workflow to rest and return its outcome, whatever it is. An interrupt ends the run and is raised on.

    `attended`: somebody answers permissions meanwhile, from another thread or process.
    """
    started = start(source, inputs, workspace=workspace, state=state, attended=attended)
    return wait(started)


@gc_pause.gc_paused()
def resume(
    run_id: str | Path,
    *,
    spec: Source | None = None,
    inputs: Mapping[str, Any] | None = None,
    checkpoint: str | None = None,
    from_: str | None = None,
    only: str | None = None,
    until: str | None = None,
    take_over: bool = False,
    recover: bool = False,
    workspace: str | Path | None = None,
    state: str | Path | None = None,
    functions: Mapping[str, str] | None = None,
    listeners: Sequence[Listener] = (),
    attended: bool = False,
) -> Run:
    """Continue a run in the background. A completed, unchanged run is a no-op that says so (`Run.is_no_op`).

    `checkpoint` leaves the run as it is and starts a new one from that place of it (the Run returned has an id of its own).
    `attended`: a person stays who can be asked for permissions. `recover`: a damaged log is kept aside from its first line that
    does not hold, and the run goes on from what is before it; what followed may run again, as `log_recovered` warns.

    Raises UnknownRun, HeldByAnother, LogDamaged, InvalidSpec, InvalidArguments.
    """
    store, run_id = locate_run(run_id, workspace=workspace, state=state)
    if checkpoint is not None:
        fork = launch.launch_fork(
            store,
            run_id,
            checkpoint,
            edit=_edit(spec, inputs, functions),
            selection=Selection(from_, only, until),
            listeners=listeners,
            is_attended=attended,
        )
        return Run(fork.scheduler.log.run_id, store, fork)
    live = launch.launch_resume(
        store,
        run_id,
        edit=_edit(spec, inputs, functions),
        selection=Selection(from_, only, until),
        take_over=take_over,
        recover=recover,
        listeners=listeners,
        is_attended=attended,
    )
    return Run(run_id, store, live, is_no_op=live is None)


@gc_pause.gc_paused()
def plan_resume(
    run_id: str | Path,
    *,
    spec: Source | None = None,
    inputs: Mapping[str, Any] | None = None,
    checkpoint: str | None = None,
    from_: str | None = None,
    only: str | None = None,
    until: str | None = None,
    recover: bool = False,
    workspace: str | Path | None = None,
    state: str | Path | None = None,
    functions: Mapping[str, str] | None = None,
) -> Forecast:
    """What `resume` would do with each step, and why: a list of `ResumeStep`; runs nothing. Raises as `resume`."""
    store, run_id = locate_run(run_id, workspace=workspace, state=state)
    edit = _edit(spec, inputs, functions)
    reading = store.read(run_id)
    if recover and reading.damage is not None:
        if not is_recoverable(reading.damage, len(reading.events)):
            raise log_damaged(run_id, reading.damage, len(reading.events))
        reading = LogContents(reading.events)
    if checkpoint is not None:
        reading = LogContents(history_at(reading, checkpoint))
    found = plan_resumption(reading, store.blobs(run_id), edit, Selection(from_, only, until))
    return Forecast(found.preview(), run_id)


def open_run(
    run_id: str | Path, *, workspace: str | Path | None = None, state: str | Path | None = None
) -> Run:
    """Open a run by id, or by the path of its folder wherever it was moved. Raises UnknownRun."""
    return load_run(*locate_run(run_id, workspace=workspace, state=state))


def runs(
    *,
    workspace: str | Path | None = None,
    state: str | Path | None = None,
    limit: int | None = None,
) -> Rows:
    """The runs of a state folder, newest first: `{run_id, workflow, status, started_at, ended_at, counts}` each."""
    store = store_of(workspace_of(None, workspace), state)
    return Rows(list_runs(store, row_of_live(store), limit=limit))


def wait(running: Run) -> RunOutcome:
    """Block until a run comes to rest. KeyboardInterrupt ends the run, lets it record that, and is raised on."""
    try:
        return running.wait()
    except KeyboardInterrupt:
        if running.is_live_here:
            running.interrupt()
            running.wait(timeout=30)
        raise


def expect(outcome: RunOutcome, *statuses: str) -> RunOutcome:
    """The outcome, unless the run ended as anything but `completed` or one of `statuses`; then an error.

    For a cell or a script that must not go on otherwise: `pixirnb.expect(await run)`, `pixirnb.expect(await run, "partial")`.
    Raises RunNotCompleted (RunInterrupted), InvalidArguments for a status that no run can end as.
    """
    if unknown := [status for status in statuses if status not in ENDS]:
        raise InvalidArguments(
            f"No run ends as {unknown[0]!r}.", fix=f"It ends as one of: {', '.join(ENDS)}."
        )
    if outcome.ok or outcome.status in statuses:
        return outcome
    kind = RunInterrupted if outcome.status == "interrupted" else RunNotCompleted
    action = outcome.next_actions[0] if outcome.next_actions else None
    fix = f"{action['action'].replace('_', ' ')}: {action['cell']}" if action else ""
    if action and action["step"] in clashing(outcome.document()):
        fix = f"put the files in conflict right in your folder, then {action['cell']}"
        fix += f"; both sides: %pixir merge {outcome.run_id} --preview"
    stands = "is still running" if outcome.status == "running" else f"ended as {outcome.status}"
    raise kind(
        f"{outcome.run_id} {stands}: {outcome.summary}{_first_cause(outcome)}",
        fix=fix,
        details={"run_id": outcome.run_id, "status": outcome.status},
    )


def _first_cause(outcome: RunOutcome) -> str:
    """The step to look at first and what came of it, for a line that may be all that a log of a night's job keeps."""
    if outcome.status in {"running", "interrupted"}:
        return ""
    asks = outcome.status == "needs_orchestrator"
    wanted = {"needs_orchestrator"} if asks else {"failed", "partial"}
    step = next((step for step in outcome.steps if step.checkpoint_status in wanted), None)
    told = "" if step is None else why(step.document(), 200)
    if step is None or not told:
        return ""
    return f" `{step.step_id}`: {told}" + ("" if told[-1] in ".?!…" else ".")


def _edit(
    spec: Source | None, inputs: Mapping[str, Any] | None, functions: Mapping[str, str] | None
) -> Edit:
    workflow = None if spec is None else load(spec, functions=functions)
    known = functions
    if known is None and workflow is not None:
        known = notebook_functions(workflow)
    return Edit(workflow, inputs, known)


def locate_run(
    run_id: str | Path, *, workspace: str | Path | None = None, state: str | Path | None = None
) -> tuple[FileStore, str]:
    """The store and the id of a run that is named by its id, or by the path of its folder wherever it was moved."""
    if not isinstance(run_id, str | Path):
        raise InvalidArguments(
            f"A {type(run_id).__name__} does not name a run.",
            fix="Give its id, as in run.id, or the path of its folder.",
        )
    path = Path(run_id)
    if path.name == str(run_id) or not os.path.isdir(path):  # noqa: PTH112 - as in `workspace_of`
        return store_of(workspace_of(None, workspace), state), str(run_id)
    return FileStore.around(path.resolve())


def row_of_live(store: FileStore) -> Callable[[str], dict[str, Any]]:
    """What makes the row of a run that somebody drives now, from its id."""
    return partial(_row_of_live, store)


def _row_of_live(store: FileStore, run_id: str) -> dict[str, Any]:
    found = load_run(store, run_id)
    state, outcome = found.state, found.outcome
    return {
        "run_id": run_id,
        "workflow": state.workflow,
        "status": outcome.status,
        "started_at": state.started_at,
        "ended_at": state.ended_at,
        "counts": outcome.counts,
    }


__all__ = [
    "Listener",
    "Source",
    "adopt_roles",
    "convert_source",
    "expect",
    "is_path",
    "load",
    "locate_run",
    "notebook_functions",
    "open_run",
    "plan",
    "plan_resume",
    "problems_of",
    "resume",
    "row_of_live",
    "run",
    "runs",
    "start",
    "store_of",
    "surroundings",
    "wait",
    "workspace_of",
]
