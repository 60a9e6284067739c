"""The stores of trees of a state folder, one for each root: `trees/KEY-git/`.

Trees that an earlier release kept as copies, where there was no git, lie in `trees/KEY-copy/`. Nothing here reads them; they
are deleted with their last run. Source: contract.md §8; docs/adr/0022-isolation-needs-git.md.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path
from typing import Final
from urllib.parse import quote

from pixirnb.workspace.git.command import is_usable
from pixirnb.workspace.git.refs import names_of
from pixirnb.workspace.git.tree_store import GitTrees
from pixirnb.workspace.merge.journal import Work
from pixirnb.workspace.missing_trees import git_missing, git_missing_to_forget
from pixirnb.workspace.remove_copies import remove_folder

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
