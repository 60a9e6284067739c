"""A cache of the states of runs, so that listing ten thousand of them does not read ten thousand logs.

    catalogue.json   {"release":"…","rows":{run_id: [identity, workflow, status, …, name, tags]},"v":1}

A row is stored under the identity of its files (size, times and inode of log and seal) and is ignored once any of
them differs. The cache is never truth: if deleted, damaged or of another release it is rebuilt, and only a listing
reads it. See docs/adr/0009.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from pydantic_core import from_json

from pixirnb.errors import PixirnbError
from pixirnb.machine.outcome_documents import RunRow
from pixirnb.store.lease import live_owner
from pixirnb.store.log_encoding import BLOB
from pixirnb.store.private_files import open_private, read_log, refuse_foreign
from pixirnb.store.seal import SEAL_NAME
from pixirnb.system.version import release

CATALOGUE_NAME: Final = "catalogue.json"

Identity = list[int]
"""Size, mtime and ctime in ns, and inode of the log; then the same of its seal, if there is one."""

_VERSION: Final = 2
_LOG_NAME: Final = "log.jsonl"
_LARGEST: Final = 256 * 1024 * 1024
"""Maximum number of bytes read of a catalogue: half a million runs."""
_SETTLED_NS: Final = 2_000_000_000
"""Minimum age of a file for its row to be stored: within one tick of its clock a file may change again without a trace."""


class Catalogue:
    """The rows of one state folder, as last read. Not thread-safe; `save` is best effort."""

    def __init__(self, state: Path, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        """Open the catalogue of the state folder `state`; `now_ns` is the clock of the file system."""
        self._state = state
        self._runs = os.fspath(state / "runs")
        self._now_ns = now_ns
        self._rows = _read(state / CATALOGUE_NAME)
        self._is_changed = False

    def row(self, run_id: str) -> RunRow | None:
        """Return the row of a run without an owner whose files are unchanged; None: read the run."""
        kept = self._rows.get(run_id)
        if kept is None:
            return None
        folder = f"{self._runs}/{run_id}"
        if os.path.lexists(f"{folder}/lease.json") and live_owner(Path(folder)) is not None:
            return None
        identity = self.identity(run_id)
        row = _row(run_id, kept)
        return None if row is None or identity is None or identity != kept[0] else row

    def identity(self, run_id: str) -> Identity | None:
        """Return the identity of the files of a run now; call it before reading them.

        None if they are not plain files of this user.
        """
        folder = f"{self._runs}/{run_id}"
        try:
            if not stat.S_ISDIR(os.lstat(folder).st_mode):
                return None
            of_log = _identity(f"{folder}/{_LOG_NAME}")
            if of_log is None:
                return None
            try:
                seal = _identity(f"{folder}/{SEAL_NAME}")
            except FileNotFoundError:
                return of_log
        except OSError:
            return None
        return None if seal is None else of_log + seal

    def keep(self, row: RunRow, identity: Identity | None) -> None:
        """Store a row of a run at rest under the identity its files had before they were read.

        Rows of files that were just changed, and of logs that need blobs, are not stored.
        """
        run_id = row["run_id"]
        if identity is None:
            return
        youngest = max(stamp for index, stamp in enumerate(identity) if index % 4 in {1, 2})
        if self._now_ns() - youngest < _SETTLED_NS or self._needs_blobs(run_id):
            return
        self._rows[run_id] = [
            identity,
            row["workflow"],
            row["status"],
            row["started_at"],
            row["ended_at"],
            row["counts"],
            row.get("name"),
            row.get("tags", []),
            row.get("failed_as", {}),
        ]
        self._is_changed = True

    def save(self, run_ids: Iterable[str]) -> None:
        """Write changes, without runs that no longer exist. Never raises: the next listing is only slower."""
        there = set(run_ids)
        gone = [run_id for run_id in self._rows if run_id not in there]
        if not self._is_changed and not gone:
            return
        for run_id in gone:
            del self._rows[run_id]
        document = {"release": release(), "rows": self._rows, "v": _VERSION}
        aside = self._state / f".{CATALOGUE_NAME}.{os.getpid()}"
        try:
            refuse_foreign(self._state)
            aside.unlink(missing_ok=True)
            with os.fdopen(open_private(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
                file.write(json.dumps(document, separators=(",", ":")).encode())
            aside.rename(self._state / CATALOGUE_NAME)
        except (OSError, ValueError, PixirnbError):
            try:
                aside.unlink(missing_ok=True)
            except OSError:
                pass  # a full or read-only disk: a listing has better to do than to complain
        self._is_changed = False

    def _needs_blobs(self, run_id: str) -> bool:
        """Return whether lines of the log are in blobs: those can be damaged without changing the log's identity."""
        try:
            if not os.listdir(f"{self._runs}/{run_id}/blobs"):  # noqa: PTH208 - only whether it is empty
                return False
            path = f"{self._runs}/{run_id}/{_LOG_NAME}"
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
                return f'"data":{{"{BLOB}":"'.encode() in read_log(file)
        except OSError:
            return True


def _identity(path: str) -> Identity | None:
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        return None
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _read(path: Path) -> dict[str, list[Any]]:
    """Return the rows of a catalogue file; none if it is unreadable, of another user, or of another release."""
    try:
        with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
            status = os.fstat(file.fileno())
            if status.st_uid != os.geteuid() or not stat.S_ISREG(status.st_mode):
                return {}
            data = file.read(_LARGEST)
        document = from_json(data)
        rows = document["rows"]
        is_ours = document["v"] == _VERSION and document["release"] == release()
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return rows if is_ours and isinstance(rows, dict) else {}


def _row(run_id: str, kept: Any) -> RunRow | None:
    """Return a stored row as it was given; None if it is malformed."""
    try:
        identity, workflow, status, started_at, ended_at, counts, name, tags, failed_as = kept
    except (TypeError, ValueError):
        return None
    if not (
        type(identity) is list
        and type(workflow) is str
        and type(status) is str
        and (started_at is None or type(started_at) is str)
        and (ended_at is None or type(ended_at) is str)
        and type(counts) is dict
        and all(type(count) is int for count in counts.values())
        and type(failed_as) is dict
        and all(type(count) is int for count in failed_as.values())
        and (name is None or type(name) is str)
        and type(tags) is list
        and all(type(tag) is str for tag in tags)
    ):
        return None
    row: RunRow = {
        "run_id": run_id,
        "workflow": workflow,
        "status": status,
        "started_at": started_at,
        "ended_at": ended_at,
        "counts": dict(counts),
        "name": name,
        "tags": tags,
    }
    return {**row, "failed_as": dict(failed_as)} if failed_as else row
