"""Source of a view's news: the loop of this process while it drives the run, else the log on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pixirnb.engine.broadcast import Live, News, NewsQueue
from pixirnb.engine.live_run import LiveRun
from pixirnb.engine.scheduler import Scheduler
from pixirnb.errors import LogDamaged
from pixirnb.ids import attempt_name
from pixirnb.operations.run import Run
from pixirnb.store.lease import is_ours


class Source:
    """News of one run, in order, whichever process drives it, also after a resume. Belongs to one thread at a time."""

    def __init__(
        self,
        run: Run,
        on_joined: Callable[[Mapping[str, str]], None],
        on_event: Callable[[], None],
    ) -> None:
        """`on_joined`: called when the loop of this process is heard from now on, with the unreported text of agents.

        That is by the names of their attempts; its news came earlier. `on_event`: called, on the loop's thread, for each event.
        """
        self._run = run
        self._on_joined = on_joined
        self._on_event = on_event
        self._arrived = NewsQueue()
        self._live: LiveRun | None = None
        """The live run that is heard."""
        self._leave: Callable[[], None] | None = None
        self._follower = run.store.follow(run.id)
        self.damage: LogDamaged | None = None
        self._listen()

    def _listen(self) -> None:
        live = self._run.live_here()
        if live is None:
            return
        self._follower, self.damage = self._run.store.follow(self._run.id), None
        self._leave, unreported = live.ask(self._join)
        self._live = live
        self._on_joined(unreported)

    def _join(self, loop: Scheduler) -> tuple[Callable[[], None], Mapping[str, str]]:
        # On the loop's own thread: what it tells next must not overtake what it has told.
        for event in loop.durable:
            self._arrived.put(event)
        under_way = [each for each in loop.attempts.values() if each.step.kind == "agent"]
        unreported = {
            attempt_name(each.step.id, each.number): each.unreported for each in under_way
        }
        return loop.broadcast.listen(self._on_news), unreported

    def _on_news(self, piece: News) -> None:
        self._arrived.put(piece)
        if not isinstance(piece, Live):
            self._on_event()

    def poll(self) -> list[News]:
        """Return the news since the last call. Events may come twice: the reader goes by their numbers."""
        if self._live is None:
            self._listen()
        if self._live is not None:
            is_over = self._live.ended.is_set()
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

    def leave(self) -> None:
        """Hear nothing more of the loop."""
        if self._leave is not None:
            self._leave()
        self._live = self._leave = None


def driver(run: Run) -> str:
    """Return the location of a run's driver: `here`, `elsewhere`, or empty for none, also while a resume is prepared here."""
    if run.is_live_here:
        return "here"
    owner = run.store.owner(run.id)
    return "" if owner is None or is_ours(owner) else "elsewhere"
