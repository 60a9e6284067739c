"""The disk of a world, as far as steps and people write to it: a few folders, each with files by path.

The user's folder is there from the start, with a handful of files that steps read. Isolated attempts get folders of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

from pixirnb.planning.globs.pattern import Pattern, matches

WORKSPACE: Final = Path("/simulated")
"""The user's folder."""
PATHS: Final = ("a/x", "a/deep/z", "b/y.py", "b/n.txt", "c", "d/e")
"""All that is in it at first."""

Content = dict[str, str]
"""Path to text."""


class Disk:
    """What lies in the folders of a world."""

    def __init__(self) -> None:
        """The user's folder, as it was at first."""
        self.folders: dict[Path, Content] = {WORKSPACE: {path: f"{path} 1" for path in PATHS}}
        self._edits = 1
        self.is_in_the_way = False
        """The next merge meets something that keeps it from being carried out."""

    def touch(self, paths: Sequence[str]) -> None:
        """Somebody changes files of the user's."""
        for path in paths:
            self._edits += 1
            self.folders[WORKSPACE][path] = f"{path} {self._edits}"

    def write(self, folder: Path, path: str, text: str) -> bool:
        """A step writes a file, or deletes it (`-path`); False where it works in a folder that is not there."""
        found = self.folders.get(folder)
        if found is None:
            return False
        if path.startswith("-"):
            found.pop(path[1:], None)
        else:
            found[path] = text
        return True

    def contents(
        self,
        workspace: Path,
        globs: Sequence[str],
        /,
        *,
        is_over: Callable[[], bool] = lambda: False,
    ) -> str:
        """As `protocols.ports.Contents`."""
        del workspace, is_over  # it takes no time here
        patterns = [Pattern.parse(glob) for glob in globs]
        seen = [
            f"{path}@{text}"
            for path, text in sorted(self.folders[WORKSPACE].items())
            if any(matches(pattern, path) for pattern in patterns)
        ]
        return "sim:" + blake2b("\n".join(seen).encode(), digest_size=8).hexdigest()
