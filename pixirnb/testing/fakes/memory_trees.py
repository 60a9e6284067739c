"""Trees held in memory: as much of a TreeStore as putting files in place asks for, for tests and drills of it.

store = MemoryTrees(root)
before = store.taken()                        what the root holds, `.git`, `.pixirnb…` and empty folders apart
after = store.edited(before, {"a": store.file(b"new"), "b": None})
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from pixirnb.errors import Cannot
from pixirnb.protocols.trees import EXECUTABLE, FILE, LINK, Belonging, Merged, TreeChange, TreeEntry

_NOT_TAKEN: Final = (".git", ".pixirnb")


class MemoryTrees:
    """A TreeStore of one process. `meanwhile` is called with a word at each question, to simulate concurrent writers."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.meanwhile: Callable[[str], None] = lambda _: None
        self._contents: dict[str, bytes] = {}
        self._trees: dict[str, dict[str, TreeEntry]] = {}

    def file(self, data: bytes, mode: str = FILE) -> TreeEntry:
        """Keep bytes, and say what an entry for them is."""
        digest = hashlib.sha256(data).hexdigest()
        self._contents[digest] = data
        return TreeEntry(mode, digest)

    def taken(self, folder: Path | None = None) -> str:
        """Return the tree of a folder, of the root if none is named."""
        return self.tree(dict(self._walk(folder or self.root, "")))

    def tree(self, entries: Mapping[str, TreeEntry]) -> str:
        """Return a tree of these files."""
        name = hashlib.sha256(repr(sorted(entries.items())).encode("utf-8", "surrogateescape"))
        self._trees[name.hexdigest()] = dict(entries)
        return name.hexdigest()

    def entries(self, tree: str) -> dict[str, TreeEntry]:
        """Return every file of a tree by path."""
        return dict(self._trees[tree])

    def edited(self, tree: str, files: Mapping[str, TreeEntry | None]) -> str:
        """Return `tree` with some files put in or taken out."""
        mixed = {**self._trees[tree], **files}
        return self.tree({path: entry for path, entry in mixed.items() if entry is not None})

    def diff(self, before: str, after: str) -> list[TreeChange]:
        """Return the differences of two trees, by path."""
        old, new = self._trees[before], self._trees[after]
        paths = sorted(old.keys() | new.keys())
        return [
            TreeChange(path, old.get(path), new.get(path))
            for path in paths
            if old.get(path) != new.get(path)
        ]

    def put(self, content: bytes) -> str:
        """Keep bytes; return their digest."""
        return self.file(content).digest

    def content(self, digest: str) -> bytes:
        """Return the bytes of a file."""
        return self._contents[digest]

    def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """Return bytes of contents, by digest; those that are not there are left out."""
        return {each: len(self._contents[each]) for each in digests if each in self._contents}

    def write_content(self, digest: str, descriptor: int) -> None:
        """Write the bytes of a file to a descriptor."""
        self.meanwhile("write")
        data = memoryview(self._contents[digest])
        while data:
            data = data[os.write(descriptor, data) :]

    def digest_of(self, path: Path) -> TreeEntry | None:
        """Return an entry for the file at `path`."""
        self.meanwhile("look")
        return self._entry(path)

    def _entry(self, path: Path) -> TreeEntry | None:
        try:
            status = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        if stat.S_ISLNK(status.st_mode):
            return self.file(os.fsencode(os.readlink(path)), LINK)  # noqa: PTH115 - a Path drops `./`
        if not stat.S_ISREG(status.st_mode):
            return None
        mode = EXECUTABLE if status.st_mode & stat.S_IXUSR else FILE
        return self.file(path.read_bytes(), mode)

    def _walk(self, folder: Path, prefix: str) -> Iterable[tuple[str, TreeEntry]]:
        for path in sorted(folder.iterdir()):
            name = path.name
            if name.startswith(_NOT_TAKEN):
                continue
            if path.is_dir() and not path.is_symlink():
                yield from self._walk(path, f"{prefix}{name}/")
            elif (entry := self._entry(path)) is not None:
                yield prefix + name, entry

    def snapshot(self, belonging: Belonging) -> str:
        """Return the id of a tree as `taken` does: no rule plays a part here."""
        _none_of(belonging)
        return self.taken()

    def marks(self, belonging: Belonging) -> dict[str, object]:
        """Return the entries themselves: content is at hand."""
        _none_of(belonging)
        return {**self.entries(self.taken())}

    def capture(self, folder: Path, base: str, belonging: Belonging) -> str:
        """Return the id of a tree as `taken` does for that folder."""
        _none_of(base, belonging)
        return self.taken(folder)

    def left_behind(self, folder: Path, base: str, belonging: Belonging) -> list[str]:
        """Return nothing: no file is left behind."""
        _none_of(folder, base, belonging)
        return []

    def keep(self, name: str, trees: Sequence[str]) -> None:
        """Do nothing: all is kept for as long as this object."""
        _none_of(name, trees)

    def forget(self, owner: str) -> None:
        """Do nothing: no tree is let go."""
        _none_of(owner)

    def give(self, tree: str, folder: Path) -> None:
        """Raise Cannot: these trees are in no folder."""
        raise _not_here(tree, folder)

    def patch(self, before: str, after: str, paths: Iterable[str] | None = None) -> bytes:
        """Raise Cannot: these trees are in no folder."""
        raise _not_here(before, after, paths)

    def merge(self, base: str, ours: str, theirs: str) -> Merged:
        """Raise Cannot: these trees are in no folder."""
        raise _not_here(base, ours, theirs)


def _none_of(*_: object) -> None:
    """Take arguments of the protocol that a store in memory does not use."""


def _not_here(*_: object) -> Cannot:
    return Cannot("A store in memory only says what is in trees.", code="tree_store_unusable")
