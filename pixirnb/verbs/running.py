"""The verbs that run a workflow: `run resume fork watch`. Source: contract.md §6, §9."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from msgspec.structs import replace

from pixirnb import api
from pixirnb.errors import InvalidSpec
from pixirnb.operations.cluster import preview as cluster_preview
from pixirnb.operations.export import require_writable
from pixirnb.verbs.answers import Result, Underway, Watching
from pixirnb.verbs.options import (
    Cluster,
    Common,
    DeskHere,
    DryRun,
    Flag,
    Inputs,
    JUnit,
    Quiet,
    RunFormat,
    RunName,
    Tail,
    TakeOver,
    TakeOverGone,
    Workspace,
    is_attended,
    is_json,
    state_of,
)
from pixirnb.verbs.plan_answers import plan_answer, problems_answer
from pixirnb.verbs.planning import refusal_answer
from pixirnb.verbs.resume import Choice
from pixirnb.verbs.resume import resume as continue_run
from pixirnb.verbs.workflow_options import (
    edges,
    functions_of,
    inputs_given,
    refuse_with_resume,
    source_of,
    warning_lines,
    with_concurrency,
)


def run(
    file: str,
    /,
    *steps: str,
    desk: DeskHere,
    dry_run: DryRun = False,
    resume: str | None = None,
    input_: Inputs = None,
    max_concurrency: Annotated[
        int | None, Parameter(name=("--max-concurrency", "-j"), metavar="N")
    ] = None,
    name_: Annotated[str | None, Parameter(name="--name")] = None,
    tag: Annotated[list[str] | None, Parameter(negative="")] = None,
    tail: Tail = False,
    quiet: Quiet = False,
    format_: RunFormat = "text",
    junit: JUnit = None,
    workspace: Workspace = None,
    cluster: Cluster = None,
    take_over: TakeOver = False,
    common: Common | None = None,
) -> Result:
    """Run a workflow and wait for it to finish.

    Args:
        file: Workflow file, `-` for standard input, or the name of a workflow of this notebook.
        steps: Run only these steps and the steps that they need; default: all steps.
        dry_run: Show the plan (with --resume: which steps would be reused or rerun) and run nothing.
        resume: Continue this run with the edited FILE, as `resume RUN --spec FILE` does.
        max_concurrency: Maximum number of steps at once, instead of `max_concurrency` of FILE.
        name_: Name of the run, which can be used instead of its id.
        tag: Label of the run, for `runs --tag`; repeatable.
    """
    source = source_of(desk, file)
    if resume is not None:
        refuse_with_resume(
            ("--workspace", workspace),
            ("STEP", steps),
            ("--max-concurrency", max_concurrency),
            ("--name", name_),
            ("--tag", tag),
        )
        choice = Choice(spec=source, inputs=input_, take_over=take_over, cluster=cluster)
        return continue_run(
            desk,
            resume,
            choice,
            dry_run=dry_run,
            tail=tail,
            quiet=quiet,
            form=format_,
            junit=junit,
            common=common,
        )
    functions = functions_of(desk, source)
    try:
        report = api.plan(source, workspace=workspace, functions=functions)
    except InvalidSpec as error:
        return refusal_answer(file, error, format_)
    if dry_run:
        if report.ok:
            report = report.with_inputs(inputs_given(report.spec, input_))
        answer = plan_answer(report, edges(report.spec), is_json=is_json(common), targets=steps)
        if report.ok and (sentences := cluster_preview(report, cluster)):
            answer = replace(
                answer,
                document={**answer.document, "cluster": sentences},
                lines=(*answer.lines, *sentences),
            )
        return answer
    if format_ == "github" and not report.ok:
        return problems_answer(file, report.errors, report.warnings)
    if junit is not None:
        require_writable(junit)
    workflow = with_concurrency(report.spec, max_concurrency)
    desk.before_start()
    started = api.start(
        workflow,
        inputs_given(workflow, input_) if report.ok else {},
        workspace=workspace,
        state=state_of(common),
        functions=functions,
        name=name_,
        tags=tag or (),
        targets=steps,
        listeners=desk.listeners(tail),
        attended=is_attended(desk, common),
        cluster=cluster,
    )
    warnings = tuple(warning_lines(report.warnings))
    return Underway(
        started,
        is_tailed=tail,
        is_json=is_json(common),
        is_quiet=quiet,
        warnings=warnings,
        form=format_,
        junit=junit,
    )


def resume(
    run: RunName,
    /,
    *,
    desk: DeskHere,
    spec: str | None = None,
    input_: Inputs = None,
    from_step: Annotated[str | None, Parameter(name="--from")] = None,
    only: str | None = None,
    until: str | None = None,
    checkpoint: str | None = None,
    dry_run: DryRun = False,
    tail: Tail = False,
    quiet: Quiet = False,
    format_: RunFormat = "text",
    junit: JUnit = None,
    take_over: TakeOverGone = False,
    recover: Flag = False,
    cluster: Cluster = None,
    common: Common | None = None,
) -> Result:
    """Continue a run: reuse ready steps that have not changed, run the others.

    Args:
        spec: Continue with this edited workflow (file or name) instead of the recorded one.
        from_step: Rerun this step and every step that depends on it.
        only: Rerun only this step.
        until: Stop after this step.
        checkpoint: Start a new run from this checkpoint instead, as `fork RUN CHECKPOINT` does.
        dry_run: Show which steps would be reused, rerun or held, and why; run nothing.
        recover: Continue a damaged log from before the damage; the rest is set aside and may run again.
    """
    choice = Choice(
        spec=None if spec is None else source_of(desk, spec),
        inputs=input_,
        from_step=from_step,
        only=only,
        until=until,
        checkpoint=checkpoint,
        take_over=take_over,
        recover=recover,
        cluster=cluster,
    )
    return continue_run(
        desk,
        run,
        choice,
        dry_run=dry_run,
        tail=tail,
        quiet=quiet,
        form=format_,
        junit=junit,
        common=common,
    )


def fork(
    run: RunName,
    checkpoint: str,
    /,
    *,
    desk: DeskHere,
    spec: str | None = None,
    input_: Inputs = None,
    from_step: Annotated[str | None, Parameter(name="--from")] = None,
    only: str | None = None,
    until: str | None = None,
    dry_run: DryRun = False,
    tail: Tail = False,
    quiet: Quiet = False,
    format_: RunFormat = "text",
    junit: JUnit = None,
    cluster: Cluster = None,
    common: Common | None = None,
) -> Result:
    """Start a new run from a checkpoint of another run, which stays as it is.

    Args:
        checkpoint: Name of the checkpoint.
        spec: Continue with this edited workflow (file or name) instead of the recorded one.
        from_step: Rerun this step and every step that depends on it.
        only: Rerun only this step.
        until: Stop after this step.
        dry_run: Show which steps would be reused, rerun or held, and why; run nothing.
    """
    choice = Choice(
        spec=None if spec is None else source_of(desk, spec),
        inputs=input_,
        from_step=from_step,
        only=only,
        until=until,
        checkpoint=checkpoint,
        cluster=cluster,
    )
    return continue_run(
        desk,
        run,
        choice,
        dry_run=dry_run,
        tail=tail,
        quiet=quiet,
        form=format_,
        junit=junit,
        common=common,
    )


def watch(run: RunName, /, *, common: Common | None = None) -> Watching:
    """Watch a run that any process drives, until it finishes or pauses. Ctrl-C stops only the watching."""
    return Watching(api.open_run(run, state=state_of(common)), is_json(common))
