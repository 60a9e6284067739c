"""A search for many texts in one pass over bytes, for masks of secrets."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final

_DEEP: Final = 30
"""Maximum depth of common prefixes; needles beyond are alternatives, because patterns cannot nest without limit."""


def pattern_of(needles: Iterable[str], deep: int = 0) -> str:
    """Return a pattern for the longest of the needles that begin at a position. At least one needle; none is empty.

    A common prefix is written once, so that a position is left after as many comparisons as there are different next
    characters, not one for each needle.
    """
    words = sorted(set(needles))
    if deep == _DEEP:
        return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    branches = []
    for _, group in groupby(words, key=lambda word: word[:1]):
        alike = list(group)
        shared = alike[0][: _alike(alike[0], alike[-1])]
        rest = [word[len(shared) :] for word in alike if len(word) > len(shared)]
        branch = re.escape(shared)
        if rest:
            is_end = len(rest) < len(alike)
            branch += f"(?:{pattern_of(rest, deep + 1)}){'?' if is_end else ''}"
        branches.append(branch)
    return "|".join(branches)


def _alike(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    differing = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))


class Needles:
    """Bytes that are searched together."""

    def __init__(self, needles: Sequence[bytes]) -> None:
        """Compile the needles: at least one; none is empty."""
        self.find = re.compile(
            pattern_of(needle.decode("latin-1") for needle in needles).encode("latin-1")
        )  # a byte is a character there, and back
        self._sorted = sorted(needles)
        self._first = re.compile(b"[%s]" % re.escape(bytes({needle[0] for needle in needles})))
        self._longest = max(map(len, needles))

    def possible_beginning(self, data: bytes, start: int) -> int:
        """Return the start, from `start` on, of a possible beginning of a needle at the end of the data; the end if
        there is none.
        """
        for first in self._first.finditer(data, max(start, len(data) - self._longest + 1)):
            tail = data[first.start() :]
            # Longer texts with this prefix follow directly in sorted order.
            position = bisect_right(self._sorted, tail)
            if position < len(self._sorted) and self._sorted[position].startswith(tail):
                return first.start()
        return len(data)


@lru_cache(maxsize=16)
def needles_of(needles: tuple[bytes, ...]) -> Needles | None:
    """Return the needles of a mask, made once for all its streams; None if it has none."""
    return Needles(needles) if needles else None
