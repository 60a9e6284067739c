"""What a function in a child process tells the engine: JSON lines, each followed by as many raw bytes as it announces.

Frames are `progress {fraction message}`, `checkpoint {data}`, `tool {data}`, and last `value {stored}` or
`error {kind message details}`. Standard library only.
"""

from __future__ import annotations

import json
import os
import threading
from typing import Any


class FrameWriter:
    """Writes frames to a pipe, whole ones, from any thread of the child."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def write(self, frame: str, payload: bytes = b"", **fields: Any) -> None:
        """Write one frame. `fields` must be JSON; raises TypeError where they are not. A closed pipe is silent."""
        line = json.dumps({"frame": frame, "bytes": len(payload), **fields}).encode() + b"\n"
        rest = memoryview(line + payload)
        with self._lock:
            try:
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
            except BrokenPipeError:
                pass  # the engine is gone, and the reaper is on its way


class FrameReader:
    """Puts frames together from chunks cut anywhere."""

    def __init__(self) -> None:
        self._pending = bytearray()
        self._header: dict[str, Any] | None = None

    def feed(self, chunk: bytes) -> list[tuple[dict[str, Any], bytes]]:
        """Take in a chunk; return the frames completed by it, each with its bytes."""
        self._pending += chunk
        complete: list[tuple[dict[str, Any], bytes]] = []
        while True:
            if self._header is None:
                end = self._pending.find(b"\n")
                if end < 0:
                    return complete
                self._header = json.loads(self._pending[:end])
                del self._pending[: end + 1]
            assert self._header is not None
            length = self._header["bytes"]
            if len(self._pending) < length:
                return complete
            complete.append((self._header, bytes(self._pending[:length])))
            del self._pending[:length]
            self._header = None
