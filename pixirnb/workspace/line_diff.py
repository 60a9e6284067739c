"""Where two texts differ, line by line: for counts, patches and texts with markers, where git is not there to say so.

Lines end at a line feed and nowhere else, as in a patch; the carriage return of a CRLF is part of its line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

MOST_LINES: Final = 10_000
"""Lines that are compared one by one, once equal beginnings and ends are off; the time taken grows with their square."""
_SNIFFED: Final = 8000


@dataclass(frozen=True, slots=True)
class Region:
    """Lines `before[start:stop]` that became `after[new_start:new_stop]`."""

    start: int
    stop: int
    new_start: int
    new_stop: int


def is_text(content: bytes) -> bool:
    """Whether content counts as text: no NUL byte near its beginning, which is how git tells."""
    return b"\0" not in content[:_SNIFFED]


def lines_of(content: bytes) -> list[bytes]:
    """The lines of a text with their ends; the last may have none."""
    parts = content.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def differing(before: Sequence[bytes], after: Sequence[bytes]) -> Region | None:
    """One region over all that differs; None for equal texts."""
    most = min(len(before), len(after))
    head = next((at for at in range(most) if before[at] != after[at]), most)
    if head == len(before) == len(after):
        return None
    tail = next((at for at in range(most - head) if before[-1 - at] != after[-1 - at]), most - head)
    return Region(head, len(before) - tail, head, len(after) - tail)


def regions(before: Sequence[bytes], after: Sequence[bytes]) -> list[Region] | None:
    """What differs, in order; None where there is too much to compare line by line."""
    whole = differing(before, after)
    if whole is None:
        return []
    one, two = before[whole.start : whole.stop], after[whole.new_start : whole.new_stop]
    if max(len(one), len(two)) > MOST_LINES:
        return None
    # Lines that stand everywhere, such as empty ones, are no anchors in a long text: with them the time explodes.
    codes = SequenceMatcher(None, one, two, autojunk=True).get_opcodes()
    return [
        Region(whole.start + a, whole.start + b, whole.new_start + c, whole.new_start + d)
        for tag, a, b, c, d in codes
        if tag != "equal"
    ]


def counts(before: bytes, after: bytes) -> tuple[int, int] | None:
    """Lines added and deleted; None where there is too much to compare."""
    found = regions(lines_of(before), lines_of(after))
    if found is None:
        return None
    added = sum(region.new_stop - region.new_start for region in found)
    return added, sum(region.stop - region.start for region in found)


def mark_conflicts(ours: bytes, theirs: bytes) -> bytes:
    """Both sides of a text in one: what they share, and between markers what each has of its own."""
    one, two = lines_of(ours), lines_of(theirs)
    whole = differing(one, two)
    found = regions(one, two)
    if found is None:
        found = [whole] if whole is not None else []
    out: list[bytes] = []
    at = 0
    for region in found:
        out += one[at : region.start]
        out.append(b"<<<<<<< ours\n")
        out += _ended(one[region.start : region.stop])
        out.append(b"=======\n")
        out += _ended(two[region.new_start : region.new_stop])
        out.append(b">>>>>>> theirs\n")
        at = region.stop
    return b"".join(out + one[at:])


def _ended(lines: list[bytes]) -> list[bytes]:
    """Lines behind which a marker can stand on a line of its own."""
    if lines and not lines[-1].endswith(b"\n"):
        return [*lines[:-1], lines[-1] + b"\n"]
    return lines
