"""What a merge came to, in words: what was brought where, or which files are in conflict and what to do about it.

merge_text(document) | merge_html(document)      of `machine.merges.MergeReport.document()`
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from pixirnb.history.bundles import no_changes
from pixirnb.machine.merge_requests import MergeDocument, PreviewedChanges, ReportedConflict
from pixirnb.views.basics import html_cards
from pixirnb.views.basics.markup import code, text, verbatim
from pixirnb.views.basics.sanitize import line, plural, spell_out
from pixirnb.views.basics.status_marks import Mark
from pixirnb.views.basics.text_table import table
from pixirnb.views.files.changes import SomeChanges, changes_phrase
from pixirnb.views.files.conflicts import (
    MINE,
    clash_sentence,
    conflict_document,
    conflict_rows,
)
from pixirnb.views.files.diff import PatchEntry, entry_html, entry_lines
from pixirnb.wording import join_names

PREVIEWED: Final = 400
"""Lines of a preview's patch that are shown."""
ROWS: Final = 40
"""Lines of a text in conflict that are shown, of each file."""
_FILES: Final = 20
_EDITED: Final = (
    "These files were changed since they were merged: put them right in your own folder, then take it back."
    " A file that you have edited since this was told stays as you left it."
)

_MARKS: Final[Mapping[str, Mark]] = {
    "merged": Mark("checkpoint_ready", "merged", "✓", "ready"),
    "undone": Mark("checkpoint_ready", "taken back", "↺", "ready"),
    "clean": Mark("planned", "can be merged", "○", "idle"),
    "nothing": Mark("planned", "nothing to merge", "=", "idle"),
    "conflict": Mark("needs_orchestrator", "conflict", "◆", "ask"),
}
_UNDOABLE: Final = Mark("planned", "can be taken back", "○", "idle")
_PREVIEWED: Final = Mark("needs_orchestrator", "would conflict", "◆", "ask")


def merge_mark(document: MergeDocument) -> Mark:
    """How a merge's report looks."""
    if document.get("status") == "conflict" and document.get("preview"):
        return _PREVIEWED
    if document.get("status") == "clean" and document.get("undoes"):
        return _UNDOABLE
    known = _MARKS.get(str(document.get("status")))
    return known or Mark("unknown", line(document.get("status"), 40) or "unknown", "?", "idle")


def merge_sentence(document: MergeDocument) -> str:
    """What was brought where, in one sentence."""
    steps = _listed(document.get("steps") or [])
    changes = document.get("changes") or no_changes()
    told = changes_phrase(changes) + _leading_out(changes)
    match document.get("status"):
        case "merged":
            name = f" as {line(document['merge'], 20)}" if document.get("merge") else ""
            return f"Brought the changes of {steps} into your files{name}: {told}."
        case "undone":
            return f"Took {line(document.get('undoes'), 20)} back out of your files: {told}."
        case "clean" if document.get("undoes"):
            return f"Would take {line(document['undoes'], 20)} back out of your files: {told}. Nothing was changed."
        case "clean":
            return (
                f"Would bring the changes of {steps} into your files: {told}. Nothing was changed."
            )
        case "nothing":
            return "There is nothing to merge: no step that is ready has changes that are not merged yet."
        case "conflict":
            files = document.get("conflicts") or []
            told = clash_sentence(document.get("between") or [], files, len(files))
            return f"{told} Nothing was changed."
        case _:
            return ""


def next_steps(document: MergeDocument, command: str) -> list[tuple[str, str]]:
    """What to do next: commands, and what each does."""
    named = "".join(f" {line(step, 80)}" for step in document.get("steps") or [])
    base = f"{command} merge {line(document.get('run_id'), 60)}"
    match document.get("status"):
        case "merged":
            return [(f"{base} --undo", "takes it back")]
        case "conflict" if document.get("undoes"):
            return [(f"{base} --undo", "once you have put the files right in your own folder")]
        case "conflict":
            others = [line(side, 80) for side in document.get("between") or [] if side != MINE]
            other = others[-1] if others else "STEP"
            return [
                (base + named, "once you have put the files right in your own folder"),
                (f"{base}{named} --side {MINE}", "keeps your version"),
                (
                    f"{base}{named} --side {other}",
                    f"takes that of {other}; PATH={other}: of one file",
                ),
            ]
        case _:
            return []


