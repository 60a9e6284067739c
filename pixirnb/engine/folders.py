"""Where an attempt works: the user's own folders, or the ones it was given; and how what a spec writes is found there.

A step's `cwd` is looked up from the workspace, an agent's from the folder of the spec's file; both may begin with
`repos.NAME`. Source: contract.md §1 (workspace), §8.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pixirnb.history.run_state import RunState
from pixirnb.planning.roots import WORKSPACE, Roots
from pixirnb.protocols.trees import Checkout
from pixirnb.protocols.work import WorkRefused
from pixirnb.runners.artifact_globs import Ground

WORKSPACE_VARIABLE: Final = "PIXIRNB_WORKSPACE"
REPO_VARIABLE: Final = "PIXIRNB_REPO_"
"""Followed by a repository's name in capitals, `-` as `_`: its folder as the step sees it."""

_REPO: Final = re.compile(r"(repos\.[^/:]+)(?:/(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class AttemptFolders:
    """The folders of one attempt."""

    roots: Roots
    workspace: Path
    folders: Mapping[str, Path]
    """By root; of an isolated attempt those it was given."""
    origin: Path
    """The folder of the spec's file."""
    is_isolated: bool = False

    def step_folder(self, written: str) -> Path:
        """The folder of a step's `cwd`. Raises WorkRefused."""
        base, rest = self._begun(written)
        place = (base / rest).resolve()
        if not place.is_dir():
            raise WorkRefused("path_missing", f"The folder `{written}` to work in is not there.")
        if not place.is_relative_to(base.resolve()):
            raise WorkRefused("path_escapes", f"The folder `{written}` leads out of the workspace.")
        return place

    def agent_folder(self, written: str) -> Path:
        """The folder of an agent's `cwd`, which may leave the workspace. Raises WorkRefused."""
        if _REPO.fullmatch(written):
            return self.step_folder(written)
        place = self._mapped((self.origin / written).resolve())
        if place is None:
            raise WorkRefused(
                "cwd_not_isolated",
                f"The folder `{written}` is in neither the workspace nor a repository, so it cannot be isolated: "
                "declare it in `repos`, or write `workspace: shared`.",
            )
        if not place.is_dir():
            raise WorkRefused("path_missing", f"The folder `{written}` to work in is not there.")
        return place

    def looked_at(self, written: str) -> Path:
        """A folder that a step may look at: its own copy where it has one."""
        if _REPO.fullmatch(written):
            base, rest = self._begun(written)
            return (base / rest).resolve()
        found = (self.origin / Path(written).expanduser()).resolve()
        return self._mapped(found) or found

    def ground(self, cwd: Path, *, kept: bool = False) -> Ground:
        """Where globs are looked up: from the folder worked in; for what is `kept`, from the workspace if it lies there."""
        repos = {
            name.removeprefix("repos."): self.folders[root.name].resolve()
            for name, root in self.roots.names.items()
            if name != WORKSPACE and root.name in self.folders
        }
        workspace = self.workspace.resolve()
        if cwd.is_relative_to(workspace):
            return Ground(workspace if kept else cwd, workspace, repos=repos)
        around = [(name, root) for name, root in repos.items() if cwd.is_relative_to(root)]
        name, root = max(around, key=lambda found: len(found[1].parts), default=("", cwd))
        return Ground(cwd, root, f"repos.{name}:" if name else "", repos)

    def variables(self) -> dict[str, str]:
        """What a step's environment says of its folders."""
        named = {WORKSPACE_VARIABLE: str(self.workspace)}
        for name, folder in self.folders.items():
            if name != WORKSPACE:
                capitals = re.sub(r"[^A-Z0-9]", "_", name.removeprefix("repos.").upper())
                named[REPO_VARIABLE + capitals] = str(folder)
        return named

    def _begun(self, written: str) -> tuple[Path, str]:
        found = _REPO.fullmatch(written)
        if found is None:
            return self.workspace, written
        try:
            root = self.roots.named(found[1]).name
            return self.folders[root], found[2] or "."
        except KeyError as error:
            raise WorkRefused(
                "repo_not_given", f"`{found[1]}` is not among the repositories that this step uses."
            ) from error

    def _mapped(self, place: Path) -> Path | None:
        """A place of the user's as the attempt sees it; None where an isolated one has no copy of it."""
        if not self.is_isolated:
            return place
        try:
            root, inner = self.roots.located(str(place))
            return self.folders[root.name] / inner
        except (KeyError, ValueError):
            return None


def shared_place(run: RunState, roots: Roots) -> AttemptFolders:
    """The user's own folders."""
    folders = {root.name: Path(root.folder) for root in roots.roots}
    return AttemptFolders(roots, Path(run.workspace), folders, origin_of(run))


def isolated_place(run: RunState, roots: Roots, given: Checkout) -> AttemptFolders:
    """The folders that an attempt was given."""
    return AttemptFolders(roots, given.workspace, given.folders, origin_of(run), is_isolated=True)


def roots_of(run: RunState) -> Roots:
    """The folders a run works on, as it has pinned them, links resolved."""
    workspace = Path(run.workspace)
    repos = {name: os.path.realpath(workspace / path) for name, path in run.repos.items()}
    return Roots.of(os.path.realpath(workspace), repos)


def origin_of(run: RunState) -> Path:
    """The folder of the file a run's spec came from; the workspace where there is none any more."""
    source = None if run.source is None else Path(run.source)
    return source.parent if source is not None and source.is_file() else Path(run.workspace)
