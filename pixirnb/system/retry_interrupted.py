"""Calls on names that a signal interrupted, made again.

Python repeats an interrupted write, sync or open by itself (PEP 475), but not a `mkdir`, `rename`, `link` or `unlink`: disks of
the kernel's own never interrupt those. A disk that is served by a process (FUSE) may, and a notebook gets many signals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def retry_eintr(call: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """What `call` returns or raises once no signal comes in between."""
    while True:
        try:
            return call(*arguments, **options)
        except InterruptedError:
            continue
