"""Dispatch of tool calls: checks the arguments and the agent's rights, then executes or refuses. Never raises.

The tools that read (`inspect_run`, `diagnose_run`) limit their output, and mark it as data. The others start and continue
runs (`run_workflow`, `resume_workflow`, `decide_step`), and save the checkpoint of one's own run.
`SurfaceDelegate` is what an engine offers to the agents of its runs.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pixirnb.agent_tools.await_run import await_ended
from pixirnb.agent_tools.caller import Asker
from pixirnb.agent_tools.definitions import SURFACE, Tool, definitions
from pixirnb.agent_tools.result import Result, bug_result, ok_result, refusal_result
from pixirnb.agent_tools.text import outcome_text, step_text
from pixirnb.agent_tools.validate import validate_arguments
from pixirnb.engine.services import in_thread
from pixirnb.errors import Cannot, InvalidArguments, PixirnbError
from pixirnb.history.events import Parent, ResumeStep
from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.machine.outcome_documents import RunDocument
from pixirnb.machine.outcome_reasons import NOT_RERUN
from pixirnb.machine.requests import Request, spell_answers
from pixirnb.machine.resume import Selection
from pixirnb.operations import launch
from pixirnb.operations.doctor import diagnose
from pixirnb.operations.locations import store_of
from pixirnb.operations.resume_plan import plan_resumption
from pixirnb.operations.run import Run, load_run
from pixirnb.operations.run_list import list_runs, row_of_live
from pixirnb.operations.run_names import find_run
from pixirnb.operations.survey import survey
from pixirnb.operations.workflow_source import (
    Edit,
    adopt_roles,
    notebook_functions,
    read_file,
    require_valid,
    surroundings,
)
from pixirnb.planning.report import PlanReport, report
from pixirnb.protocols.ports import Caller
from pixirnb.spec import loader
from pixirnb.spec.problems import refusal
from pixirnb.spec.workflow import Workflow
from pixirnb.store.file_store import FileStore
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.housekeeping import diagnosis_blocks
from pixirnb.views.run.planned_view import planned_blocks
from pixirnb.views.run.resume_preview import resume_blocks

_TAIL: Final = 4_000
_NOTHING: Final = "Nothing was started."


async def inspect_run(args: JsonMapping, asker: Asker) -> Result:
    """Return the state of a run, now or after waiting for it; or of one of its steps."""
    run = await in_thread(load_run, asker.store, await in_thread(_run_id, args, asker))
    step, wait_s = args.get("step"), args.get("max_wait_s", 0)
    document = await await_ended(run, asker, wait_s=wait_s, is_ours=False)
    if step is None:
        may_decide = await in_thread(asker.has_delegated, run.id)
        return ok_result(outcome_text(document, may_decide=may_decide), document)
    return await in_thread(_step, run, step, document)


async def diagnose_run(args: JsonMapping, asker: Asker) -> Result:
    """Return the problems of a run."""
    diagnosis = await in_thread(diagnose, asker.store, await in_thread(_run_id, args, asker))
    document = diagnosis.document()
    return ok_result(draw_text(diagnosis_blocks(document)).replace("%pixir ", "pixirnb "), document)


def _run_id(args: JsonMapping, asker: Asker) -> str:
    """Return the run of a tool that only reads: it may be named as a person does, which could change before an approval."""
    store = asker.store
    return find_run(store, args["run_id"], lambda: list_runs(store, row_of_live(store)))


def _step(run: Run, step: str, document: RunDocument) -> Result:
    entry = next((each for each in document["steps"] if each["step_id"] == step), None)
    if entry is None:
        raise InvalidArguments(
            f"{run.id} has no step `{step}`",
            fix="use one of: " + ", ".join(each["step_id"] for each in document["steps"][:6]),
            code="unknown_step",
        )
    output, why = run.output(step), list(run.explain(step))
    details = {**entry, "explained": why, "output_tail": output[-_TAIL:]}
    text = step_text(run.id, str(document["status"]), entry, why, output)
    return ok_result(text, {"run_id": run.id, "status": document["status"], "step": details})


async def run_workflow(args: JsonMapping, asker: Asker) -> Result:
    """Start a run and wait for it, or with `dry_run` return what it would do."""
    if args.get("dry_run") is True:
        plan = await in_thread(_planned, args, asker)
        drawn = draw_text(planned_blocks(plan, has_prompts=False))
        return ok_result(f"{_NOTHING}\n{drawn}", plan.document())
    asker.require_depth()
    run = await in_thread(_begun, args, asker)
    asker.started.add(run.id)
    document = await await_ended(run, asker, wait_s=args.get("max_wait_s"), is_ours=True)
    return ok_result(await in_thread(_outcome_text, document, asker), document)


async def resume_workflow(args: JsonMapping, asker: Asker) -> Result:
    """Resume a run, or with `dry_run` return the action for each step."""
    run_id = args["run_id"]
    selection = Selection(args.get("from"), args.get("only"), args.get("until"))
    if args.get("dry_run") is True:
        steps = await in_thread(_foreseen, run_id, selection, asker)
        foreseen = {"run_id": run_id, "steps": steps}
        return ok_result(f"{_NOTHING}\n{draw_text(resume_blocks(foreseen))}", foreseen)
    asker.require_depth()
    await in_thread(_require_other, run_id, asker, False)
    run = await in_thread(_continued, run_id, selection, asker)
    wait_s = args.get("max_wait_s")
    document = await await_ended(run, asker, wait_s=wait_s, is_ours=run.live is not None)
    text = await in_thread(_outcome_text, document, asker)
    if run.is_no_op:
        text = f"Nothing was run: nothing has changed.\n\n{text}"
    elif any(each["code"] == NOT_RERUN for each in document["warnings"]):
        text = f"Nothing was run: a person has rejected steps.\n\n{text}"
    return ok_result(text, document)


async def decide_step(args: JsonMapping, asker: Asker) -> Result:
    """Record a decision of the agent on a run it started, and wait for the run."""
    run_id = args["run_id"]
    await in_thread(_require_other, run_id, asker, True)
    await in_thread(asker.require_delegated, run_id)
    asker.require_depth()
    run, is_ours = await in_thread(_decided, args, asker)
    document = await await_ended(run, asker, wait_s=args.get("max_wait_s"), is_ours=is_ours)
    return ok_result(await in_thread(_outcome_text, document, asker), document)


async def save_checkpoint(args: JsonMapping, asker: Asker) -> Result:
    """Save a named checkpoint of the agent's own run; an agent outside any names the run."""
    run_id = asker.run_id or args.get("run_id")
    if run_id is None:
        raise Cannot("you do not work in a run", fix="pass run_id", code="not_in_a_run")
    name, note = args["name"], args.get("note", "")
    await in_thread(lambda: load_run(asker.store, run_id).checkpoint(name, note))
    text = f"Saved checkpoint `{name}` of {run_id}."
    return ok_result(text, {"ok": True, "run_id": run_id, "message": text})


