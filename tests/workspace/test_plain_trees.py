"""The store of trees without git keeps every promise of the contract suite, and some of its own."""

from __future__ import annotations

from pathlib import Path

from pixirnb.testing.tree_contract import TreeContract
from pixirnb.trees import TreeStore
from pixirnb.workspace.plain_trees import PlainTrees


class TestPlainTrees(TreeContract):
    def make_store(self, folder: Path, root: Path) -> TreeStore:
        return PlainTrees(folder, root)
