"""Source of a view's news: the loop of this process while it drives the run, else the log on disk."""

from __future__ import annotations

from collections.abc import Callable

from pixirnb.engine.broadcast import News, NewsQueue
from pixirnb.engine.scheduler import Scheduler
from pixirnb.errors import LogDamaged
from pixirnb.ids import attempt_name
from pixirnb.operations.run import Run


class Source:
    """News of one run, each event once and in order, whichever process drives it. Belongs to one thread at a time."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._arrived = NewsQueue()
        self._leave: Callable[[], None] | None = None
        self._follower = run.store.follow(run.id)
        self.damage: LogDamaged | None = None
        self.unreported: dict[str, str] = {}
        """Unreported text of agents when listening began, by the names of their attempts; its news came earlier."""
        self.listen()

    def listen(self) -> None:
        """Hear the loop of this process, if that drives the run."""
        live = self._run.live
        if live is None or live.ended.is_set() or self._leave is not None:
            return
        self._leave = live.ask(self._join)

    def _join(self, loop: Scheduler) -> Callable[[], None]:
        # On the loop's own thread: what it tells next must not overtake what it has told.
        for event in loop.durable:
            self._arrived.put(event)
        under_way = [each for each in loop.attempts.values() if each.step.kind == "agent"]
        self.unreported = {
            attempt_name(each.step.id, each.number): each.unreported for each in under_way
        }
        return loop.broadcast.listen(self._arrived.put)

    def poll(self) -> list[News]:
        """Return the news since the last call. Events may come twice: the reader goes by their numbers."""
        live = self._run.live
        if self._leave is not None and live is not None:
            is_over = live.ended.is_set()
            news: list[News] = []
            while not self._arrived.empty():
                news.append(self._arrived.get())
            if is_over:
                self.leave()
            return news
        if self.damage is not None:
            return []
        try:
            return list(self._follower.poll())
        except LogDamaged as damage:
            self.damage = damage
            return []

    def is_live(self) -> bool:
        """Return whether a process drives the run now."""
        return self._run.is_live_here or self._run.store.owner(self._run.id) is not None

    def leave(self) -> None:
        """Hear nothing more of the loop."""
        if self._leave is not None:
            self._leave()
            self._leave = None
