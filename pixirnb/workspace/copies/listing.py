"""Which files of a folder belong to a snapshot where there is no git to ask.

Everything belongs, but for secrets, what is never copied, roots within the root, `.git` and `.pixirnb`, and what lies in the
few folders of `LEFT_OUT`, which tools fill and can fill again. `.gitignore` files are not read: half of their rules would be
worse than none. What a step claims, and what is named one by one, is taken out of the folders of `LEFT_OUT` all the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pixirnb.errors import Cannot
from pixirnb.planning.globs.pattern import Pattern, overlap
from pixirnb.protocols.trees import LARGEST_FILE, MOST_BYTES, MOST_FILES, Belonging
from pixirnb.workspace.errors import shown
from pixirnb.workspace.rules import LEFT_OUT, Rules

_SPECIAL: Final = re.compile(r"([*?\[\]{}\\])")


@dataclass(frozen=True, slots=True)
class Found:
    """One file or link below a folder."""

    path: str
    belongs: bool


class PlainRules:
    """What `Belonging` says, with the files that belong whatever their folder is called (`exact`)."""

    def __init__(self, belonging: Belonging, exact: Iterable[str] = ()) -> None:
        """`exact`: files of the tree a folder was given; they are captured though their folder is left out."""
        self.rules = Rules(belonging)
        self._claimed = belonging.claimed
        self._exact = belonging.also | frozenset(exact)
        self._above_exact = {
            folder
            for path in self._exact
            if not LEFT_OUT.isdisjoint(path.split("/"))
            for folder in _folders_above(path)
        }

    def is_wanted(self, path: str) -> bool:
        """Whether a file in a folder that is left out belongs all the same."""
        return path in self._exact or self.rules.claims(path)

    def may_hold_wanted(self, folder: str) -> bool:
        """Whether looking into a folder that is left out could find anything that belongs."""
        if folder in self._above_exact:
            return True
        place = Pattern.parse("./" + _SPECIAL.sub(r"\\\1", folder)) if self._claimed else None
        return place is not None and any(overlap(pattern, place) for pattern in self._claimed)


def listing(root: Path, wanted: PlainRules, *, is_whole: bool = False) -> Iterator[Found]:
    """The files and links below `root` that belong, or with `is_whole` all of them but other roots and what is ours.

    Never follows a link. A folder that vanishes meanwhile is not there; one that cannot be read raises
    Cannot(code=`snapshot_unreadable`).
    """
    rules = wanted.rules
    waiting = [("", True)]
    while waiting:
        folder, belongs = waiting.pop()
        for entry in _scanned(root, folder):
            path = f"{folder}/{entry.name}" if folder else entry.name
            if rules.is_elsewhere(path):
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if not (is_folder or entry.is_symlink() or entry.is_file(follow_symlinks=False)):
                continue  # a pipe, a socket or a device is no content
            if rules.is_kept_back(path):
                if is_whole:
                    yield from _all_below(root, path, is_folder=is_folder)
                continue
            is_plain = belongs and not (
                entry.name in LEFT_OUT and (is_folder or entry.is_symlink())
            )
            if not is_folder:
                is_taken = is_plain or wanted.is_wanted(path)
                if is_taken or is_whole:
                    yield Found(path, is_taken)
            elif is_plain or is_whole or wanted.may_hold_wanted(path):
                waiting.append((path, is_plain))


def refuse_too_much(sizes: dict[str, int], stored: int) -> None:
    """Raise Cannot(code=`snapshot_limit`) for files by size, `stored` bytes of which would have to be stored, past a limit."""
    if len(sizes) > MOST_FILES:
        raise _past("files", f"{len(sizes):,} files are more than {MOST_FILES:,}", len(sizes))
    for path, size in sizes.items():
        if size > LARGEST_FILE:
            raise too_large(path, size)
    if stored > MOST_BYTES:
        raise _past("bytes", f"{stored:,} bytes to keep are more than {MOST_BYTES:,}", stored)


def too_large(path: str, size: int) -> Cannot:
    """The Cannot for one file past the limit."""
    return _past("file", f"{shown(path)} has {size:,} bytes, {LARGEST_FILE:,} is the most", size)


def unreadable(path: Path, error: OSError) -> Cannot:
    """The Cannot for a file or folder that the system does not let us read."""
    return Cannot(
        f"{shown(str(path))} cannot be read for a snapshot: {error.strerror or error}",
        fix="make it readable, or keep it out with `never_copy`",
        code="snapshot_unreadable",
        details={
            "path": os.fsencode(path).decode(errors="replace"),
            "errno": error.errno,
            "why": error.strerror or str(error),
        },
    )


def _past(limit: str, said: str, count: int) -> Cannot:
    return Cannot(
        f"a snapshot holds too much: {os.fsencode(said).decode(errors='replace')}",
        fix="keep what the step does not need out with `never_copy`, or let it work with `workspace: shared`",
        code="snapshot_limit",
        details={"limit": limit, "count": count},
    )


def _scanned(root: Path, folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(root / folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError) as error:
        if folder:
            return []
        raise unreadable(root, error) from error
    except OSError as error:
        raise unreadable(root / folder, error) from error


def _all_below(root: Path, path: str, *, is_folder: bool) -> Iterator[Found]:
    if not is_folder:
        yield Found(path, belongs=False)
        return
    for entry in _scanned(root, path):
        below = f"{path}/{entry.name}"
        is_inner = entry.is_dir(follow_symlinks=False)
        if is_inner or entry.is_symlink() or entry.is_file(follow_symlinks=False):
            yield from _all_below(root, below, is_folder=is_inner)


def _folders_above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path
