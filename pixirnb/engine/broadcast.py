"""News of a run for listeners: recorded events once they are on disk, and live ones that are never logged.

Topics of live news: `step:output`, `step:heartbeat`, `step:stalled`, `step:progress`, `step:session`
(an event of a child session, which has a log of its own). A recorded event's topic is its kind.
Listeners are called on the engine's thread, in order, and must return at once; one that raises is dropped and
logged.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, get_args

from msgspec import Struct, field

from pixirnb.history.events import Event, Kind
from pixirnb.json_types import JsonObject
from pixirnb.wording import error_text

_LOG: Final = logging.getLogger("pixirnb")

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
"""All topics."""
WAITING_LIMIT: Final = 4 * 1024 * 1024
"""Bytes of live news that may wait for one listener."""


class Live(Struct, frozen=True):
    """One piece of ephemeral news."""

    topic: str
    step: str
    attempt: int
    data: JsonObject = field(default_factory=dict)


News = Event | Live
Listener = Callable[[News], None]


def topic_of(news: News) -> str:
    """Return the topic that `on(topic, …)` matches."""
    return news.topic if isinstance(news, Live) else news.kind


class NewsQueue:
    """News for a listener of another thread: put on the engine's, taken on its own.

    A listener slower than the run loses live news, never a recorded event: one piece of news says how much of a step's output
    is missing. The output log has all that it keeps.
    """

    def __init__(self, limit: int = WAITING_LIMIT) -> None:
        self._news: deque[News] = deque()
        self._lock = threading.Lock()
        self._limit = limit
        self._waiting = 0
        self._missed: dict[tuple[str, int, str], int] = {}
        """Bytes of output that were not kept, by step, attempt and stream."""

    def put(self, piece: News) -> None:
        """Keep one piece, if there is room for it."""
        with self._lock:
            if not isinstance(piece, Live):
                self._news.append(piece)
            elif self._waiting + _weight(piece) <= self._limit:
                self._waiting += _weight(piece)
                self._news.append(piece)
            elif piece.topic == STEP_OUTPUT:
                key = (piece.step, piece.attempt, str(piece.data["stream"]))
                self._missed[key] = self._missed.get(key, 0) + len(piece.data["chunk"])

    def empty(self) -> bool:
        """Return whether `get` has nothing to return."""
        with self._lock:
            return not self._news and not self._missed

    def get(self) -> News:
        """Return the next piece; only where the queue is not empty."""
        with self._lock:
            if self._news:
                piece = self._news.popleft()
                self._waiting -= _weight(piece) if isinstance(piece, Live) else 0
                return piece
            (step, attempt, stream), missed = self._missed.popitem()
        gap = f"\n[{missed} characters of output are not shown: they came too fast]\n"
        return Live(STEP_OUTPUT, step, attempt, {"stream": stream, "chunk": gap})


def _weight(piece: Live) -> int:
    """Return the bytes that a piece takes, about."""
    texts = [piece.data, piece.data.get("data")]
    inner = (value for each in texts if isinstance(each, dict) for value in each.values())
    return 500 + sum(len(value) for value in inner if isinstance(value, str))


class Broadcast:
    """Listeners, and the calls to them. Belongs to the engine's thread."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Add a listener; return a function that removes it."""
        self._listeners.append(listener)

        def leave() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return leave

    def publish(self, news: Sequence[News]) -> None:
        """Pass every piece to every listener, in order."""
        for listener in list(self._listeners):
            try:
                for piece in news:
                    # A copy: the event itself is the state of the run.
                    listener(piece if isinstance(piece, Live) else piece.copy())
            except BaseException as error:  # noqa: BLE001 - a listener's bug, an exit too, must not stop the run
                message = "a listener of a run raised, and is not called again: %s"
                _LOG.error(message, error_text(error), exc_info=error)
                if listener in self._listeners:
                    self._listeners.remove(listener)
