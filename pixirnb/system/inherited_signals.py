"""Signals as the starter of this process left them: what is blocked or ignored is handed on through `fork` and `exec`.

Standard library only: the supervisor process imports this module.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# By name: on Windows this must import, so that the supervisor can refuse in one line.
OF_PYTHON: Final = tuple(
    getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name)
)
"""Signals that every Python ignores, however it was started."""

OF_GROUPS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name)
)
"""Signals for a whole process group: a kernel's interrupt, Ctrl+C, the end of a terminal."""


def begin_afresh() -> None:
    """Let every signal through, and give those that are ignored their default, but for those of Python."""
    for number in signal.valid_signals() - {*OF_PYTHON}:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    for number in signal.sigpending() & {*OF_GROUPS}:
        # It was for the starter's group, which this process was still in: `SIG_IGN` drops what waits.
        signal.signal(number, signal.signal(number, signal.SIG_IGN))
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


@contextmanager
def group_signals_blocked() -> Iterator[None]:
    """Keep `OF_GROUPS` from processes that are started inside, and from this thread meanwhile.

    A child with a session of its own is in our group for its first moment. What is blocked here stays blocked in the child.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows, where a run is refused in one line
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, OF_GROUPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def restore_sigchld() -> None:
    """Give SIGCHLD its default where it is ignored, which loses the exit status of every child; only the main thread can."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
