"""Files of a world that steps read: a handful of paths, each with a version that somebody may change between two courses."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final

from pixirnb.planning.paths import Pattern, matches

PATHS: Final = ("a/x", "a/deep/z", "b/y.py", "b/n.txt", "c", "d/e")
"""All there are."""


class Files:
    """What lies in the workspace."""

    def __init__(self) -> None:
        """All as they were at first."""
        self._versions = dict.fromkeys(PATHS, 1)

    def touch(self, paths: Sequence[str]) -> None:
        """Somebody changes files."""
        for path in paths:
            self._versions[path] += 1

    def contents(self, workspace: Path, globs: Sequence[str]) -> str:
        """As `ports.Contents`."""
        del workspace
        patterns = [Pattern.parse(glob) for glob in globs]
        seen = [
            f"{path}@{version}"
            for path, version in self._versions.items()
            if any(matches(pattern, path) for pattern in patterns)
        ]
        return "sim:" + blake2b("\n".join(seen).encode(), digest_size=8).hexdigest()
