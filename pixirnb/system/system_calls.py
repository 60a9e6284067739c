"""System calls, repeated after a signal, and never blocking on a pipe.

Python repeats an interrupted write, sync or open by itself (PEP 475), but not `mkdir`, `rename`, `link` or `unlink`:
the kernel's own file systems never interrupt those. A file system served by a process (FUSE) may, and a notebook gets
many signals.

A pipe in the place of a regular file might have no writer at its other end: opening it would block.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

T = TypeVar("T")


def retry_eintr(call: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Call until no signal interrupts it; return its result or raise its error."""
    while True:
        try:
            return call(*arguments, **options)
        except InterruptedError:
            continue


def fill_standard_descriptors() -> None:
    """Open the null device as standard input, output and error where one is closed.

    Without that the next file that is opened, such as a log, is what a C library takes for standard error.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def open_plain(path: Path) -> BinaryIO:
    """Open the regular file at `path` for reading; links are followed. Raises OSError as `open_regular`."""
    return os.fdopen(open_regular(path, os.O_RDONLY), "rb")


def open_regular(path: Path, flags: int) -> int:
    """Return a descriptor of a regular file, made 0600 where `flags` allow. Raises OSError, ENXIO for a pipe, socket or device.

    Never blocks. Python's descriptors are close-on-exec.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o600)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.ENXIO, "it is a pipe, a socket or a device", str(path))
        return descriptor
    except BaseException:
        os.close(descriptor)
        raise
