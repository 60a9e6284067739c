"""Progress reports of a Python step, from a thread of this process or from a child."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Final, SupportsFloat

Listener = Callable[[float | None, str], None]

MESSAGE_LIMIT: Final = 2000
"""Maximum number of characters of a message."""

_here = threading.local()
_process_listener: Listener | None = None


def progress(fraction: float | None, message: str = "") -> None:
    """Report that the running step is `fraction` done, with a short message.

    Outside a step this does nothing, so a function can be called by hand too. In a step that runs as a process any
    thread may call it; in a step that runs as a thread only that thread (and its coroutines) may.

    Args:
        fraction: 0 to 1, clamped; None: unknown.
        message: shown next to the fraction, at most 2,000 characters.

    Raises:
        TypeError: `fraction` is not a number.

    Example:
        >>> for done in range(4):
        ...     pixirnb.progress(done / 4, f"file {done} of 4")
    """
    if fraction is not None:
        if not isinstance(fraction, SupportsFloat):
            raise TypeError(f"fraction must be a number from 0 to 1, got {fraction!r:.80}")
        fraction = float(fraction)
        fraction = min(1.0, max(0.0, fraction)) if math.isfinite(fraction) else None
    listener = getattr(_here, "listener", None) or _process_listener
    if listener is not None:
        # A subclass of `str` may have its own idea of slicing.
        listener(fraction, str.__str__(str(message))[:MESSAGE_LIMIT])


def listen_in_this_thread(listener: Listener) -> None:
    """Register a listener for progress of the calling thread, until it ends."""
    _here.listener = listener


def listen_in_this_process(listener: Listener) -> None:
    """Register a listener for progress of any thread of this process: for a child that runs one step and nothing else."""
    global _process_listener
    _process_listener = listener