def _written(args: JsonMapping, asker: Asker) -> tuple[Workflow, Path]:
    """Return the workflow that an agent passes, and the folder it works in. Raises InvalidSpec, InvalidArguments."""
    if ("workflow" in args) == ("file" in args):
        raise InvalidArguments(
            "pass either `workflow` or `file`",
            fix="pass exactly one of them",
            details={"reason": "argument_wrong" if "file" in args else "argument_missing"},
        )
    if "file" not in args:
        # Text is never a path here: `file` is the argument for files.
        loaded = adopt_roles(
            loader.load(args["workflow"], context=surroundings(asker.workspace)), asker.workspace
        )
        return require_valid(loaded, asker.workspace), asker.workspace
    folder = asker.workspace.resolve()
    try:
        path = Path(
            os.path.realpath(folder / args["file"])
        )  # `resolve` raises for links in a circle
    except ValueError:  # a NUL is in no path
        path = Path("/")
    if not path.is_relative_to(folder):
        raise InvalidArguments(
            f"`{args['file']}` is outside the workspace",
            fix="pass a file in the workspace, or the workflow itself as `workflow`",
            code="path_escapes",
        )
    return require_valid(read_file(path), path.parent), path.parent


def _planned(args: JsonMapping, asker: Asker) -> PlanReport:
    workflow, folder = _written(args, asker)
    if asker.permission_mode != "read_only":  # who may start nothing may still see what would be
        asker.require_modes(workflow)
    preview = report(workflow, survey(workflow, folder, notebook_functions(workflow)))
    if not preview.ok:
        raise refusal(preview.errors, workflow.source_map.source)
    return preview.with_inputs(args.get("inputs", {}))


def _begun(args: JsonMapping, asker: Asker) -> Run:
    workflow, folder = _written(args, asker)
    asker.require_modes(workflow)
    live = launch.launch_start(
        workflow,
        args.get("inputs", {}),
        workspace=folder,
        store=asker.store,
        sources=notebook_functions(workflow),
        parent=asker.parent,
    )
    return Run(live.scheduler.log.run_id, asker.store, live)


