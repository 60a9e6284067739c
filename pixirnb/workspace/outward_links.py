"""Links of a tree that lead out: of the folders of the run, or into what is git's or ours.

Where a link leads is worked out from the tree, through its other links; the disk is not asked. Git lands such a link as any
other file, and so do we, never without a word: what is written through it lies in no snapshot and is in no patch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from pixirnb.protocols.trees import LINK, TreeChange, TreeEntry
from pixirnb.workspace.rules import is_reserved

_HOPS: Final = 40
"""Links on the way to a file, as Linux follows them; one that takes more leads nowhere."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """One root, as a tree says it is."""

    folder: str
    """Where it lies."""
    folders: Sequence[str]
    """Where every root of the run lies: a link from one into another does not lead out."""
    entries: Callable[[], Mapping[str, TreeEntry]]
    content: Callable[[str], bytes]

    def leading_out(self, changes: Sequence[TreeChange]) -> dict[str, str]:
        """Those of the changed files that are links and lead out now: path to target, as it is written."""
        made = {c.path: self._target(c.after) for c in changes if c.after and c.after.mode == LINK}
        if not made:
            return {}
        entries = self.entries()
        return {path: at for path, at in made.items() if self._leads_out(path, at, entries)}

    def _leads_out(self, path: str, target: str, entries: Mapping[str, TreeEntry]) -> bool:
        at, waiting = path.split("/")[:-1], target
        for _ in range(_HOPS):
            link, waiting = _walked(at, waiting, entries)
            if link is not None:
                waiting = f"{self._target(link)}/{waiting}"
            elif not waiting:
                return any(map(is_reserved, at))
            else:  # it leaves the root, by its top or as an absolute path: perhaps to come back
                place = os.path.normpath(
                    f"{self.folder}/{waiting}" if waiting[0] == "." else waiting
                )
                if not PurePosixPath(place).is_relative_to(self.folder):
                    return not any(map(PurePosixPath(place).is_relative_to, self.folders))
                at, waiting = [], os.path.relpath(place, self.folder)
        return False

    def _target(self, link: TreeEntry) -> str:
        return os.fsdecode(self.content(link.digest))


def _walked(
    at: list[str], way: str, entries: Mapping[str, TreeEntry]
) -> tuple[TreeEntry | None, str]:
    """Go `way` from `at`, which moves along, as far as the next link or out of the root: that link, and what is left to go."""
    while way and not way.startswith("/"):
        name, _, rest = way.partition("/")
        rest = rest.lstrip("/")
        if name == "..":
            if not at:
                return None, way
            at.pop()
        elif name != ".":
            entry = entries.get("/".join([*at, name]))
            if entry is not None and entry.mode == LINK:
                return entry, rest
            at.append(name)
        way = rest
    return None, way
