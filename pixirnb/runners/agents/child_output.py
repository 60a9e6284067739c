"""Following a child: what it writes is handed over as it comes, and it is over when it has exited, whoever holds its pipe.

A stop (SIGTERM, which the reaper sends to the whole tree) is passed on to the child and then waited for: its last words are
evidence. If it does not go, the reaper ends it, and us.
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
"""What can be left in a pipe or a terminal when its writer is dead."""
_LOOK_MS: Final = 50
"""How often an exit is looked for where the system has no descriptor for it (macOS)."""


def follow(process: subprocess.Popen[bytes], source: int, take: Callable[[bytes], None]) -> int:
    """Hand over what `process` writes to `source` until it has exited. Its exit code, negative for a signal."""
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
    """One chunk. False at the end, and late also where nothing is there."""
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
    """While this is entered, a stop of ours is one of the child's group."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        end_group(process, signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def end_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to the group a child leads, while the child is there."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass  # it went in between


@contextmanager
def _exit_of(process: subprocess.Popen[bytes]) -> Iterator[int | None]:
    """A descriptor that becomes readable when the child has exited; None where the system has none."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
