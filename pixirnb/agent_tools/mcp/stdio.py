"""The client's side of standard input, read so that a signal or a cancellation need not wait for the next line.

The SDK reads in a thread, which nothing can interrupt; a server that is asked to end would hang until its client spoke.
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
"""Bytes of one message: the largest workflow there may be."""


_HALF: Final = re.compile(r"\\u[dD][89a-fA-F]")
_HALVES: Final = re.compile("[\ud800-\udfff]")


def readable(line: str) -> str:
    """A message such as the SDK answers: it is silent about one with half of a character, or whose result is no mapping."""
    is_answer = '"result"' in line and '"method"' not in line
    if not is_answer and _HALF.search(line) is None:
        return line
    try:
        message = json.loads(line)
        if is_answer and isinstance(message, dict) and not isinstance(message.get("result"), dict):
            fault = {"code": _INVALID, "message": "the result is no mapping"}
            message = {"jsonrpc": "2.0", "id": message.get("id"), "error": fault}
        return _HALVES.sub("\ufffd", json.dumps(message, ensure_ascii=False)) + "\n"
    except (ValueError, RecursionError):
        return line


_INVALID: Final = -32600
"""JSON-RPC's word for a message that is none."""


class WireLines:
    """Lines of a descriptor, as they come."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._seen = 0
        self._can_wait = True
        self._is_too_long = False
        """The line that is being read: its bytes are let go as they come."""

    def __aiter__(self) -> WireLines:
        return self

    async def __anext__(self) -> str:
        """The next line as the SDK can read it; empty for one that is longer than any message may be. Ends with the stream."""
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
