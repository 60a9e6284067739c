"""Listing of the files of a folder that a snapshot holds: those that git lists, without files left out, with claimed ones.

Git is asked by an `Asker`: for the user's own folders their git, with its ignore rules and index; for a folder that a step
worked in a repository of ours, so that no configuration the step left there has effect. Submodules and repositories within are
asked on their own, and their files are files like any other.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from pixirnb.errors import Cannot
from pixirnb.protocols.trees import LARGEST_FILE, MOST_FILES
from pixirnb.workspace.errors import shown, unreadable
from pixirnb.workspace.git.command import Git
from pixirnb.workspace.git.user_repository import broken_error
from pixirnb.workspace.rules import Rules

Asker = Callable[[Path], Git]
"""Function that returns the git for a folder, the root or one within that is a repository of its own."""

_BELONGING: Final = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
_NOT_IGNORED: Final = ("ls-files", "-z", "--others", "--exclude-standard")
_IGNORED: Final = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard")
_LONGEST_NAME: Final = 255
_REGULAR: Final = (stat.S_IFREG, stat.S_IFLNK)


class FolderListing(Struct):
    """Listing of one folder. `files` by path with the `lstat` of each; nothing in it is opened."""

    root: Path
    ask: Asker
    plain: Asker
    """Asker for folders within that are known to a repository and are none themselves."""
    rules: Rules
    files: dict[str, os.stat_result] = field(default_factory=dict)
    _folders: dict[str, bool] = field(default_factory=lambda: {"": True})
    _waiting: list[tuple[str, Asker, bool]] = field(default_factory=list)
    _top: str = ""

    def __post_init__(self) -> None:
        self._top = f"{self.root}/"

    def of_what_belongs(self) -> dict[str, os.stat_result]:
        """Return the files of a snapshot. Raises Cannot (`snapshot_unreadable`, `snapshot_limit`, `repository_broken`)."""
        self._waiting.append(("", self.ask, False))
        while self._waiting:  # repositories may lie within each other, thousands deep
            prefix, ask, only_claimed = self._waiting.pop()
            self._list(prefix, ask, only_claimed=only_claimed)
        for path in self.rules.also:
            self._add(path)
        return self.files

    def of_what_is_left(self, limit: int) -> list[str]:
        """Return the files that belong to no snapshot and are not in the index that `ask` names: ignored, or kept back."""
        git = self.ask(self.root)
        left: list[str] = []
        for is_ignored, call in ((True, _IGNORED), (False, _NOT_IGNORED)):
            for name in self._paths("", git, call):
                path = name.rstrip("/")
                if self.rules.is_elsewhere(path) or self.rules.is_carried(path):
                    continue
                if self._status(path) is None:
                    continue
                if self.rules.is_kept_back(path) or (is_ignored and not self.rules.claims(path)):
                    left.append(path)
                    if len(left) == limit:
                        return left
        return left

    def _list(self, prefix: str, ask: Asker, *, only_claimed: bool) -> None:
        git = ask(self.root / prefix)
        for name in self._paths(prefix, git, _BELONGING):
            self._meet(prefix + name, ask, only_claimed=only_claimed)
        if (locations := self._claimed_below(prefix)) is not None:
            for name in self._paths(prefix, git, (*_IGNORED, "--", *locations)):
                self._meet(prefix + name, ask, only_claimed=True)

    def _paths(self, prefix: str, git: Git, call: tuple[str, ...]) -> Iterable[str]:
        try:
            output = git.run(*call)
        except Cannot as error:
            if git.is_theirs:
                raise broken_error(self.root / prefix, error) from error
            raise
        for line in output.errors.splitlines():
            if line.startswith("warning: could not open directory"):
                path = prefix + line.partition("'")[2].rpartition("'")[0].rstrip("/")
                if not self.rules.leaves_out(path):
                    raise unreadable(path or ".", self.root, line.rpartition(": ")[2])
        return os.fsdecode(output.out).split("\0")[:-1]

    def _meet(self, path: str, ask: Asker, *, only_claimed: bool) -> None:
        """Include a listed name; a folder is a repository within, or the rest of one."""
        path = path.rstrip("/")
        if path in self.files or self.rules.leaves_out(path):
            return
        status = self._status(path)
        if status is None:
            return
        if stat.S_ISDIR(status.st_mode):
            is_repository = os.path.lexists(self.root / path / ".git")
            within = ask if is_repository else self.plain
            self._waiting.append((path + "/", within, only_claimed))
        elif not only_claimed or self.rules.claims(path):
            self._take(path, status)

    def _add(self, path: str) -> None:
        if path not in self.files and not self.rules.leaves_out(path):
            status = self._status(path)
            if status is not None:
                self._take(path, status)

    def _take(self, path: str, status: os.stat_result) -> None:
        if stat.S_IFMT(status.st_mode) not in _REGULAR:
            return
        if status.st_size > LARGEST_FILE:
            raise over_limit(
                f"{shown(path)} has {status.st_size:,} bytes, more than the limit of {LARGEST_FILE:,}"
            )
        self.files[path] = status
        if len(self.files) > MOST_FILES:
            raise over_limit(f"{shown(str(self.root))} has more than {MOST_FILES:,} files")

    def _status(self, path: str) -> os.stat_result | None:
        """Return the status of a path; None where nothing is there, or only by way of a link."""
        # Thousands of files lie in few folders: each folder is asked for once.
        return self._stat(path) if self._is_folder(path.rpartition("/")[0]) else None

    def _stat(self, path: str) -> os.stat_result | None:
        try:
            return os.lstat(self._top + path)
        except PermissionError as error:
            raise unreadable(path, self.root, error.strerror or str(error)) from error
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG and _may_be(path):
                raise unreadable(path, self.root, error.strerror or str(error)) from error
            return None  # it went, or is a name that cannot be

    def _is_folder(self, path: str) -> bool:
        unknown: list[str] = []
        while (is_folder := self._folders.get(path)) is None:
            unknown.append(path)
            path = path.rpartition("/")[0]
        for inner in reversed(unknown):
            status = self._stat(inner) if is_folder else None
            is_folder = self._folders[inner] = status is not None and stat.S_ISDIR(status.st_mode)
        return is_folder

    def _claimed_below(self, prefix: str) -> list[str] | None:
        """Return the locations in a folder, relative to it, where ignored files may be claimed; None where there are none."""
        locations = self.rules.claimed_locations()
        if any(location == "" or prefix.startswith(f"{location}/") for location in locations):
            return ["."]
        below = [location[len(prefix) :] for location in locations if location.startswith(prefix)]
        return below or None


def _may_be(path: str) -> bool:
    """Return whether each name of a path is one that a file can have: then only the whole of it is too long."""
    return all(len(os.fsencode(name)) <= _LONGEST_NAME for name in path.split("/"))


def over_limit(what: str) -> Cannot:
    """Return the Cannot for a snapshot that would be too large."""
    return Cannot(
        f"the files cannot be isolated: {what}",
        fix="exclude files with `never_copy` or .gitignore, or write `workspace: shared`",
        code="snapshot_limit",
    )
