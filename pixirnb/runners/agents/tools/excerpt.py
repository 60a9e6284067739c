"""Excerpts of a long text for an agent: its head and its tail, and the size of the omitted part."""

from __future__ import annotations

from collections import deque
from typing import Final

OUTPUT_LIMIT: Final = 16 * 1024
"""Maximum number of bytes of one result, the marker included."""
_ROOM: Final = 200
"""Bytes for the marker and a first line."""


def excerpt(text: str, limit: int = OUTPUT_LIMIT) -> str:
    """Return `text`, or its head and its tail around a marker."""
    data = text.encode("utf-8", errors="replace")
    if len(data) <= limit:
        return data.decode()
    excerpt = Excerpt(limit)
    excerpt.take(data)
    return excerpt.text()


class Excerpt:
    """A buffer of any number of bytes that keeps only as many as may be shown."""

    def __init__(self, limit: int = OUTPUT_LIMIT) -> None:
        self._half = max((limit - _ROOM) // 2, 1)
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._kept = 0
        self.total = 0
        """Number of bytes added."""

    def take(self, chunk: bytes) -> None:
        """Add bytes."""
        self.total += len(chunk)
        room = self._half - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self._tail.append(chunk[-self._half :])
            self._kept += len(self._tail[-1])
            while self._kept - len(self._tail[0]) >= self._half:
                self._kept -= len(self._tail.popleft())

    def text(self) -> str:
        """Return the text to show; bytes that are not UTF-8 are replaced."""
        tail = b"".join(self._tail)[-self._half :]
        left_out = self.total - len(self._head) - len(tail)
        if left_out <= 0:
            return (bytes(self._head) + tail).decode("utf-8", errors="replace")
        head = _whole_characters(bytes(self._head))
        tail = tail.lstrip(bytes(range(0x80, 0xC0)))
        left_out = self.total - len(head) - len(tail)
        marker = f"\n[… {left_out:,} of {self.total:,} bytes omitted …]\n"
        text = head.decode("utf-8", errors="replace") + marker
        return text + tail.decode("utf-8", errors="replace")


def _whole_characters(data: bytes) -> bytes:
    """Return the data without the first bytes of a character that was cut in two."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            needed = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if needed > back else data
    return data
