"""From a thread to the engine's loop: things to do there, in order, without waiting for an answer."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal

from anyio.lowlevel import current_token

_FULL: Final = 1_000
"""Things that may wait. A thread that posts faster than the loop takes them in is slowed down, not stored."""
_FULL_BYTES: Final = 1024 * 1024
"""And bytes of them."""
_JOINED: Final = 65_536
"""Bytes that small pieces of a stream are joined to."""


@dataclass(slots=True)
class StreamChunk:
    """Bytes of a stream on their way to `take`. What follows of that stream before it is taken in goes along with it."""

    stream: Literal["stdout", "stderr"]
    data: bytearray
    take: Callable[[Literal["stdout", "stderr"], bytes], None]

    def __call__(self) -> None:
        """On the loop's thread."""
        self.take(self.stream, bytes(self.data))

    def join(self, following: Callable[[], None]) -> bool:
        """Take on what follows; False where it is something else, or there is no room."""
        if (
            not isinstance(following, StreamChunk)
            or following.stream != self.stream
            or len(self.data) + len(following.data) > _JOINED
        ):
            return False
        self.data += following.data
        return True


class Mailbox:
    """Made on the loop's thread, posted to from any other."""

    def __init__(self) -> None:
        # anyio's own way from a foreign thread waits for the result, or makes a task a call: 10 times the price. Both
        # backends have a plain thread-safe "call this soon".
        native: Any = current_token().native_token
        self._soon: Callable[[Callable[[], None]], object] = (
            getattr(native, "call_soon_threadsafe", None) or native.run_sync_soon
        )
        self._things: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()
        self._size = 0
        self._is_called = False

    def post(self, thing: Callable[[], None], size: int = 0) -> bool:
        """Have `thing`, of `size` bytes, called on the loop's thread. False when the loop is gone and it never will be."""
        while self._is_full and self._is_called:
            time.sleep(0.001)
        with self._lock:
            last = self._things[-1] if self._things else None
            if not (isinstance(last, StreamChunk) and last.join(thing)):
                self._things.append(thing)
            self._size += size
            if self._is_called:
                return True
            self._is_called = True
        try:
            self._soon(self._empty)
        except RuntimeError:  # both backends: the loop is closed
            self._things.clear()
            self._is_called = False
            return False
        return True

    @property
    def _is_full(self) -> bool:
        return len(self._things) >= _FULL or self._size >= _FULL_BYTES

    def _empty(self) -> None:
        with self._lock:
            self._is_called = False
            things = list(self._things)
            self._things.clear()
            self._size = 0
        for thing in things:
            thing()
