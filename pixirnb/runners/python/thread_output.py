"""Printed output of a Python step in a thread: captured as its output, never shown by the current notebook cell.

    step thread ── print ──▶ sys.stdout (a `_Switch`) ──▶ that thread's own stream ──▶ the step's mailbox ──▶ engine loop
    any other thread ────────▶ the same `_Switch` ──────▶ whatever sys.stdout was before

The switches replace `sys.stdout` and `sys.stderr` only while step threads run; the last one to end restores the old
streams, unless another stream was put on top meanwhile: then the switch stays below it and passes everything on. Not
captured: threads the step starts itself, a logging handler that got a stream earlier, and output of C code.
"""

from __future__ import annotations

import io
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal, TextIO

StreamName = Literal["stdout", "stderr"]
Writer = Callable[[StreamName, bytes], None]

_PIECE: Final = 65_536
"""Maximum number of characters, or bytes, passed on at once."""
_here = threading.local()
_lock = threading.Lock()
_running = 0


@contextmanager
def own_output(writer: Writer) -> Iterator[None]:
    """Give the calling thread its own standard output and error, until the block ends."""
    streams = _here.streams = _Streams(writer)
    _enter()
    try:
        yield
    finally:
        for stream in streams.values():
            try:
                stream.flush()
            except ValueError:
                pass  # the step closed its own output
        _restore()
        _here.streams = None


def _enter() -> None:
    global _running
    with _lock:
        _running += 1
        for name in ("stdout", "stderr"):
            current = getattr(sys, name)
            if not isinstance(current, _Switch):
                setattr(sys, name, _switch_over(name, current))


def _switch_over(name: str, below: TextIO | None) -> _Switch:
    """Return a switch over a stream. Switches are kept, except the oldest of many.

    `print` and the exception hook of threads borrow the streams in `sys`: they crash if one is freed meanwhile.
    """
    known = next((each for each in _kept if each.is_over(name, below)), None)
    if known is None:
        known = _Switch(name, below)
        _kept.append(known)
    return known


def _restore() -> None:
    global _running
    with _lock:
        _running -= 1
        if _running == 0:
            for name in ("stdout", "stderr"):
                current = getattr(sys, name)
                if isinstance(current, _Switch):
                    setattr(sys, name, current.below)


class _Switch:
    """A text stream that is a different one for each step thread, and the one below for all others."""

    def __init__(self, name: str, below: TextIO | None) -> None:
        self.below = below
        self._name = name

    def is_over(self, name: str, below: TextIO | None) -> bool:
        """Return whether it is the switch over this stream."""
        return self._name == name and self.below is below

    def __getattr__(self, attribute: str) -> Any:
        return getattr(self._stream(), attribute)

    def __iter__(self) -> Iterator[str]:
        return iter(self._stream())

    def write(self, text: str) -> int:
        """Write to the stream of the calling thread."""
        stream = self._stream()
        return len(text) if stream is None else stream.write(text)

    def flush(self) -> None:
        """Flush the stream of the calling thread."""
        stream = self._stream()
        if stream is not None:
            stream.flush()

    def _stream(self) -> Any:
        streams = getattr(_here, "streams", None)
        return self.below if streams is None else streams[self._name]


_kept: Final[deque[_Switch]] = deque(maxlen=32)


class _Raw(io.RawIOBase):
    def __init__(self, name: StreamName, writer: Writer) -> None:
        super().__init__()
        self._name = name
        self._writer = writer

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        rest = memoryview(data).cast("B")
        for at in range(0, len(rest), _PIECE):
            self._writer(self._name, bytes(rest[at : at + _PIECE]))
        return len(rest)


class _Text(io.TextIOWrapper):
    """Long text, encoded piece by piece: the output of one `print` is not held a second time."""

    def write(self, text: str) -> int:
        for at in range(0, len(text), _PIECE):
            super().write(text[at : at + _PIECE])
        return len(text)


class _Streams(dict[str, io.TextIOWrapper]):
    """One thread's streams, made when first written to: most steps print nothing."""

    def __init__(self, writer: Writer) -> None:
        super().__init__()
        self._writer = writer

    def __missing__(self, name: StreamName) -> io.TextIOWrapper:
        raw = io.BufferedWriter(_Raw(name, self._writer))
        self[name] = _Text(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)
        return self[name]
