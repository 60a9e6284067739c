"""Folders of an attempt: the user's own, or its copies; and how the paths of a spec are resolved in them.

A step's `cwd` is looked up from the workspace, an agent's from the folder of the spec's file; both may begin with
`repos.NAME`. Source: contract.md §1 (workspace), §8.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from pixirnb.history.run_state import RunState
from pixirnb.planning.roots import WORKSPACE, Roots
from pixirnb.protocols.trees import Checkout
from pixirnb.protocols.work import WorkRefused
from pixirnb.runners.artifact_globs import Ground

WORKSPACE_VARIABLE: Final = "PIXIRNB_WORKSPACE"
REPO_VARIABLE: Final = "PIXIRNB_REPO_"
"""Followed by a repository's name in capitals, `-` as `_`: its folder as the step sees it."""

_REPO: Final = re.compile(r"(repos\.[^/:]+)(?:/(.*))?", re.DOTALL)


class AttemptFolders(Struct, frozen=True):
    """The folders of one attempt."""

    roots: Roots
    workspace: Path
    folders: Mapping[str, Path]
    """Folders by root; of an isolated attempt its copies."""
    origin: Path
    """The folder of the spec's file."""
    is_isolated: bool = False

    def step_folder(self, written: str) -> Path:
        """Return the folder of a step's `cwd`. Raises WorkRefused."""
        base, rest = self._begun(written)
        folder = _real(base / rest)
        if not folder.is_dir():
            raise WorkRefused("path_missing", f"folder `{written}` does not exist")
        if not folder.is_relative_to(_real(base)):
            raise WorkRefused("path_escapes", f"folder `{written}` is outside the workspace")
        return folder

    def agent_folder(self, written: str) -> Path:
        """Return the folder of an agent's `cwd`, which may leave the workspace. Raises WorkRefused."""
        if _REPO.fullmatch(written):
            return self.step_folder(written)
        folder = self._mapped(_real(self.origin / written))
        if folder is None:
            raise WorkRefused(
                "cwd_not_isolated",
                f"folder `{written}` is in neither the workspace nor a repository and cannot be isolated; "
                "declare it under `repos:` or write `workspace: shared`",
            )
        if not folder.is_dir():
            raise WorkRefused("path_missing", f"folder `{written}` does not exist")
        return folder

    def looked_at(self, written: str) -> Path:
        """Return a folder that a step may read: its own copy where it has one."""
        if _REPO.fullmatch(written):
            base, rest = self._begun(written)
            return _real(base / rest)
        path = _real(self.origin / Path(written).expanduser())
        return self._mapped(path) or path

    def ground(self, cwd: Path, *, kept: bool = False) -> Ground:
        """Return the ground of globs: the working folder; with `kept`, the workspace if the working folder lies in it."""
        repos = {
            name.removeprefix("repos."): _real(self.folders[root.name])
            for name, root in self.roots.names.items()
            if name != WORKSPACE and root.name in self.folders
        }
        workspace = _real(self.workspace)
        if cwd.is_relative_to(workspace):
            return Ground(workspace if kept else cwd, workspace, repos=repos)
        enclosing = [(name, root) for name, root in repos.items() if cwd.is_relative_to(root)]
        name, root = max(enclosing, key=lambda repo: len(repo[1].parts), default=("", cwd))
        return Ground(cwd, root, f"repos.{name}:" if name else "", repos)

    def variables(self) -> dict[str, str]:
        """Return the environment variables that name a step's folders."""
        named = {WORKSPACE_VARIABLE: str(self.workspace)}
        for name, folder in self.folders.items():
            if name != WORKSPACE:
                capitals = re.sub(r"[^A-Z0-9]", "_", name.removeprefix("repos.").upper())
                named[REPO_VARIABLE + capitals] = str(folder)
        return named

    def _begun(self, written: str) -> tuple[Path, str]:
        match = _REPO.fullmatch(written)
        if match is None:
            return self.workspace, written
        try:
            root = self.roots.named(match[1]).name
            return self.folders[root], match[2] or "."
        except KeyError as error:
            raise WorkRefused(
                "repo_not_given", f"`{match[1]}` is not a repository of this step"
            ) from error

    def _mapped(self, folder: Path) -> Path | None:
        """Return a folder of the user's as the attempt sees it; None where an isolated one has no copy of it."""
        if not self.is_isolated:
            return folder
        try:
            root, inner = self.roots.located(str(folder))
            return self.folders[root.name] / inner
        except (KeyError, ValueError):
            return None


def shared_folders(run: RunState, roots: Roots) -> AttemptFolders:
    """Return the user's own folders."""
    folders = {root.name: Path(root.folder) for root in roots.roots}
    return AttemptFolders(roots, Path(run.workspace), folders, origin_of(run))


def isolated_folders(run: RunState, roots: Roots, given: Checkout) -> AttemptFolders:
    """Return the folders of an isolated attempt."""
    return AttemptFolders(roots, given.workspace, given.folders, origin_of(run), is_isolated=True)


def _real(path: Path) -> Path:
    """Return a path with its links resolved; unlike `Path.resolve` it takes links in a circle, which lead nowhere."""
    return Path(os.path.realpath(path))


def roots_of(run: RunState) -> Roots:
    """Return the folders a run works on, as it has pinned them, links resolved."""
    workspace = Path(run.workspace)
    repos = {name: os.path.realpath(workspace / path) for name, path in run.repos.items()}
    return Roots.of(os.path.realpath(workspace), repos)


def origin_of(run: RunState) -> Path:
    """Return the folder of the file a run's spec came from; the workspace where there is none any more."""
    source = None if run.source is None else Path(run.source)
    return source.parent if source is not None and source.is_file() else Path(run.workspace)
