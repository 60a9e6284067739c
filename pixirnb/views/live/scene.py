"""The scene of a run: where everything is drawn and what never changes while it runs, as plain JSON for the browser.

Steps are named by their place in the workflow. Coordinates are those of the saved picture (see placement.py). A workflow
with many columns or long ones has two sheets: one with the rest of them counted, and the whole. Both have stacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pixirnb.json_types import PageObject
from pixirnb.planning.documents import PlanDocument
from pixirnb.planning.plan import Plan
from pixirnb.views.basics.icons import KIND_SHAPES, status_shape
from pixirnb.views.basics.sanitize import line
from pixirnb.views.basics.status_marks import LOUD, RUN_MARKS, STEP_MARKS
from pixirnb.views.live.tape import KINDS
from pixirnb.views.picture.drawing import Drawing, drawing, edges_of, kinds_of
from pixirnb.views.picture.fold import PEELED, fold_drawing, fold_fan_outs
from pixirnb.views.picture.layout import Grid
from pixirnb.views.picture.placement import lay_out_drawing

LIVE_STEPS: Final = 5_000
"""Steps up to which a run has a live view; a larger one has the folded, static picture."""
LIVE_ITEMS: Final = 20_000
"""Steps and items up to which it has one."""

_PHRASES: Final = {
    "run_started": "run started",
    "run_resumed": "run resumed: {reuse} reused, {rerun} to rerun, {hold} held",
    "run_forked": "run forked: earlier events are those of the original run",
    "step_expanded": "{attempt} items",
    "step_scheduled": "attempt {attempt} scheduled",
    "attempt_started": "attempt {attempt} started",
    "attempt_ended": "attempt {attempt} ended{elapsed}: {mark}",
    "retry_planned": "retry planned: attempt {attempt}{delay}",
    "verification_recorded": "checks recorded",
    "checkpoint_decided": "{mark}{reused}",
    "step_held": "not started",
    "decision_requested": "decision requested",
    "decision_recorded": "{verdict} by a person",
    "checkpoint_saved": "checkpoint {name} saved",
    "subagent_event": "{asked}",
    "workspace_captured": "attempt {attempt} changed {files}",
    "merge_applied": "{merge}",
    "merge_conflicted": "merge conflict",
    "seam_opened": "seam {name} opened",
    "seam_resolved": "seam {name} resolved",
    "warning_raised": "warning",
    "run_finished": "run finished: {status}",
}
"""Phrases of the browser about events; it fills the braces in from the entry of the tape."""


def look() -> PageObject:
    """Return words, symbols, tones and shapes, by the numbers a tape uses for them."""

    def mark_document(mark: Any) -> PageObject:
        return {
            "key": mark.key,
            "word": mark.word,
            "symbol": mark.symbol,
            "tone": mark.tone,
            "shape": status_shape(mark),
            "is_loud": mark.key in LOUD,
        }

    return {
        "marks": [mark_document(mark) for mark in STEP_MARKS],
        "run": {mark.key: mark_document(mark) for mark in RUN_MARKS},
        "kinds": dict(KIND_SHAPES),
        "told": list(KINDS),
        "peeled": PEELED,
        "events": [_PHRASES.get(kind, kind.replace("_", " ")) for kind in KINDS],
    }


def scene(run_id: str, plan: Plan, document: PlanDocument) -> PageObject:
    """Return the scene of a run of `plan`; `document` is its `PlanReport.document()`."""
    index = plan.index
    kinds = kinds_of(plan)
    whole = drawing(document, None, edges_of(plan), kinds=kinds)
    first, stacked = fold_drawing(whole), fold_fan_outs(whole)
    drawn = [stacked] if len(first.nodes) == len(stacked.nodes) else [first, stacked]
    titles = [line(step.spec.title, 120) for step in plan.written]
    return {
        "run_id": run_id,
        "workflow": plan.workflow.name,
        **({"workflow_title": line(plan.workflow.title, 120)} if plan.workflow.title else {}),
        **({"titles": titles} if any(titles) else {}),
        "ids": [step.id for step in plan.written],
        "kinds": [step.spec.kind for step in plan.written],
        "isolated": [(step.template or step).workspace == "isolated" for step in plan.written],
        "waves": [step.wave for step in plan.written],
        "needs": [list(plan.before(step)) for step in plan.written],
        "many": [
            [index[step["step_id"]], step["items"], line(step.get("items_from") or "", 80)]
            for step in document["steps"]
            if "items" in step
        ],
        "phases": [
            [name, list(steps)] for name, steps in plan.phases if steps and len(plan.phases) > 1
        ],
        "conflicts": [
            [*(index[step] for step in entry["steps"]), entry["rule"], list(entry["paths"][:3])]
            for entry in document["conflicts"]
        ],
        "conflict_count": document["conflict_count"],
        "serialized": [
            [index[entry["step"]], index[entry["after"]]] for entry in document["serialized"]
        ],
        "sheets": [_sheet(sheet, index, is_folded=sheet is not stacked) for sheet in drawn],
    }


def _sheet(shown: Drawing, index: Mapping[str, int], *, is_folded: bool) -> PageObject:
    """Return one sheet: `boxes` are `[step, x, y, width]`; `more` are `[x, y, words, steps, width, is_stack]`.

    Curves name a step by its place, and those of `more` by -1, -2, …; `labels` are `[step, label]` where the box of a
    step has no room for its id; `box` is the size of the widest; `pitch` is the height of a row with the gap below it.
    """
    sheet = lay_out_drawing(shown)
    stand_ins = [node.id for node in shown.nodes.values() if node.stands_for]
    position = {**index, **{name: -1 - number for number, name in enumerate(stand_ins)}}
    boxes = {box.id: box for box in sheet.boxes}
    return {
        "folded": is_folded,
        "width": round(sheet.width, 1),
        "height": round(sheet.height, 1),
        "box": [
            round(max((box.width for box in sheet.boxes), default=0), 1),
            round(max((box.height for box in sheet.boxes), default=0), 1),
        ],
        "pitch": Grid().height + Grid().gap_y,
        "boxes": [
            [index[box.id], round(box.x, 1), round(box.y, 1), round(box.width, 1)]
            for box in sheet.boxes
            if box.id in index
        ],
        "labels": [
            [index[step], label]
            for step, label in sheet.labels.items()
            if step in index and step != label
        ],
        "more": [
            [
                round(boxes[name].x, 1),
                round(boxes[name].y, 1),
                sheet.labels[name],
                [index[step] for step in shown.nodes[name].steps],
                round(boxes[name].width, 1),
                shown.nodes[name].is_stack,
            ]
            for name in stand_ins
        ],
        "curves": [
            [
                position[curve.source],
                position[curve.target],
                [[round(x, 1), round(y, 1)] for x, y in curve.points],
            ]
            for curve in sheet.curves
        ],
        "bands": [
            [band.name, *(round(n, 1) for n in (band.x, band.y, band.width, band.height))]
            for band in sheet.bands
        ],
    }
