"""The class `RunWatch`: a run that can be watched and waited for.

on()        a callback for one topic, on the engine's thread        only where the run is driven
events()    an async iterator over everything, live                 anywhere; ephemeral news only where it is driven
follow()    a blocking iterator over the recorded events            anywhere
history()   the events so far, as a list (`RunRecord`)              anywhere
"""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Any

import anyio

from pixirnb.engine.broadcast import TOPICS, News, NewsQueue, topic_of
from pixirnb.engine.live_run import ENGINE_THREAD
from pixirnb.errors import Cannot, InvalidArguments
from pixirnb.history.events import Event
from pixirnb.machine.outcome import RunOutcome
from pixirnb.operations.record import TICK_S, RunRecord
from pixirnb.spec.did_you_mean import did_you_mean


class RunWatch(RunRecord, eq=False):
    """A run that can be watched and waited for."""

    def on(self, topic: str, callback: Callable[[News], None]) -> Callable[[], None]:
        """Register a callback for news of a topic, on the engine's thread; return a function that removes it.

        Only for a run driven here.

        Args:
            topic: `step:output`, `step:heartbeat`, `step:stalled`, `step:progress`, `step:session` (an event of an agent's
                session), or a recorded event's kind.
            callback: called with each piece of news.

        Raises:
            InvalidArguments: the topic does not exist.
            Cannot: the run is not driven here.
        """
        if topic not in TOPICS:
            raise InvalidArguments(
                f"unknown topic {topic!r:.80}",
                fix=did_you_mean(
                    str(topic),
                    TOPICS,
                    otherwise=f"topics: {', '.join(TOPICS[:5])}, and every kind of event",
                ),
            )
        if not callable(callback):
            raise InvalidArguments(
                f"callback must be callable, got {type(callback).__name__}",
                fix='pass a function of one argument: run.on("step:output", print)',
            )
        if (live := self._live_run()) is None:
            raise Cannot(
                f"live events are only available in the process that runs {self.id}",
                fix="use follow() or events(), which read the log",
                code="not_live_here",
            )

        def on_news(news: News) -> None:
            if topic_of(news) == topic:
                callback(news)

        return live.listen(on_news)

    async def events(self) -> AsyncIterator[News]:
        """Iterate over everything from the first event on, live: recorded events, and ephemeral news of a run driven here."""
        if (live := self.live_here()) is None:
            async for event in self._followed():
                yield event
            return
        arrived = NewsQueue()

        known, unsubscribe = live.ask(
            lambda scheduler: (list(scheduler.durable), scheduler.broadcast.listen(arrived.put))
        )
        try:
            for event in known:
                yield event.copy()
            while True:
                is_over = live.ended.is_set()
                while not arrived.empty():
                    yield arrived.get()
                if is_over:
                    return
                await anyio.sleep(TICK_S / 2)
        finally:
            unsubscribe()

    def follow(self) -> Iterator[Event]:
        """Iterate over every event as it reaches the disk, from the first on, until the run has no owner any more. Blocks."""
        follower = self.store.follow(self.id)
        while True:
            is_over = self._reading().owner is None
            while events := follower.poll():  # until it has none: only then it tells of damage
                yield from events
            if is_over:
                return
            _require_other_thread()
            time.sleep(TICK_S)

    def wait(self, timeout: float | None = None) -> RunOutcome:
        """Block until the run finishes or pauses; return its outcome.

        Args:
            timeout: the maximum number of seconds to wait; the outcome is returned in any case.

        Raises:
            Cannot, InternalError: the run could not be driven on; `wait_in_callback`.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        for is_over in self._watched():
            if is_over or (deadline is not None and time.monotonic() >= deadline):
                break
            _require_other_thread()
            pause = TICK_S if deadline is None else min(TICK_S, deadline - time.monotonic())
            if self.live is not None:
                self.live.ended.wait(max(0.0, pause))
            else:
                time.sleep(max(0.0, pause))
        self._raise_failure()
        return self.outcome

    async def wait_ended(self) -> RunOutcome:
        """Wait like `wait`, for an event loop: other tasks run meanwhile, so that an interrupt of the cell is noticed
        at once.
        """
        for is_over in self._watched():
            if is_over:
                break
            await anyio.sleep(TICK_S)
        self._raise_failure()
        return self.outcome

    def __await__(self) -> Generator[Any, None, RunOutcome]:
        return self.wait_ended().__await__()

    def _watched(self) -> Iterator[bool]:
        """Yield, again and again, whether the run has come to rest."""
        while True:
            if (live := self._live_run()) is not None:
                yield live.ended.is_set()
            else:
                yield self._reading().owner is None

    async def _followed(self) -> AsyncIterator[News]:
        follower = self.store.follow(self.id)
        while True:
            is_over = self._reading().owner is None
            while events := follower.poll():
                for event in events:
                    yield event
            if is_over:
                return
            await anyio.sleep(TICK_S)

    def _raise_failure(self) -> None:
        if self.live is not None and self.live.failure is not None:
            raise self.live.failure


def _require_other_thread() -> None:
    """Raise Cannot on the engine's thread: no run of this process would go on while it waits."""
    if threading.current_thread().name == ENGINE_THREAD:
        raise Cannot(
            "a callback cannot wait for a run: no run of this process goes on until it returns",
            fix="wait in another thread, or after the run",
            code="wait_in_callback",
        )
