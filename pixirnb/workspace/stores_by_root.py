"""The stores of trees of a state folder, one for each root: `trees/KEY-git/`.

Trees that an earlier release kept as copies, where there was no git, lie in `trees/KEY-copy/`. Nothing here reads them; they
are deleted with their last run. Source: contract.md §8; docs/adr/0022-isolation-needs-git.md.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pixirnb.planning.roots import WORKSPACE, Roots
from pixirnb.protocols.trees import Belonging
from pixirnb.workspace.folder_walk import file_marks
from pixirnb.workspace.git.command import is_usable
from pixirnb.workspace.git.refs import names_of
from pixirnb.workspace.git.tree_store import GitTrees
from pixirnb.workspace.merge.journal import Work
from pixirnb.workspace.missing_trees import git_missing, git_missing_to_forget
from pixirnb.workspace.remove_copies import remove_folder
from pixirnb.workspace.rules import Rules, claimed_of

_FOLDER: Final = "trees"


def tree_store(state: Path, root: Path) -> GitTrees:
    """Return the store of `root` in a state folder. Raises Cannot (`git_missing`; others where git could not be started now).

    Its key is the path of the root from the state folder, so that a project that is moved finds its trees again.
    """
    if not is_usable():
        raise git_missing()
    real = Path(os.path.realpath(root))
    location = os.path.relpath(real, os.path.realpath(state))
    key = blake2b(os.fsencode(location), digest_size=16).hexdigest()
    return GitTrees(state / _FOLDER / f"{key}-git", real)


class RootStores:
    """The stores of some roots, with the folder and the rules of each. Used from any thread."""

    def __init__(self, state: Path, roots: Roots, never_copy: Sequence[str]) -> None:
        """Prepare the stores. `state`: the state folder of the runs."""
        self._state = state
        self._roots = roots
        self._never_copy = tuple(never_copy)
        self._stores: dict[str, GitTrees] = {}

    @cached_property
    def _has_git(self) -> bool:
        # Asked once: where git comes or goes meanwhile, files that it ignores would look new, or gone.
        return is_usable()

    def store(self, root: str) -> GitTrees:
        """Return the store of a root. Raises as `tree_store`."""
        store = self._stores.get(root)
        if store is None:
            store = self._stores[root] = tree_store(self._state, self.folder(root))
        return store

    def folder(self, root: str) -> Path:
        """Return the user's folder of a root."""
        return Path(self._roots.named(root).folder)

    def belonging(
        self,
        root: str,
        claimed: Sequence[str],
        also: frozenset[str] = frozenset(),
        carried: Sequence[str] = (),
    ) -> Belonging:
        """Return the rules for the files of a root that belong to a snapshot."""
        return Belonging(
            never_copy=self._never_copy,
            nested=self._roots.nested(root),
            claimed=tuple(claimed_of(claimed, None if root == WORKSPACE else root[6:])),
            also=also,
            carried=tuple(
                path for name, path in map(self._roots.located, carried) if name.name == root
            ),
        )

    def marks(self, root: str) -> dict[str, object]:
        """Return every file of a root with a value that changes when it is written, but what this process prints to.

        Raises Cannot.
        """
        belonging, folder = self.belonging(root, ()), self.folder(root)
        store = self.store(root) if self._has_git else None
        marks = store.marks(belonging) if store else file_marks(folder, Rules(belonging))
        for descriptor in (1, 2):  # `pixirnb run … > build.log` is no work of a step
            printed = Path(os.path.realpath(f"/dev/fd/{descriptor}"))
            if printed.is_relative_to(folder):
                marks.pop(printed.relative_to(folder).as_posix(), None)
        return marks


def store_for_reversal(state: Path, work: Work) -> GitTrees | None:
    """Return the store of the files that a merge replaced in a root; None where there is no git. Raises Cannot."""
    return tree_store(state, work.root) if is_usable() else None


def refuse_to_forget(state: Path, run_id: str) -> None:
    """Raise Cannot (`git_missing`) where stores of a state folder keep trees for a run that they cannot release now."""
    if any(names_of(folder, run_id).is_dir() for folder in _stores(state)) and not is_usable():
        raise git_missing_to_forget(run_id)


def forget_run(state: Path, run_id: str) -> None:
    """Release all trees that the stores of a state folder keep for a run. Raises Cannot (`git_missing` …)."""
    refuse_to_forget(state, run_id)
    for folder in _stores(state) if is_usable() else ():
        # What is forgotten are names in the folder: the root plays no part, and may be gone.
        GitTrees(folder, folder).forget(run_id)
    for kept in sorted((state / _FOLDER).glob("*-copy/kept")):
        remove_folder(kept / f"of-{quote(run_id, safe='')}")
        if not any(kept.iterdir()):
            remove_folder(kept.parent)


def _stores(state: Path) -> list[Path]:
    return sorted(path for path in (state / _FOLDER).glob("*-git") if path.is_dir())
