"""What steps changed, as a diff to read: text for terminals, with colours where they are wanted, and HTML.

    Diff(document)      what `Run.diff` returns: it shows itself, and is data (`document()`)

Contents of files are data: escape sequences in them are named and not obeyed, nothing becomes markup. Long patches are cut and
say so; the blob has the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypedDict

from pixirnb.views.basics.html_cards import card, table
from pixirnb.views.basics.markup import code, prose, text, verbatim
from pixirnb.views.basics.sanitize import line, plural, spell_out
from pixirnb.views.basics.status_marks import count_mark
from pixirnb.views.basics.text_table import ROWS
from pixirnb.views.basics.text_table import table as lined
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

_PAINT: Final[Mapping[str, str]] = {
    "added": "\x1b[32m",
    "deleted": "\x1b[31m",
    "remark": "\x1b[2m",
    "hunk": "\x1b[36m",
    "head": "\x1b[1m",
}
_SIGN: Final[Mapping[str, str]] = {"both": " ", "added": "+", "deleted": "-", "remark": "\\"}


class PatchEntry(TypedDict):
    """Changes of a run, and their patch as far as it can be shown."""

    run_id: str | None
    changes: SomeChanges
    patch_text: str | None
    patch_cut: int | None
    """Bytes that are left out."""


class Diff:
    """What steps of a run changed. `print` it, or let a cell show it."""

    def __init__(self, document: DiffDocument) -> None:
        """`document` is that of `views.files.changes.diff_document`."""
        self._document = document.copy()

    def document(self) -> DiffDocument:
        """Its JSON, as `diff --json` prints it."""
        return self._document

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": diff_text(self._document), "text/html": diff_html(self._document)}

    def __str__(self) -> str:
        return diff_text(self._document)

    def __repr__(self) -> str:
        files = sum(count_of(each["changes"]) for each in self._document["changes"])
        return f"<Diff {self._document['run_id']}: {plural(files, 'file')}>"


def diff_text(document: DiffDocument, *, is_painted: bool = False) -> str:
    """A diff document for a terminal; escape sequences only with `is_painted`, and only ours."""
    rows: list[str] = []
    room = LINES
    for entry in document.get("changes") or []:
        if rows:
            rows.append("")
        rows.append(_painted(_headline(entry), "head", is_painted=is_painted))
        rows += [f"  {each}" for each in _asides(entry)]
        shown, room = entry_lines(_of_run(entry, document), room, is_painted=is_painted)
        rows += shown
    if not rows:
        rows.append(line(document.get("sentence") or "No changes."))
    if merges := document.get("merges"):
        rows += ["", "merges"]
        rows += lined(["", "", "", ""], [_merge_row(each) for each in merges], widest=80)
    return "\n".join(rows)


def diff_html(document: DiffDocument) -> str:
    """A diff document for a notebook: a card, each file folded."""
    parts: list[str] = []
    room = LINES
    for entry in document.get("changes") or []:
        parts.append(f"<h4>{text(_headline(entry), 400)}</h4>")
        parts += [f'<p class="pixirnb-mute">{prose(each)}</p>' for each in _asides(entry)]
        shown, room = entry_html(_of_run(entry, document), room)
        parts.append(shown)
    if not parts:
        parts.append(f"<p>{prose(document.get('sentence') or 'No changes.')}</p>")
    if merges := document.get("merges"):
        rows = [
            [code(merge.get("merge"), 20), *map(text, _merge_row(merge)[1:])] for merge in merges
        ]
        parts.append(f"<h4>Merges</h4>{table(['', '', '', ''], rows)}")
    return card(*parts)


def _of_run(entry: ChangeEntry, document: DiffDocument) -> PatchEntry:
    return {
        "run_id": document["run_id"],
        "changes": entry["changes"],
        "patch_text": entry.get("patch_text"),
        "patch_cut": entry.get("patch_cut"),
    }


def change_sign(file: PatchedFile) -> str:
    """One letter for what became of a file."""
    return {"added": "A", "deleted": "D"}.get(file.change, "M")


def _headline(entry: ChangeEntry) -> str:
    name = line(entry.get("step") or entry.get("merge") or "", 80)
    told = [name, changes_phrase(entry["changes"])]
    if entry.get("merge") is not None:
        told.append(f"merged as {line(entry['merge'], 20)}" if entry.get("step") else "a merge")
    elif entry.get("merged_by") is not None:
        told.append(f"merged by {line(entry['merged_by'], 20)}")
    elif entry.get("is_mergeable"):
        told.append("not merged")
    elif entry.get("checkpoint_status") != "checkpoint_ready":
        status = entry.get("checkpoint_status")
        told.append(f"not ready: {count_mark(status).word if status else 'under way'}")
    return " · ".join(part for part in told if part)


def _asides(entry: ChangeEntry) -> Iterator[str]:
    built_on = entry.get("built_on") or []
    if built_on:
        word = "Brought" if entry.get("merge") is not None else "Began with"
        yield f"{word} the changes of {_named(built_on, len(built_on))}."
    if links := entry["changes"].get("leads_out"):
        yield f"Links that lead out of your folders: {_named(links['paths'], links['count'])}."
    if outside := entry.get("outside"):
        yield f"Outside its write_set: {_named(outside['paths'], outside['count'])}."
    if behind := entry.get("left_behind"):
        told = "Changed, but left behind (ignored files and secrets go nowhere): "
        yield told + f"{_named(behind['paths'], behind['count'])}."


def _named(paths: Sequence[object], count: int) -> str:
    return join_names(
        paths, _LISTED, lambda path: f"`{spell_out(str(path), _PATH)}`", count=count, group=","
    )


def entry_lines(entry: PatchEntry, room: int, *, is_painted: bool) -> tuple[list[str], int]:
    """The files of an entry and its patch, and the lines of `room` that are left."""
    changes = entry["changes"]
    files = changes.get("files") or []
    rows = lined(
        ["", "", "", ""], [stat_row(file) for file in files], widest=_PATH, most=len(files)
    )
    hidden = count_of(changes) - len(files)
    if hidden > 0:
        rows.append(f"  {_hidden(hidden, entry)}")
    shown = entry["patch_text"]
    if shown is None:
        return rows, room
    patch = rename_files(parse_patch(shown, lines=max(room, 0)), changes)
    for file in patch.files:
        rows += ["", _painted(_file_head(file), "head", is_painted=is_painted)]
        for hunk in file.hunks:
            rows.append(_painted(_hunk_head(hunk), "hunk", is_painted=is_painted))
            rows += [
                _painted(_SIGN[each.kind] + spell_out(each.text), each.kind, is_painted=is_painted)
                for each in hunk.lines
            ]
            room -= len(hunk.lines)
    if left := _left_out(entry, patch.cut, patch.files_cut, is_cut=patch.is_cut):
        rows += ["", left]
    return rows, room


def entry_html(entry: PatchEntry, room: int) -> tuple[str, int]:
    """The same as markup, each file folded."""
    changes = entry["changes"]
    files = changes.get("files") or []
    shown = entry["patch_text"]
    if shown is None:
        rows = [[text(cell, _PATH + 20) for cell in stat_row(file)] for file in files[:ROWS]]
        hidden = count_of(changes) - len(rows)
        more = f'<p class="pixirnb-mute">{prose(_hidden(hidden, entry))}</p>' if hidden > 0 else ""
        return table(["", "", "", ""], rows) + more, room
    patch = rename_files(parse_patch(shown, lines=max(room, 0)), changes)
    parts = []
    for file in patch.files:
        body = "".join(_hunk_html(hunk) for hunk in file.hunks)
        counts = "" if file.is_binary else f"  +{file.added:,} -{file.deleted:,}"
        head = text(_file_head(file) + counts, _PATH + 80)
        parts.append(
            f"<details><summary>{head}</summary><pre>{body}</pre></details>"
            if body
            else f"<p>{head}</p>"
        )
        room -= sum(len(hunk.lines) for hunk in file.hunks)
    if left := _left_out(entry, patch.cut, patch.files_cut, is_cut=patch.is_cut):
        parts.append(f'<p class="pixirnb-mute">{text(left, 400)}</p>')
    return "".join(parts), room


_TONES: Final[Mapping[str, str]] = {"added": "ready", "deleted": "bad"}


def _hunk_html(hunk: Hunk) -> str:
    rows = [f'<span class="pixirnb-mute">{verbatim(_hunk_head(hunk))}</span>\n']
    for each in hunk.lines:
        told = verbatim(_SIGN[each.kind] + spell_out(each.text))
        tone = _TONES.get(each.kind, "mute" if each.kind == "remark" else "")
        rows.append(f'<span class="pixirnb-{tone}">{told}</span>\n' if tone else f"{told}\n")
    return "".join(rows)


def _file_head(file: PatchedFile) -> str:
    told = f"{change_sign(file)} {spell_out(file.path, _PATH)}"
    if file.is_binary:
        return f"{told}: not text"
    before, after = file.modes
    if file.change == "modified" and before and after and before != after:
        told += f" ({mode_phrase(file.modes)})"
    elif file.change == "added" and after in {"100755", "120000"}:
        told += f" ({MODES[after]})"
    return told if file.hunks or file.cut else f"{told}, no lines"


def hunk_words(hunk: Hunk) -> str:
    """`line 12, below “def f():”`: where a hunk begins, told so that it does not look like a line of the file."""
    about = f", below “{spell_out(hunk.about, 80)}”" if hunk.about else ""
    return f"line {hunk.new or hunk.old:,}{about}"


def _hunk_head(hunk: Hunk) -> str:
    return f"── {hunk_words(hunk)} ──"


def _left_out(entry: PatchEntry, cut: int, files: int, *, is_cut: bool) -> str:
    more = entry.get("patch_cut") or 0
    told = [plural(cut, "line")] if cut else []
    told += [plural(files, "file")] if files else []
    if more or is_cut:
        told.append(f"{more:,} bytes" if more else "what follows")
    if not told:
        return ""
    blob = entry["changes"].get("patch")
    where = f" The whole patch is blob {line(blob, 80)}." if blob else ""
    return f"Not shown: {', '.join(told)}.{where}"


def _hidden(count: int, entry: PatchEntry) -> str:
    run_id = line(entry.get("run_id") or "RUN", 60)
    return (
        f"and {plural(count, 'file')} more: `pixirnb diff {run_id} --stat` in a terminal lists all"
    )


def _merge_row(merge: MergeEntry) -> list[str]:
    steps = ", ".join(line(step, 80) for step in merge.get("steps") or [])
    undone = "taken back" if merge.get("undone") else ""
    what = f"takes back {line(merge['undoes'], 20)}" if merge.get("undoes") else steps
    by = line(merge.get("step") or merge.get("by") or "", 80)
    return [line(merge.get("merge"), 20), what, f"by {by}", undone]


def _painted(words: str, what: str, *, is_painted: bool) -> str:
    paint = _PAINT.get(what) if is_painted else None
    return words if paint is None else f"{paint}{words}\x1b[0m"
