"""An interrupt that comes while a run is launched waits until the run can be seen: no run goes on that nobody knows of."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def interrupt_deferred() -> Iterator[Callable[[], None]]:
    """Hold SIGINT back until the call that is given is made, or the end. Both raise KeyboardInterrupt if one came."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None  # no signal interrupts another thread
        return
    came: list[int] = []
    former = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    is_over = False

    def let_through() -> None:
        nonlocal is_over
        if not is_over:
            is_over = True
            signal.signal(signal.SIGINT, former)
            if came:
                raise KeyboardInterrupt

    try:
        yield let_through
    finally:
        let_through()
