"""Contract of a store of runs, as tests it inherits.

Subclass `StoreContract`, give it a `store` fixture and the three hooks, and pytest runs the rest (promises about
damage are in `damage.py`):

    class TestFileStore(StoreContract):
        @pytest.fixture
        def store(self, tmp_path): return FileStore(tmp_path / ".pixirnb")
        def end_process(self, store, log): ...

A store that passes keeps what it confirmed, names what it lost, and lets one writer in at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pixirnb.errors import (
    HeldByAnother,
    InternalError,
    LogDamaged,
    LogWriteFailed,
    StateUnusable,
    UnknownRun,
)
from pixirnb.history.codec import EVENT_LINE_LIMIT
from pixirnb.testing.contracts.damage import LATER, RUN, DamageContract, event, story

if TYPE_CHECKING:
    from pathlib import Path

    from pixirnb.protocols.ports import RunStore

__all__ = ["LATER", "RUN", "StoreContract", "event", "story"]


class StoreContract(DamageContract):
    """Inherit it; every test is a promise of `pixirnb.protocols.ports.RunStore`."""

    def test_what_was_appended_is_read_back(self, store: RunStore) -> None:
        log = store.create(RUN)
        assert log.run_id == RUN
        assert log.reading.events == []
        log.append(story(3))
        log.append(story(2, after=3))
        log.close()
        reading = store.read(RUN)
        assert reading.events == story(5)
        assert reading.damage is None
        assert reading.owner is None

    def test_an_acquired_log_holds_what_was_there_and_goes_on(self, store: RunStore) -> None:
        self.kept(store, story(3))
        log = store.acquire(RUN)
        assert log.reading.events == story(3)
        assert log.reading.damage is None
        log.append(story(2, after=3))
        log.close()
        assert store.read(RUN).events == story(5)

    def test_appending_nothing_is_nothing(self, store: RunStore) -> None:
        log = store.create(RUN)
        log.append([])
        log.append(story(1))
        log.close()
        assert store.read(RUN).events == story(1)

    def test_values_of_json_come_back_as_they_went(self, store: RunStore) -> None:
        values = {
            "int": 2**53 + 1,
            "long": 10**199,
            "float": 1e-7,
            "text": "ü\u2028\x00",
            "n": None,
        }
        self.kept(store, [event(1, values=values, list=[{}, [], True])])
        assert store.read(RUN).events[0].data["values"] == values

    def test_an_event_out_of_order_is_refused_and_harms_nothing(self, store: RunStore) -> None:
        log = store.create(RUN)
        log.append(story(1))
        with pytest.raises(InternalError):
            log.append(story(1, after=2))
        with pytest.raises(InternalError):
            log.append(story(1))
        log.append(story(1, after=1))
        log.close()
        assert store.read(RUN).events == story(2)

    def test_an_event_that_is_not_json_is_refused_and_harms_nothing(self, store: RunStore) -> None:
        log = store.create(RUN)
        for value in (float("nan"), float("inf"), object(), {1: 2}, b"x"):
            with pytest.raises(InternalError) as refused:
                log.append([event(1), event(2, value=value)])
            assert refused.value.code == "event_unencodable"
        log.append(story(1))
        log.close()
        assert store.read(RUN).events == story(1)

    def test_an_unknown_run_is_said_to_be_unknown(self, store: RunStore) -> None:
        for verb in (store.read, store.acquire, store.follow, store.blobs):
            for run_id in (RUN, "../other", "", "r-1"):
                with pytest.raises(UnknownRun):
                    verb(run_id)

    def test_a_run_is_created_once(self, store: RunStore) -> None:
        self.kept(store, story(1))
        with pytest.raises(StateUnusable):
            store.create(RUN)
        assert store.read(RUN).events == story(1)

    def test_a_run_that_died_before_its_first_event_is_unknown(self, store: RunStore) -> None:
        self.end_process(store, store.create(RUN))
        with pytest.raises(UnknownRun):
            store.read(RUN)
        with pytest.raises(UnknownRun):
            store.acquire(RUN)

    def test_runs_are_listed_newest_first(self, store: RunStore) -> None:
        assert store.run_ids() == []
        store.create(RUN).close()
        store.create(LATER).close()
        assert store.run_ids() == [LATER, RUN]

    def test_one_writer_at_a_time(self, store: RunStore) -> None:
        log = store.create(RUN)
        log.append(story(1))
        for take_over in (False, True):
            with pytest.raises(HeldByAnother) as held:
                store.acquire(RUN, take_over=take_over)
            assert held.value.details["pid"] is not None
            assert held.value.details["since"]
            assert held.value.fix
        log.append(story(1, after=1))
        log.close()
        store.acquire(RUN).close()

    def test_a_live_owner_is_named_to_readers(self, store: RunStore) -> None:
        log = store.create(RUN)
        log.append(story(1))
        owner = store.read(RUN).owner
        assert owner is not None
        log.close()
        assert store.read(RUN).owner is None

    def test_a_dead_holder_is_no_obstacle(self, store: RunStore) -> None:
        log = store.create(RUN)
        log.append(story(2))
        self.end_process(store, log)
        assert store.read(RUN).owner is None
        again = store.acquire(RUN)
        assert again.reading.events == story(2)
        again.append(story(1, after=2))
        again.close()

    def test_closing_twice_is_closing_once(self, store: RunStore) -> None:
        log = store.create(RUN)
        log.append(story(1))
        log.close()
        other = store.acquire(RUN)
        log.close()
        assert store.read(RUN).owner is not None
        other.close()

    def test_a_closed_log_takes_nothing(self, store: RunStore) -> None:
        log = store.create(RUN)
        log.append(story(1))
        log.close()
        with pytest.raises(LogWriteFailed):
            log.append(story(1, after=1))
        assert store.read(RUN).events == story(1)

    def test_an_event_too_long_for_a_line_lies_in_a_blob(self, store: RunStore) -> None:
        long = [event(1, text="x" * EVENT_LINE_LIMIT), event(2, text="short")]
        sizes: list[int] = []

        def measure(data: bytes) -> bytes:
            sizes.extend(map(len, data.splitlines(True)))
            return data

        self.kept(store, long)
        self.tamper(store, RUN, measure)
        assert max(sizes) < 1024
        assert store.read(RUN).events == long
        assert store.follow(RUN).poll() == long
        log = store.acquire(RUN)
        assert log.reading.events == long
        log.close()

    def test_a_line_of_just_the_limit_stays_a_line(self, store: RunStore) -> None:
        sizes: list[int] = []

        def measure(data: bytes) -> bytes:
            sizes.append(len(data))
            return data

        self.kept(store, [event(1, text="")])
        self.tamper(store, RUN, measure)
        room = EVENT_LINE_LIMIT - sizes[0]
        for size, run_id in ((room, LATER), (room + 1, "r-20261121-220346-000000")):
            log = store.create(run_id)
            log.append([event(1, text="x" * size)])
            log.close()
            self.tamper(store, run_id, measure)
        assert sizes[1] == EVENT_LINE_LIMIT
        assert sizes[2] < 1024

    def test_a_follower_sees_each_event_once(self, store: RunStore) -> None:
        log = store.create(RUN)
        follower = store.follow(RUN)
        assert follower.poll() == []
        log.append(story(2))
        assert follower.poll() == story(2)
        assert follower.poll() == []
        log.append(story(3, after=2))
        log.close()
        assert follower.poll() == story(3, after=2)
        assert store.follow(RUN).poll() == story(5)

    def test_a_follower_waits_for_a_line_to_be_whole(self, store: RunStore) -> None:
        self.left(store, 1, 1)
        ends: list[bytes] = []

        def cut(data: bytes) -> bytes:
            ends.append(data[-7:])
            return data[:-7]

        self.tamper(store, RUN, cut)
        follower = store.follow(RUN)
        assert follower.poll() == story(1)
        assert follower.poll() == []
        self.tamper(store, RUN, lambda data: data + ends[0])
        assert follower.poll() == story(1, after=1)

    def test_blobs_are_named_by_their_bytes(self, store: RunStore, tmp_path: Path) -> None:
        log = store.create(RUN)
        log.append(story(1))
        digest = log.blobs.put(b"some bytes")
        assert digest == log.blobs.put(b"some bytes")
        (tmp_path / "file").write_bytes(b"some bytes")
        assert log.blobs.put_file(tmp_path / "file") == (digest, 10)
        assert digest.startswith("b2:")
        assert len(digest) == 67
        empty = log.blobs.put(b"")
        log.close()
        blobs = store.blobs(RUN)
        assert blobs.get(digest) == b"some bytes"
        assert blobs.get(empty) == b""
        assert blobs.has(digest)
        path = blobs.path(digest)
        assert path is None or path.read_bytes() == b"some bytes"

    def test_a_missing_blob_is_said_to_be_missing(self, store: RunStore) -> None:
        self.kept(store, story(1))
        blobs = store.blobs(RUN)
        for digest in ("b2:" + "0" * 64, "b2:../../x", "", "sha:" + "0" * 64):
            assert not blobs.has(digest)
            assert blobs.path(digest) is None
            with pytest.raises(LogDamaged) as missing:
                blobs.get(digest)
            assert missing.value.code == "blob_missing"
