"""Plain paths in read and write sets: the short proof that nothing conflicts.

Large workflows mostly name one folder a step (`out/17/**`). Where all sets are such plain paths and none lies in another,
no two claims can meet, and sorting them shows it, long before patterns are read and compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from pixirnb.spec.fields import Texts

_PLAIN: Final = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)*", re.ASCII)
_LONGEST: Final = 200
"""Longer names may be none: reading the pattern tells."""


def plain_path(pattern: str) -> str | None:
    """The folder or file that a pattern without any magic claims, with a slash behind; None for other patterns."""
    path = pattern.removesuffix("/**")
    return path + "/" if len(path) < _LONGEST and _PLAIN.fullmatch(path) else None


class PlainSets:
    """The plain paths of one workflow, each pattern looked at once."""

    def __init__(self) -> None:
        self.paths: dict[str, str | None] = {}
        """Every pattern of the workflow to what it claims, a slash behind; None where it is not plain."""

    def are_disjoint(self, sets: Iterable[tuple[Texts, Texts]]) -> bool:
        """Whether plain paths alone prove that no two steps conflict. `sets` are reads and writes of each step.

        False means "not proven". Equal reads of different steps are no conflict; anything else that meets is left
        to the exact comparison.
        """
        known = self.paths
        writes: list[str] = []
        reads: set[str] = set()
        for read_set, write_set in sets:
            for pattern in write_set:
                path = known.get(pattern)
                if path is None:
                    return False
                writes.append(path)
            for pattern in read_set:
                path = known.get(pattern)
                if path is None:
                    return False
                reads.add(path)
        if not writes:
            return True
        paths = [*writes, *reads]
        paths.sort()
        # Everything between a folder and a path below it also lies below it: neighbours tell.
        return not any(map(str.startswith, paths[1:], paths))
