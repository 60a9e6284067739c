"""Output of a cell that writes a part of a workflow: the plan so far, and a line for each missing part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pixirnb.json_types import JsonMapping
from pixirnb.notebook.cells.draft import WorkflowDraft
from pixirnb.notebook.cells.step_cell import StepCell, misfit
from pixirnb.notebook.cells.step_source import parameter, unseen_names
from pixirnb.planning.environment import Environment
from pixirnb.spec.workflow import Workflow
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.blocks.model import Paragraph
from pixirnb.views.run.self_display import planned_blocks


def draft_bundle(
    draft: WorkflowDraft, facts_of: Callable[[Workflow], Environment], notes: Sequence[str] = ()
) -> dict[str, str]:
    """The plan of what the cells have written so far; `notes` are lines of the cell that shows it."""
    if not draft.ids:
        line = f"`{draft.name}` has no steps yet; write one with %%step ID --workflow {draft.name}"
        return mimebundle([Paragraph(line)])
    planned, waiting = draft.so_far(facts_of)
    return mimebundle([*map(Paragraph, [*waiting, *notes]), *planned_blocks(planned)])


def unseen_notes(cell: StepCell, draft: WorkflowDraft, notebook: JsonMapping) -> list[str]:
    """Return a line for each name that a cell uses and will not see when it runs, with the fix."""
    outputs = {parameter(step): step for step in draft.ids if step != cell.id}
    notes = []
    for name, line in cell.unseen:
        fix = "import or define it in this cell"
        if name in outputs:
            fix = f"add --after {outputs[name]}"
        elif name != "inputs" and name in notebook and not _is_code(notebook[name]):
            wrong = misfit(notebook[name], name)
            fix = (
                f"pass it with --use {name}" if wrong is None else f"define it here, or {wrong[1]}"
            )
        notes.append(f"line {line}: `{name}` is not available in this step; {fix}")
    return notes


def function_notes(functions: Mapping[str, str], notebook: JsonMapping) -> list[str]:
    """Return a line for each name that a function of the notebook uses and will not see as a step, with the fix.

    `functions`: `{":name": source}`.
    """
    notes = []
    for call, source in functions.items():
        for name, line in unseen_names(source):
            fix = f"import or define it inside `{call[1:]}`, or use %%step"
            if name in notebook and misfit(notebook[name], name) is None:
                fix = "pass it with `with:`, or use %%step"
            notes.append(
                f"line {line} of `{call[1:]}`: `{name}` is not available when it runs as a step; {fix}"
            )
    return notes


def _is_code(value: object) -> bool:
    return callable(value) or type(value).__name__ == "module"
