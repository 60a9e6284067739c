"""Literal paths in read and write sets: the quick proof that nothing conflicts.

Large workflows mostly name one folder a step (`out/17/**`). If all sets are literal paths and none is inside another,
no two claims can meet. Sorting shows that without comparing patterns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from pixirnb.spec.fields import Texts

_PLAIN: Final = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)*", re.ASCII)
_LONGEST: Final = 200
"""Maximum length of a name here; a longer one is left to the pattern parser."""


def plain_path(pattern: str) -> str | None:
    """Return the folder or file that a pattern without wildcards claims, with a slash at its end; None for other patterns."""
    path = pattern.removesuffix("/**")
    return path + "/" if len(path) < _LONGEST and _PLAIN.fullmatch(path) else None


class PlainSets:
    """The literal paths of one workflow, each pattern examined once."""

    def __init__(self) -> None:
        self.paths: dict[str, str | None] = {}
        """Every pattern of the workflow to its path, with a slash at its end; None if it is not literal."""

    def are_disjoint(self, sets: Iterable[tuple[Texts, Texts]]) -> bool:
        """Return whether literal paths alone prove that no two steps conflict.

        `sets` are reads and writes of each step.

        False means "not proven". Equal reads of different steps are no conflict; any other meeting is left to the
        exact comparison.
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
        # All entries sorted between a folder and a path below it are also below it: comparing neighbours is enough.
        return not any(map(str.startswith, paths[1:], paths))
