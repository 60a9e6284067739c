"""A listing reads a log once: after that a memo answers, for as long as the log is the one it was read from."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from pixirnb import api
from pixirnb.machine.outcome_documents import RunRow
from pixirnb.operations.run_list import list_runs
from pixirnb.store.file_store import FileStore
from pixirnb.store.run_index import CATALOGUE_NAME, Catalogue
from tests.operations.household import completed, cut_off, failed, kept, name_of, parked

LATER = 3_600 * 10**9


def later() -> int:
    """An hour from now: every file has settled by then."""
    return time.time_ns() + LATER


def never(run_id: str) -> RunRow:
    """Nobody drives any of these runs."""
    raise AssertionError(run_id)


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "state")


def planted_lie(store: FileStore, run: str) -> None:
    """A memo that says something else of a run than its log: what a listing shows tells which of the two it read."""
    memo = Catalogue(store.state, now_ns=later)
    row: RunRow = {
        "run_id": run,
        "workflow": "from the memo",
        "status": "completed",
        "started_at": None,
        "ended_at": None,
        "counts": {},
    }
    memo.keep(row, memo.identity(run))
    memo.save([run])


def listed(store: FileStore) -> list[RunRow]:
    return list_runs(store, never)


def test_rows_are_what_the_logs_say_newest_first(store: FileStore) -> None:
    for number, story in enumerate([completed(), failed(), cut_off(), parked()], 1):
        kept(store, story.events, name_of(number))
    found = listed(store)
    assert [row["run_id"] for row in found] == [name_of(n) for n in (4, 3, 2, 1)]
    assert [row["status"] for row in found] == [
        "needs_orchestrator",
        "interrupted",
        "failed",
        "completed",
    ]
    assert found[3]["counts"] == {"checkpoint_ready": 2}
    assert set(found[0]) == {
        "run_id",
        "workflow",
        "status",
        "started_at",
        "ended_at",
        "counts",
        "name",
        "tags",
    }


def test_a_row_that_is_kept_is_the_row_that_was_read(store: FileStore) -> None:
    for number, story in enumerate([completed(), failed(), parked()], 1):
        kept(store, story.events, name_of(number))
    fresh = listed(store)
    memo = Catalogue(store.state, now_ns=later)
    for row in fresh:
        memo.keep(row, memo.identity(row["run_id"]))
    memo.save([row["run_id"] for row in fresh])
    again = Catalogue(store.state)
    assert [again.row(row["run_id"]) for row in fresh] == fresh


def test_a_log_that_has_not_changed_is_not_read_again(store: FileStore) -> None:
    kept(store, completed().events)
    planted_lie(store, name_of(1))
    assert listed(store)[0]["workflow"] == "from the memo"


def test_any_write_to_a_log_makes_its_row_anew(store: FileStore) -> None:
    log = kept(store, completed().events) / "log.jsonl"
    planted_lie(store, name_of(1))
    data = log.read_bytes()
    before = log.stat()
    log.write_bytes(data[:-20] + b"X" + data[-19:])  # the same length
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))  # and the same time
    [row] = listed(store)
    assert row["workflow"] == "pair"
    assert row["status"] != "completed"


def test_a_log_that_got_another_seal_is_read_anew(store: FileStore) -> None:
    folder = kept(store, completed().events)
    planted_lie(store, name_of(1))
    (folder / "seal.json").write_text("{}")
    assert listed(store)[0]["workflow"] == "pair"


def test_a_run_with_a_live_owner_is_never_told_from_the_memo(store: FileStore) -> None:
    kept(store, completed().events)
    planted_lie(store, name_of(1))
    held = store.acquire(name_of(1))
    asked: RunRow = {
        "run_id": name_of(1),
        "workflow": "pair",
        "status": "running",
        "started_at": None,
        "ended_at": None,
        "counts": {},
    }
    try:
        assert list_runs(store, lambda _: asked) == [asked]
    finally:
        held.close()


def test_what_changed_a_moment_ago_is_not_kept(store: FileStore) -> None:
    kept(store, completed().events)
    listed(store)
    assert Catalogue(store.state).row(name_of(1)) is None


def test_a_row_is_kept_by_the_listing_that_read_it(store: FileStore) -> None:
    kept(store, completed().events)
    found = list_runs(store, never, now_ns=later)
    assert [Catalogue(store.state).row(name_of(1))] == found


def test_a_damaged_log_is_read_anew_every_time(store: FileStore) -> None:
    log = kept(store, completed().events) / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"value":1', b'"value":7'))
    assert list_runs(store, never, now_ns=later)[0]["status"] != "completed"
    assert Catalogue(store.state).row(name_of(1)) is None


def test_a_log_that_needs_blobs_is_read_anew_every_time(store: FileStore) -> None:
    story = completed()
    ended = next(event for event in story.events if event.kind == "attempt_ended")
    ended.data["output"] = {"format": "json", "value": "x" * 300_000}
    folder = kept(store, story.events)
    [row] = listed(store)
    memo = Catalogue(store.state, now_ns=later)
    memo.keep(row, memo.identity(name_of(1)))
    assert memo.row(name_of(1)) is None
    for blob in folder.glob("blobs/*/*"):
        blob.unlink()
    assert listed(store)[0]["status"] != "completed"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"v":2,"release":"another","rows":{}}',
        '{"v":99}',
        "\x00\xff",
        '{"v":2,"release":"RELEASE","rows":[1]}',
        '{"v":2,"release":"RELEASE","rows":{"RUN":null}}',
        '{"v":2,"release":"RELEASE","rows":{"RUN":[[],1,2,3,4,5]}}',
        '{"v":2,"release":"RELEASE","rows":{"RUN":[IDENTITY,"w","completed",null,null,{"a":"b"}]}}',
        '{"v":2,"release":"RELEASE","rows":{"RUN":[IDENTITY,"w",{},null,null,{}]}}',
    ],
)
def test_a_memo_that_is_not_one_is_passed_over_and_replaced(store: FileStore, text: str) -> None:
    from pixirnb.system.version import release

    kept(store, completed().events)
    identity = json.dumps(Catalogue(store.state).identity(name_of(1)))
    path = store.state / CATALOGUE_NAME
    filled = text.replace("RELEASE", release()).replace("RUN", name_of(1))
    path.write_text(filled.replace("IDENTITY", identity), encoding="latin-1")
    assert [(row["workflow"], row["status"]) for row in listed(store)] == [("pair", "completed")]


def test_a_memo_of_another_release_or_version_is_passed_over(store: FileStore) -> None:
    kept(store, completed().events)
    path = store.state / CATALOGUE_NAME
    for member, other in (("release", "0.0.1"), ("v", 1)):
        planted_lie(store, name_of(1))
        assert listed(store)[0]["workflow"] == "from the memo"
        path.write_text(json.dumps({**json.loads(path.read_text()), member: other}))
        assert listed(store)[0]["workflow"] == "pair"


def test_a_memo_that_cannot_be_written_holds_nobody_up(store: FileStore) -> None:
    kept(store, completed().events)
    (store.state / CATALOGUE_NAME).mkdir()
    memo = Catalogue(store.state, now_ns=later)
    row = listed(store)[0]
    memo.keep(row, memo.identity(name_of(1)))
    memo.save([name_of(1)])
    assert listed(store)[0]["status"] == "completed"
    assert sorted(path.name for path in store.state.iterdir()) == [
        ".gitignore",
        CATALOGUE_NAME,
        "runs",
    ]


def test_the_memo_is_private_and_forgets_runs_that_are_gone(store: FileStore) -> None:
    for number in (1, 2):
        kept(store, completed().events, name_of(number))
        planted_lie(store, name_of(number))
    path = store.state / CATALOGUE_NAME
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(json.loads(path.read_text())["rows"]) == [name_of(2)]


def test_one_run_that_cannot_be_read_hides_no_other(store: FileStore) -> None:
    kept(store, completed().events, name_of(1))
    robbed = kept(store, completed().events, name_of(2))
    (robbed / "log.jsonl").unlink()
    (robbed / "output").mkdir(exist_ok=True)
    (robbed / "output" / "build.1.log").touch()
    (kept(store, completed().events, name_of(3)) / "link").symlink_to("elsewhere")
    store.folder(name_of(1))
    found = listed(store)
    assert [row["status"] for row in found] == ["unreadable", "unreadable", "completed"]
    assert all(row["error"] for row in found[:2])


def test_listing_nothing_makes_nothing(tmp_path: Path) -> None:
    assert api.runs(state=tmp_path / "state") == []
    assert list(tmp_path.iterdir()) == []
