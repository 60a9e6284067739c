"""Display of pixirnb's values and errors in a notebook: text for terminals and saved files, HTML next to it.

Errors are lines, not tracebacks: what happened and what to do. A run that did not complete is exactly one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from pixirnb import api
from pixirnb.errors import PixirnbError, RunNotCompleted
from pixirnb.machine.diagnosis import Diagnosis
from pixirnb.machine.findings import DiagnosisDocument, FindingDocument
from pixirnb.machine.next_actions import spell_spec, with_spec
from pixirnb.machine.outcome import RunOutcome
from pixirnb.notebook.cells.registry import REGISTRY
from pixirnb.notebook.cells.workflow_cell import facts_of
from pixirnb.planning.report import report
from pixirnb.spec.workflow import Workflow
from pixirnb.verbs.answer_blocks import NOTEBOOK, answer_blocks
from pixirnb.verbs.answers import Answer
from pixirnb.views.basics.sanitize import escape_json
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.picture.drawing import edges_of
from pixirnb.views.run.housekeeping import diagnosis_blocks
from pixirnb.views.run.outcome_view import outcome_blocks
from pixirnb.views.run.planned_view import planned_blocks
from pixirnb.views.run.problem_list import error_blocks

Bundle = dict[str, str]
"""Mime type to text."""


def outcome_bundle(outcome: RunOutcome) -> Bundle:
    """Return an outcome as a MIME bundle; with the plan's edges where its run can be found from here."""
    try:
        run = REGISTRY.run(outcome.run_id) or api.open_run(outcome.run_id)
        edges, plan = edges_of(run.compiled()), run.plan.document()
    except PixirnbError:
        edges, plan = [], None
    blocks = outcome_blocks(REGISTRY.with_cells(outcome.document()), edges, plan=plan)
    return mimebundle(REGISTRY.reach.blocks(blocks))


_IN_A_SHELL: Final = re.compile(r"(`|<code>)pixirnb (?!mcp\b)")
_VERBATIM: Final = frozenset(
    {"conversion", "diff", "log", "output", "prompt", "rendering", "schema", "session"}
)
"""Kinds of answers that show texts of others."""


def in_cell(text: str) -> str:
    """Return a text with its commands as cells."""
    # The verbs are the same in a cell and in a shell; what one types before them is not. No cell serves an agent.
    return _IN_A_SHELL.sub(r"\1%pixir ", text)


def workflow_bundle(workflow: Workflow) -> Bundle:
    """Return the plan of a workflow, which shows itself as that."""
    return mimebundle(planned_blocks(report(workflow, facts_of(workflow))))


def answer_bundle(answer: Answer) -> Bundle:
    """Return the display of a verb's answer."""
    if answer.kind == "acp":
        return {
            "text/plain": escape_json(json.dumps(answer.document, ensure_ascii=False, indent=2))
        }
    document: Any = answer.document
    if answer.kind in {"outcome", "bundle"}:
        document = REGISTRY.with_cells(document)
    elif answer.kind == "diagnosis":
        document = _diagnosis_in_cells(document)
    blocks = answer_blocks(replace(answer, document=document), command=NOTEBOOK)
    bundle = mimebundle(REGISTRY.reach.blocks(blocks))
    if answer.kind in _VERBATIM:
        return bundle
    return {mime: in_cell(text) for mime, text in bundle.items()}


def _diagnosis_in_cells(document: DiagnosisDocument) -> DiagnosisDocument:
    if "runs" in document:
        return {**document, "runs": [_diagnosis_in_cells(run) for run in document["runs"]]}
    name = REGISTRY.workflow_of_run(document["run_id"])
    findings: list[FindingDocument] = [
        finding
        if finding["next_action"] is None or name is None
        else {**finding, "next_action": with_spec([finding["next_action"]], name)[0]}
        for finding in document["findings"]
    ]
    return {**document, "findings": findings}


def error_lines(error: PixirnbError) -> list[str]:
    """Return the lines a cell shows instead of a traceback."""
    text = in_cell(draw_text(error_blocks(error.document())))
    if isinstance(error, RunNotCompleted) and (
        name := REGISTRY.workflow_of_run(str(error.details.get("run_id")))
    ):
        text = spell_spec(text, name)
    lines = REGISTRY.reach.text(text).split("\n")
    return [" ".join(lines)] if isinstance(error, RunNotCompleted) else lines


def register(shell: Any) -> None:
    """Teach a shell to show plans, outcomes, workflows and errors."""
    formatter = shell.display_formatter.mimebundle_formatter
    for kind, bundle in _SHOWN.items():
        formatter.for_type(kind, bundle)
    # A step's figure comes back without pyplot, whose import is what else would teach the shell to draw it. Deferred, it gives
    # way to whatever a notebook has chosen for its figures.
    shell.display_formatter.formatters["image/png"].for_type_by_name(*_FIGURE, _drawn)
    setattr(PixirnbError, _TRACEBACK_HOOK, error_lines)


def forget(shell: Any) -> None:
    """Undo `register`."""
    formatter = shell.display_formatter.mimebundle_formatter
    for kind in _SHOWN:
        formatter.pop(kind, None)
    shell.display_formatter.formatters["image/png"].pop(".".join(_FIGURE), None)
    if hasattr(PixirnbError, _TRACEBACK_HOOK):
        delattr(PixirnbError, _TRACEBACK_HOOK)


_TRACEBACK_HOOK: Final = "_render_traceback_"
"""Method that IPython calls of an exception before it draws a traceback. The tree of errors itself knows no notebook."""

_FIGURE: Final = ("matplotlib.figure", "Figure")

_SHOWN: Final[dict[type, Callable[[Any], Bundle]]] = {
    RunOutcome: outcome_bundle,
    Workflow: workflow_bundle,
    Diagnosis: lambda each: mimebundle(diagnosis_blocks(_diagnosis_in_cells(each.document()))),
}


def _drawn(figure: Any) -> Any:
    from IPython.core.pylabtools import print_figure

    return print_figure(figure, fmt="png", bbox_inches="tight")
