"""`pixirnb.progress`: how a Python step says how far it is, from a thread of this process or from a child."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Final

Listener = Callable[[float | None, str], None]

MESSAGE_LIMIT: Final = 2000
"""Characters of a message."""

_here = threading.local()
_process_listener: Listener | None = None


def progress(fraction: float | None, message: str = "") -> None:
    """Say that the running step is `fraction` done (0 to 1, clamped; None: unknown), with a short message.

    Outside a step this does nothing, so a function behaves the same when it is called by hand. In a step that runs as a
    process any thread may call it; in a step that runs as a thread only that thread (and its coroutines) are heard.
    Raises TypeError when `fraction` is no number.
    """
    if fraction is not None:
        fraction = float(fraction)
        fraction = min(1.0, max(0.0, fraction)) if math.isfinite(fraction) else None
    listener = getattr(_here, "listener", None) or _process_listener
    if listener is not None:
        listener(fraction, str(message)[:MESSAGE_LIMIT])


def listen_in_this_thread(listener: Listener) -> None:
    """Hear what the calling thread reports, until it ends."""
    _here.listener = listener


def listen_in_this_process(listener: Listener) -> None:
    """Hear what any thread of this process reports: for a child that runs one step and nothing else."""
    global _process_listener
    _process_listener = listener
