"""Pipes, sockets and devices in a folder: no tree can hold them, and git does not even list them, so they are named here.

Nothing is opened but folders.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from pixirnb.workspace.rules import LEFT_OUT, Rules

_PASSED_OVER: Final = LEFT_OUT | {".git", ".pixirnb"}


def special_files(root: Path, rules: Rules, limit: int) -> list[str]:
    """What lies below `root` and is no file, folder or link: sorted paths, `limit` at most. Not in other roots."""
    found: list[str] = []
    waiting = [""]
    while waiting and len(found) < limit:
        folder = waiting.pop()
        try:
            with os.scandir(root / folder) as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    if (
                        entry.name in _PASSED_OVER
                        or rules.is_elsewhere(path)
                        or rules.is_carried(path)
                    ):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(path)
                    elif not (entry.is_symlink() or entry.is_file(follow_symlinks=False)):
                        found.append(path)
        except OSError:
            continue  # whoever lists its files says so
    return sorted(found)[:limit]
