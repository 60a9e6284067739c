"""A text in conflict, hunk by hunk: what a person may choose in it, and the text that these choices make.

    parts_of(marked) ──▶ [bytes | (ours, theirs), …]      None where a line may be a marker
    chosen_text(marked, choice, …) ──▶ bytes

A choice names the text it was made of by its digest: it counts for that text and no other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final, TypedDict, TypeGuard

from pixirnb.ids import digest_of

HUNKS_LIMIT: Final = 200
"""Hunks of a file that can be chosen one by one."""
BOTH: Final = "+"
"""Sign between two versions that are both taken, in this order. No name holds it."""

_MARKERS: Final = (b"<<<<<<< ours", b"=======", b">>>>>>> theirs")
_LIKE_A_MARKER: Final = re.compile(rb"[<>|]{7}(?: |$)|={7}$")
_LINES: Final = re.compile(rb"[^\n]*\n|[^\n]+")

Part = bytes | tuple[bytes, bytes]
"""Lines without conflict, or both versions of lines with one."""


class HunkChoice(TypedDict):
    """A choice for each hunk of a file in conflict."""

    hunks: list[str]
    """For each hunk the version to take: a name, or two with `+` between."""
    of: str
    """Digest of the text with markers."""


def parts_of(marked: bytes) -> list[Part] | None:
    """Return the parts of a text with markers; None for no hunk, too many, or lines that look like markers."""
    parts: list[Part] = []
    rows: list[bytes] = []
    ours, position = b"", 0
    for row in _LINES.findall(marked):
        bare = row.rstrip(b"\r\n")
        if bare == _MARKERS[position]:
            section, rows = b"".join(rows), []
            if position == 1:
                ours = section
            elif position == 2:
                parts.append((ours, section))
            elif section:
                parts.append(section)
            position = (position + 1) % 3
        elif _LIKE_A_MARKER.match(bare) and (position or bare.startswith(b"<")):
            return None
        else:
            rows.append(row)
    if position:
        return None
    if rows:
        parts.append(b"".join(rows))
    count = len([part for part in parts if isinstance(part, tuple)])
    return parts if 0 < count <= HUNKS_LIMIT else None


def chosen_text(
    marked: bytes, choice: HunkChoice, *, ours: Collection[str], theirs: str
) -> bytes | None:
    """Return the text that a choice makes; None for a choice of another text, or of versions that do not conflict here.

    `ours`: names of the version before the `=======`; `theirs`: that of the one after it.
    """
    parts = parts_of(marked) if choice["of"] == digest_of(marked) else None
    if parts is None:
        return None
    if len(choice["hunks"]) != len([part for part in parts if isinstance(part, tuple)]):
        return None
    hunks, text = iter(choice["hunks"]), b""
    for part in parts:
        if isinstance(part, bytes):
            text += part
            continue
        for name in next(hunks).split(BOTH):
            if name != theirs and name not in ours:
                return None
            text += part[1] if name == theirs else part[0]
    return text


def is_hunk_choice(value: Any, names: Collection[str]) -> TypeGuard[HunkChoice]:
    """Return whether a value is a choice by hunks between versions of these names."""
    if not isinstance(value, Mapping) or value.keys() != {"hunks", "of"}:
        return False
    hunks = value["hunks"]
    return (
        isinstance(value["of"], str)
        and isinstance(hunks, list)
        and 0 < len(hunks) <= HUNKS_LIMIT
        and all(isinstance(hunk, str) and _is_of(hunk.split(BOTH), names) for hunk in hunks)
    )


def _is_of(versions: list[str], names: Collection[str]) -> bool:
    return len(versions) <= 2 and len({*versions}) == len(versions) and {*versions} <= {*names}
