"""Interrupts of a command: SIGINT (Ctrl-C), SIGTERM, SIGHUP. Standard library only: the console script begins with it.

The first raises KeyboardInterrupt. Several at once are one interrupt, as when a terminal is closed after Ctrl-C; and while
the end of a run or the one document of stdout is on its way, one that came between would lose it.
"""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from types import FrameType

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AT_ONCE_S: Final = 1.0
_ignored_until = 0.0
_is_deferred = False
_is_pending = False


def hold_interrupts() -> None:
    """Keep signals pending while modules are loaded, until `handle_interrupts`."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)


def handle_interrupts() -> None:
    """Raise KeyboardInterrupt at signals, pending ones included. SIGINT and SIGHUP stay ignored if they are (`nohup`)."""
    ignore_interrupts(0.0)
    for number in SIGNALS:
        if number is signal.SIGTERM or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def ignore_interrupts(seconds: float = 10.0) -> None:
    """Ignore signals for some seconds. A later one is heard: what takes longer may be stuck, as a reader who stopped."""
    # Not by SIG_IGN: of a signal that has just come, Python would print that it was ignored.
    global _ignored_until
    _ignored_until = time.monotonic() + seconds


def defer_interrupts() -> None:
    """Keep the next interrupt until `raise_deferred`: the answer is to name what has begun. One after it is raised at once."""
    global _is_deferred
    _is_deferred = True


def raise_deferred() -> None:
    """Raise KeyboardInterrupt for an interrupt that was kept, and keep no more."""
    global _is_deferred, _is_pending
    was_pending, _is_deferred, _is_pending = _is_pending, False, False
    if was_pending:
        raise KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _is_deferred, _is_pending
    del number, frame
    if time.monotonic() < _ignored_until:
        return
    ignore_interrupts(_AT_ONCE_S)
    if not _is_deferred:
        raise KeyboardInterrupt
    _is_deferred, _is_pending = False, True
