"""Files of a step, selected by the globs of its author: for `artifacts` and for the check `file_exists`.

Globs are the usual ones: `*`, `?`, `[ab]`, `{a,b}`, `**`. Files of pixirnb and git never match, nor does a link to a
path outside the workspace.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pixirnb.planning.globs.pattern import spellings
from pixirnb.planning.roots import repo_of

_NOT_OURS: Final = frozenset({".pixirnb", ".git"})
_WILD: Final = frozenset("*?[{")
_SHOWN: Final = 20
_SHOWN_CHARACTERS: Final = 8_000
"""Maximum length of the shown names: they return from a child as a short value."""


@dataclass(frozen=True, slots=True)
class Ground:
    """The folders in which an attempt's files are searched."""

    folder: Path
    """The folder of globs without a repository."""
    root: Path
    """The workspace or repository around that folder, links resolved: files outside never match."""
    name: str = ""
    """Prefix `repos.NAME:` if it is a repository."""
    repos: Mapping[str, Path] = field(default_factory=dict)
    """Folders of the repositories that the step uses, by NAME."""

    def find(self, pattern: str) -> list[tuple[str, Path]]:
        """Return the matches of a glob, with names from the root: `src/a`, `repos.NAME:src/a`.

        Raises ValueError for an invalid glob.
        """
        repo = repo_of(pattern)
        if repo is None:
            matches = paths_matching(pattern, self.folder, self.root)
            return [(self.name + path.relative_to(self.root).as_posix(), path) for path in matches]
        if repo not in self.repos:
            raise ValueError(f"`repos.{repo}` is not among the repositories that this step uses")
        root = self.repos[repo]
        matches = paths_matching(pattern.partition(":")[2], root, root)
        return [(f"repos.{repo}:{path.relative_to(root).as_posix()}", path) for path in matches]


def is_single(pattern: str) -> bool:
    """Return whether a glob names one path: no folder is listed for it."""
    return _WILD.isdisjoint(pattern)


def search(ground: Ground, pattern: str) -> str:
    """Return whether a glob has a match, and the evidence, as JSON. Blocking: a child walks through a large tree."""
    try:
        files = ground.find(pattern)
    except (ValueError, OSError) as error:
        return json.dumps([False, {"saw": f"the pattern cannot be looked up: {error}"}])
    names: list[str] = []
    for name, path in files[:_SHOWN]:
        is_below = path.is_relative_to(ground.folder)
        names.append(str(path.relative_to(ground.folder)) if is_below else name)
    while len(json.dumps(names)) > _SHOWN_CHARACTERS:
        names.pop()
    return json.dumps([bool(files), {"saw": f"{len(files)} found", "files": names}])


def paths_matching(pattern: str, folder: Path, workspace: Path) -> list[Path]:
    """Return files and folders below `folder` that match a glob, sorted. Raises ValueError for an invalid glob."""
    root = workspace.resolve()
    matched: set[Path] = set()
    for choice in spellings(pattern.removeprefix("./").rstrip("/")):
        if choice.strip("./") == "":
            raise ValueError(f"`{pattern}` names no file")
        try:
            matched.update(folder.glob(choice))
        except NotImplementedError as error:  # Path's word for a pattern that begins at the root
            raise ValueError(f"`{pattern}` is not relative to its folder") from error
    return sorted(
        path
        for path in matched
        if _NOT_OURS.isdisjoint(path.relative_to(folder).parts)
        and path.resolve().is_relative_to(root)
    )
