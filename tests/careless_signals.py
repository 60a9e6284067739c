"""Signals as a program leaves them that minds only its own, for whoever it starts."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

BLOCKED = (signal.SIGCHLD, signal.SIGTERM)
IGNORED = (signal.SIGCHLD, signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)


@contextmanager
def careless_signals() -> Iterator[None]:
    """What is started inside inherits signals that are blocked and ignored."""
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in IGNORED}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
