"""Many texts looked for in one walk through bytes, whatever their number: what masks of secrets stand on."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Final

_DEEP: Final = 30
"""So many needles may begin one another; the rest is then tried one by one, for patterns cannot nest for ever."""


def pattern_of(needles: Iterable[str], deep: int = 0) -> str:
    """A pattern that finds the longest of the needles that begin at a place. At least one of them; none is empty.

    What they begin with in common is written once, so that a place is left after as many comparisons as there are different
    characters to go on with, not after one for each needle.
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
    """Characters that two texts begin with in common."""
    differing = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differing, min(len(one), len(other)))


class Needles:
    """Bytes that are looked for, together."""

    def __init__(self, needles: Sequence[bytes]) -> None:
        """At least one; none is empty."""
        self.find = re.compile(
            pattern_of(needle.decode("latin-1") for needle in needles).encode("latin-1")
        )  # a byte is a character there, and back
        self._sorted = sorted(needles)
        self._firsts = frozenset(needle[0] for needle in needles)
        self._longest = max(map(len, needles))

    def possible_beginning(self, data: bytes, start: int) -> int:
        """Where the last bytes begin, from `start` on, that more bytes could make a needle; the end where there are none."""
        for at in range(max(start, len(data) - self._longest + 1), len(data)):
            if data[at] in self._firsts:
                tail = data[at:]
                # Whatever is longer and begins like it stands right behind it.
                place = bisect_right(self._sorted, tail)
                if place < len(self._sorted) and self._sorted[place].startswith(tail):
                    return at
        return len(data)


@lru_cache(maxsize=16)
def needles_of(needles: tuple[bytes, ...]) -> Needles | None:
    """Those of a mask, made once for all streams that it masks; None where it has none."""
    return Needles(needles) if needles else None
