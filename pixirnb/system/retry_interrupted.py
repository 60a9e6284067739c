"""Retries of calls on names that a signal interrupted.

Python repeats an interrupted write, sync or open by itself (PEP 475), but not `mkdir`, `rename`, `link` or `unlink`:
the kernel's own file systems never interrupt those. A file system served by a process (FUSE) may, and a notebook gets
many signals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def retry_eintr(call: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Call until no signal interrupts it; return its result or raise its error."""
    while True:
        try:
            return call(*arguments, **options)
        except InterruptedError:
            continue
