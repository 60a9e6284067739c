"""How pixirnb's values and errors look in a notebook: text for terminals and saved files, HTML beside it.

Errors are lines, not tracebacks: what happened and what to do. A run that did not complete is exactly one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, assert_never

from pixirnb import api
from pixirnb.errors import PixirnbError, RunNotCompleted
from pixirnb.history.events import Event
from pixirnb.machine.outcome import RunOutcome
from pixirnb.notebook.cells.registry import SHELF
from pixirnb.notebook.cells.workflow_cell import facts_of
from pixirnb.planning.report import report
from pixirnb.spec.workflow import Workflow
from pixirnb.verbs.answers import Answer
from pixirnb.views.basics.html_cards import card
from pixirnb.views.basics.markup import block
from pixirnb.views.basics.sanitize import plain
from pixirnb.views.files.diff import diff_html, diff_text
from pixirnb.views.picture.drawing import edges_of
from pixirnb.views.run import text
from pixirnb.views.run.event_lines import event_line
from pixirnb.views.run.housekeeping import export_text
from pixirnb.views.run.mimebundle import merge_bundle, mimebundle, step_bundle
from pixirnb.views.run.mimebundle import plan_bundle as plan_bundle  # noqa: PLC0414 - magics ask for it here
from pixirnb.views.run.smoke import smoke_text
from pixirnb.views.session.session_view import session_html, session_text

Bundle = dict[str, str]
"""Mime type to text."""


def outcome_bundle(outcome: RunOutcome) -> Bundle:
    """An outcome; with the plan's edges where its run can be found from here."""
    try:
        run = SHELF.run(outcome.run_id) or api.open_run(outcome.run_id)
        edges, plan = edges_of(run.compiled()), run.plan.document()
    except PixirnbError:
        edges, plan = [], None
    return mimebundle("outcome", outcome.document(), edges, plan=plan)


"""Characters of a prompt that are shown; tasks may be long."""
_IN_A_SHELL: Final = re.compile(r"`pixirnb (?!mcp\b)")


def workflow_bundle(workflow: Workflow) -> Bundle:
    """A workflow shows itself as its plan."""
    return plan_bundle(report(workflow, facts_of(workflow)))


def answer_bundle(answer: Answer) -> Bundle:
    """What a verb answered."""
    document: Any = answer.document  # of the answer's kind
    match answer.kind:
        case "plan":
            assert answer.report is not None
            shown = plan_bundle(answer.report)
        case "prompt":
            return {"text/plain": plain(document["prompt"], text.PROMPT_LIMIT)}
        case "outcome":
            plan = None if answer.plan is None else answer.plan()
            shown = mimebundle("outcome", document, answer.edges, plan=plan)
        case "resume" | "runs" | "diagnosis" | "comparison" | "prune":
            shown = mimebundle(answer.kind, document)
        case "bundle":
            return step_bundle(document, answer.lines)
        case "log":
            return _log_bundle(document)
        case "acp":
            return {"text/plain": json.dumps(document, ensure_ascii=False, indent=2)}
        case "session":
            return {"text/plain": session_text(document), "text/html": session_html(document)}
        case "diff":
            return {"text/plain": diff_text(document), "text/html": diff_html(document)}
        case "merge":
            return merge_bundle(document)
        case "message":
            return {"text/plain": plain(document["message"])}
        case "conversion":
            return {"text/plain": document["yaml"]}
        case "export":
            return {"text/plain": export_text(document)}
        case "smoke":
            return {"text/plain": smoke_text(document)}
        case _:
            assert_never(answer.kind)
    return _with_notes(shown, answer.lines)


def error_lines(error: PixirnbError) -> list[str]:
    """The lines a cell shows instead of a traceback."""
    # The verbs are the same in a cell and in a shell; what one types before them is not. No cell serves an agent.
    told = _IN_A_SHELL.sub("`%pixir ", text.error_text(error.document()))
    lines = told.split("\n")
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
"""What IPython asks of an exception before it draws a traceback. The tree of errors itself knows no notebook."""

_FIGURE: Final = ("matplotlib.figure", "Figure")

_SHOWN: Final[dict[type, Callable[[Any], Bundle]]] = {
    RunOutcome: outcome_bundle,
    Workflow: workflow_bundle,
}


def _drawn(figure: Any) -> Any:
    from IPython.core.pylabtools import print_figure

    return print_figure(figure, fmt="png", bbox_inches="tight")


def _with_notes(shown: Bundle, notes: tuple[str, ...]) -> Bundle:
    if not notes:
        return shown
    told = "".join(f"<p>{block(note)}</p>" for note in notes)
    return {
        "text/plain": "\n".join([*map(plain, notes), shown["text/plain"]]),
        "text/html": card(told) + shown["text/html"],
    }


def _log_bundle(document: dict[str, Any]) -> Bundle:
    lines = [event_line(Event(**event)) for event in document["events"]]
    if document.get("damage"):
        lines.append(f"! {document['damage']['message']}")
    told = "\n".join(lines)
    return {"text/plain": told, "text/html": card(f"<pre>{block(told, 400_000)}</pre>")}
