"""Child sessions on disk: a look changes nothing, and what follows a torn end replaces it."""

from __future__ import annotations

from pathlib import Path

from pixirnb.history.events import Event
from pixirnb.store.file_store import FileStore
from pixirnb.store.log import FileLog

RUN = "r-20261122-090000-aaaaaa"


def event(seq: int) -> Event:
    return Event(seq, "2026-11-22T09:00:00.000000Z", "user_message", {"text": str(seq)})


def torn(state: Path) -> tuple[FileLog, Path]:
    """A held run with a session of two events whose last line was not finished."""
    log = FileStore(state).create(RUN)
    session = log.session("a.1")
    session.append([event(1), event(2)])
    session.close()
    assert log.folder is not None
    path = log.folder / "sessions" / "a.1.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    return log, path


def test_looking_at_a_session_that_goes_on_changes_nothing(tmp_path: Path) -> None:
    log, path = torn(tmp_path / "state")
    before = path.read_bytes()
    session = log.session("a.1")
    assert [kept.seq for kept in session.held] == [1]
    session.close()
    assert path.read_bytes() == before
    log.close()


def test_what_follows_a_torn_end_takes_its_place(tmp_path: Path) -> None:
    log, _ = torn(tmp_path / "state")
    session = log.session("a.1")
    session.append([event(2), event(3)])
    session.close()
    log.close()
    reading = FileStore(tmp_path / "state").read_session(RUN, "a.1")
    assert reading.damage is None
    assert [kept.seq for kept in reading.events] == [1, 2, 3]
