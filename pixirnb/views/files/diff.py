"""Changes of steps, as a diff to read.

    Diff(document)      what `Run.diff` returns: it shows itself, and is data (`document()`)

Contents of files are data: escape sequences in them are named and not obeyed, nothing becomes markup. Long patches are cut and
say so; the blob has the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypedDict

from pixirnb.views.basics.sanitize import line, plural, spell_out
from pixirnb.views.basics.status_marks import count_mark
from pixirnb.views.blocks.html_renderer import mimebundle
from pixirnb.views.blocks.model import (
    Block,
    Code,
    Details,
    LineKind,
    Paragraph,
    PatchLines,
    Phrase,
    Section,
    Table,
)
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.files.changes import (
    MODES,
    ChangeEntry,
    DiffDocument,
    MergeEntry,
    SomeChanges,
    changes_phrase,
    count_of,
    mode_phrase,
    stat_row,
)
from pixirnb.views.files.patch_parser import Hunk, PatchedFile, parse_patch, rename_files
from pixirnb.wording import join_names

LINES: Final = 1_000
"""Lines of patches that are shown at once."""
_LISTED: Final = 20
_PATH: Final = 200

_SIGN: Final[Mapping[str, str]] = {"both": " ", "added": "+", "deleted": "-", "remark": "\\"}


class PatchEntry(TypedDict):
    """Changes of a run, and their patch as far as it can be shown."""

    run_id: str | None
    changes: SomeChanges
    patch_text: str | None
    patch_cut: int | None
    """Bytes that are left out."""


class Diff:
    """Changes of steps of a run. `print` it, or let a cell show it."""

    def __init__(self, document: DiffDocument) -> None:
        """`document` is that of `views.files.changes.diff_document`."""
        self._document = document.copy()

    def document(self) -> DiffDocument:
        """Return its JSON, as `diff --json` prints it."""
        return self._document

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return mimebundle(diff_blocks(self._document))

    def __str__(self) -> str:
        return draw_text(diff_blocks(self._document))

    def __repr__(self) -> str:
        files = sum(count_of(each["changes"]) for each in self._document["changes"])
        return f"<Diff {self._document['run_id']}: {plural(files, 'file')}>"


def diff_blocks(document: DiffDocument) -> list[Block]:
    """Return what steps changed: each file with its patch, then the merges."""
    blocks: list[Block] = []
    room = LINES
    for entry in document.get("changes") or []:
        asides = [Paragraph(each, "mute") for each in _asides(entry)]
        shown, room = entry_blocks(_of_run(entry, document), room)
        blocks.append(Section(_headline(entry), [*asides, *shown]))
    if not blocks:
        blocks.append(Paragraph(document.get("sentence") or "No changes."))
    if merges := document.get("merges"):
        rows = [_merge_row(merge) for merge in merges]
        blocks.append(Section("merges", [Table(("", "", "", ""), rows, widest=80)]))
    return blocks


def _of_run(entry: ChangeEntry, document: DiffDocument) -> PatchEntry:
    return {
        "run_id": document["run_id"],
        "changes": entry["changes"],
        "patch_text": entry.get("patch_text"),
        "patch_cut": entry.get("patch_cut"),
    }


def change_sign(file: PatchedFile) -> str:
    """Return one letter for what became of a file."""
    return {"added": "A", "deleted": "D"}.get(file.change, "M")


def _headline(entry: ChangeEntry) -> str:
    name = line(entry.get("step") or entry.get("merge") or "", 80)
    parts = [name, changes_phrase(entry["changes"])]
    if entry.get("merge") is not None:
        parts.append(f"merged as {line(entry['merge'], 20)}" if entry.get("step") else "a merge")
    elif entry.get("merged_by") is not None:
        parts.append(f"merged by {line(entry['merged_by'], 20)}")
    elif entry.get("is_mergeable"):
        parts.append("not merged")
    elif entry.get("checkpoint_status") != "checkpoint_ready":
        status = entry.get("checkpoint_status")
        parts.append(f"not ready: {count_mark(status).word if status else 'under way'}")
    return " · ".join(part for part in parts if part)


def _asides(entry: ChangeEntry) -> Iterator[str]:
    built_on = entry.get("built_on") or []
    if built_on:
        word = "Brought" if entry.get("merge") is not None else "Began with"
        yield f"{word} the changes of {_named(built_on, len(built_on))}."
    if links := entry["changes"].get("leads_out"):
        yield f"Links that point outside of your folders: {_named(links['paths'], links['count'])}."
    if outside := entry.get("outside"):
        yield f"Outside its write_set: {_named(outside['paths'], outside['count'])}."
    if behind := entry.get("left_behind"):
        intro = "Changed, but left behind (ignored files and secrets are never merged): "
        yield intro + f"{_named(behind['paths'], behind['count'])}."


def _named(paths: Sequence[object], count: int) -> str:
    return join_names(
        paths, _LISTED, lambda path: f"`{spell_out(str(path), _PATH)}`", count=count, group=","
    )


def entry_blocks(entry: PatchEntry, room: int) -> tuple[list[Block], int]:
    """Return the files of an entry and its patch, and the lines of `room` that are left."""
    changes = entry["changes"]
    files = changes.get("files") or []
    hidden = count_of(changes) - len(files)
    rows = [tuple(stat_row(file)) for file in files]
    blocks: list[Block] = [
        Table(("", "", "", ""), rows, widest=_PATH, limit=len(rows)),
        Paragraph(_hidden(hidden, entry) if hidden > 0 else "", "mute"),
    ]
    shown = entry["patch_text"]
    if shown is None:
        return blocks, room
    patch = rename_files(parse_patch(shown, lines=max(room, 0)), changes)
    for file in patch.files:
        lines = [row for hunk in file.hunks for row in _hunk_rows(hunk)]
        counts = "" if file.is_binary else f"  +{file.added:,} -{file.deleted:,}"
        head: list[tuple[LineKind, str]] = [("head", _file_head(file))]
        blocks.append(
            Details(
                _file_head(file) + counts,
                [PatchLines(lines)] if lines else [],
                instead=[
                    Paragraph("", is_apart=True),
                    PatchLines([*head, *lines], is_at_margin=True),
                ],
            )
        )
        room -= sum(len(hunk.lines) for hunk in file.hunks)
    left = _left_out(entry, patch.cut, patch.files_cut, is_cut=patch.is_cut)
    return [*blocks, Paragraph(left, "mute", is_apart=bool(left))], room


def _hunk_rows(hunk: Hunk) -> list[tuple[LineKind, str]]:
    return [
        ("hunk", f"── {hunk_words(hunk)} ──"),
        *((each.kind, _SIGN[each.kind] + spell_out(each.text)) for each in hunk.lines),
    ]


def _file_head(file: PatchedFile) -> str:
    head = f"{change_sign(file)} {spell_out(file.path, _PATH)}"
    if file.is_binary:
        return f"{head}: not text"
    before, after = file.modes
    if file.change == "modified" and before and after and before != after:
        head += f" ({mode_phrase(file.modes)})"
    elif file.change == "added" and after in {"100755", "120000"}:
        head += f" ({MODES[after]})"
    return head if file.hunks or file.cut else f"{head}, no lines"


def hunk_words(hunk: Hunk) -> str:
    """Return `line 12, below “def f():”`: the beginning of a hunk, unlike any line of the file."""
    about = f", below “{spell_out(hunk.about, 80)}”" if hunk.about else ""
    return f"line {hunk.new or hunk.old:,}{about}"


def _left_out(entry: PatchEntry, cut: int, files: int, *, is_cut: bool) -> str:
    more = entry.get("patch_cut") or 0
    parts = [plural(cut, "line")] if cut else []
    parts += [plural(files, "file")] if files else []
    if more or is_cut:
        parts.append(f"{more:,} bytes" if more else "what follows")
    if not parts:
        return ""
    blob = entry["changes"].get("patch")
    where = f" The whole patch is blob {line(blob, 80)}." if blob else ""
    return f"Not shown: {', '.join(parts)}.{where}"


def _hidden(count: int, entry: PatchEntry) -> str:
    run_id = line(entry.get("run_id") or "RUN", 60)
    return (
        f"and {plural(count, 'file')} more: `pixirnb diff {run_id} --stat` in a terminal lists all"
    )


def _merge_row(merge: MergeEntry) -> tuple[Phrase, ...]:
    steps = ", ".join(line(step, 80) for step in merge.get("steps") or [])
    undone = "undone" if merge.get("undone") else ""
    what = f"undoes {line(merge['undoes'], 20)}" if merge.get("undoes") else steps
    by = line(merge.get("step") or merge.get("by") or "", 80)
    return Code(merge.get("merge"), 20), what, f"by {by}", undone
