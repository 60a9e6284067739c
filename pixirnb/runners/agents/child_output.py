"""The output of a child, passed on as it comes; the child is over when it has exited, even if its pipe is still open.

A stop (SIGTERM, which the reaper sends to the whole tree) is passed on to the child and then waited for: its last
messages are evidence. If it does not exit, the reaper ends it, and us.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

CHUNK: Final = 65_536
_LATE_CHUNKS: Final = 64
"""Maximum number of chunks in a pipe or a terminal of a dead writer."""
_LOOK_MS: Final = 50
"""Milliseconds between checks for an exit on systems without a descriptor for it (macOS)."""


def follow(process: subprocess.Popen[bytes], source: int, take: Callable[[bytes], None]) -> int:
    """Pass on output of `process` from `source` until it has exited. Returns its exit code, negative for a signal."""
    os.set_blocking(source, False)
    with _stops_passed_on(process), _exit_of(process) as gone:
        poll = select.poll()
        poll.register(source, select.POLLIN)
        if gone is not None:
            poll.register(gone, select.POLLIN)
        is_open = True
        while process.poll() is None:
            ready = {
                descriptor for descriptor, _ in poll.poll(None if gone is not None else _LOOK_MS)
            }
            if source in ready and is_open and not _hand_over(source, take):
                is_open = False
                poll.unregister(source)
        for _ in range(_LATE_CHUNKS):
            if not is_open or not _hand_over(source, take, is_late=True):
                break
        return process.returncode


def _hand_over(source: int, take: Callable[[bytes], None], *, is_late: bool = False) -> bool:
    """Pass on one chunk. False at the end, and with `is_late` also if there is nothing."""
    try:
        chunk = os.read(source, CHUNK)
    except BlockingIOError:
        return not is_late
    except OSError:
        return False  # a terminal whose other side is closed says EIO for its end
    if chunk:
        take(chunk)
    return bool(chunk)


@contextmanager
def _stops_passed_on(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Pass a stop of this process on to the child's group until the block ends."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        end_group(process, signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def end_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to the group of a child, while the child exists."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass  # it went in between


@contextmanager
def _exit_of(process: subprocess.Popen[bytes]) -> Iterator[int | None]:
    """Yield a descriptor that becomes readable when the child has exited; None without such descriptors."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
