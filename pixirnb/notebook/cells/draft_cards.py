"""Output of a cell that writes a part of a workflow: the plan so far, and a line for each missing part."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pixirnb.json_types import JsonMapping
from pixirnb.notebook.cells.draft import WorkflowDraft
from pixirnb.notebook.cells.step_cell import StepCell
from pixirnb.notebook.cells.step_source import parameter
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
        line = f"`{draft.name}` has no step yet: write one with %%step ID --workflow {draft.name}."
        return mimebundle([Paragraph(line)])
    planned, waiting = draft.so_far(facts_of)
    return mimebundle([*map(Paragraph, [*waiting, *notes]), *planned_blocks(planned)])


def unseen_notes(cell: StepCell, draft: WorkflowDraft, notebook: JsonMapping) -> list[str]:
    """A line for each name the body uses that it will not see when it runs, and what makes it seen."""
    outputs = {parameter(step): step for step in draft.ids if step != cell.id}
    notes = []
    for name, line in cell.unseen:
        if name in outputs:
            fix = f"add --after {outputs[name]}"
        elif name == "inputs" or name not in notebook:
            fix = "import it or define it in this cell"
        elif callable(notebook[name]) or type(notebook[name]).__name__ == "module":
            fix = "it is the notebook's: import it or define it in this cell"
        else:
            fix = f"it is the notebook's: add --use {name}"
        notes.append(f"Line {line}: the step does not see `{name}`; {fix}.")
    return notes
