"""Result of a merge, in words: the changes brought, or the files in conflict and what to do about them.

The document is that of `machine.merge_requests.MergeReport`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from pixirnb.history.bundles import no_changes
from pixirnb.machine.merge_requests import MergeDocument, PreviewedChanges, ReportedConflict
from pixirnb.views.basics.sanitize import line, plural, spell_out
from pixirnb.views.basics.status_marks import Mark
from pixirnb.views.blocks.model import (
    Block,
    Code,
    Heading,
    Paragraph,
    PatchLines,
    Section,
    next_blocks,
)
from pixirnb.views.files.changes import SomeChanges, changes_phrase
from pixirnb.views.files.conflicts import (
    MINE,
    clash_sentence,
    conflict_document,
    conflict_rows,
)
from pixirnb.views.files.diff import PatchEntry, entry_blocks
from pixirnb.wording import join_names

PREVIEWED: Final = 400
"""Lines of a preview's patch that are shown."""
ROWS: Final = 40
"""Lines of a text in conflict that are shown, of each file."""
_FILES: Final = 20
_EDITED: Final = (
    "These files were changed after the merge: fix them in your folder, then undo the merge again."
    " Files that you edit now stay as they are."
)

_MARKS: Final[Mapping[str, Mark]] = {
    "merged": Mark("checkpoint_ready", "merged", "✓", "ready"),
    "undone": Mark("checkpoint_ready", "undone", "↺", "ready"),
    "clean": Mark("planned", "can be merged", "○", "idle"),
    "nothing": Mark("planned", "nothing to merge", "=", "idle"),
    "conflict": Mark("needs_orchestrator", "conflict", "◆", "ask"),
}
_UNDOABLE: Final = Mark("planned", "can be undone", "○", "idle")
_PREVIEWED: Final = Mark("needs_orchestrator", "would conflict", "◆", "ask")


def merge_mark(document: MergeDocument) -> Mark:
    """Return how a merge's report looks."""
    if document.get("status") == "conflict" and document.get("preview"):
        return _PREVIEWED
    if document.get("status") == "clean" and document.get("undoes"):
        return _UNDOABLE
    known = _MARKS.get(str(document.get("status")))
    return known or Mark("unknown", line(document.get("status"), 40) or "unknown", "?", "idle")


def merge_sentence(document: MergeDocument) -> str:
    """Return the changes brought and their target, in one sentence."""
    steps = _listed(document.get("steps") or [])
    changes = document.get("changes") or no_changes()
    sentence = changes_phrase(changes) + _leading_out(changes)
    match document.get("status"):
        case "merged":
            name = f" as {line(document['merge'], 20)}" if document.get("merge") else ""
            return f"Merged the changes of {steps} into your files{name}: {sentence}."
        case "undone":
            return f"Undid merge {line(document.get('undoes'), 20)}: {sentence}."
        case "clean" if document.get("undoes"):
            return (
                f"Would undo merge {line(document['undoes'], 20)}: {sentence}. Nothing was changed."
            )
        case "clean":
            return f"Would merge the changes of {steps} into your files: {sentence}. Nothing was changed."
        case "nothing":
            return "Nothing to merge: no ready step has unmerged changes."
        case "conflict":
            files = document.get("conflicts") or []
            sentence = clash_sentence(document.get("between") or [], files, len(files))
            return f"{sentence} Nothing was changed."
        case _:
            return ""


def next_steps(document: MergeDocument, command: str) -> list[tuple[str, str]]:
    """Return the next commands, and what each does."""
    named = "".join(f" {line(step, 80)}" for step in document.get("steps") or [])
    base = f"{command} merge {line(document.get('run_id'), 60)}"
    match document.get("status"):
        case "merged":
            return [(f"{base} --undo", "undo the merge")]
        case "conflict" if document.get("undoes"):
            return [(f"{base} --undo", "after you have fixed the files in your folder")]
        case "conflict":
            others = [line(side, 80) for side in document.get("between") or [] if side != MINE]
            return [
                (base + named, "after you have fixed the files in your folder"),
                (f"{base}{named} --side {MINE}", "keep your version"),
                *(
                    (
                        f"{base}{named} --side {other}",
                        f"take the version of {other}; PATH={other} for one file",
                    )
                    for other in others or ["STEP"]
                ),
            ]
        case _:
            return []


def merge_blocks(document: MergeDocument, *, command: str = "%pixir") -> list[Block]:
    """Return a merge's report. `command` is how the reader calls the verbs."""
    changes = document.get("changes") or no_changes()
    brought = entry_blocks(_entry(changes, document), PREVIEWED)[0] if changes.get("files") else []
    conflicts = document.get("conflicts") or []
    more = len(conflicts) - _FILES
    aside = _aside(document)
    steps = [(Code(cell, 300), what) for cell, what in next_steps(document, command)]
    return [
        Heading(merge_mark(document), run_id=document.get("run_id")),
        Paragraph(merge_sentence(document)),
        *brought,
        *map(_conflict, conflicts[:_FILES]),
        Paragraph(f"and {plural(more, 'file')} more" if more > 0 else "", "mute"),
        Paragraph(aside, is_apart=bool(aside)),
        *next_blocks(steps),
    ]


def _entry(changes: SomeChanges, document: MergeDocument) -> PatchEntry:
    previewed = cast("PreviewedChanges", changes)
    return {
        "run_id": document.get("run_id"),
        "changes": changes,
        "patch_text": previewed.get("patch_text"),
        "patch_cut": previewed.get("patch_cut"),
    }


def _aside(document: MergeDocument) -> str:
    parts = []
    if unmatched := document.get("unmatched"):
        parts.append(f"No conflict in {_listed(unmatched)}: the chosen version has no effect.")
    if document.get("status") == "clean":
        parts.append("Run it without --preview to merge.")
    if document.get("status") == "conflict" and document.get("undoes"):
        parts.append(_EDITED)
    return " ".join(parts)


def _conflict(conflict: ReportedConflict) -> Section:
    shown = conflict_document(conflict, conflict.get("marked_text"))
    return Section(f"{shown['path']}: {shown['words']}", [PatchLines(conflict_rows(shown, ROWS))])


def _leading_out(changes: SomeChanges) -> str:
    links = changes.get("leads_out")
    if not links or not links["paths"]:
        return ""
    return f"; with links that point outside of your folders: {_listed(links['paths'])}"


def _listed(steps: Sequence[object]) -> str:
    return join_names(steps, 6, lambda step: spell_out(str(step), 80), group=",") or "no step"
