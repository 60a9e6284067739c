"""The client's side of standard input, read so that a signal or a cancellation need not wait for the next line.

The SDK reads in a thread, which nothing can interrupt; a server that is asked to end would hang until its client spoke.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import anyio

_CHUNK: Final = 65_536
_LONGEST: Final = 64 * 1024 * 1024
"""Bytes of one message: the largest workflow there may be."""


class WireLines:
    """Lines of a descriptor, as they come."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._seen = 0
        self._can_wait = True

    def __aiter__(self) -> WireLines:
        return self

    async def __anext__(self) -> str:
        """The next line. Ends with the stream, and with a line that is longer than any message may be."""
        while True:
            end = self._buffer.find(b"\n", self._seen)
            if end >= 0:
                line = bytes(self._buffer[: end + 1])
                del self._buffer[: end + 1]
                self._seen = 0
                return line.decode("utf-8", errors="replace")
            self._seen = len(self._buffer)
            chunk = await self._chunk()
            if not chunk or self._seen > _LONGEST:
                raise StopAsyncIteration
            self._buffer += chunk

    async def _chunk(self) -> bytes:
        if self._can_wait:
            try:
                await anyio.wait_readable(self._descriptor)
            except PermissionError:
                self._can_wait = False  # a file: it is always ready, and cannot be waited for
        return os.read(self._descriptor, _CHUNK)


@contextmanager
def input_lines() -> Iterator[WireLines]:
    """Standard input for this reader alone: whatever else in the process reads descriptor 0 finds it empty."""
    ours = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    try:
        yield WireLines(ours)
    finally:
        os.dup2(ours, 0)
        os.close(ours)
