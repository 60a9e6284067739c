"""Inspection of a run folder and its child sessions, without changing it: the input of a diagnosis."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import asdict

from pixirnb.errors import PixirnbError
from pixirnb.history.events import Event
from pixirnb.history.validation import well_formed
from pixirnb.ids import is_attempt_name
from pixirnb.json_types import JsonObject
from pixirnb.machine.diagnosis import DiagnosisInput, LostBlob
from pixirnb.machine.session_diagnosis import SeenSession
from pixirnb.protocols.ports import LogContents
from pixirnb.sessions.state import fold_session
from pixirnb.store.blobs import FileBlobs
from pixirnb.store.inbox import FileInbox
from pixirnb.store.lease import standing
from pixirnb.store.sessions import FOLDER, read_session, session_ids
from pixirnb.system.deep_folders import walk

_OTHERS = 0o077
_LONGEST: Final = 80
"""Maximum length in characters of an attempt's name."""
_ENDS: Final = frozenset({"attempt_ended", "subagent_event"})


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
        sessions=_sessions(folder, reading.events, now_ns=now_ns),
        requests=tuple(FileInbox(folder / "inbox").waiting()),
        exposed=exposed,
        planted=planted,
    )


def _named_blobs(event: Event) -> Iterator[str]:
    """Yield the digests of an attempt's blobs: its output and its artifacts."""
    if event.kind != "attempt_ended":
        return
    output = event.data.get("output")
    kept = [output, *(event.data.get("artifacts") or ())]
    for entry in kept:
        digest = entry.get("blob") if isinstance(entry, dict) else None
        if isinstance(digest, str):
            yield digest


def _lost_blobs(blobs: FileBlobs, events: Sequence[Event]) -> Iterator[LostBlob]:
    known: dict[str, str | None] = {}
    for event in well_formed(events):
        for digest in dict.fromkeys(_named_blobs(event)):
            if digest not in known:
                known[digest] = blobs.fault(digest)
            fault = known[digest]
            if fault is not None:
                data: JsonObject = event.data
                yield LostBlob(digest, fault, data.get("step"), data.get("attempt"))


def _lost_outputs(folder: Path, events: Sequence[Event]) -> Iterator[tuple[str, int, str]]:
    for event in well_formed(events, "attempt_ended"):
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


def _sessions(folder: Path, events: Sequence[Event], *, now_ns: int) -> tuple[SeenSession, ...]:
    """Return every session named by the run's events or in its folder, by step, oldest attempt first. Raises OSError."""
    names = {name for name in (*session_ids(folder), *_named(events)) if len(name) <= _LONGEST}
    sessions = (_seen_session(folder, name, now_ns=now_ns) for name in sorted(names, key=_parts))
    return tuple(session for session in sessions if session is not None)


def _named(events: Sequence[Event]) -> Iterator[str]:
    """Yield sessions whose attempt ended in the log: their own logs were on disk before that."""
    for event in events:
        if event.kind not in _ENDS or str(event.data.get("event", "")).startswith("permission"):
            continue
        name = event.data.get("session_id")
        if isinstance(name, str) and is_attempt_name(name):
            yield name


def _parts(name: str) -> tuple[str, int]:
    step, _, number = name.rpartition(".")
    return step, int(number)


def _seen_session(folder: Path, name: str, *, now_ns: int) -> SeenSession | None:
    step, attempt = _parts(name)
    path = folder / FOLDER / f"{name}.jsonl"
    try:
        if path.is_symlink():
            return None  # refused, and told as such
        if not path.is_file():
            return SeenSession(name, step, attempt, is_there=False)
        reading = read_session(folder, name, FileBlobs(folder / "blobs"))
    except PixirnbError:
        return None  # another user's: told with what else was planted in the folder
    state = fold_session(reading.events)
    return SeenSession(
        name,
        step,
        attempt,
        damage=reading.damage,
        turn=state.turn,
        partial=len(state.partial or ""),
        orphans=state.orphans,
        unacted=state.unacted,
        open_calls=tuple(state.open_calls.values()),
        failed=state.failed or {},
        silent_ms=_silent_ms([path, folder / "output" / f"{name}.log"], now_ns),
    )


def _silent_ms(paths: Sequence[Path], now_ns: int) -> int:
    """Return milliseconds since the last write to one of the files."""
    written = [path.stat().st_mtime_ns for path in paths if path.is_file()]
    return max(0, (now_ns - max(written, default=now_ns)) // 1_000_000)
