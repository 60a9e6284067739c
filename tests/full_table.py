"""A system that has no room for another thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_threads() -> Iterator[None]:
    """Make the system refuse every new thread of this process: no address space holds such a stack."""
    before = threading.stack_size(1 << 60)
    try:
        yield
    finally:
        threading.stack_size(before)
