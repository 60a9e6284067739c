"""Inspection of the child sessions of a run folder, without changing them: the input of their diagnosis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from pixirnb.errors import PixirnbError
from pixirnb.history.events import Event
from pixirnb.ids import is_attempt_name
from pixirnb.machine.session_diagnosis import SeenSession
from pixirnb.sessions.state import fold_session
from pixirnb.store.blobs import FileBlobs
from pixirnb.store.sessions import FOLDER, read_session, session_ids

_LONGEST: Final = 80
"""Maximum length in characters of an attempt's name."""
_ENDS: Final = frozenset({"attempt_ended", "subagent_event"})


def inspect_sessions(
    folder: Path, events: Sequence[Event], *, now_ns: int
) -> tuple[SeenSession, ...]:
    """Return every session named by the run's events or in its folder, by step, oldest attempt first. Raises OSError."""
    names = {name for name in (*session_ids(folder), *_named(events)) if len(name) <= _LONGEST}
    sessions = (_seen(folder, name, now_ns=now_ns) for name in sorted(names, key=_parts))
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


def _seen(folder: Path, name: str, *, now_ns: int) -> SeenSession | None:
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
