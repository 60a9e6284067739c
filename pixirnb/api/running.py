"""Runs: start, run, resume, open_run, wait, expect.

Connects floors, decides nothing.

A workflow may be a path, as YAML text, as a dict or as a `Workflow`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from msgspec.structs import replace

from pixirnb.agent_tools.dispatch import SurfaceDelegate
from pixirnb.api.listing import locate_run
from pixirnb.engine.broadcast import Listener
from pixirnb.engine.engine import engine
from pixirnb.engine.prepared_run import Watchers
from pixirnb.errors import InvalidArguments
from pixirnb.history.events import RunStatus
from pixirnb.machine.outcome import RunOutcome
from pixirnb.machine.resume import Selection
from pixirnb.operations import launch
from pixirnb.operations.fork_data import fork_history, undone_in_sources
from pixirnb.operations.locations import store_of, type_name, workspace_of
from pixirnb.operations.log_recovery import recovery_event
from pixirnb.operations.outcome_details import not_completed
from pixirnb.operations.resume_plan import plan_resumption
from pixirnb.operations.run import Run, continue_run, fork_run, load_run
from pixirnb.operations.run_environment import HERE
from pixirnb.operations.run_filter import status_fix
from pixirnb.operations.start_options import StartOptions
from pixirnb.operations.workflow_source import (
    Source,
    edit_of,
    inputs_of,
    notebook_functions,
    read,
    require_valid,
)
from pixirnb.protocols.ports import LogContents, Setback
from pixirnb.store.log_encoding import is_recoverable, log_damaged
from pixirnb.system import gc_pause
from pixirnb.views.run.listings import Forecast

if TYPE_CHECKING:
    from distributed import Client

    from pixirnb.api.listing import RunRef

# Whoever starts a run comes by here, and no floor below may know the tools.
engine().delegate = SurfaceDelegate()

ENDS: Final = tuple(status for status in get_args(RunStatus) if status != "running")
"""Statuses in which a run can end."""


@gc_pause.gc_paused()
def start(
    source: Source,
    inputs: Mapping[str, Any] | None = None,
    *,
    workspace: str | Path | None = None,
    state: str | Path | None = None,
    functions: Mapping[str, str] | None = None,
    name: str | None = None,
    tags: Sequence[str] = (),
    targets: Sequence[str] = (),
    listeners: Sequence[Listener] = (),
    attended: bool = False,
    cluster: str | Client | None = None,
) -> Run:
    """Start a run in the background and return at once.

    Args:
        source: a path, YAML text, a mapping or a `Workflow`.
        inputs: values for the workflow's inputs, by name.
        workspace: folder to work in; by default that of the file.
        state: state folder; by default the nearest `.pixirnb`.
        functions: sources of notebook functions, as for `plan`.
        name: a name for the run; it can be used instead of its id.
        tags: labels for the run, for lists.
        targets: run only these steps and the steps that they need; the others are held.
        listeners: called with every event of the run, on the engine's thread.
        attended: a person can be asked for permissions while it runs.
        cluster: where steps with `placement: cluster` run: the address of a Dask scheduler, `local:N` for N workers of
            this process, or a connected `distributed.Client`; by default what `PIXIRNB_CLUSTER` names.

    Raises:
        InvalidSpec: the workflow has mistakes.
        InvalidArguments: an input, the name, a tag or a target is wrong.
        StateUnusable: the state folder cannot be used.

    Example:
        >>> run = pixirnb.start({"name": "demo", "steps": [{"id": "hello", "run": "echo hello"}]})
        >>> run.wait().status
        'completed'
    """
    given, loaded = inputs_of(inputs), read(source, workspace)
    # The plan below reports all other mistakes.
    workflow = loaded.workflow or require_valid(loaded, workspace, functions)
    folder = workspace_of(workflow, workspace)
    store = store_of(folder, state)
    known = notebook_functions(workflow) if functions is None else functions
    live = launch.launch_start(
        workflow,
        given,
        workspace=folder,
        store=store,
        sources=known,
        options=StartOptions(name, tags, targets),
        watchers=Watchers(listeners, attended),
        cluster=cluster,
    )
    return Run(live.scheduler.log.run_id, store, live)


def run(
    source: Source,
    inputs: Mapping[str, Any] | None = None,
    *,
    workspace: str | Path | None = None,
    state: str | Path | None = None,
    functions: Mapping[str, str] | None = None,
    name: str | None = None,
    tags: Sequence[str] = (),
    targets: Sequence[str] = (),
    listeners: Sequence[Listener] = (),
    attended: bool = False,
    cluster: str | Client | None = None,
) -> RunOutcome:
    """Run a workflow to its end and return its outcome, success or not. An interrupt ends the run and is re-raised.

    Args:
        source: a path, YAML text, a mapping or a `Workflow`.
        inputs: values for the workflow's inputs, by name.
        workspace: folder to work in; by default that of the file.
        state: state folder; by default the nearest `.pixirnb`.
        functions: sources of notebook functions, as for `plan`.
        name: a name for the run; it can be used instead of its id.
        tags: labels for the run, for lists.
        targets: run only these steps and the steps that they need; the others are held.
        listeners: called with every event of the run, on the engine's thread.
        attended: permissions are answered meanwhile, from another thread or process.
        cluster: where steps with `placement: cluster` run, as for `start`.

    Raises:
        InvalidSpec, InvalidArguments, StateUnusable: as for `start`.

    Example:
        >>> pixirnb.run({"name": "demo", "steps": [{"id": "hello", "run": "echo hello"}]}).status
        'completed'
    """
    started = start(
        source,
        inputs,
        workspace=workspace,
        state=state,
        functions=functions,
        name=name,
        tags=tags,
        targets=targets,
        listeners=listeners,
        attended=attended,
        cluster=cluster,
    )
    return wait(started)


@gc_pause.gc_paused()
def resume(
    run_id: RunRef,
    *,
    spec: Source | None = None,
    inputs: Mapping[str, Any] | None = None,
    checkpoint: str | None = None,
    from_step: str | None = None,
    only: str | None = None,
    until: str | None = None,
    take_over: bool = False,
    recover: bool = False,
    workspace: str | Path | None = None,
    state: str | Path | None = None,
    functions: Mapping[str, str] | None = None,
    listeners: Sequence[Listener] = (),
    attended: bool = False,
    cluster: str | Client | None = None,
) -> Run:
    """Continue a run in the background. For a completed, unchanged run it does nothing (`Run.is_no_op`).

    Args:
        run_id: a run, as for `open_run`.
        spec: an edited workflow to continue with, instead of the pinned one.
        inputs: inputs to change, by name.
        checkpoint: leave the run as it is and start a new one from this checkpoint; the returned Run has its own id.
        from_step: rerun this step and everything after it.
        only: rerun this step alone.
        until: stop after this step.
        take_over: take the run over from an owner that is known to be gone.
        recover: set a damaged log aside from its first invalid line, and continue before it; the steps after it may run
            again, as the event `log_recovered` warns.
        workspace: folder whose state folder has the run.
        state: state folder; by default the nearest `.pixirnb`.
        functions: sources of notebook functions, as for `plan`.
        listeners: called with every event of the run, on the engine's thread.
        attended: a person can be asked for permissions.
        cluster: where steps with `placement: cluster` run, as for `start`.

    Raises:
        UnknownRun, HeldByAnother, LogDamaged, InvalidSpec, InvalidArguments: nothing was started.

    Example:
        >>> demo = {"name": "demo", "inputs": {"ok": {"type": "string", "default": "false"}},
        ...         "steps": [{"id": "try", "run": "{{ inputs.ok }}"}]}
        >>> run = pixirnb.start(demo)
        >>> run.wait().status
        'failed'
        >>> pixirnb.resume(run, inputs={"ok": "true"}).wait().status
        'completed'
    """
    if isinstance(run_id, Run):
        run = run_id
    else:
        store, name = locate_run(run_id, workspace=workspace, state=state)
        run = Run(name, store)
    edit, selection = edit_of(spec, inputs, functions), Selection(from_step, only, until)
    watchers = Watchers(listeners, attended)
    if checkpoint is not None:
        return fork_run(run, checkpoint, edit, selection, watchers=watchers, cluster=cluster)
    return continue_run(
        run,
        edit,
        selection,
        take_over=take_over,
        recover=recover,
        watchers=watchers,
        cluster=cluster,
    )


@gc_pause.gc_paused()
def plan_resume(
    run_id: RunRef,
    *,
    spec: Source | None = None,
    inputs: Mapping[str, Any] | None = None,
    checkpoint: str | None = None,
    from_step: str | None = None,
    only: str | None = None,
    until: str | None = None,
    recover: bool = False,
    workspace: str | Path | None = None,
    state: str | Path | None = None,
    functions: Mapping[str, str] | None = None,
) -> Forecast:
    """Return what `resume` would do with each step, and why; runs nothing.

    Args:
        run_id: a run, as for `open_run`. All other arguments as for `resume`.

    Returns:
        A list of `ResumeStep`, one for each step.

    Raises:
        UnknownRun, LogDamaged, InvalidSpec, InvalidArguments: as for `resume`.

    Example:
        >>> demo = {"name": "demo", "steps": [{"id": "hello", "run": "echo hello"}]}
        >>> run = pixirnb.start(demo)
        >>> _ = run.wait()
        >>> [(step["step_id"], step["action"]) for step in pixirnb.plan_resume(run)]
        [('hello', 'reuse')]
    """
    store, run_id = locate_run(run_id, workspace=workspace, state=state)
    edit = edit_of(spec, inputs, functions)
    reading = store.read(run_id)
    if recover and reading.damage is not None:
        if not is_recoverable(reading.damage, len(reading.events)):
            raise log_damaged(run_id, reading.damage, len(reading.events))
        setback = Setback(reading.events, reading.damage, b"", None)
        mended = recovery_event(setback, reading.events[-1].at)
        reading = LogContents([*reading.events, *mended.events])
    undone = undone_in_sources(store, reading.events, HERE)
    reading = replace(reading, events=[*reading.events, *undone])
    if checkpoint is not None:
        reading = LogContents(fork_history(reading, run_id, checkpoint, HERE))
    preview = plan_resumption(reading, store.blobs(run_id), edit, Selection(from_step, only, until))
    return Forecast(preview.preview(), run_id)


def open_run(
    run_id: RunRef,
    *,
    workspace: str | Path | None = None,
    state: str | Path | None = None,
) -> Run:
    """Open a run by its name, its outcome or its folder, for reading and for requests.

    Args:
        run_id: id of the run, its unique beginning or its last part, `@last`, the name it was given, or a workflow's name
            for its newest run; or a Run, an outcome, or a row of `runs()`; or the path of its folder, which may have been
            moved.
        workspace: folder whose state folder has the run.
        state: state folder; by default the nearest `.pixirnb`.

    Raises:
        UnknownRun: the state folder has no such run.

    Example:
        >>> run = pixirnb.start({"name": "demo", "steps": [{"id": "hello", "run": "echo hello"}]})
        >>> _ = run.wait()
        >>> pixirnb.open_run(run.id).value("hello")
        'hello'
    """
    return load_run(*locate_run(run_id, workspace=workspace, state=state))


def wait(running: Run) -> RunOutcome:
    """Block until a run has finished, or pauses for a decision. KeyboardInterrupt ends the run, and is re-raised."""
    try:
        return running.wait()
    except KeyboardInterrupt:
        if running.is_live_here:
            running.interrupt()
            running.wait(timeout=30)
        raise


def expect(outcome: RunOutcome | Run, *statuses: str | Sequence[str]) -> RunOutcome:
    """Return the outcome if the run ended as `completed` or one of `statuses`, else raise.

    Stops a cell or a script whose run ended otherwise: `pixirnb.expect(run)`, `pixirnb.expect(await run, "partial")`.

    Args:
        outcome: a run, which is waited for, or its outcome.
        statuses: further accepted statuses, one by one or as a list.

    Raises:
        RunNotCompleted: the run ended otherwise; RunInterrupted if it was interrupted.
        InvalidArguments: an argument is not a run, or not a final status.

    Example:
        >>> failed = pixirnb.run({"name": "demo", "steps": [{"id": "fail", "run": "exit 3"}]})
        >>> pixirnb.expect(failed)
        Traceback (most recent call last):
        ...
        pixirnb.errors.RunNotCompleted: ...
        >>> pixirnb.expect(failed, "failed").status
        'failed'
    """
    accepted = [
        each for given in statuses for each in ([given] if isinstance(given, str) else given)
    ]
    if unknown := [status for status in accepted if status not in ENDS]:
        raise InvalidArguments(
            f"unknown final status {unknown[0]!r}", fix=status_fix(unknown[0], ENDS)
        )
    if isinstance(outcome, Run):
        outcome = wait(outcome)
    if not isinstance(outcome, RunOutcome):
        raise InvalidArguments(
            f"expected a Run or its outcome, got {type_name(outcome)}",
            fix="pass a run, or what `await run` returns",
        )
    if outcome.ok or outcome.status in accepted:
        return outcome
    raise not_completed(outcome)
