"""Which store keeps the trees of a root: on git where there is one that is new enough, else with copies.

A run goes on with the method that its log names, for neither store reads the other's trees; only what is new is free to choose.
Source: contract.md §8; docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path
from typing import Final

from pixirnb.protocols.trees import MergeInput, Method, TreeStore
from pixirnb.workspace.copies.tree_store import PlainTrees
from pixirnb.workspace.git.command import is_usable
from pixirnb.workspace.git.refs import names_of
from pixirnb.workspace.git.tree_store import GitTrees
from pixirnb.workspace.merge.journal import Work
from pixirnb.workspace.missing_trees import git_missing, git_missing_to_forget, trees_mixed

_FOLDER: Final = "trees"
_STORES: Final[dict[str, type[GitTrees | PlainTrees]]] = {"git": GitTrees, "copy": PlainTrees}


def usual_method() -> Method:
    """How trees are kept where nothing says otherwise. Raises Cannot where git is there and could not be started now."""
    return "git" if is_usable() else "copy"


def method_named(order: MergeInput, root: str) -> str | None:
    """How trees of `root` are kept for an order, by what it builds on, else by what its run has; None where it has nothing.

    Raises Cannot: `git_missing`, `trees_mixed` (what it builds on was kept by both methods, by an earlier release).
    """
    needed = {each.step: each.method for each in order.layers if each.root == root and each.method}
    named = needed or order.kept.get(root, {})
    methods = set(named.values())
    if "git" in methods and not is_usable():
        if needed or (methods == {"git"} and not order.is_anew):
            is_undo = any(not each.attempt for each in order.layers)
            by_git = [step for step, method in named.items() if method == "git"]
            raise git_missing(order.run_id, by_git, is_undo=is_undo)
        return "copy"
    if needed and len(methods) > 1:
        last = list(named.values())[-1]
        others = [step for step, method in named.items() if method != last]
        raise trees_mixed(order.run_id, others)
    return list(named.values())[-1] if named else None


def store_for_reversal(state: Path, work: Work) -> TreeStore | None:
    """What keeps what a merge took from a root; None where that takes a git that is not there. Raises Cannot."""
    method = work.method or usual_method()
    return None if method == "git" and not is_usable() else tree_store(state, work.root, method)


def tree_store(state: Path, root: Path, method: str | None = None) -> TreeStore:
    """The store of `root` in a state folder by one method, else the usual one.

    It goes by where the root lies from the state folder, so that a project that is moved finds its trees again.
    """
    real = Path(os.path.realpath(root))
    place = os.path.relpath(real, os.path.realpath(state))
    key = blake2b(os.fsencode(place), digest_size=16).hexdigest()
    method = method or usual_method()
    return _STORES[method](state / _FOLDER / f"{key}-{method}", real)


def refuse_to_forget(state: Path, run_id: str) -> None:
    """Raise Cannot (`git_missing`) where stores of a state folder keep something for a run that they cannot let go of now."""
    for folder, method in _stores(state):
        if method == "git" and not is_usable() and names_of(folder, run_id).is_dir():
            raise git_missing_to_forget(run_id)


def forget_run(state: Path, run_id: str) -> None:
    """Let go of everything that the stores of a state folder keep for a run. Raises Cannot (`git_missing` …)."""
    refuse_to_forget(state, run_id)
    for folder, method in _stores(state):
        if method == "git" and not is_usable():
            continue
        # What is forgotten are names in the folder: the root plays no part, and may be gone.
        _STORES[method](folder, folder).forget(run_id)


def _stores(state: Path) -> list[tuple[Path, str]]:
    """The folders of trees in a state folder, and how each keeps them."""
    found = [(path, path.name.rpartition("-")[2]) for path in (state / _FOLDER).glob("*-*")]
    return sorted((path, method) for path, method in found if method in _STORES and path.is_dir())
