"""News of a run for whoever listens: recorded events once they are on disk, and live ones that are never logged.

Topics of live news: `step:output`, `step:heartbeat`, `step:stalled`, `step:progress`, `step:session`
(an event of a child session, which has a log of its own). A recorded event's topic is its kind.
Listeners are called on the engine's thread, in order, and must return at once; one that raises is dropped and
named in `dropped`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from pixirnb.history.events import Event, Kind

STEP_OUTPUT = "step:output"
STEP_HEARTBEAT = "step:heartbeat"
STEP_STALLED = "step:stalled"
STEP_PROGRESS = "step:progress"
STEP_SESSION = "step:session"
TOPICS: Final = (
    STEP_OUTPUT,
    STEP_HEARTBEAT,
    STEP_STALLED,
    STEP_PROGRESS,
    STEP_SESSION,
    *get_args(Kind),
)
"""All that can be listened for."""


@dataclass(frozen=True, slots=True)
class Live:
    """One piece of ephemeral news."""

    topic: str
    step: str
    attempt: int
    data: dict[str, Any] = field(default_factory=dict)


News = Event | Live
Listener = Callable[[News], None]


def topic_of(news: News) -> str:
    """What `on(topic, …)` matches."""
    return news.topic if isinstance(news, Live) else news.kind


class Broadcast:
    """Hands news to its listeners. Belongs to the engine's thread."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self.dropped: list[str] = []
        """What listeners raised; each was dropped at its first error."""

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Add a listener; returns what takes it away again."""
        self._listeners.append(listener)

        def leave() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return leave

    def publish(self, news: Sequence[News]) -> None:
        """Tell every listener each piece, in order."""
        for listener in list(self._listeners):
            try:
                for piece in news:
                    listener(piece)
            except Exception as error:  # noqa: BLE001 - a listener's bug must not stop the run; it is kept in `dropped`
                self.dropped.append(f"{type(error).__name__}: {error}")
                self._listeners.remove(listener)
