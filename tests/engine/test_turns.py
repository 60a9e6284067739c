"""Who makes turns: one coroutine at a time, on the engine's thread, whatever arrives while a group is written."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import anyio
import anyio.lowlevel

from pixirnb.engine.log_writer import LogWriter
from pixirnb.engine.messages import Message
from pixirnb.history.events import Event
from pixirnb.protocols.ports import RunLog
from pixirnb.runners.processes.eager_tasks import in_task
from tests.engine.bench import Bench, plan_of, play, shell


class SlowWriter(LogWriter):
    """A writer that takes its time, and notes when it is asked and from which thread."""

    def __init__(self, log: RunLog) -> None:
        super().__init__(log)
        self.noted: list[str] = []
        self.threads: set[int] = set()

    async def append(self, events: Sequence[Event], *, is_alone: bool = False) -> None:
        self.noted.append("begins")
        self.threads.add(threading.get_ident())
        await in_task()
        await anyio.sleep(0.005)
        await super().append(events, is_alone=is_alone)
        self.noted.append("ends")


def test_what_arrives_while_a_turn_is_made_is_of_the_next() -> None:
    writers: list[SlowWriter] = []
    names = [f"s{number}" for number in range(12)]

    def writer_of(log: RunLog) -> SlowWriter:
        writers.append(SlowWriter(log))
        return writers[0]

    async def story(bench: Bench) -> None:
        for name in names:
            await bench.runner.wait_started(name)
            bench.runner.end(name)
            for _ in range(20):  # its end is being written
                await anyio.lowlevel.checkpoint()
                bench.scheduler.post(Message())

    bench = play(plan_of(*map(shell, names), max_concurrency=1), story, writer_of=writer_of)
    assert bench.outcome().status == "completed"
    [writer] = writers
    assert len(writer.noted) > 2 * 3
    assert writer.noted == ["begins", "ends"] * (len(writer.noted) // 2)
    assert writer.threads == {threading.get_ident()}
