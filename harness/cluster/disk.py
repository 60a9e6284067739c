"""A machine's disk in a simulated cluster: the folders of isolated attempts on it, and the packs that go to others."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import count
from pathlib import Path

from pixirnb.errors import Cannot
from pixirnb.protocols.trees import CopyFolders
from pixirnb.runners.cluster.blobs import WorkerBlobs

Folder = dict[str, str]
"""Texts by name."""


class Disk:
    """Implements `protocols.trees.TreePacks`. Packs are files of this machine: their bytes travel."""

    _numbers = count()

    def __init__(self, place: Path) -> None:
        self.folders: dict[Path, Folder] = {}
        self.blobs = WorkerBlobs(place / f"blobs-{next(self._numbers)}", kept=4_000_000)
        """Room for some of the arguments, not for all."""
        self._place = place
        self._trees: dict[str, Folder] = {}

    def known(self) -> tuple[str, ...]:
        return tuple(self._trees)

    def record(self, top: Path, is_over: Callable[[], bool]) -> str:  # noqa: ARG002 - it takes no time
        if top not in self.folders:
            raise Cannot(f"{top} is gone", code="snapshot_unreadable")
        return self._kept(self.folders[top])

    def pack(self, tree: str, known: Sequence[str]) -> Path:
        file = self.incoming()
        content = self._trees[tree]
        has = {(name, text) for each in known for name, text in self._trees.get(each, {}).items()}
        new = {name: text for name, text in content.items() if (name, text) not in has}
        base = [name for name in content if name not in new]
        old = {name: blake2b(content[name].encode()).hexdigest() for name in base}
        is_large = tree.startswith("0")  # several pieces
        file.write_text(json.dumps([new, old]) + " " * (2_500_000 if is_large else 0))
        return file

    def incoming(self) -> Path:
        file = self._place / f"pack-{next(self._numbers)}"
        file.touch()
        return file

    def add(self, pack: Path, tree: str) -> None:
        new, old = json.loads(pack.read_text())
        pack.unlink()
        known = {
            blake2b(text.encode()).hexdigest(): text
            for each in self._trees.values()
            for text in each.values()
        }
        if self._kept({**new, **{name: known[digest] for name, digest in old.items()}}) != tree:
            raise Cannot("a pack is not what it says", code="tree_store_unusable")

    def lay_out(self, tree: str, copies: CopyFolders) -> None:
        if copies.top in self.folders:
            raise Cannot(f"{copies.top} exists", code="tree_store_unusable")
        self.folders[copies.top] = dict(self._trees[tree])

    def update(self, top: Path, before: str, after: str) -> None:
        if self._kept(self.folders[top]) != before:
            raise Cannot(f"{top} has changed", code="tree_store_unusable")
        self.folders[top] = dict(self._trees[after])

    def remove(self, top: Path) -> None:
        self.folders.pop(top, None)

    def close(self) -> None:
        self._trees.clear()

    def _kept(self, content: Folder) -> str:
        name = blake2b(json.dumps(sorted(content.items())).encode(), digest_size=8).hexdigest()
        self._trees[name] = dict(content)
        return name
