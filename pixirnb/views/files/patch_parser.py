"""A patch as git writes it, read for people: files, hunks, lines. A patch of unknown origin is shown as far as it can be read.

    parse_patch(text) ──▶ Patch(files, cut)
    rename_files(patch, changes) ──▶ a patch whose files have the names of the log

Total: any text is some patch, perhaps of no file. Bounded: what is left out is counted. Texts are as the patch has them, to be
cleaned by the code that shows them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from pixirnb.history.file_events import FileChange
from pixirnb.views.files.changes import SomeChanges

LOOKED_AT: Final = 4 * 1024 * 1024
"""Characters of a patch that are read."""
FILES: Final = 200
LINES: Final = 2_000
"""Maximum number of lines of all files together: a person reads no more of them at once."""
COLUMNS: Final = 500
"""Characters of a line."""

LineKind = Literal["both", "added", "deleted", "remark"]
"""In both files · only in the new · only in the old · what git says of the line before: no newline at its end."""

_HEAD: Final = "diff --git "
_HUNK: Final = re.compile(
    r"@@ -(\d{1,10})(?:,(\d{1,10}))? \+(\d{1,10})(?:,(\d{1,10}))? @@(?: (.*))?"
)
_ROOT: Final = re.compile(r"# (\.|repos\.[^\n]{1,200})")
"""Stands above the files of each root, where a patch is of several."""
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_ESCAPE: Final = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_ESCAPES: Final = {
    b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r",
}  # fmt: skip
_TWICE: Final = re.compile(r"a/(?P<name>.*) b/(?P=name)", re.DOTALL)
_MODE: Final = re.compile(r"(old mode|new mode|new file mode|deleted file mode) ([0-7]{6})")


class PatchLine(Struct, frozen=True):
    """A line of a hunk."""

    kind: LineKind
    text: str
    """Without its sign, its newline, and what is beyond `COLUMNS`."""


class Hunk(Struct, frozen=True):
    """Lines that stand together."""

    old: int
    """Number of its first line in the old file."""
    new: int
    about: str
    """Git's text about the hunk's position: mostly the function that contains it."""
    lines: tuple[PatchLine, ...]


class PatchedFile(Struct, frozen=True):
    """One file of a patch."""

    path: str
    change: str
    """`added`, `modified` or `deleted`, as in the log."""
    modes: tuple[str | None, str | None] = (None, None)
    """Before and after, where the patch says them."""
    is_binary: bool = False
    hunks: tuple[Hunk, ...] = ()
    added: int = 0
    """Lines, those that are not shown too."""
    deleted: int = 0
    cut: int = 0
    """Lines that are not shown."""


class Patch(Struct, frozen=True):
    """Content of a patch."""

    files: tuple[PatchedFile, ...] = ()
    cut: int = 0
    """Lines of its files that are not shown."""
    files_cut: int = 0
    """Files that are not shown."""
    is_cut: bool = False
    """It went on after what was read."""


class _File(Struct):
    """File that is being read."""

    path: str
    old: str | None = None
    new: str | None = None
    modes: dict[str, str] = field(default_factory=dict)
    is_binary: bool = False
    hunks: list[Hunk] = field(default_factory=list)
    added: int = 0
    deleted: int = 0
    cut: int = 0


def parse_patch(text: str, *, lines: int = LINES, files: int = FILES) -> Patch:
    """Read a patch; at most `files` of its files and `lines` lines of them are kept. Never raises."""
    # Only a newline ends a line: a form feed or a line separator is a character of the file.
    rows = text[:LOOKED_AT].removesuffix("\n").split("\n")
    # Lines of hunks bear a sign, so that none of them looks like the head of a file.
    starts = [row_number for row_number, row in enumerate(rows) if row.startswith(_HEAD)]
    parsed: list[PatchedFile] = []
    left, root = lines, ""
    for number, start in enumerate(starts[:files]):
        end = starts[number + 1] if number + 1 < len(starts) else len(rows)
        one = _read(rows[start:end], left)
        if start and (above := _ROOT.fullmatch(rows[start - 1])):
            root = above[1]
        if root.startswith("repos."):
            one = replace(one, path=f"{root}:{one.path}")
        left -= sum(len(hunk.lines) for hunk in one.hunks)
        parsed.append(one)
    return Patch(
        tuple(parsed),
        sum(one.cut for one in parsed),
        max(0, len(starts) - files),
        len(text) > LOOKED_AT,
    )


def rename_files(patch: Patch, changes: SomeChanges) -> Patch:
    """Return the patch with its files named as `changes` (a Changes) names them: `repos.NAME:PATH` in a repository, counted as
    there: of a patch that is cut, what came after is counted as not shown.

    A patch of one root does not say which it is.
    """
    known = {str(file.get("path") or ""): file for file in changes.get("files") or ()}
    called = {_local(path): path for path in reversed(known)} | {path: path for path in known}
    files = [replace(file, path=called.get(file.path, file.path)) for file in patch.files]
    times = Counter(file.path for file in files)
    # What is another kind of file now stands in a patch twice, deleted and made.
    whole = [
        _whole(each, known.get(each.path)) if times[each.path] == 1 else each for each in files
    ]
    count = changes.get("count")
    missing = count - len(times) if files and isinstance(count, int) else 0
    return replace(
        patch,
        files=tuple(whole),
        cut=sum(file.cut for file in whole),
        files_cut=max(patch.files_cut, missing),
    )


def _whole(file: PatchedFile, change: FileChange | None) -> PatchedFile:
    """Return the file with the lines that the log knows of, where it knows of more than the patch has."""
    if change is None:
        return file
    added = max(file.added, change.get("added") or 0)
    deleted = max(file.deleted, change.get("deleted") or 0)
    cut = file.cut + added - file.added + deleted - file.deleted
    return replace(file, added=added, deleted=deleted, cut=cut)


def _local(path: str) -> str:
    """Return `src/a.py` of `repos.cloud:src/a.py`."""
    root, colon, rest = path.partition(":")
    return rest if colon and root.startswith("repos.") else path


def _count(written: str | None) -> int:
    return 1 if written is None else int(written)


def _read(rows: Sequence[str], room: int) -> PatchedFile:
    """Read one file: rows from its head on."""
    file = _File(_path_of_head(rows[0].removeprefix(_HEAD)))
    position = 1
    while position < len(rows):
        row = rows[position]
        hunk = _HUNK.fullmatch(row)
        if hunk is not None and not file.is_binary:
            position = _read_hunk(file, hunk, rows, position + 1, room)
            continue
        _read_note(file, row)
        position += 1
    added, gone = file.old == "/dev/null", file.new == "/dev/null"
    before = None if "new file mode" in file.modes else file.modes.get("old mode")
    after = None if "deleted file mode" in file.modes else file.modes.get("new mode")
    added = added or "new file mode" in file.modes
    gone = gone or "deleted file mode" in file.modes
    path = next((p for p in (file.new, file.old) if p not in {None, "/dev/null"}), None)
    return PatchedFile(
        path or file.path,
        "added" if added else "deleted" if gone else "modified",
        (
            file.modes.get("deleted file mode") or before,
            file.modes.get("new file mode") or after,
        ),
        file.is_binary,
        tuple(file.hunks),
        file.added,
        file.deleted,
        file.cut,
    )


def _read_note(file: _File, row: str) -> None:
    """Read a row between the head of a file and its hunks, or of its binary data."""
    if row == "GIT binary patch" or (row.startswith("Binary files ") and row.endswith(" differ")):
        file.is_binary = True
    elif file.is_binary or file.hunks:
        return
    elif row.startswith("--- "):
        file.old = _path_of_side(row[4:])
    elif row.startswith("+++ "):
        file.new = _path_of_side(row[4:])
    elif (mode := _MODE.fullmatch(row)) is not None:
        file.modes[mode[1]] = mode[2]


_KINDS: Final[Mapping[str, LineKind]] = {
    " ": "both", "": "both", "+": "added", "-": "deleted", "\\": "remark",
}  # fmt: skip


def _read_hunk(
    file: _File, head: re.Match[str], rows: Sequence[str], position: int, room: int
) -> int:
    """Read the lines of one hunk; return the line after it."""
    old, new = _count(head[2]), _count(head[4])
    shown = room - sum(len(hunk.lines) for hunk in file.hunks)
    lines: list[PatchLine] = []
    while position < len(rows):
        sign = rows[position][:1]
        kind = _KINDS.get(sign)
        if kind is None or (kind != "remark" and old <= 0 and new <= 0):
            break
        old -= kind in {"both", "deleted"}
        new -= kind in {"both", "added"}
        file.added += kind == "added"
        file.deleted += kind == "deleted"
        if len(lines) < shown:
            lines.append(PatchLine(kind, rows[position][1 : COLUMNS + 1]))
        else:
            file.cut += 1
        position += 1
    if lines:
        file.hunks.append(Hunk(int(head[1]), int(head[3]), head[5] or "", tuple(lines)))
    return position


def _path_of_side(written: str) -> str:
    """Return the path of a `---` or `+++` row. Git ends one that holds a blank with a tab."""
    path = _unquoted(written.removesuffix("\r").split("\t", 1)[0])
    return path if path == "/dev/null" else _bare(path)


def _path_of_head(written: str) -> str:
    """Return the path of `a/NAME b/NAME`, for files that have no other rows to say it: empty, binary, or only another mode."""
    quoted = list(_QUOTED.finditer(written))
    if quoted:
        return _bare(_unquoted(quoted[-1][0]))
    twice = _TWICE.fullmatch(written)
    return twice["name"] if twice is not None else _bare(written.rpartition(" ")[2])


def _bare(path: str) -> str:
    return path[2:] if path[:2] in {"a/", "b/"} else path


def _unquoted(written: str) -> str:
    """Return a name as git quotes it, `"a\\303\\244"`; bytes that are no UTF-8 become surrogate escapes."""
    if not (len(written) > 1 and written[0] == written[-1] == '"'):
        return written
    inner = written[1:-1].encode("utf-8", "surrogatepass")
    return _ESCAPE.sub(_byte, inner).decode("utf-8", "surrogateescape")


def _byte(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8)]) if len(code) == 3 else _ESCAPES.get(code, code)
