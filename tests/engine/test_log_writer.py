"""A run's log is written on one thread, in order, and whoever asked is told how it went."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import anyio
import anyio.lowlevel
import pytest

from pixirnb.engine.log_writer import LogWriter
from pixirnb.errors import LogWriteFailed
from pixirnb.history.events import Event
from pixirnb.ids import run_id
from pixirnb.protocols.ports import SessionLog
from pixirnb.testing.fakes.memory_store import MemoryStore
from tests.full_table import no_threads

AT = "2026-11-21T22:03:44.123456Z"
RUN = run_id("20261121220344", b"\1\2\3\4\5\6")

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def event(seq: int) -> Event:
    return Event(seq, AT, "warning_raised", {"code": "c", "message": str(seq)})


class SlowLog:
    """A memory log whose appends take as long as the test says, and remember their thread."""

    def __init__(self) -> None:
        self.inner = MemoryStore().create(RUN)
        self.run_id = self.inner.run_id
        self.folder = self.inner.folder
        self.blobs = self.inner.blobs
        self.reading = self.inner.reading
        self.go = threading.Event()
        self.threads: list[threading.Thread] = []
        self.written: list[int] = []
        self.refusal: LogWriteFailed | None = None

    def append(self, events: Sequence[Event]) -> None:
        self.threads.append(threading.current_thread())
        assert self.go.wait(10)
        if self.refusal is not None:
            raise self.refusal
        self.inner.append(events)
        self.written += [each.seq for each in events]

    def require_hold(self) -> None:
        self.inner.require_hold()

    def session(self, session_id: str) -> SessionLog:
        return self.inner.session(session_id)

    def close(self) -> None:
        self.inner.close()


async def test_groups_are_written_in_order_on_one_thread_of_their_own() -> None:
    log = SlowLog()
    log.go.set()
    writer = LogWriter(log)
    for seq in (1, 2, 3):
        await writer.append([event(seq)])
    writer.close()
    assert log.written == [1, 2, 3]
    assert {thread.name for thread in log.threads} == {f"pixirnb log {RUN}"}


async def test_the_loop_goes_on_while_the_disk_is_slow() -> None:
    log = SlowLog()
    writer = LogWriter(log)
    async with anyio.create_task_group() as group:
        group.start_soon(writer.append, [event(1)])
        await anyio.lowlevel.checkpoint()
        log.go.set()  # only a loop that goes on comes here
    writer.close()
    assert log.written == [1]


async def test_a_refusal_reaches_whoever_asked_and_the_thread_lives_on() -> None:
    log = SlowLog()
    log.go.set()
    log.refusal = LogWriteFailed("the disk is full", fix="make room")
    writer = LogWriter(log)
    with pytest.raises(LogWriteFailed):
        await writer.append([event(1)])
    log.refusal = None
    await writer.append([event(1)])
    writer.close()
    assert log.written == [1]


async def test_a_thread_that_the_system_refuses_is_a_failed_write() -> None:
    writer = LogWriter(SlowLog())
    with no_threads(), pytest.raises(LogWriteFailed, match="refused a new thread") as refused:
        await writer.append([event(1)])
    assert refused.value.code == "log_write_failed"
    writer.close()


async def test_a_cancellation_waits_for_the_write_under_way() -> None:
    log = SlowLog()
    writer = LogWriter(log)
    seen: list[list[int]] = []

    async def write() -> None:
        try:
            await writer.append([event(1)])
            await anyio.lowlevel.checkpoint()
        finally:
            seen.append(list(log.written))

    async with anyio.create_task_group() as group:
        group.start_soon(write)
        await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
        log.go.set()
    writer.close()
    assert seen == [[1]]


async def test_the_thread_ends_with_the_writer() -> None:
    log = SlowLog()
    log.go.set()
    writer = LogWriter(log)
    await writer.append([event(1)])
    writer.close()
    writer.close()
    [thread] = log.threads
    thread.join(10)
    assert not thread.is_alive()
