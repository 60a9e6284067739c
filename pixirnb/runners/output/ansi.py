"""Escape sequences of terminal output: secrets masked with sequences in the middle of them; text without sequences.

The mask's input has no secret in one piece any more. Escape sequences are ignored in its search and never lost.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from pixirnb.runners.output.text_search import needles_of

_STARS: Final = b"***"
_HELD_LIMIT: Final = 64 * 1024
"""Maximum number of bytes held back: a beginning of a secret with so many escapes after it is passed on."""
_ESCAPE: Final = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor
    rb"|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"  # titles, links
    rb"|[ -/]*[0-Z\\^-~])"  # any other
)
_UNFINISHED: Final = re.compile(
    rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,64}|\][^\x07\x1b]{0,4096}\x1b?|[ -/]{0,64})\Z"
)
_LONGEST_END: Final = 4200
"""Maximum number of bytes of an unfinished escape sequence."""
_TEXT_BODY: Final = r"[^\x07\x1b]{0,4096}"
"""Body of a sequence of text with a terminator; an unterminated one removes no text."""
_TEXT_ESCAPES: Final = re.compile(
    rf"\x1b\]{_TEXT_BODY}(?:\x07|\x1b\\)"  # operating system commands: titles, links
    rf"|\x1b[PX^_]{_TEXT_BODY}\x1b\\"  # device control, privacy messages and their like
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor
    r"|\x1b[ -/]*[0-~]"  # any other escape
    r"|\x1b"
)
_TEXT_CONTROLS: Final = re.compile(r"[\x00-\x07\x0b-\x0c\x0e-\x1f\x7f]")


class PaintedMask:
    """Mask of bytes that come in chunks cut anywhere. A possible beginning of a secret with escapes in it is held back."""

    def __init__(self, secrets: Sequence[bytes]) -> None:
        self._needles = needles_of(tuple(secrets))
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """Return the part of the stream that is safe to show now."""
        if self._needles is None or not (self._held or b"\x1b" in chunk):
            return chunk
        shown, self._held = self._masked(self._held + chunk)
        if len(self._held) > _HELD_LIMIT:
            shown += self.flush()
        return shown

    def flush(self) -> bytes:
        """Return the bytes held back, at the end of the stream."""
        held, self._held = self._held, b""
        return self._masked(held, is_last=True)[0] if held else b""

    def _masked(self, data: bytes, *, is_last: bool = False) -> tuple[bytes, bytes]:
        """Return the part of `data` that can be shown, and the rest that has to wait; at the end the rest is empty."""
        assert self._needles is not None
        bare, marks = _Bare(data), []
        at = 0
        while True:
            safe_to = len(bare.text) if is_last else self._needles.possible_beginning(bare.text, at)
            match = self._needles.find.search(bare.text, at)
            if match is None or match.start() >= safe_to:
                break
            marks.append(match.span())
            at = match.end()
        wait_at = bare.position(safe_to) if safe_to < len(bare.text) else len(data)
        shown, done = [], 0
        for start, end in marks:
            first, last = bare.position(start), bare.position(end - 1)
            inside = b"".join(_ESCAPE.findall(data, first, last + 1))
            shown += [data[done:first], _STARS, inside]
            done = last + 1
        return b"".join([*shown, data[done:wait_at]]), data[wait_at:]


class _Bare:
    """Bytes without their escape sequences, each with its position in the data."""

    def __init__(self, data: bytes) -> None:
        end = len(data)
        pieces: list[bytes] = []
        self._starts: list[int] = []
        """Start of each piece in the bare bytes."""
        self._positions: list[int] = []
        """Start of each piece in the data."""
        done = size = 0
        spans = [match.span() for match in _ESCAPE.finditer(data)]
        after = spans[-1][1] if spans else 0
        unfinished = _UNFINISHED.search(data, max(end - _LONGEST_END, after))
        if unfinished is not None:
            spans.append((unfinished.start(), end))
        for first, last in [*spans, (end, end)]:
            if first > done:
                pieces.append(data[done:first])
                self._starts.append(size)
                self._positions.append(done)
                size += first - done
            done = last
        self.text = b"".join(pieces)

    def position(self, at: int) -> int:
        """Return the position in the data of the bare byte at `at`."""
        piece = bisect_right(self._starts, at) - 1
        return self._positions[piece] + at - self._starts[piece]


def plain(text: str) -> str:
    """Return `text` without escapes, `\r\n` as `\n`, and of a line overwritten with `\r` its last state."""
    bare = _TEXT_ESCAPES.sub("", text).replace("\r\n", "\n")
    return "\n".join(_line(line) for line in bare.split("\n"))


def _line(line: str) -> str:
    written = [part for part in line.split("\r") if part]
    last = written[-1] if written else ""
    if "\b" in last:
        kept: list[str] = []
        for letter in last:
            if letter != "\b":
                kept.append(letter)
            elif kept:
                kept.pop()
        last = "".join(kept)
    return _TEXT_CONTROLS.sub("", last)
