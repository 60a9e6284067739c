"""Reader of standard input that a signal or a cancellation can interrupt before the next line.

The SDK reads in a thread, which cannot be interrupted; a server asked to end would hang until its client sent
something.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import anyio

_CHUNK: Final = 65_536
_LONGEST: Final = 64 * 1024 * 1024
"""Maximum number of bytes of one message: the largest workflow."""


_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")
_HALVES: Final = re.compile("[\ud800-\udfff]")


def readable(line: str) -> str:
    """Return a message in a form the SDK answers: it ignores lone surrogates, and results that are not mappings."""
    is_answer = '"result"' in line and '"method"' not in line
    if not is_answer and _HALF.search(line) is None:
        return line
    try:
        message = json.loads(line)
        if is_answer and isinstance(message, dict) and not isinstance(message.get("result"), dict):
            fault = {"code": _INVALID, "message": "the result is not a mapping"}
            message = {"jsonrpc": "2.0", "id": message.get("id"), "error": fault}
        return _HALVES.sub("\ufffd", json.dumps(message, ensure_ascii=False)) + "\n"
    except (ValueError, RecursionError):
        return line


_INVALID: Final = -32600
"""JSON-RPC's code for an invalid message."""


class WireLines:
    """Lines of a descriptor, as they come."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._seen = 0
        self._can_wait = True
        self._is_too_long = False
        """True while a too long line is read: its bytes are dropped."""

    def __aiter__(self) -> WireLines:
        return self

    async def __anext__(self) -> str:
        """Return the next line for the SDK; empty for one that is too long. Ends with the stream."""
        while True:
            end = self._buffer.find(b"\n", self._seen)
            if end >= 0:
                line = bytes(self._buffer[: end + 1])
                del self._buffer[: end + 1]
                self._seen = 0
                if self._is_too_long:
                    self._is_too_long = False
                    return "\n"
                return readable(line.decode("utf-8", errors="replace"))
            if len(self._buffer) > _LONGEST:
                self._is_too_long = True
                self._buffer.clear()
            self._seen = len(self._buffer)
            chunk = await self._chunk()
            if not chunk:
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
    """Take standard input for this reader alone: other readers of descriptor 0 find it empty."""
    ours = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    try:
        yield WireLines(ours)
    finally:
        os.dup2(ours, 0)
        os.close(ours)
