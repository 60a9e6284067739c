"""Which store keeps the trees of a root: on git where there is one that is new enough, else with copies."""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path
from typing import Final

from pixirnb.trees import TreeStore
from pixirnb.workspace.git_command import is_usable
from pixirnb.workspace.git_trees import GitTrees
from pixirnb.workspace.plain_trees import PlainTrees

_FOLDER: Final = "trees"
_STORES: Final[dict[str, type[GitTrees | PlainTrees]]] = {"git": GitTrees, "copy": PlainTrees}


def tree_store(state: Path, root: Path) -> TreeStore:
    """The store of `root` in a state folder; one by each method, for neither reads the other's trees.

    It goes by where the root lies from the state folder, so that a project that is moved finds its trees again.
    """
    real = Path(os.path.realpath(root))
    place = os.path.relpath(real, os.path.realpath(state))
    key = blake2b(os.fsencode(place), digest_size=16).hexdigest()
    method = "git" if is_usable() else "copy"
    return _STORES[method](state / _FOLDER / f"{key}-{method}", real)


def forget_run(state: Path, run_id: str) -> None:
    """Let go of everything that the stores of a state folder keep for a run. Raises Cannot."""
    for folder in sorted((state / _FOLDER).glob("*-*")):
        method = folder.name.rpartition("-")[2]
        if method in _STORES and folder.is_dir():
            # What is forgotten are names in the folder: the root plays no part, and may be gone.
            _STORES[method](folder, folder).forget(run_id)
