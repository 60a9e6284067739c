"""The outcome of a run, live or ended: status first, then the steps that matter, then what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pixirnb.history.events import WarningRaised
from pixirnb.history.file_state import Obligation
from pixirnb.machine.outcome_documents import NextAction, RunDocument, StepDocument
from pixirnb.machine.outcome_summary import NOTES
from pixirnb.planning.documents import PlanDocument
from pixirnb.views.basics.phrases import (
    IN_TABLE,
    STOOD,
    action_phrase,
    clashing,
    has_stopped_steps,
    mark_placeholders,
    partial_steps,
    reason_phrase,
    reservations,
    why,
)
from pixirnb.views.basics.sanitize import line
from pixirnb.views.basics.status_marks import (
    QUIET,
    Mark,
    at_rest,
    run_mark,
    step_mark,
    tally,
)
from pixirnb.views.basics.step_items import count_marks, items_of, worst, written_steps
from pixirnb.views.basics.step_names import label
from pixirnb.views.basics.times import span
from pixirnb.views.blocks.model import (
    Block,
    Chart,
    Code,
    Graphic,
    Heading,
    Items,
    Paragraph,
    next_blocks,
)
from pixirnb.views.files.seams import open_first, seam_phrase
from pixirnb.views.picture.drawing import Edges, drawing
from pixirnb.views.picture.svg import image
from pixirnb.views.run.explain import below_heading
from pixirnb.views.run.failure_view import failure_blocks, failures
from pixirnb.views.run.permission_calls import request_blocks
from pixirnb.views.run.problem_list import warnings
from pixirnb.views.run.steps_table import SMALL, step_rows
from pixirnb.wording import join_names

_REASONS: Final = 6
_ACTIONS: Final = 8
_SEAMS: Final = 20
_EVIDENT: Final = 2
"""Items of a step whose evidence is shown."""


def outcome_blocks(
    document: RunDocument,
    edges: Edges = (),
    *,
    plan: PlanDocument | None = None,
    command: str = "%pixir",
    has_all_items: bool = False,
) -> list[Block]:
    """Return a `RunOutcome.document()`. `plan` adds phases and steps that have not spoken.

    `command` is how the reader calls the verbs; `has_all_items`: each item has a row.
    """
    document = at_rest(document)
    mark, run_id = run_mark(document.get("status")), document.get("run_id") or ""
    steps: Sequence[StepDocument] = document.get("steps") or []
    own = written_steps(steps)
    counts = tally(step_mark(step) for step in own)
    # Of few steps the table says as much.
    is_listed = len(own) <= SMALL
    shown = NOTES.keys() | (IN_TABLE if is_listed else frozenset())
    reasons = [
        reason_phrase(reason)
        for reason in document.get("reasons") or []
        if reason.get("code") not in shown
    ]
    blocks: list[Block] = [
        Heading(
            mark,
            " · ".join(
                filter(
                    None,
                    (
                        label(
                            document.get("workflow") or "workflow", document.get("workflow_title")
                        ),
                        document.get("name"),
                    ),
                )
            ),
            run_id,
            span(document.get("elapsed_ms")),
        ),
        Paragraph(document.get("summary") or ""),
    ]
    if tags := document.get("tags"):
        blocks.append(Paragraph(f"Tags: {', '.join(tags)}.", "mute"))
    if mark.key == "running":
        blocks.append(Paragraph((STOOD, Code(f"{command} watch {run_id or 'RUN'}")), "mute"))
    if reasons:
        left = len(reasons) - _REASONS
        named = [*reasons[:_REASONS], *[f"and {left:,} more"] * (left > 0)]
        blocks.append(Paragraph(f"{'; '.join(named)}."))
    return [
        *blocks,
        Chart(counts),
        Graphic(lambda: image(drawing(plan, document, edges))),
        *step_rows(steps, counts, has_all_items=has_all_items),
        *_reservations(own, f"{command} show {run_id or 'RUN'}"),
        *failures(_evident(steps), f"{command} logs {run_id}"),
        *_seams(document.get("seam_obligations") or []),
        *_requests(steps),
        *_next(document),
        warnings(_remaining_warnings(document)),
    ]


def _evident(steps: Sequence[StepDocument]) -> list[StepDocument]:
    """Return the written steps, each followed by the first few of its items that failed."""
    items = items_of(steps)
    return [
        each
        for step in written_steps(steps)
        for each in (step, *worst(items.get(step.get("step_id") or "", ()))[:_EVIDENT])
    ]


def step_blocks(document: StepDocument, sentences: Sequence[str] = ()) -> list[Block]:
    """Return how a step stands, and `sentences` that say why, or the one reason where there are none.

    Its checks are left to the evidence that follows, where there is any.
    """
    attempt = document.get("attempt")
    aside = [f"attempt {attempt}"] if attempt else []
    aside += [took] if (took := span(document.get("elapsed_ms"))) else []
    made = document.get("checkpoint")
    is_listed = made is not None and bool(made.get("verification"))
    return [
        Heading(
            step_mark(document),
            label(document.get("step_id") or "step", document.get("title")),
            aside=" · ".join(aside),
        ),
        *explain_blocks(
            below_heading(sentences) if sentences else [why(document, is_result_below=True)]
        ),
        *failure_blocks(document.get("error"), has_checks=not is_listed),
        *_requests([document]),
    ]


def explain_blocks(sentences: Sequence[str]) -> list[Block]:
    """Return what `explain` found, a sentence a line."""
    return [Paragraph(sentence) for sentence in sentences]


def progress_line(document: RunDocument, room: int | None = None) -> str:
    """Return on one line where a run stands: status, ready of all, what runs now, what went wrong, elapsed.

    `room`: at most so many characters. The run's id is left out first, then the names of what runs, then the end is cut.
    """
    mark = run_mark(document.get("status"))
    every: Sequence[StepDocument] = document.get("steps") or []
    steps, items = written_steps(every), items_of(every)
    looks: list[tuple[Mark, str]] = [
        (step_mark(step), line(step.get("step_id"), 64)) for step in steps
    ]
    ready = sum(mark.key == "checkpoint_ready" for mark, _ in looks)
    running = [
        f"{step} ({count_marks([step_mark(each) for each in items[step]])})"
        if step in items
        else step
        for mark, step in looks
        if mark.tone == "live"
    ]
    stands = f"{mark.symbol} {mark.word}"
    skipped = sum(mark.key == "skipped" for mark, _ in looks)
    done = f"{ready:,} of {len(steps):,} ready"
    if skipped and ready + skipped == len(steps):
        done, looks = f"{ready:,} ready, {skipped:,} skipped", []
    runs = f"running {join_names(running, 4)}" if running else ""
    settled = (mark for mark, _ in looks if mark.tone != "live" and mark.key not in QUIET)
    rest = [*(f"{count:,} {mark.counted(count)}" for mark, count in tally(settled))]
    rest.append(span(document.get("elapsed_ms")))
    shown = _joined(stands, line(document.get("run_id") or "", 60), done, runs, *rest)
    if room is None or len(shown) <= room:
        return shown
    shown = _joined(stands, done, runs, *rest)
    if len(shown) > room:
        shown = _joined(stands, done, f"{len(running):,} running" if running else "", *rest)
    return line(shown, room)


def _joined(*parts: str) -> str:
    return " · ".join(part for part in parts if part)


def _requests(steps: Sequence[StepDocument]) -> list[Block]:
    """Return the calls that can be allowed now."""
    asking = [
        step
        for step in steps
        if step.get("requests") and step.get("next_actions") and step_mark(step).key != "lost"
    ]
    return [
        block
        for step in asking[:_ACTIONS]
        for block in request_blocks(step.get("step_id"), step["requests"])
    ]


def _remaining_warnings(document: RunDocument) -> list[WarningRaised]:
    """Return the warnings without those of a step that died, if its question says so."""
    questions = [
        step["summary"]
        for step in document.get("steps") or ()
        if step.get("checkpoint_status") == "needs_orchestrator" and step.get("summary")
    ]
    return [
        each
        for each in document.get("warnings") or ()
        if each.get("code") != "side_effects_may_be_partial"
        or not any(question.startswith(each["message"].partition(";")[0]) for question in questions)
    ]


def _reservations(steps: Sequence[StepDocument], cell: str) -> list[Block]:
    """Return the ready steps whose results are limited, and where the limitations are shown."""
    names = [
        str(step.get("step_id"))
        for step in steps
        if any(note != "unverified" for note in reservations(step))
    ]
    if not names:
        return []
    listed = join_names(names, 4, lambda name: line(name, 64))
    verb, step = ("is", names[0]) if len(names) == 1 else ("are", "STEP")
    sentence = f"{listed} {verb} ready with known limitations; read them with"
    return [Paragraph((sentence, Code(f"{cell} {line(step, 64)}")))]


def _seams(seams: Sequence[Obligation]) -> list[Block]:
    listed = open_first(seams)
    items = [
        ("seam", Code(seam.get("id"), 40), f"({seam.get('state')}):", seam_phrase(seam))
        for seam in listed[:_SEAMS]
    ]
    return [Items(items, len(listed) - _SEAMS)] if items else []


def step_next(document: StepDocument) -> list[Block]:
    """Return the next actions of one step, in the words of its run's."""
    is_partial = document.get("checkpoint_status") == "partial"
    alone: Any = {
        "steps": [document],
        "partial_steps": [document["step_id"]] if is_partial else [],
        "next_actions": document.get("next_actions"),
    }
    return _next(alone)


def _joined_timeouts(actions: Sequence[NextAction]) -> list[NextAction]:
    """Return the actions with one for all steps whose timeouts are to be raised: one resume does for them."""
    late = [each["step"] for each in actions if each["action"] == "raise_timeout" and each["step"]]
    if len(late) < 2:
        return [*actions]
    named = join_names(late, 4)
    return [
        {**each, "step": named} if each["action"] == "raise_timeout" and each["step"] else each
        for each in actions
        if each["action"] != "raise_timeout" or each["step"] in {None, late[0]}
    ]


def _next(document: RunDocument) -> list[Block]:
    actions = document.get("next_actions") or []
    stuck, partial = clashing(document), partial_steps(document)
    has_stopped = has_stopped_steps(document)
    rows = [
        (
            Code(mark_placeholders(action.get("cell") or ""), 200),
            action_phrase(action, stuck, partial, has_stopped=has_stopped),
        )
        for action in _joined_timeouts(actions)[:_ACTIONS]
    ]
    return next_blocks(rows, len(actions), _ACTIONS)
