"""Patches as `git apply` takes them, written without git: texts by lines, all else as git's binary patches.

The format is that of git-diff(1). Object ids are those of a repository that names objects by SHA-1: for what is no text, `git
apply` looks at them, and a repository of the newer kind takes such a patch for texts alone.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import zlib
from collections.abc import Iterator
from typing import Final

from pixirnb.protocols.trees import LINK
from pixirnb.workspace.line_diff import Region, differing, is_text, lines_of, regions

File = tuple[str, bytes]
"""Mode and content."""

_CONTEXT: Final = 3
_NOBODY: Final = "0" * 40
_PLAIN: Final = re.compile(rb'[^\x00-\x1f"\\\x7f-\xff]*')
_ESCAPES: Final = {
    0x07: b"\\a",
    0x08: b"\\b",
    0x09: b"\\t",
    0x0A: b"\\n",
    0x0B: b"\\v",
    0x0C: b"\\f",
    0x0D: b"\\r",
    0x22: b'\\"',
    0x5C: b"\\\\",
}
_BINARY_LINE: Final = 52


def file_patch(path: str, before: File | None, after: File | None) -> bytes:
    """The patch of one file; None: there is none on that side. Empty where nothing differs."""
    if before == after:
        return b""
    if before and after and (before[0] == LINK) != (after[0] == LINK):
        # One patch cannot make a link of a file: it goes, and another comes.
        return file_patch(path, before, None) + file_patch(path, None, after)
    old, new = (b"" if side is None else side[1] for side in (before, after))
    head = _head(path, before, after)
    if before is not None and after is not None and old == new:
        return head
    if is_text(old) and is_text(new):
        return head + _text(path, before, after)
    return head + b"GIT binary patch\n" + _literal(new) + _literal(old)


def _head(path: str, before: File | None, after: File | None) -> bytes:
    lines = [b"diff --git %s %s" % (_in_head("a/" + path), _in_head("b/" + path))]
    ids = b"%s..%s" % tuple(_object_id(side).encode() for side in (before, after))
    if before is None:
        assert after is not None
        lines += [b"new file mode " + after[0].encode(), b"index " + ids]
    elif after is None:
        lines += [b"deleted file mode " + before[0].encode(), b"index " + ids]
    elif before[0] != after[0]:
        lines += [b"old mode " + before[0].encode(), b"new mode " + after[0].encode()]
        lines += [b"index " + ids] if before[1] != after[1] else []
    else:
        lines.append(b"index " + ids + b" " + before[0].encode())
    return b"\n".join([*lines, b""])


def _text(path: str, before: File | None, after: File | None) -> bytes:
    old, new = (lines_of(b"" if side is None else side[1]) for side in (before, after))
    whole = differing(old, new)
    if whole is None:
        return b""
    found = regions(old, new)
    names = (
        _name("a/" + path) if before else b"/dev/null\n",
        _name("b/" + path) if after else b"/dev/null\n",
    )
    hunks = [_hunk(old, new, group) for group in _grouped([whole] if found is None else found)]
    return b"--- %s+++ %s" % names + b"".join(hunks)


def _grouped(found: list[Region]) -> Iterator[list[Region]]:
    """Regions whose context meets, together."""
    group: list[Region] = []
    for region in found:
        if group and region.start - group[-1].stop > 2 * _CONTEXT:
            yield group
            group = []
        group.append(region)
    if group:
        yield group


def _hunk(old: list[bytes], new: list[bytes], group: list[Region]) -> bytes:
    start, stop = max(0, group[0].start - _CONTEXT), min(len(old), group[-1].stop + _CONTEXT)
    new_start = group[0].new_start - (group[0].start - start)
    new_stop = group[-1].new_stop + (stop - group[-1].stop)
    out = [b"@@ -%s +%s @@\n" % (_span(start, stop), _span(new_start, new_stop))]
    at = start
    for region in group:
        out += [_line(b" ", line) for line in old[at : region.start]]
        out += [_line(b"-", line) for line in old[region.start : region.stop]]
        out += [_line(b"+", line) for line in new[region.new_start : region.new_stop]]
        at = region.stop
    return b"".join([*out, *(_line(b" ", line) for line in old[at:stop])])


def _span(start: int, stop: int) -> bytes:
    # Lines are counted from one; no lines stand behind the line before them.
    return b"%d,%d" % (start + 1 if stop > start else start, stop - start)


def _line(sign: bytes, line: bytes) -> bytes:
    return sign + line + (b"" if line.endswith(b"\n") else b"\n\\ No newline at end of file\n")


def _literal(content: bytes) -> bytes:
    """Content whole, squeezed, in lines of base 85 that each begin with how many bytes they hold."""
    squeezed = zlib.compress(content)
    out = [b"literal %d\n" % len(content)]
    for at in range(0, len(squeezed), _BINARY_LINE):
        part = squeezed[at : at + _BINARY_LINE]
        size = len(part)
        letter = b"%c" % (size + 64 if size <= 26 else size + 70)
        out.append(letter + base64.b85encode(part, pad=True) + b"\n")
    return b"".join([*out, b"\n"])


def _object_id(side: File | None) -> str:
    if side is None:
        return _NOBODY
    named = hashlib.sha1(b"blob %d\0" % len(side[1]), usedforsecurity=False)
    named.update(side[1])
    return named.hexdigest()


def _name(path: str) -> bytes:
    quoted = _quoted(path)
    # A tab says where a name with blanks ends; without it a reader might take the rest for a date.
    return quoted + (b"\t\n" if b" " in quoted and not quoted.startswith(b'"') else b"\n")


def _in_head(path: str) -> bytes:
    quoted = _quoted(path)
    # Two names with blanks on one line: where the first ends is a guess, and a wrong one below a folder called `x `.
    return b'"%s"' % quoted if b" " in quoted and not quoted.startswith(b'"') else quoted


def _quoted(path: str) -> bytes:
    """A path as it stands in a patch: in quotes with escapes where it holds anything unusual."""
    raw = os.fsencode(path)
    if _PLAIN.fullmatch(raw):
        return raw
    escaped = b"".join(
        _ESCAPES.get(byte) or (b"%c" % byte if 0x20 <= byte < 0x7F else b"\\%03o" % byte)
        for byte in raw
    )
    return b'"' + escaped + b'"'