def _foreseen(run_id: str, selection: Selection, asker: Asker) -> list[ResumeStep]:
    reading, blobs = asker.store.read(run_id), asker.store.blobs(run_id)
    return list(plan_resumption(reading, blobs, Edit(), selection).preview())


def _continued(run_id: str, selection: Selection, asker: Asker) -> Run:
    run = load_run(asker.store, run_id).state
    asker.require_resumable(run_id, loader.load_mapping(run.spec).require(), run.depth)
    live = launch.launch_resume(asker.store, run_id, selection=selection)
    return Run(run_id, asker.store, live, is_no_op=live is None)


class _DelegatedRun(Run):
    """A run that its agent may decide, though the agent is below a step: `Asker` has refused all others."""

    def _request(self, verb: str, *, by: str | None = None, **arguments: Any) -> Request:
        return Request(secrets.token_hex(8), verb, arguments, by or "unknown")


def _decided(args: JsonMapping, asker: Asker) -> tuple[Run, bool]:
    """Return the run, and whether this call continues it."""
    known = load_run(asker.store, args["run_id"])
    run = _DelegatedRun(known.id, known.store, known.live)
    was_driven = run.is_live_here
    value, note = args.get("value"), args.get("note", "")
    try:
        run.decide(args["step"], args["verdict"], value=value, note=note, by=asker.by)
    except InvalidArguments as error:
        choices = run.state.step(args["step"]).choices
        spell_answers(error, choices, fix="pass {}", each='"value": {}', spell=json.dumps)
        raise
    return run, run.is_live_here and not was_driven


def _require_other(run_id: str, asker: Asker, deciding: bool) -> None:
    asker.require_other(run_id, deciding=deciding)


def _outcome_text(document: RunDocument, asker: Asker) -> str:
    may_decide = asker.has_delegated(document["run_id"])
    text = outcome_text(document, may_decide=may_decide)
    if document["status"] == "running" and not asker.ends_what_it_started:
        return f"{text}\n\nIt is still running. Wait for it with inspect_run and max_wait_s."
    return text


_DONE_BY: Final[Mapping[str, Callable[[JsonMapping, Asker], Awaitable[Result]]]] = {
    "run_workflow": run_workflow,
    "resume_workflow": resume_workflow,
    "inspect_run": inspect_run,
    "decide_step": decide_step,
    "diagnose_run": diagnose_run,
    "workflow_checkpoint_save": save_checkpoint,
}


async def use(name: str, args: Any, asker: Asker, tools: Sequence[Tool] = SURFACE) -> Result:
    """Execute a tool call. Only a cancellation is raised."""
    try:
        tool = find_tool(name, tools)
        given = validate_arguments(tool, args)
        asker.require_permission(tool, given)
        return await _DONE_BY[name](given, asker)
    except PixirnbError as error:
        return refusal_result(error)
    except Exception as error:  # noqa: BLE001 - our bug must not end the agent that met it
        return bug_result(error)


def find_tool(name: str, tools: Sequence[Tool] = SURFACE) -> Tool:
    """Return the tool of that name. Raises InvalidArguments (`unknown_tool`)."""
    for tool in tools:
        if tool.name == name:
            return tool
    raise InvalidArguments(
        f"unknown tool `{name:.80}`",
        fix="use one of: " + ", ".join(tool.name for tool in tools),
        code="unknown_tool",
    )


_OFFERED: Final = definitions(SURFACE)


class SurfaceDelegate:
    """Executor of agents' calls of the tools."""

    definitions = _OFFERED

    async def __call__(self, tool: str, args: JsonObject, caller: Caller) -> JsonObject:
        """Execute a call. See `protocols.ports.Delegate`."""
        result = await use(tool, args, _asker(caller))
        return result.document()


def _asker(caller: Caller) -> Asker:
    """Return the agent of an attempt. In `ask` mode it has asked before it calls; a read-only agent is limited here too."""
    parent: Parent = {
        "run_id": caller.run_id,
        "step": caller.step,
        "attempt": caller.attempt,
        "session_id": caller.session_id,
        "depth": caller.depth,
    }
    workspace = caller.workspace
    return Asker(
        workspace=workspace,
        store=store_of(workspace, None) if caller.state is None else FileStore(caller.state),
        permission_mode=caller.permission_mode,
        by=f"agent {caller.session_id} of {caller.run_id}",
        parent=parent,
        depth=caller.depth,
        is_permitted=True,
        tell=caller.tell,
    )
