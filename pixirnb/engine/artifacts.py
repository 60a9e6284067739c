"""Files a step declares as its artifacts, kept as blobs so that they outlive the workspace."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pixirnb.ports import Blobs
from pixirnb.runners.findings import paths_matching


def collect(
    patterns: Sequence[str], workspace: Path, blobs: Blobs, *, newer_than_s: float | None
) -> list[dict[str, Any]]:
    """Store every file the patterns match: `{path, blob, bytes}`, sorted by path. Links out of the workspace are left out.

    `newer_than_s`: only files changed within the last so many seconds, for an attempt that did not end cleanly: what
    lay there before says nothing about it.
    """
    oldest = None if newer_than_s is None else time.time() - newer_than_s - 1
    found: dict[str, dict[str, Any]] = {}
    for pattern in patterns:
        for path in paths_matching(pattern, workspace, workspace):
            for file in [path] if path.is_file() else paths_matching("**/*", path, workspace):
                if not file.is_file():
                    continue
                status = file.stat()
                if oldest is not None and status.st_mtime < oldest:
                    continue
                name = file.relative_to(workspace).as_posix()
                found[name] = {"path": name, "blob": blobs.put_file(file), "bytes": status.st_size}
    return [found[name] for name in sorted(found)]
