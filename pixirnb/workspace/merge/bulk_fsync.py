"""Bulk flush of many files: one flush of their disk instead of one for each, which takes seconds less."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

MANY: Final = 100
"""Number of files from which on a flush of the whole disk is faster."""


def is_for_many(count: int) -> bool:
    """Return whether so many files are better flushed by `flush_disk` than one by one. macOS has no such call."""
    return count > MANY and sys.platform == "linux" and _system_call() is not None


def flush_disk(descriptor: int) -> None:
    """Make everything durable on the disk that a descriptor lies on. Raises OSError, as of Linux 5.8 also for lost writes."""
    call = _system_call()
    if call is None or call(descriptor) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


@lru_cache(maxsize=1)
def _system_call() -> Any:
    """Return the C library's function; None where the library has none."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if call is not None:
        arguments: Sequence[Any] = [ctypes.c_int]
        call.argtypes = arguments
        call.restype = ctypes.c_int
    return call
