"""Files in a folder, listed without git: special files that no tree can hold, and marks that change as a step writes.

Nothing is opened but folders, and no link is followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pixirnb.planning.globs.segment import RESERVED
from pixirnb.protocols.trees import mark_of
from pixirnb.workspace.errors import unreadable
from pixirnb.workspace.git.command import require_time
from pixirnb.workspace.rules import LEFT_OUT, Rules

_PASSED_OVER: Final = LEFT_OUT | RESERVED


def special_files(root: Path, rules: Rules, limit: int) -> list[str]:
    """Return the paths below `root` that are no file, folder or link: sorted, `limit` at most. Not in other roots.

    git does not even list these, so they are named here. The listing of files reports a folder that cannot be read.
    """
    result: list[str] = []
    for path, entry in _walk(root, rules, is_strict=False):
        if len(result) == limit:
            break
        if not (entry.is_symlink() or entry.is_file(follow_symlinks=False)):
            result.append(path)
    return sorted(result)


def file_marks(root: Path, rules: Rules) -> dict[str, object]:
    """Return every file below `root`, with a value that changes when it is written. Ignore rules are git's, and not read.

    Raises Cannot (`snapshot_unreadable`).
    """
    result: dict[str, object] = {}
    for path, entry in _walk(root, rules, is_strict=True):
        if rules.is_kept_back(path) or not (
            entry.is_symlink() or entry.is_file(follow_symlinks=False)
        ):
            continue
        try:
            result[path] = mark_of(entry.stat(follow_symlinks=False))
        except FileNotFoundError:
            continue  # it went meanwhile
    return result


def _walk(root: Path, rules: Rules, *, is_strict: bool) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield all but folders below `root`, but no folders that tools fill, other roots or git. `is_strict`: raise errors."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        require_time("list the files")
        try:
            with os.scandir(root / folder) as entries:
                inner = list(entries)
        except OSError as error:
            is_gone = folder and isinstance(error, FileNotFoundError | NotADirectoryError)
            if is_strict and not is_gone:
                raise unreadable(folder or ".", root, error.strerror or str(error)) from error
            continue
        for entry in inner:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name in _PASSED_OVER or rules.is_elsewhere(path) or rules.is_carried(path):
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            else:
                yield path, entry
