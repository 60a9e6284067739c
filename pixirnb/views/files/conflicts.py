"""Conflicts as people see them: who changed a file in different ways, and both sides of its text.

    pieces(marked) ──▶ [TextRun(both) | TextRun(ours, theirs)]       a text with conflict markers, taken apart
    conflict_document(conflict, marked)                          a ConflictedFile, for any view

Markers are looked for as merges write them; a text that has none is all one piece. Total: any text is some pieces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict

from msgspec import Struct, field

from pixirnb.history.conflict_hunks import parts_of
from pixirnb.history.file_events import CONFLICT, ConflictedFile, ConflictSide
from pixirnb.history.step_state import StepState
from pixirnb.machine.merge_requests import ReportedConflict
from pixirnb.views.basics.sanitize import line, plural, spell_out
from pixirnb.views.blocks.model import LineKind

MINE: Final = "workspace"
"""The side of the user's own files."""
TEXT_ROOM: Final = 64 * 1024
"""Characters of a marked text that are shown."""
CONTEXT: Final = 3
"""Lines that both sides share, before and after a place where they do not."""
_PATH: Final = 300
_WIDTH: Final = 500

_MODES: Final[Mapping[str, str]] = {"120000": "a link", "100755": "executable"}
_KINDS: Final[Mapping[str, str]] = {
    "content": "both changed the same lines",
    "both_added": "both created it",
    "changed_and_deleted": "one changed it, the other deleted it",
    "not_text": "both changed it, and it is binary",
    "kind": "a file in one version, a folder or a link in the other",
}


class TextRun(Struct, frozen=True):
    """A run of lines: the same on both sides, or not."""

    both: tuple[str, ...] = ()
    ours: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
    is_clash: bool = False


class _Reading(Struct):
    """Position of a reader of markers."""

    side: str = "both"
    rows: dict[str, list[str]] = field(
        default_factory=lambda: {"ours": [], "base": [], "theirs": []}
    )

    def clash(self) -> TextRun:
        """Return the piece that ends here."""
        made = TextRun(
            ours=tuple(self.rows["ours"]), theirs=tuple(self.rows["theirs"]), is_clash=True
        )
        self.side, self.rows = "both", {"ours": [], "base": [], "theirs": []}
        return made


def pieces(marked: str) -> list[TextRun]:
    """Take a text with conflict markers apart. What is no marker in its place is a line like any other."""
    runs: list[TextRun] = []
    both: list[str] = []
    reading = _Reading()
    rows = marked.split("\n")
    for row in rows[:-1] if rows[-1] == "" else rows:
        bare = row.removesuffix("\r")
        if reading.side == "both":
            if not _is_marker(bare, "<"):
                both.append(row)
                continue
            if both:
                runs.append(TextRun(both=tuple(both)))
                both = []
            reading.side = "ours"
        elif reading.side == "ours" and _is_marker(bare, "|"):
            reading.side = "base"
        elif reading.side in {"ours", "base"} and bare == "=======":
            reading.side = "theirs"
        elif reading.side == "theirs" and _is_marker(bare, ">"):
            runs.append(reading.clash())
        else:
            reading.rows[reading.side].append(row)
    if reading.side != "both":
        runs.append(reading.clash())  # cut off in the middle
    if both:
        runs.append(TextRun(both=tuple(both)))
    return runs


def kind_phrase(kind: Any) -> str:
    """Return why a file is in conflict, in words."""
    return _KINDS.get(kind) or line(kind, 60).replace("_", " ") if isinstance(kind, str) else ""


def side_name(name: Any) -> str:
    """Return the name of a side: `your files`, or the step's id."""
    return "your files" if name == MINE else line(name, 80)


Conflict = ConflictedFile | ReportedConflict


class SideName(TypedDict):
    """A side of a conflict, and what it is called."""

    name: str
    words: str


class ShownConflict(TypedDict):
    """A file in conflict as views show it."""

    path: str
    value: str
    """The path as it is."""
    kind: str
    words: str
    sides: list[SideName]
    pieces: list[dict[str, list[str]]]
    """`both`, or `ours` and `theirs`: lines."""
    cut: int
    """Characters that are not shown."""
    of: str | None
    """Digest of the text whose hunks can be chosen one by one; None where only a whole file can."""