def merge_text(document: MergeDocument, *, command: str = "%pixir") -> str:
    """A merge's report for a terminal."""
    mark = merge_mark(document)
    lines = [f"{mark.symbol} {mark.word} · {line(document.get('run_id'), 60)}"]
    lines.append(f"  {merge_sentence(document)}")
    changes = document.get("changes") or no_changes()
    if changes.get("files"):
        entry = _entry(changes, document)
        lines += ["", *entry_lines(entry, PREVIEWED, is_painted=False)[0]]
    conflicts = document.get("conflicts") or []
    for conflict in conflicts[:_FILES]:
        shown = conflict_document(conflict, conflict.get("marked_text"))
        lines += ["", f"  {shown['path']}: {shown['words']}"]
        lines += [f"  {row}" for row in conflict_rows(shown, ROWS)]
    if len(conflicts) > _FILES:
        lines.append(f"  and {plural(len(conflicts) - _FILES, 'file')} more")
    if aside := _aside(document):
        lines += ["", f"  {aside}"]
    if steps := next_steps(document, command):
        lines += ["", "  next"]
        lines += table(["", ""], [list(step) for step in steps], indent="    ", widest=200)
    return "\n".join(lines)


def merge_html(document: MergeDocument) -> str:
    """A merge's report for a notebook."""
    changes = document.get("changes") or no_changes()
    entry = _entry(changes, document)
    brought = entry_html(entry, PREVIEWED)[0] if changes.get("files") else ""
    conflicts = document.get("conflicts") or []
    told = "".join(_conflict_html(conflict) for conflict in conflicts[:_FILES])
    more = len(conflicts) - _FILES
    steps = "".join(
        f"<li>{code(cell, 300)} {text(what)}</li>" for cell, what in next_steps(document, "%pixir")
    )
    return html_cards.card(
        html_cards.top(merge_mark(document), "merge", run_id=document.get("run_id")),
        f"<p>{text(merge_sentence(document), 600)}</p>",
        brought,
        told,
        f'<p class="pixirnb-mute">and {plural(more, "file")} more</p>' if more > 0 else "",
        f"<p>{text(_aside(document))}</p>" if _aside(document) else "",
        f"<h4>Next</h4><ul>{steps}</ul>" if steps else "",
    )


def _entry(changes: SomeChanges, document: MergeDocument) -> PatchEntry:
    told = cast("PreviewedChanges", changes)
    return {
        "run_id": document.get("run_id"),
        "changes": changes,
        "patch_text": told.get("patch_text"),
        "patch_cut": told.get("patch_cut"),
    }


def _aside(document: MergeDocument) -> str:
    told = []
    if unmatched := document.get("unmatched"):
        are = "is" if len(unmatched) == 1 else "are"
        told.append(
            f"A side was named for {_listed(unmatched)}, which {are} not among the files in conflict."
        )
    if document.get("status") == "clean":
        told.append("The same without --preview does it.")
    if document.get("status") == "conflict" and document.get("undoes"):
        told.append(_EDITED)
    return " ".join(told)


def _conflict_html(conflict: ReportedConflict) -> str:
    shown = conflict_document(conflict, conflict.get("marked_text"))
    head = (
        f"<h4>{text(shown['path'], 320)}</h4>"
        f'<p class="pixirnb-mute">{text(shown["words"], 400)}.</p>'
    )
    if not shown["pieces"]:
        return head
    names = [side["words"] for side in shown["sides"]] or ["one side", "the other"]
    rows = []
    for piece in shown["pieces"]:
        if "both" in piece:
            rows.append([_lines(piece["both"])] * 2)
        else:
            rows.append([f"<b>{_lines(piece['ours'])}</b>", f"<b>{_lines(piece['theirs'])}</b>"])
    cut = '<p class="pixirnb-mute">The rest is not shown.</p>' if shown["cut"] else ""
    return head + html_cards.table([names[0], names[-1]], rows) + cut


def _lines(rows: Sequence[str]) -> str:
    return f"<pre>{chr(10).join(verbatim(row) for row in rows)}</pre>"


def _leading_out(changes: SomeChanges) -> str:
    links = changes.get("leads_out")
    if not links or not links["paths"]:
        return ""
    return f"; with links that lead out of your folders: {_listed(links['paths'])}"


def _listed(steps: Sequence[object]) -> str:
    return join_names(steps, 6, lambda step: spell_out(str(step), 80), group=",") or "no step"
