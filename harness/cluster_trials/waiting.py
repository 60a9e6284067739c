"""Waiting for what real processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

_LOOK_S = 0.05


def until(is_so: Callable[[], object], seconds: float) -> bool:
    """Wait until it is so; return whether it is, in that time."""
    ends = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() >= ends:
            return False
        time.sleep(_LOOK_S)
    return True