def clash_sentence(between: Sequence[Any], files: Sequence[Conflict], count: int) -> str:
    """Return `Your files and types changed src/a.py in different ways.`; of several files their number."""
    names = " and ".join(side_name(side) for side in between)
    who = f"Your{names[4:]}" if names.startswith("your ") else names or "Two versions"
    path = spell_out(str(files[0].get("path") or ""), 120) if count == 1 and files else ""
    return f"{who} changed {path or plural(count, 'file')} in different ways."


def sides_phrase(conflict: Conflict) -> str:
    """Return `your files: 1,204 bytes · types: not there`; empty if that adds no information."""
    stands = [(side_name(side.get("name")), _stands(side)) for side in _sides(conflict)]
    if len({what for _, what in stands}) == 1 and not any(
        isinstance(side.get("bytes"), int) for side in _sides(conflict)
    ):
        return ""  # the same on both sides, and nothing to say of it
    return " · ".join(f"{name}: {what}" for name, what in stands)


def conflict_document(conflict: Conflict, marked: str | None) -> ShownConflict:
    """Return one file in conflict for a view; texts cleaned."""
    shown = (marked or "")[:TEXT_ROOM]
    cut = len(marked or "") - len(shown)
    return {
        "path": spell_out(str(conflict.get("path") or ""), _PATH),
        "value": str(conflict.get("path") or ""),
        "kind": line(conflict.get("kind"), 40),
        "words": ". ".join(
            part for part in (kind_phrase(conflict.get("kind")), sides_phrase(conflict)) if part
        ),
        "sides": [
            {
                "name": line(side.get("name"), 80),
                "words": side_name(side.get("name")),
            }
            for side in _sides(conflict)
        ],
        "pieces": [] if marked is None else _shown(pieces(shown)),
        "cut": max(0, cut),
        "of": conflict.get("marked")
        if marked and not cut and parts_of(marked.encode(errors="replace"))
        else None,
    }


def conflict_rows(document: ShownConflict, room: int) -> list[tuple[LineKind, str]]:
    """Return both sides of one file as lines, at most `room` of them and one that counts the others."""
    names = [side["words"] for side in document["sides"]] or ["one version", "the other"]
    rows: list[tuple[LineKind, str]] = []
    for piece in document["pieces"]:
        if "both" in piece:
            rows += [("both", f"  {row}") for row in piece["both"]]
            continue
        for name, key in zip((names[0], names[-1]), ("ours", "theirs"), strict=True):
            rows.append(("hunk", f"┌ {name}"))
            rows += [("head", f"│ {row}") for row in piece[key]] or [("remark", "│ (nothing)")]
        rows.append(("hunk", "└"))
    if len(rows) > room or document["cut"]:
        more = plural(len(rows) - room, "line") + " more" if len(rows) > room else "the rest"
        return [*rows[:room], ("remark", f"… {more}: see the file itself")]
    return rows


def _shown(runs: Sequence[TextRun]) -> list[dict[str, list[str]]]:
    last = len(runs) - 1
    return [
        _piece(each, is_first=index == 0 < last, is_last=index == last > 0)
        for index, each in enumerate(runs)
    ]


def _piece(piece: TextRun, *, is_first: bool, is_last: bool) -> dict[str, list[str]]:
    if piece.is_clash:
        return {
            "ours": [spell_out(row, _WIDTH) for row in piece.ours],
            "theirs": [spell_out(row, _WIDTH) for row in piece.theirs],
        }
    rows = piece.both
    # Before the first difference only the end is near one, after the last only the beginning.
    above, below = 0 if is_first else CONTEXT, 0 if is_last else CONTEXT
    if len(rows) > above + below + 1:
        hidden = f"… {len(rows) - above - below:,} unchanged lines …"
        rows = (*rows[:above], hidden, *rows[len(rows) - below :])
    return {"both": [spell_out(row, _WIDTH) for row in rows]}


def _is_marker(row: str, sign: str) -> bool:
    return row == sign * 7 or row.startswith(sign * 7 + " ")


def _sides(conflict: Conflict) -> list[ConflictSide]:
    return conflict.get("sides") or []


def _stands(side: ConflictSide) -> str:
    if side.get("mode") is None:
        return "missing"
    size, mode = side.get("bytes"), str(side["mode"])
    state = f"{size:,} bytes" if isinstance(size, int) else ""
    kind = _MODES.get(mode, "" if state else "a regular file")
    return ", ".join(part for part in (state, kind) if part)


def is_clashing(state: StepState) -> bool:
    """Return whether a step waits for a conflict to be solved."""
    return state.clash is not None and state.error_kind == CONFLICT
