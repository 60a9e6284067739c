"""Details of files that a person opens in a view: the patch of a step, both sides of its conflict, a merge's preview."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pixirnb.errors import InvalidArguments, PixirnbError
from pixirnb.history.bundles import changes
from pixirnb.history.step_state import StepState
from pixirnb.json_types import JsonMapping, PageObject
from pixirnb.machine.merge_requests import MergeReport, PreviewedChanges
from pixirnb.notebook.live.snapshots import RunSnapshot
from pixirnb.runners.output.mask import mask_contents
from pixirnb.views.basics.sanitize import line
from pixirnb.views.files.changes import changes_phrase, patch_text
from pixirnb.views.files.conflicts import TEXT_ROOM, conflict_document, side_name
from pixirnb.views.files.merge_report import merge_mark, merge_sentence
from pixirnb.views.files.patch_parser import parse_patch, rename_files
from pixirnb.views.live.panel_files import patch_document

_CLASHES = 50


def patch_of(seen: RunSnapshot, step: str) -> PageObject:
    """Read the patch of what a step changed. Raises InvalidArguments, LogDamaged (`blob_missing`)."""
    seen.plan_with(step)
    changed = changes(seen.moment.run.steps.get(step) or StepState())
    if changed["patch"] is None:
        return {"step": step, "files": [], "sentence": "No changes."}
    text, left_out = patch_text(
        changed["patch"], mask_contents(seen.run.store.blobs(seen.run.id).beginning)
    )
    return {
        "step": step,
        **patch_document(rename_files(parse_patch(text), changed), left_out, changed["patch"]),
    }


def conflict_of(seen: RunSnapshot, step: str) -> PageObject:
    """Return both sides of the files in conflict that a step waits for. Raises InvalidArguments."""
    seen.plan_with(step)
    state = seen.moment.run.steps.get(step) or StepState()
    if state.clash is None:
        raise InvalidArguments(
            f"step `{line(step, 80)}` has no open conflict",
            fix="run the cell that shows this run again: the run may have changed",
            code="nothing_to_decide",
        )
    files = []
    for file in state.clash["files"][:_CLASHES]:
        text, cut = _marked(seen, file.get("marked"))
        shown = conflict_document(file, text)
        files.append({**shown, "cut": shown["cut"] + cut, "of": None if cut else shown["of"]})
    return {"step": step, "files": files, "count": state.clash["count"]}


def merge_document(report: MergeReport) -> PageObject:
    """Return a merge's report for the browser: `{status, mark, sentence, steps, phrase, patch, between, sides, conflicts}`."""
    document = report.document()
    changes = cast("PreviewedChanges", report.changes)
    text, cut = changes.get("patch_text"), changes.get("patch_cut")
    return {
        "status": report.status,
        "mark": merge_mark(document).document(),
        "sentence": line(merge_sentence(document), 600),
        "steps": [line(step, 80) for step in report.steps],
        "phrase": changes_phrase(report.changes),
        "patch": patch_document(
            rename_files(parse_patch(text or ""), report.changes),
            cut or 0,
        ),
        "between": [side_name(side) for side in report.between],
        # An undo offers no versions: a person edits the files.
        "sides": []
        if report.undoes is not None
        else [
            {"name": line(side, 80), "words": side_name(side)}
            for side in dict.fromkeys(["workspace", *report.between])
        ],
        "conflicts": [
            conflict_document(each, each.get("marked_text")) for each in report.conflicts[:_CLASHES]
        ],
    }


def requested_sides(message: JsonMapping) -> Any:
    """Return the sides whose version counts, by the message: a name, choices by path, or nothing. Raises InvalidArguments."""
    sides = message.get("sides")
    if sides is None or isinstance(sides, str):
        return sides or None
    if isinstance(sides, Mapping) and all(
        isinstance(each, str | Mapping) for each in sides.values()
    ):
        return dict(sides) or None
    raise InvalidArguments(
        "the view sent an invalid message: `sides` must be a name or map paths to names",
        fix="run the cell that shows this run again: page and kernel may have different versions",
        code="message_unreadable",
    )


def _marked(seen: RunSnapshot, blob: Any) -> tuple[str | None, int]:
    """Return a text with markers, and how many bytes of it are left out; None where there is none, or it cannot be read."""
    if not isinstance(blob, str):
        return None, 0
    try:
        data, size = mask_contents(seen.run.store.blobs(seen.run.id).beginning)(blob, TEXT_ROOM)
    except PixirnbError:
        return None, 0  # the file is named all the same
    return data.decode("utf-8", "replace"), size - len(data)
