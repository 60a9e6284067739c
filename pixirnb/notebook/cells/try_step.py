"""`%%step … --try`: the step of a cell as a workflow of its own, to be run now and alone.

What it needs of other steps is taken from the last run of its workflow in this notebook. The workflow says where from, in its
description and in the source it calls; it is started and logged like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from pixirnb.errors import Cannot, InvalidArguments
from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.notebook.cells.draft import WorkflowDraft
from pixirnb.notebook.cells.step_cell import INPUTS, StepCell
from pixirnb.operations.run import Run
from pixirnb.spec.loader import load_mapping
from pixirnb.spec.workflow import Workflow

_KEPT: Final = ("defaults", "repos", "readiness")
"""Keys of the step's own workflow that a trial keeps."""
_NAME_LENGTH: Final = 64


class Trial(Struct, frozen=True):
    """A step, ready to be run alone."""

    workflow: Workflow
    inputs: JsonMapping
    functions: Mapping[str, str]


def trial(draft: WorkflowDraft, cell: StepCell, last: Run | None) -> Trial:
    """Make a workflow of one cell. `last` is the last run of the cell's workflow in this notebook.

    Raises Cannot (`output_missing`), InvalidArguments (`input_missing`).
    """
    header: JsonObject = {} if draft.header is None else draft.header.canonical()
    declared: JsonObject = {}
    if INPUTS in cell.takes:
        declared = header.get("inputs", {})
    inputs = _inputs(draft, declared, last)
    step = {**cell.written(declared), "depends_on": []}
    functions = {cell.call: cell.source}
    source_note = ""
    if cell.outputs:
        source = _ready(draft, cell, last)
        taken = ", ".join(f"`{name}`" for name in cell.outputs.values())
        source_note = f" It uses the output of {taken} from {source.id}."
        step["with"] = {
            name: step["with"][name] for name in step["with"] if name not in cell.outputs
        }
        step["call"] = f"{cell.call}_tried"
        functions = {step["call"]: _with_outputs(cell, source)}
    kept: JsonObject = {key: header[key] for key in _KEPT if key in header}
    mapping = {
        **kept,
        "name": _name(cell),
        "description": f"Step `{cell.id}` of `{cell.workflow}`, run alone.{source_note}",
        "inputs": declared,
        "steps": [step],
    }
    return Trial(load_mapping(mapping).require(), inputs, functions)


def _name(cell: StepCell) -> str:
    name = f"{cell.workflow}-try-{cell.id}"
    return name if len(name) <= _NAME_LENGTH else f"try-{cell.id}"[:_NAME_LENGTH]


def _inputs(draft: WorkflowDraft, declared: JsonMapping, last: Run | None) -> JsonObject:
    """Return the inputs of the last run that the workflow still declares; else the defaults."""
    given = {} if last is None else last.state.inputs
    inputs = {name: given[name] for name in declared if name in given}
    if draft.header is not None:
        for name, one in draft.header.inputs.items():
            if name in declared and name not in inputs and one.is_required:
                raise InvalidArguments(
                    f"input `{name}` has no value yet",
                    fix=f"add a default, or run the workflow once: %pixir run {draft.name} --input {name}=…",
                    code="input_missing",
                )
    return inputs


def _ready(draft: WorkflowDraft, cell: StepCell, last: Run | None) -> Run:
    """Return the run that has every output the cell uses."""
    steps = () if last is None else last.outcome.steps
    standing = {step.step_id: step for step in steps}
    for needed in cell.outputs.values():
        state = standing.get(needed)
        if state is not None and state.checkpoint_status == "checkpoint_ready":
            continue
        if needed not in draft.ids:
            fix = f"run the cell that defines `{needed}`, then: %pixir run {draft.name} --wait"
        elif last is None:
            fix = f"run the workflow first: %pixir run {draft.name} --wait"
        elif last.is_live_here:
            fix = f"wait for it: %pixir show {last.id} {needed}"
        else:
            fix = f"run it: %pixir resume {last.id} --spec {draft.name} --until {needed} --wait"
        raise Cannot(
            f"`{cell.id}` needs the output of `{needed}`, which has none yet",
            fix=fix,
            code="output_missing",
            details={"step": needed, "run_id": None if last is None else last.id},
        )
    assert last is not None
    return last


def _with_outputs(cell: StepCell, source: Run) -> str:
    """Return the cell's source, and behind it a function that fetches what earlier steps left, whatever it is."""
    fetched = "".join(
        f"        {name}=run.value({step!r}),\n" for name, step in cell.outputs.items()
    )
    return (
        f"{cell.source}\n\n"
        f"def {cell.call[1:]}_tried(**given):\n"
        "    import pixirnb\n\n"
        f"    run = pixirnb.open_run({str(source.folder)!r})\n"
        f"    return {cell.call[1:]}(\n{fetched}        **given,\n    )\n"
    )
