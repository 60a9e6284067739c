"""Verb functions that continue a run: the choices, the preview table, and the run under way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pixirnb import api
from pixirnb.errors import InvalidArguments
from pixirnb.operations.export import require_writable
from pixirnb.operations.resume_plan import is_edited
from pixirnb.operations.run import Run
from pixirnb.operations.workflow_source import Source
from pixirnb.spec.workflow import Workflow
from pixirnb.verbs.answers import Answer, Desk, Result, Underway
from pixirnb.verbs.options import Common, is_attended, is_json, state_of
from pixirnb.verbs.run_answers import outcome_in, write_junit
from pixirnb.verbs.workflow_options import functions_of, inputs_given
from pixirnb.views.run.resume_preview import edit_lines


class Choice(Struct, frozen=True):
    """The choices of a resume."""

    spec: Source | None = None
    inputs: list[str] | None = None
    from_step: str | None = None
    only: str | None = None
    until: str | None = None
    checkpoint: str | None = None
    take_over: bool = False
    recover: bool = False
    cluster: str | None = None


def resume(
    desk: Desk,
    run: str,
    choice: Choice,
    *,
    dry_run: bool,
    tail: bool,
    quiet: bool = False,
    form: str = "text",
    junit: Path | None = None,
    common: Common | None,
) -> Result:
    """Resume a run, or fork it, or show what that would do."""
    if choice.checkpoint is not None and (choice.take_over or choice.recover):
        raise InvalidArguments(
            f"--{'take-over' if choice.take_over else 'recover'} cannot be combined with a fork",
            fix="remove it: a fork does not change the run that it starts from",
        )
    opened = api.open_run(run, state=state_of(common))
    pinned = opened.compiled().workflow
    functions = None if choice.spec is None else functions_of(desk, choice.spec)
    workflow = pinned if choice.spec is None else api.load(choice.spec, functions=functions)
    arguments: dict[str, Any] = {
        "spec": None if choice.spec is None else workflow,
        "inputs": inputs_given(workflow, choice.inputs),
        "from_step": choice.from_step,
        "only": choice.only,
        "until": choice.until,
        "checkpoint": choice.checkpoint,
        "functions": functions,
        "recover": choice.recover,
    }
    unused = () if choice.spec is not None else _unused_edit(desk, opened)
    if dry_run:
        steps = api.plan_resume(opened.folder, **arguments)
        document: dict[str, Any] = {"run_id": opened.id, "steps": steps}
        notes = (*unused, *_notes(pinned, workflow, choice))
        return Answer("resume", document, lines=notes, is_json=is_json(common))
    if junit is not None:
        require_writable(junit)
    listeners, before = desk.listeners(tail), opened.state.seq
    desk.before_start()
    resumed = api.resume(
        opened.folder,
        **arguments,
        take_over=choice.take_over,
        listeners=listeners,
        attended=is_attended(desk, common),
        cluster=choice.cluster,
    )
    if resumed.is_no_op:
        if junit is not None:
            write_junit(resumed, junit)
        answer = outcome_in(resumed, "json" if is_json(common) else form)
        return replace(
            answer, lines=(resumed.nothing_done(before, is_edited=bool(unused)), *unused)
        )
    return Underway(
        resumed,
        is_tailed=tail,
        is_json=is_json(common),
        is_quiet=quiet,
        warnings=unused,
        form=form,
        junit=junit,
        is_resumed=True,
    )


def _unused_edit(desk: Desk, run: Run) -> tuple[str, ...]:
    """Return a line if the notebook now defines the workflow of a run otherwise than the run has recorded it."""
    plan = run.compiled()
    name = plan.workflow.name
    known = desk.workflows.get(name)
    if known is None or not is_edited(plan, known, functions_of(desk, known) or {}):
        return ()
    return (f"the cells of `{name}` have changed; add `--spec {name}` to use them",)


def _notes(pinned: Workflow, edited: Workflow, choice: Choice) -> tuple[str, ...]:
    """Return the person's changes in words, next to the table of their consequences."""
    notes = () if choice.spec is None else edit_lines(pinned, edited)
    if choice.checkpoint is not None:
        notes = (f"A new run would start from checkpoint {choice.checkpoint}.", *notes)
    return notes
