"""Links of a tree that lead out: of the folders of the run, or into git's or our own.

The target of a link is computed from the tree, through its other links, without the disk. Git lands such a link as any other
file, and so do we, never without a warning: data written through it lies in no snapshot and is in no patch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from msgspec import Struct

from pixirnb.protocols.trees import LINK, TreeChange, TreeEntry
from pixirnb.workspace.rules import is_reserved

_HOPS: Final = 40
"""Links on the way to a file, as Linux follows them; a path with more leads nowhere."""


class Outlook(Struct, frozen=True):
    """One root, as a tree describes it."""

    folder: str
    """Location of the root."""
    folders: Sequence[str]
    """Locations of all roots of the run: a link from one into another does not lead out."""
    entries: Callable[[], Mapping[str, TreeEntry]]
    content: Callable[[str], bytes]

    def leading_out(self, changes: Sequence[TreeChange]) -> dict[str, str]:
        """Return the changed files that are links and lead out now: path to target, as it is written."""
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
                location = os.path.normpath(
                    f"{self.folder}/{waiting}" if waiting[0] == "." else waiting
                )
                if not PurePosixPath(location).is_relative_to(self.folder):
                    return not any(map(PurePosixPath(location).is_relative_to, self.folders))
                at, waiting = [], os.path.relpath(location, self.folder)
        return False

    def _target(self, link: TreeEntry) -> str:
        return os.fsdecode(self.content(link.digest))


def _walked(
    at: list[str], way: str, entries: Mapping[str, TreeEntry]
) -> tuple[TreeEntry | None, str]:
    """Go `way` from `at`, which moves along, to the next link or out of the root; return that link, and the rest of the way."""
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
