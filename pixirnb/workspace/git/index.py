"""Trees made of folders by way of indexes, which keep the status of each file on disk, so that a second snapshot is cheap.

A file that is rewritten with equal size within the second of the last snapshot is read again, as git does with every index it
wrote itself. Git cannot detect a file whose size, dates and inode are all as they were, which takes a clock set back.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from pixirnb.errors import Cannot
from pixirnb.protocols.trees import MOST_BYTES, TreeEntry, mark_of
from pixirnb.workspace.errors import shown, unreadable
from pixirnb.workspace.git.command import Git
from pixirnb.workspace.git.diff import index_lines
from pixirnb.workspace.git.listing import over_limit

_ATTEMPTS: Final = 3
_YOUNG_NS: Final = 2 * 10**9
"""Age below which a file may have been written again since its status was read, with equal dates."""


class IndexSnapshot(Struct, frozen=True):
    """The content of a folder at the last snapshot, as far as one `lstat` a file can tell."""

    tree: str
    marks: dict[str, object]
    """Marks by path; None for a file too young to compare."""
    is_borrowed: bool
    """True if the tree is one of the user's history: objects linked in from there are never pruned."""

    @classmethod
    def of(
        cls, tree: str, files: Mapping[str, os.stat_result], began: int, *, is_borrowed: bool
    ) -> IndexSnapshot:
        """Make a snapshot. `began`: the time at which the listing began, in nanoseconds since the epoch."""
        old = began - _YOUNG_NS
        return cls(
            tree,
            {
                path: mark_of(status) if max(status.st_mtime_ns, status.st_ctime_ns) < old else None
                for path, status in files.items()
            },
            is_borrowed,
        )

    def is_as(self, files: Mapping[str, os.stat_result]) -> bool:
        """Return whether nothing in the folder has changed since."""
        return len(files) == len(self.marks) and all(
            self.marks.get(path) == mark_of(status) for path, status in files.items()
        )


def record_tree(git: Git, root: Path, files: Mapping[str, os.stat_result]) -> str:
    """Bring the index of `git` up to date with `files` of its work tree, and write it as a tree.

    A file that goes while it is read is gone. Raises Cannot (`snapshot_limit`, `snapshot_unreadable`, `tree_store_unusable`).
    """
    known = set(_paths(git, "--cached"))
    if sum(status.st_size for status in files.values()) > MOST_BYTES:
        _require_room(git, root, files, known)
    gone = known.difference(files)
    if gone:
        git.run("update-index", "-z", "--force-remove", "--stdin", given=_list(gone))
    given = _list(sorted(files))
    for attempt in range(_ATTEMPTS):
        try:
            git.run("update-index", "-z", "--add", "--remove", "--replace", "--stdin", given=given)
            break
        except Cannot:
            _require_readable(root, files)
            if attempt == _ATTEMPTS - 1:
                raise
    return write_tree(git)


def write_tree(git: Git) -> str:
    """Return the tree of an index. Raises Cannot (`tree_store_unusable`) where the index names a missing object."""
    return git.run("write-tree").out.decode().strip()


def begin_at(git: Git, tree: str) -> None:
    """Make the index hold `tree`, and compare the files: unchanged ones are written nowhere, so that no object of the user's is
    written again under its old name, which would renew the date of an object that is linked."""
    git.run("read-tree", "-m", tree)
    git.run("update-index", "-q", "--refresh", accepted=(0, 1))


def edited_tree(git: Git, tree: str, files: Mapping[str, TreeEntry | None]) -> str:
    """Return `tree` with some files put in or taken out, by way of an empty index."""
    git.run("read-tree", tree)
    lines = index_lines(
        sorted(files.items(), key=lambda file: file[1] is not None), "0" * len(tree)
    )
    git.run("update-index", "-z", "--add", "--replace", "--index-info", given=lines)
    return write_tree(git)


def _require_room(
    git: Git, root: Path, files: Mapping[str, os.stat_result], known: set[str]
) -> None:
    changed = set(_paths(git, "--modified"))
    new = {path for path in files if path not in known or path in changed}
    size = sum(files[path].st_size for path in new)
    if size > MOST_BYTES:
        largest = max(new, key=lambda path: files[path].st_size)
        raise over_limit(
            f"{shown(str(root))} has {size:,} bytes of new or changed files, more than the limit of {MOST_BYTES:,}; "
            f"the largest is {shown(largest)}"
        )


def _require_readable(root: Path, files: Iterable[str]) -> None:
    """Raise Cannot (`snapshot_unreadable`) for the first file that exists and may not be read."""
    for path in files:
        try:
            descriptor = os.open(
                root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            )
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            if not (root / path).is_symlink():
                raise unreadable(path, root, error.strerror or str(error)) from error
        else:
            os.close(descriptor)


def _paths(git: Git, which: str) -> list[str]:
    return os.fsdecode(git.run("ls-files", "-z", which).out).split("\0")[:-1]


def _list(paths: Iterable[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)
