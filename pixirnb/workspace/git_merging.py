"""Three-way merges of trees by git, and its conflicts in words of ours.

Renames are not looked for: what git takes for a rename depends on how alike two files happen to be, and a conflict would then
lie at a path that one side never had. A file renamed here and edited there is a conflict with its name, not a guess.
"""

from __future__ import annotations

import os
import re
from typing import Final

from pixirnb.trees import LINK, Conflict, ConflictKind, Entry, Merged
from pixirnb.workspace.git_changes import entries_of
from pixirnb.workspace.git_command import Git

OURS: Final = b"ours"
THEIRS: Final = b"theirs"
"""What the markers in `Conflict.marked` call the two sides."""
LARGEST_MARKED: Final = 256 * 1024
"""Bytes of a text in conflict that are shown."""

_FIRST_BYTES: Final = 8000
"""As far as git looks for a NUL, which makes a file no text."""


def merge_trees(git: Git, base: str, ours: str, theirs: str) -> Merged:
    """Merge two trees that come from a third. Raises Cannot (`tree_store_unusable`)."""
    if theirs in (ours, base):
        return Merged(ours)
    if base == ours:
        return Merged(theirs)
    start = _commit(git, base)
    sides = [_commit(git, tree, "-p", start) for tree in (ours, theirs)]
    said = git.run("merge-tree", "--write-tree", "-z", "--no-messages", *sides, accepted=(0, 1))
    words = said.out.split(b"\0")
    written = words[0].decode()
    if said.code == 0:
        return Merged(written)
    named = re.compile(rf"~(?:{'|'.join(sides)})(?:_\d+)?(?=/|$)")
    paths = {
        named.sub("", os.fsdecode(word.partition(b"\t")[2])) for word in words[1:] if b"\t" in word
    }
    found = _Conflicts(
        git, written, sides, [entries_of(git, tree) for tree in (base, ours, theirs)]
    )
    return Merged(None, tuple(found.at(path) for path in sorted(paths)))


class _Conflicts:
    def __init__(
        self, git: Git, written: str, sides: list[str], trees: list[dict[str, Entry]]
    ) -> None:
        self._git = git
        self._written = entries_of(git, written)
        self._labels = [
            (re.compile(rb"^(<{7}|>{7}) %s$" % side.encode(), re.MULTILINE), rb"\1 " + label)
            for side, label in zip(sides, (OURS, THEIRS), strict=True)
        ]
        self._trees = trees
        self._folders = [
            {path[:at] for path in tree for at, char in enumerate(path) if char == "/"}
            for tree in trees
        ]

    def at(self, path: str) -> Conflict:
        base, ours, theirs = (tree.get(path) for tree in self._trees)
        kind = self._kind(path, base, ours, theirs)
        is_text = kind in ("content", "both_added")
        marked = self._marked(path, ours, theirs) if is_text else None
        if kind == "content" and marked is None and self._has_no_text(base, ours, theirs):
            kind = "not_text"
        return Conflict(path, kind, base, ours, theirs, marked)

    def _kind(
        self, path: str, base: Entry | None, ours: Entry | None, theirs: Entry | None
    ) -> ConflictKind:
        if any(path in folders for folders in self._folders[1:]):
            return "kind"
        if ours is None or theirs is None:
            return "changed_and_deleted"
        if (ours.mode == LINK) != (theirs.mode == LINK):
            return "kind"
        return "both_added" if base is None else "content"

    def _marked(self, path: str, ours: Entry | None, theirs: Entry | None) -> bytes | None:
        entry = self._written.get(path)
        if entry is None or LINK in {side.mode for side in (ours, theirs) if side is not None}:
            return None
        size = int(self._git.run("cat-file", "-s", entry.digest).out)
        if size > LARGEST_MARKED:
            return None
        text = self._content(entry)
        if b"\0" in text[:_FIRST_BYTES]:
            return None
        marked = text
        for pattern, label in self._labels:
            marked = pattern.sub(label, marked)
        return marked if marked != text else None

    def _has_no_text(self, *entries: Entry | None) -> bool:
        return any(
            entry is not None
            and (entry.mode == LINK or b"\0" in self._content(entry)[:_FIRST_BYTES])
            for entry in entries
        )

    def _content(self, entry: Entry) -> bytes:
        return self._git.run("cat-file", "blob", entry.digest).out


def _commit(git: Git, tree: str, *arguments: str) -> str:
    return git.run("commit-tree", *arguments, "-m", "pixirnb", tree).out.decode().strip()
