"""Files that a step left, found by the globs of its author: for `artifacts` and for the check `file_exists`.

The same words as everywhere: `*`, `?`, `[ab]`, `{a,b}`, `**`. What pixirnb and git keep for themselves is nobody's finding, and
neither is what a link shows of places outside the workspace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pixirnb.planning.globs.pattern import spellings
from pixirnb.planning.roots import repo_of

_NOT_OURS: Final = frozenset({".pixirnb", ".git"})


@dataclass(frozen=True, slots=True)
class Ground:
    """Where an attempt's files are looked up."""

    folder: Path
    """What a glob is relative to that names no repository."""
    root: Path
    """The workspace or repository around that folder, links resolved: what lies outside is nobody's finding."""
    name: str = ""
    """`repos.NAME:` where it is a repository."""
    repos: Mapping[str, Path] = field(default_factory=dict)
    """Folders of the repositories that the step uses, by NAME."""

    def find(self, pattern: str) -> list[tuple[str, Path]]:
        """What a glob names, with its name from the root: `src/a`, `repos.NAME:src/a`. Raises ValueError for no glob."""
        repo = repo_of(pattern)
        if repo is None:
            found = paths_matching(pattern, self.folder, self.root)
            return [(self.name + path.relative_to(self.root).as_posix(), path) for path in found]
        if repo not in self.repos:
            raise ValueError(f"`repos.{repo}` is not among the repositories that this step uses")
        root = self.repos[repo]
        found = paths_matching(pattern.partition(":")[2], root, root)
        return [(f"repos.{repo}:{path.relative_to(root).as_posix()}", path) for path in found]


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
