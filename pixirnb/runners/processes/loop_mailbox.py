"""A mailbox from threads to the engine's loop: calls to make there, in order, without waiting for a result."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, Literal

from msgspec import Struct

_FULL: Final = 1_000
"""Maximum number of waiting calls. A thread that posts faster than the loop handles them is slowed down."""
_FULL_BYTES: Final = 1024 * 1024
"""Maximum number of waiting bytes."""
_JOINED: Final = 65_536
"""Size in bytes to which small pieces of a stream are joined."""


class StreamChunk(Struct):
    """Bytes of a stream on their way to `take`. Later pieces of the stream are joined to it while it waits."""

    stream: Literal["stdout", "stderr"]
    data: bytearray
    take: Callable[[Literal["stdout", "stderr"], bytes], None]

    def __call__(self) -> None:
        """Pass the bytes on, on the loop's thread."""
        self.take(self.stream, bytes(self.data))

    def join(self, following: Callable[[], None]) -> bool:
        """Join a later piece; False if it is something else, or too large."""
        if (
            not isinstance(following, StreamChunk)
            or following.stream != self.stream
            or len(self.data) + len(following.data) > _JOINED
        ):
            return False
        self.data += following.data
        return True


def caller_of_loop() -> Callable[[Callable[[], object]], object]:
    """Return a function for other threads that makes a call on this loop's thread. It does not wait.

    It raises RuntimeError where the loop is closed.
    """
    # anyio's own way waits for the loop, which may end meanwhile: for ever. A call runs in the context of the caller here,
    # in which anyio knows its loop: that of another thread is a step's.
    context = contextvars.copy_context()
    return partial(asyncio.get_running_loop().call_soon_threadsafe, context=context)


class Mailbox:
    """A mailbox made on the loop's thread, for posts from any other."""

    def __init__(self) -> None:
        self._soon = caller_of_loop()
        self._loop = asyncio.get_running_loop()
        self._things: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()
        self._size = 0
        self._is_called = False

    def post(self, thing: Callable[[], None], size: int = 0) -> bool:
        """Call `thing`, of `size` bytes, on the loop's thread. False when the loop is gone."""
        while self._is_full and self._is_called:
            if self._loop.is_closed():  # it has not come to what waits, and never will
                return False
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
        except RuntimeError:  # the loop is closed
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
        bug: Exception | None = None
        for thing in things:
            try:
                thing()
            except Exception as error:  # noqa: BLE001 - raised below; what comes after it may tell that the sender has ended
                bug = bug or error
        if bug is not None:
            raise bug
