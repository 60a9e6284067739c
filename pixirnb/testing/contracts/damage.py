"""Contract of a store about damage: its answers to a log that is not what was written.

`StoreContract` inherits it, and with it the hooks a store under test fills in.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pixirnb.errors import LogDamaged
from pixirnb.history.codec import EVENT_LINE_LIMIT
from pixirnb.history.events import Event
from pixirnb.protocols.ports import RunLog, RunStore

if TYPE_CHECKING:
    from collections.abc import Callable

RUN = "r-20261121-220344-7f3akq"
LATER = "r-20261121-220345-000000"
AT = "2026-11-21T22:03:44.123456Z"


def event(seq: int, **data: Any) -> Event:
    """Return an event with a place, for tests that do not care what happened."""
    return Event(seq, AT, "warning_raised", {"code": "note", **data})


def story(count: int, *, after: int = 0) -> list[Event]:
    """Return `count` events that follow event `after`."""
    return [event(seq, message=f"event {seq}") for seq in range(after + 1, after + 1 + count)]


def _as_version_two(data: bytes) -> bytes:
    """Return a log whose second line a newer pixirnb wrote, in a way of chaining we do not know."""
    first, second, third = data.splitlines(keepends=True)
    second = second.replace(b'"v":1}', b'"v":2}').replace(b"event 2", b"event two")
    return first + second + third


def _instead(planted: bytes, _: bytes) -> bytes:
    return planted


class DamageContract:
    """Every test is a promise of `pixirnb.protocols.ports.RunStore`; `StoreContract` has the others."""

    @pytest.fixture
    def store(self) -> RunStore:
        """Return the store under test, empty."""
        raise NotImplementedError

    def end_process(self, store: Any, log: RunLog) -> None:
        """Let the holder of `log` die: no `close`, its lock gone."""
        raise NotImplementedError

    def tamper(self, store: Any, run_id: str, change: Callable[[bytes], bytes]) -> None:
        """Replace the bytes of a run's log behind the store's back."""
        raise NotImplementedError

    def lose_blob(self, store: Any, run_id: str, digest: str) -> None:
        """Remove a blob behind the store's back."""
        raise NotImplementedError

    def kept(self, store: RunStore, events: list[Event]) -> None:
        """Write `events` as a finished run."""
        log = store.create(RUN)
        log.append(events)
        log.close()

    def left(self, store: Any, first: int, later: int) -> None:
        """Write `first` events in one group and `later` ones in another, and die."""
        log = store.create(RUN)
        log.append(story(first))
        log.append(story(later, after=first))
        self.end_process(store, log)

    def test_a_torn_tail_is_cut_and_told(self, store: RunStore) -> None:
        self.left(store, 2, 1)
        self.tamper(store, RUN, lambda data: data[:-5])
        reading = store.read(RUN)
        assert reading.events == story(2)
        assert reading.damage is not None
        assert (reading.damage.code, reading.damage.line) == ("torn_tail", 3)
        log = store.acquire(RUN)
        assert log.reading.events == story(2)
        assert log.reading.damage == reading.damage
        log.append(story(1, after=2))
        log.close()
        assert store.read(RUN).events == story(3)
        assert store.read(RUN).damage is None

    def test_an_event_on_its_way_is_not_damage(self, store: RunStore) -> None:
        log = store.create(RUN)
        log.append(story(1))
        log.append(story(1, after=1))
        self.tamper(store, RUN, lambda data: data[:-5])
        reading = store.read(RUN)
        assert reading.owner is not None
        assert reading.events == story(1)
        assert reading.damage is None
        log.close()

    @pytest.mark.parametrize(
        ("code", "change"),
        [
            ("chain_broken", lambda data: data.replace(b"event 2", b"event X")),
            ("chain_broken", lambda data: data[:-9] + b"\n"),
            ("not_contiguous", lambda data: b"".join(data.splitlines(True)[i] for i in (0, 2))),
            ("not_contiguous", lambda data: b"".join(data.splitlines(True)[i] for i in (0, 0, 1))),
            ("not_contiguous", lambda data: b"".join(data.splitlines(True)[i] for i in (1, 0, 2))),
            ("not_canonical", lambda data: data.replace(b'":', b'": ')),
            ("version", _as_version_two),
        ],
    )
    def test_damage_is_named_and_never_resumed(
        self, store: RunStore, code: str, change: Callable[[bytes], bytes]
    ) -> None:
        self.kept(store, story(3))
        self.tamper(store, RUN, change)
        reading = store.read(RUN)
        assert reading.damage is not None
        assert reading.damage.code == code
        assert reading.events == story(reading.damage.line - 1)
        with pytest.raises(LogDamaged) as damaged:
            store.acquire(RUN)
        assert damaged.value.details["damage"] == code
        assert store.read(RUN).owner is None

    @pytest.mark.parametrize(("end", "line"), [(None, 1), (1, 2), (2, 3)])
    @pytest.mark.parametrize("torn", [b"", b'{"at":"2026'])
    def test_a_log_that_lost_its_end_is_named_and_never_resumed(
        self, store: RunStore, end: int | None, line: int, torn: bytes
    ) -> None:
        self.kept(store, story(3))
        self.tamper(
            store, RUN, lambda data: b"".join(data.splitlines(keepends=True)[: end or 0]) + torn
        )
        reading = store.read(RUN)
        assert reading.events == story(line - 1)
        assert reading.damage is not None
        assert (reading.damage.code, reading.damage.line) == ("cut_short", line)
        with pytest.raises(LogDamaged) as damaged:
            store.acquire(RUN)
        assert damaged.value.details["damage"] == "cut_short"
        assert store.read(RUN) == reading

    def test_a_log_cut_behind_an_earlier_course_is_found_though_the_later_one_died(
        self, store: RunStore
    ) -> None:
        self.kept(store, story(3))
        log = store.acquire(RUN)
        log.append(story(1, after=3))
        self.end_process(store, log)
        self.tamper(store, RUN, lambda data: b"".join(data.splitlines(keepends=True)[:3]))
        damage = store.read(RUN).damage
        assert damage is not None
        assert (damage.code, damage.line) == ("cut_short", 4)

    def test_a_log_longer_than_its_seal_is_sound(self, store: RunStore) -> None:
        self.kept(store, story(3))
        log = store.acquire(RUN)
        for after in (3, 4):
            log.append(story(1, after=after))
        self.end_process(store, log)
        reading = store.read(RUN)
        assert reading.events == story(5)
        assert reading.damage is None
        again = store.acquire(RUN)
        assert again.reading.damage is None
        again.close()
        assert store.follow(RUN).poll() == story(5)

    def test_another_log_in_the_place_of_the_sealed_one_is_found(self, store: RunStore) -> None:
        self.kept(store, story(3))
        other = store.create(LATER)
        other.append([event(seq, message="another") for seq in (1, 2, 3, 4)])
        other.close()
        bytes_of: list[bytes] = []

        def copied(data: bytes) -> bytes:
            bytes_of.append(data)
            return data

        self.tamper(store, LATER, copied)
        whole = bytes_of[0].splitlines(keepends=True)
        for planted in (b"".join(whole[:3]), b"".join(whole)):
            self.tamper(store, RUN, partial(_instead, planted))
            reading = store.read(RUN)
            assert reading.damage is not None
            assert (reading.damage.code, reading.damage.line) == ("chain_broken", 3)
            assert len(reading.events) == 2
            with pytest.raises(LogDamaged):
                store.acquire(RUN)

    def test_a_follower_tells_of_a_lost_end_after_what_is_left(self, store: RunStore) -> None:
        self.kept(store, story(3))
        self.tamper(store, RUN, lambda data: b"".join(data.splitlines(keepends=True)[:2]))
        follower = store.follow(RUN)
        assert follower.poll() == story(2)
        for _ in range(2):
            with pytest.raises(LogDamaged) as damaged:
                follower.poll()
            assert damaged.value.details["damage"] == "cut_short"

    def test_a_lost_blob_of_an_event_is_named(self, store: RunStore) -> None:
        self.kept(store, [event(1), event(2, text="x" * EVENT_LINE_LIMIT), event(3)])
        digests: list[str] = []

        def find(data: bytes) -> bytes:
            digests.append(data.split(b'"$blob":"')[1][:67].decode())
            return data

        self.tamper(store, RUN, find)
        self.lose_blob(store, RUN, digests[0])
        reading = store.read(RUN)
        assert reading.events == [event(1)]
        assert reading.damage is not None
        assert (reading.damage.code, reading.damage.line) == ("blob_missing", 2)
        assert digests[0] in reading.damage.message
        with pytest.raises(LogDamaged):
            store.acquire(RUN)
        follower = store.follow(RUN)
        assert follower.poll() == [event(1)]
        with pytest.raises(LogDamaged):
            follower.poll()

    def test_a_follower_tells_damage_after_what_came_before_it(self, store: RunStore) -> None:
        self.kept(store, story(3))
        self.tamper(store, RUN, lambda data: data.replace(b"event 3", b"event X"))
        follower = store.follow(RUN)
        assert follower.poll() == story(2)
        for _ in range(2):
            with pytest.raises(LogDamaged):
                follower.poll()

    def test_a_follower_notices_a_log_that_shrank(self, store: RunStore) -> None:
        self.kept(store, story(3))
        follower = store.follow(RUN)
        follower.poll()
        self.tamper(store, RUN, lambda data: data[:100])
        with pytest.raises(LogDamaged):
            follower.poll()
