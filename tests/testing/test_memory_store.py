"""The store tests of the engine are told with: it loses processes and refuses writes on demand."""

from __future__ import annotations

import pytest

from pixirnb.errors import LogWriteFailed
from pixirnb.testing.contracts.store import RUN, story
from pixirnb.testing.fakes.memory_store import MemoryStore


def test_writes_fail_after_as_many_as_were_granted() -> None:
    store = MemoryStore()
    log = store.create(RUN)
    store.fail_after(2)
    log.append(story(1))
    log.append(story(2, after=1))
    with pytest.raises(LogWriteFailed):
        log.append(story(1, after=3))
    store.fail_after(None)
    with pytest.raises(LogWriteFailed):
        log.append(story(1, after=3))
    log.close()
    again = store.acquire(RUN)
    assert again.reading.events == story(3)
    again.append(story(1, after=3))
    again.close()


@pytest.mark.parametrize("torn", [0, 1, 100, 100_000])
def test_a_refused_group_may_leave_a_torn_tail(torn: int) -> None:
    store = MemoryStore()
    log = store.create(RUN)
    log.append(story(1))
    store.fail_after(0, torn=torn)
    with pytest.raises(LogWriteFailed):
        log.append(story(1, after=1))
    log.close()
    store.fail_after(None)
    again = store.acquire(RUN)
    assert again.reading.events == story(1)
    assert (again.torn is None) == (torn == 0)
    again.close()


def test_a_second_engine_finds_what_a_dead_one_left() -> None:
    store = MemoryStore()
    log = store.create(RUN)
    log.append(story(2))
    store.end_processes()
    with pytest.raises(LogWriteFailed):
        log.append(story(1, after=2))
    again = store.acquire(RUN)
    log.close()
    again.append(story(1, after=2))
    again.close()
    assert store.read(RUN).events == story(3)
