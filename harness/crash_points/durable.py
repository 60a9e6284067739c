"""What of a folder a power failure would leave: the bytes and the names that were synced, and nothing else.

The strictest reading of POSIX. A file keeps the bytes it had at its last sync; a name is there if its folder was synced since
it was made, and leads to the file it led to then: a rename, a removal or a truncation that was not synced did not happen.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import stat
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_TRIES: Final = 100


@dataclass(slots=True, eq=False)
class Node:
    """A file or a folder as the disk has it."""

    data: bytes = b""
    names: dict[str, Node] | None = None
    """Of a folder: what its names lead to. None for a file."""
    link: str | None = None
    """Of a link: where it leads; known from when it was made."""
    bits: int | None = None
    """Permission bits of a file, where they are known."""


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
        link = os.readlink(path) if stat.S_ISLNK(status.st_mode) else None  # noqa: PTH115 - text
        names: dict[str, Node] | None = {} if stat.S_ISDIR(status.st_mode) else None
        self._nodes[status.st_ino] = Node(names=names, link=link)

    def synced(self, descriptor: int) -> None:
        """A file's bytes, or a folder's names, were made durable."""
        status = os.fstat(descriptor)
        path = f"/proc/self/fd/{descriptor}"
        is_folder = stat.S_ISDIR(status.st_mode)
        node = self._node(status.st_ino, is_folder=is_folder)
        if is_folder:
            with os.scandir(path) as entries:
                node.names = {entry.name: self._of(entry) for entry in entries}
        else:
            node.data = Path(path).read_bytes()
            node.bits = stat.S_IMODE(status.st_mode)

    def lose(self) -> None:
        """Make the tree on the disk what the power failure leaves of it.

        Other threads of this process may still write beneath it: it is tried again. Raises OSError where it cannot be made.
        """
        for _ in range(_TRIES):
            with suppress(OSError):
                return _restore(self.root, self._top)
            time.sleep(0.01)
        return _restore(self.root, self._top)

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
            data = base64.b64encode(node.data).decode()
            rows.append([data, node.names is not None, names, node.link, node.bits])
        return json.dumps({"nodes": rows, "inodes": inodes}).encode()

    def _told(self, known: dict[str, Any]) -> Node:
        nodes = [
            Node(base64.b64decode(data), {} if is_folder else None, link, bits)
            for data, is_folder, _, link, bits in known["nodes"]
        ]
        for node, (_, _, names, _, _) in zip(nodes, known["nodes"], strict=True):
            if names:
                node.names = {name: nodes[index] for name, index in names.items()}
        self._nodes = {int(inode): nodes[index] for inode, index in known["inodes"].items()}
        return nodes[0]

    def _of(self, entry: os.DirEntry[str]) -> Node:
        return self._node(entry.inode(), is_folder=entry.is_dir(follow_symlinks=False))

    def _node(self, inode: int, *, is_folder: bool) -> Node:
        """The node of an inode: another one where its number stood for a file and is a folder's now, or the other way round."""
        node = self._nodes.get(inode)
        if node is None or (node.names is not None) != is_folder:
            node = self._nodes[inode] = Node(names={} if is_folder else None)
        return node

    def _taken(self, folder: Path) -> Node:
        top = Node(names={})
        self._nodes[folder.lstat().st_ino] = top
        assert top.names is not None
        for path in folder.iterdir():
            if path.name in _BY_OTHERS:
                continue  # a git that its dead owner had started may still be at work there
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode):
                top.names[path.name] = self._taken(path)
            elif stat.S_ISLNK(status.st_mode):
                node = Node(link=os.readlink(path))  # noqa: PTH115 - text
                top.names[path.name] = self._nodes.setdefault(status.st_ino, node)
            else:
                node = Node(path.read_bytes(), bits=stat.S_IMODE(status.st_mode))
                top.names[path.name] = self._nodes.setdefault(status.st_ino, node)
        return top


_BY_OTHERS: Final = frozenset({"trees"})
"""What git's own processes write and sync is not seen here: it stays as it is."""


def _restore(folder: Path, node: Node) -> None:
    names = {name: kept for name, kept in (node.names or {}).items() if name not in _BY_OTHERS}
    for path in [path for path in folder.iterdir() if path.name not in _BY_OTHERS]:
        kept = names.get(path.name)
        is_folder = path.is_dir() and not path.is_symlink()
        if kept is not None and (kept.names is not None) == is_folder:
            continue
        if is_folder:
            shutil.rmtree(path)
        else:
            path.unlink()
    for name, kept in names.items():
        path = folder / name
        if kept.names is not None:
            path.mkdir(mode=0o700, exist_ok=True)
            _restore(path, kept)
        elif kept.link is not None:
            path.unlink(missing_ok=True)
            path.symlink_to(kept.link)
        elif path.is_symlink() or not path.exists() or path.read_bytes() != kept.data:
            path.unlink(missing_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(kept.data)
                os.fchmod(file.fileno(), kept.bits or 0o600)
