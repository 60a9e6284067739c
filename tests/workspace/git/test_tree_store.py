"""The store of trees on git keeps the contract of every store, for a plain folder and for a repository."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from pixirnb.testing.contracts.tree import TreeContract
from pixirnb.workspace.git.tree_store import GitTrees

if TYPE_CHECKING:
    from pixirnb.protocols.trees import TreeStore


class TestGitTreesOfAFolder(TreeContract):
    def make_store(self, folder: Path, root: Path) -> TreeStore:
        return GitTrees(folder, root)


class TestGitTreesOfARepository(TreeContract):
    def make_store(self, folder: Path, root: Path) -> TreeStore:
        return GitTrees(folder, root)

    def prepare_root(self, root: Path) -> None:
        subprocess.run(["git", "init", "--quiet", str(root)], check=True)
