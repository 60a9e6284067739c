"""Files a step declares as its artifacts, kept as blobs so that they outlive the workspace."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NotRequired, TypedDict

from pixirnb.errors import Cannot
from pixirnb.history.file_events import ArtifactData
from pixirnb.protocols.ports import Blobs
from pixirnb.runners.artifact_globs import Ground, files_below
from pixirnb.workspace.errors import shown

STOPPED: Final = "artifacts_stopped"


class Kept(TypedDict):
    """Members of `attempt_ended`."""

    artifacts: NotRequired[list[ArtifactData]]
    unmatched: NotRequired[list[str]]


class Artifacts:
    """The artifacts of one attempt. Blocking."""

    def __init__(self, patterns: Sequence[str], ground: Ground, blobs: Blobs) -> None:
        self._patterns = patterns
        self._ground = ground
        self._blobs = blobs
        self._before: dict[str, tuple[int, ...]] = {}

    def look(self, is_over: Callable[[], bool]) -> None:
        """Record the files before the attempt begins: those it leaves unchanged do not count, should it not end cleanly.

        `is_over`: whether there is no more time. Raises Cannot (`artifact_unreadable`, `artifacts_stopped`).
        """
        for pattern in self._patterns:
            with _refusing(pattern):
                for name, file in self._find(pattern):
                    if is_over():
                        raise _stopped("artifacts were not all found before the step began", 0)
                    with suppress(OSError):  # another step has just deleted it
                        self._before[name] = _sight(file.stat())

    def collect(self, is_clean: bool, is_over: Callable[[], bool]) -> Kept:
        """Store every file the patterns match, sorted by path; of an attempt that did not end cleanly, what it changed.

        `is_over`: whether there is no more time. Raises Cannot (`artifact_unreadable`, `artifacts_stopped`), LogWriteFailed.
        """
        stored: dict[str, ArtifactData] = {}

        def require_time() -> None:
            if is_over():
                raise _stopped("artifacts were not all stored", len(stored))

        unmatched: list[str] = []
        for pattern in self._patterns:
            with _refusing(pattern):
                is_matched = False
                for name, file in self._find(pattern):
                    is_matched = True
                    require_time()
                    status = file.stat()
                    if is_clean or self._before.get(name) != _sight(status):
                        blob, size = self._blobs.put_file(file, require_time)
                        stored[name] = {"path": name, "blob": blob, "bytes": size}
                if not is_matched:
                    unmatched.append(pattern)
        kept: Kept = {}
        if stored:
            kept["artifacts"] = [stored[name] for name in sorted(stored)]
        if unmatched and is_clean:
            kept["unmatched"] = unmatched
        return kept

    def _find(self, pattern: str) -> Iterator[tuple[str, Path]]:
        """Yield files, and the files below folders, without links that lead out of them."""
        looked_into: set[str] = set()
        for name, path in self._ground.find(pattern):
            if path.is_file():
                yield name, path
            elif str(path) not in looked_into:
                for folder, files in files_below(path):
                    looked_into.add(folder)
                    for each in files:
                        yield f"{name}/{each.relative_to(path).as_posix()}", each


def _stopped(what: str, count: int) -> Cannot:
    return Cannot(
        f"{what}: the attempt ended after {count:,} files",
        fix="declare fewer artifacts or raise `timeout`",
        code=STOPPED,
    )


@contextmanager
def _refusing(pattern: str) -> Iterator[None]:
    """Raise Cannot for files that cannot be read."""
    try:
        yield
    except OSError as error:
        path = "" if error.filename is None else f": {shown(os.fsdecode(error.filename))}"
        raise Cannot(
            f"cannot read an artifact of {shown(pattern)}{path}: {error.strerror or error}",
            fix="make the files readable, or declare fewer artifacts",
            code="artifact_unreadable",
            details={"pattern": pattern},
        ) from error


def _sight(status: os.stat_result) -> tuple[int, ...]:
    """Return the values by which a changed file is recognized. No clock is read: clocks jump, and a file server has its own."""
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
