"""Files that a step left, found by the globs of its author: for `artifacts` and for the check `file_exists`.

The same words as everywhere: `*`, `?`, `[ab]`, `{a,b}`, `**`. What pixirnb and git keep for themselves is nobody's finding, and
neither is what a link shows of places outside the workspace.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pixirnb.planning.paths import spellings

_NOT_OURS: Final = frozenset({".pixirnb", ".git"})


def paths_matching(pattern: str, folder: Path, workspace: Path) -> list[Path]:
    """Files and folders below `folder` that a glob names, sorted. Raises ValueError for what is no glob."""
    root = workspace.resolve()
    found: set[Path] = set()
    for choice in spellings(pattern.removeprefix("./").rstrip("/")):
        if choice.strip("./") == "":
            raise ValueError(f"`{pattern}` names no file")
        try:
            found.update(folder.glob(choice))
        except NotImplementedError as error:  # Path's word for a pattern that begins at the root
            raise ValueError(f"`{pattern}` is not relative to its folder") from error
    return sorted(
        path
        for path in found
        if _NOT_OURS.isdisjoint(path.relative_to(folder).parts)
        and path.resolve().is_relative_to(root)
    )
