"""Answers of verbs as blocks: what the command line and a notebook draw, each in its own way.

What draws a kind of answer is loaded with the first answer of that kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from pixirnb.views.blocks.model import Block, Code, Paragraph, Preformatted, Table

if TYPE_CHECKING:
    from pixirnb.machine.findings import DiagnosisDocument, FindingDocument
    from pixirnb.machine.outcome_documents import NextAction
    from pixirnb.verbs.answers import Answer, Following, Watching

NOTEBOOK = "%pixir"
SHELL = "pixirnb"
_PROMPT = 200_000
"""Characters of a prompt that are shown; tasks may be long."""
_LOG = 400_000
_DRAWN: Final = {
    "resume": "run.resume_preview:resume_blocks",
    "output": "run.failure_view:output_blocks",
    "comparison": "run.comparison:comparison_blocks",
    "prune": "run.housekeeping:prune_blocks",
    "smoke": "run.housekeeping:smoke_blocks",
    "diff": "files.diff:diff_blocks",
}
"""Kinds of answers to the functions of `pixirnb.views` that draw their documents."""


def answer_blocks(answer: Answer, *, command: str) -> list[Block]:
    """Return an answer with its notes. `command` is how the reader calls the verbs: `NOTEBOOK` or `SHELL`.

    Raises ValueError for an answer that is JSON alone.
    """
    if answer.kind == "bundle":
        document: Any = _in_shell(answer.document) if command == SHELL else answer.document
        from pixirnb.views.run.outcome_view import step_next
        from pixirnb.views.run.self_display import evidence_blocks
        from pixirnb.views.run.steps_table import item_blocks

        is_over = document["run_status"] != "running"
        return [
            *evidence_blocks(document, answer.lines, is_over=is_over),
            *item_blocks(document.get("items") or [], has_all=answer.has_all_items),
            *step_next(document),
        ]
    return [*map(Paragraph, answer.lines), *_document(answer, command)]


def followed_lines(following: Following | Watching) -> Iterator[str]:
    """Yield the lines of what is followed, as they come. Blocks."""
    from pixirnb.verbs.answers import Watching
    from pixirnb.views.basics.sanitize import plain

    if isinstance(following, Watching):
        from pixirnb.verbs.activity import Watch

        for lines in Watch(following.run).changes():
            yield from lines
    elif following.step is None:
        from pixirnb.views.run.event_lines import event_line

        yield from map(event_line, following.run.follow())
    else:
        for printed in following.run.follow_output(following.step, following.attempt):
            yield plain(printed, _LOG)


def _document(answer: Answer, command: str) -> list[Block]:
    document: Any = answer.document  # of the answer's kind
    if (where := _DRAWN.get(answer.kind)) is not None:
        module, _, function = where.partition(":")
        drawn: list[Block] = getattr(import_module(f"pixirnb.views.{module}"), function)(document)
        return drawn
    match answer.kind:
        case "plan":
            from pixirnb.views.run.planned_view import planned_blocks

            assert answer.report is not None
            return planned_blocks(
                answer.report,
                has_prompts=command == NOTEBOOK,
                left_out=document.get("not_selected") or (),
            )
        case "prompt":
            return [Preformatted(document["prompt"], _PROMPT)]
        case "outcome":
            return _outcome(answer, command)
        case "runs":
            from pixirnb.views.run.run_rows import run_list_blocks

            return run_list_blocks(document["runs"], document["runs"].total)
        case "log":
            from pixirnb.history.events import Event
            from pixirnb.views.run.event_lines import event_line

            damage = document.get("damage")
            lines = [event_line(Event(**event)) for event in document["events"]]
            lines += [f"! {damage['message']}"] if damage else []
            return [Preformatted("\n".join(lines), _LOG)]
        case "session":
            from pixirnb.views.session.session_view import session_blocks

            return session_blocks(document, command=command)
        case "diagnosis":
            from pixirnb.views.run.housekeeping import diagnosis_blocks

            return diagnosis_blocks(_diagnosis_in_shell(document) if command == SHELL else document)
        case "conversion":
            return [Preformatted(document["yaml"].removesuffix("\n"), _LOG)]
        case "export":
            from pixirnb.views.run.housekeeping import export_sentence

            return [Paragraph(export_sentence(document))]
        case "examples":
            rows = [(Code(row["name"]), row["about"]) for row in document["examples"]]
            return [Table(("name", "about"), rows, count=len(rows))]
        case "merge":
            from pixirnb.views.files.merge_report import merge_blocks

            return merge_blocks(document, command=command)
        case "schema":
            return [Preformatted(json.dumps(document, indent=2, ensure_ascii=False), _LOG)]
        case "rendering":
            return [Preformatted(document["text"], _LOG)]
        case "message":
            return [Preformatted(document["message"])]
        case _:
            raise ValueError(f"{answer.kind} is drawn elsewhere")


def _outcome(answer: Answer, command: str) -> list[Block]:
    from pixirnb.verbs.activity import activity_blocks
    from pixirnb.views.basics.step_names import titles_of
    from pixirnb.views.run.outcome_view import outcome_blocks

    document: Any = answer.document
    shown = _in_shell(document) if command == SHELL else document
    plan = None if answer.plan is None or command == SHELL else answer.plan()
    blocks = outcome_blocks(
        shown, answer.edges, plan=plan, command=command, has_all_items=answer.has_all_items
    )
    return [*blocks, *activity_blocks(answer.running, titles_of(document))]


def _in_shell(document: Any) -> Any:
    """Return the outcome of a run or a step with its next actions as commands instead of cells."""
    actions = [_command_of(action) for action in document["next_actions"]]
    return {**document, "next_actions": actions}


def _diagnosis_in_shell(document: DiagnosisDocument) -> DiagnosisDocument:
    if "runs" in document:
        return {**document, "runs": [_diagnosis_in_shell(run) for run in document["runs"]]}
    findings: list[FindingDocument] = [
        finding
        if finding["next_action"] is None
        else {**finding, "next_action": _command_of(finding["next_action"])}
        for finding in document["findings"]
    ]
    return {**document, "findings": findings}


def _command_of(action: NextAction) -> NextAction:
    return {**action, "cell": action.get("command", action["cell"])}
