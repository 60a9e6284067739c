"""Files a step declares as its artifacts, kept as blobs so that they outlive the workspace."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NotRequired, TypedDict

from pixirnb.history.kept_files import ArtifactData
from pixirnb.ports import Blobs
from pixirnb.runners.findings import Ground, paths_matching


class Kept(TypedDict):
    """Members of `attempt_ended`."""

    artifacts: NotRequired[list[ArtifactData]]
    unmatched: NotRequired[list[str]]


def collect(
    patterns: Sequence[str], ground: Ground, blobs: Blobs, *, newer_than_s: float | None
) -> Kept:
    """Store every file the patterns match, sorted by path. Links out are left out.

    `newer_than_s`: only files changed within the last so many seconds, for an attempt that did not end cleanly: what
    lay there before says nothing about it.
    """
    oldest = None if newer_than_s is None else time.time() - newer_than_s - 1
    found: dict[str, ArtifactData] = {}
    unmatched: list[str] = []
    for pattern in patterns:
        files = [each for name, path in ground.find(pattern) for each in _files(name, path)]
        if not files:
            unmatched.append(pattern)
        for name, file in files:
            status = file.stat()
            if oldest is None or status.st_mtime >= oldest:
                found[name] = {"path": name, "blob": blobs.put_file(file), "bytes": status.st_size}
    kept: Kept = {}
    if found:
        kept["artifacts"] = [found[name] for name in sorted(found)]
    if unmatched and newer_than_s is None:
        kept["unmatched"] = unmatched
    return kept


def _files(name: str, path: Path) -> list[tuple[str, Path]]:
    """A file itself, or those below a folder, links out of it left out."""
    if path.is_file():
        return [(name, path)]
    below = [each for each in paths_matching("**/*", path, path) if each.is_file()]
    return [(f"{name}/{each.relative_to(path).as_posix()}", each) for each in below]
