"""What of a folder a power failure would leave: the bytes and the names that were synced, and nothing else.

The strictest reading of POSIX. A file keeps the bytes it had at its last sync; a name is there if its folder was synced since
it was made, and leads to the file it led to then: a rename, a removal or a truncation that was not synced did not happen.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(slots=True, eq=False)
class Node:
    """A file or a folder as the disk has it."""

    data: bytes = b""
    names: dict[str, Node] | None = None
    """Of a folder: what its names lead to. None for a file."""


class Durable:
    """What is durable of the tree at `root`, as it is synced piece by piece. What is there at first is taken for durable."""

    def __init__(self, root: Path, known: bytes | None = None) -> None:
        """`known`: the `document` of the process before, for what it had not synced when it died."""
        self.root = root
        self._nodes: dict[int, Node] = {}
        """By inode, of what exists now."""
        if known is None:
            self._top = self._taken(root)
        else:
            self._top = self._told(json.loads(known))

    def made(self, path: str) -> None:
        """A file or folder was made: nothing of it is durable, whatever its inode number stood for before."""
        status = os.lstat(path)
        self._nodes[status.st_ino] = Node(names={} if os.path.isdir(path) else None)  # noqa: PTH112

    def synced(self, descriptor: int) -> None:
        """A file's bytes, or a folder's names, were made durable."""
        status = os.fstat(descriptor)
        path = f"/proc/self/fd/{descriptor}"
        node = self._nodes.setdefault(status.st_ino, Node())
        if os.path.isdir(path):  # noqa: PTH112 - a descriptor's link, not a path of ours
            with os.scandir(path) as entries:
                node.names = {entry.name: self._of(entry) for entry in entries}
        else:
            node.data = Path(path).read_bytes()

    def lose(self) -> None:
        """Make the tree on the disk what the power failure leaves of it."""
        _restore(self.root, self._top)

    def lines(self, name: str) -> dict[str, int]:
        """Durable lines of every file of that name, by the name of the folder it lies in."""
        found: dict[str, int] = {}
        folders = [("", self._top)]
        for called, folder in folders:  # grows while it is read
            for entry, node in (folder.names or {}).items():
                if node.names is not None:
                    folders.append((entry, node))
                elif entry == name:
                    found[called] = node.data.count(b"\n")
        return found

    def document(self) -> bytes:
        """All that is known, for the process that comes next."""
        order = {id(self._top): 0}
        nodes = [self._top]
        inodes = {}
        for number, node in self._nodes.items():
            if id(node) not in order:
                order[id(node)] = len(nodes)
                nodes.append(node)
            inodes[number] = order[id(node)]
        rows: list[Any] = []
        for node in nodes:  # grows while it is read: names may lead to what has no inode any more
            for below in (node.names or {}).values():
                if id(below) not in order:
                    order[id(below)] = len(nodes)
                    nodes.append(below)
            names = {name: order[id(below)] for name, below in (node.names or {}).items()}
            rows.append([base64.b64encode(node.data).decode(), node.names is not None, names])
        return json.dumps({"nodes": rows, "inodes": inodes}).encode()

    def _told(self, known: dict[str, Any]) -> Node:
        nodes = [
            Node(base64.b64decode(data), {} if is_folder else None)
            for data, is_folder, _ in known["nodes"]
        ]
        for node, (_, _, names) in zip(nodes, known["nodes"], strict=True):
            if names:
                node.names = {name: nodes[index] for name, index in names.items()}
        self._nodes = {int(inode): nodes[index] for inode, index in known["inodes"].items()}
        return nodes[0]

    def _of(self, entry: os.DirEntry[str]) -> Node:
        is_folder = entry.is_dir(follow_symlinks=False)
        return self._nodes.setdefault(entry.inode(), Node(names={} if is_folder else None))

    def _taken(self, folder: Path) -> Node:
        top = Node(names={})
        self._nodes[folder.lstat().st_ino] = top
        assert top.names is not None
        for path in folder.iterdir():
            if path.is_dir():
                top.names[path.name] = self._taken(path)
            else:
                node = self._nodes.setdefault(path.lstat().st_ino, Node(path.read_bytes()))
                top.names[path.name] = node
        return top


def _restore(folder: Path, node: Node) -> None:
    names = node.names or {}
    for path in folder.iterdir():
        kept = names.get(path.name)
        if kept is not None and (kept.names is not None) == path.is_dir():
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    for name, kept in names.items():
        path = folder / name
        if kept.names is not None:
            path.mkdir(mode=0o700, exist_ok=True)
            _restore(path, kept)
        elif not path.exists() or path.read_bytes() != kept.data:
            path.unlink(missing_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(kept.data)
