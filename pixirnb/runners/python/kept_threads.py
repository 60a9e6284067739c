"""Threads that are kept from one step to the next: to start one costs a step as much as all its bookkeeping."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable
from typing import Final

_IDLE_S: Final = 10.0
"""Seconds that a thread waits for another call before it ends."""

Call = Callable[[], bool]
"""Function to call on a thread; it returns whether the thread is as it was before."""


class KeptThreads:
    """Daemon threads: a call is handed to one that idles, and one is started only where none does. Belongs to one loop."""

    def __init__(self, idle_s: float = _IDLE_S) -> None:
        self._idle: list[_KeptThread] = []
        self._idle_s = idle_s

    def call(self, name: str, call: Call) -> threading.Thread:
        """Make a call on a thread of this name, and return the thread. Raises RuntimeError where the system refuses another."""
        try:
            thread = self._idle.pop()
        except IndexError:
            thread = _KeptThread(self._idle, self._idle_s)
            thread.take(name, call)
            thread.start()
        else:
            thread.take(name, call)
        return thread


class _KeptThread(threading.Thread):
    def __init__(self, idle: list[_KeptThread], idle_s: float) -> None:
        super().__init__(daemon=True)
        self._idle = idle
        self._idle_s = idle_s
        self._calls: queue.SimpleQueue[Call] = queue.SimpleQueue()

    def take(self, name: str, call: Call) -> None:
        """Make a call next."""
        self.name = name
        self._calls.put(call)

    def run(self) -> None:
        """Make calls until none comes, or one has changed the thread. What a call raises ends the thread."""
        while (call := self._next()) is not None:
            is_clean = call()
            del call  # nor does an idle thread hold what the step was given
            if not is_clean or sys.gettrace() is not None or sys.getprofile() is not None:
                return
            self.name = "pixirnb idle"
            self._idle.append(self)

    def _next(self) -> Call | None:
        try:
            return self._calls.get(timeout=self._idle_s)
        except queue.Empty:
            pass
        try:
            self._idle.remove(self)
        except ValueError:
            return self._calls.get()  # it was taken in that moment
        return None
