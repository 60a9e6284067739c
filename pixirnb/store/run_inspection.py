"""Inspection of a run folder, without changing it: the input of a diagnosis."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from pixirnb.history.events import Event
from pixirnb.history.validation import fits
from pixirnb.json_types import JsonObject
from pixirnb.machine.diagnosis import DiagnosisInput, LostBlob
from pixirnb.protocols.ports import LogContents
from pixirnb.store.blobs import FileBlobs
from pixirnb.store.inbox import FileInbox
from pixirnb.store.lease import standing
from pixirnb.store.session_inspection import inspect_sessions
from pixirnb.system.deep_folders import walk

_OTHERS = 0o077


def inspect_run(folder: Path, reading: LogContents, *, now_ns: int) -> DiagnosisInput:
    """Return the facts about a log that its folder shows, without processes, values and workspace. Raises OSError."""
    lease, how = standing(folder)
    exposed, planted = _seen(folder)
    return DiagnosisInput(
        damage=reading.damage,
        is_held=reading.owner is not None,
        lease=None if lease is None else asdict(lease),
        standing=how,
        lost_blobs=tuple(_lost_blobs(FileBlobs(folder / "blobs"), reading.events)),
        lost_outputs=tuple(_lost_outputs(folder, reading.events)),
        sessions=inspect_sessions(folder, reading.events, now_ns=now_ns),
        requests=tuple(FileInbox(folder / "inbox").waiting()),
        exposed=exposed,
        planted=planted,
    )


def named_blobs(event: Event) -> Iterator[str]:
    """Yield the digests of an attempt's blobs: its output and its artifacts."""
    if event.kind != "attempt_ended" or not fits(event.kind, event.data):
        return
    output = event.data.get("output")
    kept = [output, *(event.data.get("artifacts") or ())]
    for entry in kept:
        digest = entry.get("blob") if isinstance(entry, dict) else None
        if isinstance(digest, str):
            yield digest


def _lost_blobs(blobs: FileBlobs, events: Sequence[Event]) -> Iterator[LostBlob]:
    known: dict[str, str | None] = {}
    for event in events:
        for digest in dict.fromkeys(named_blobs(event)):
            if digest not in known:
                known[digest] = blobs.fault(digest)
            fault = known[digest]
            if fault is not None:
                data: JsonObject = event.data
                yield LostBlob(digest, fault, data.get("step"), data.get("attempt"))


def _lost_outputs(folder: Path, events: Sequence[Event]) -> Iterator[tuple[str, int, str]]:
    for event in events:
        if event.kind != "attempt_ended" or not fits(event.kind, event.data):
            continue
        log = event.data.get("output_log")
        # A step that printed nothing has no file.
        if log is not None and log["bytes"] and not (folder / log["path"]).is_file():
            yield event.data["step"], event.data["attempt"], log["path"]


def _seen(folder: Path) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Return entries with too wide permissions (path and mode), and entries that are links or another user's."""
    exposed, planted = [], []
    for path in _all_of(folder):
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue  # a temporary file that has been renamed since
        inside = path.relative_to(folder).as_posix()
        if stat.S_ISLNK(status.st_mode) or status.st_uid != os.geteuid():
            planted.append(inside)
        elif status.st_mode & _OTHERS:
            exposed.append((inside, f"{stat.S_IMODE(status.st_mode):04o}"))
    return tuple(exposed), tuple(planted)


def _all_of(folder: Path) -> Iterator[Path]:
    yield folder
    for parent, folders, names in walk(folder):
        for name in sorted([*folders, *names]):
            yield Path(parent, name)
