"""Secrets in what is painted for a terminal: a colour in the middle of one does not hide it from whoever looks for it.

For bytes in which no secret stands in one piece any more. Escape sequences are looked through and never lost.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from pixirnb.runners.output.text_search import needles_of

_STARS: Final = b"***"
_HELD_LIMIT: Final = 64 * 1024
"""Bytes that wait at most: a beginning of a secret with so many escapes behind it is let go of."""
_ESCAPE: Final = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor
    rb"|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)"  # titles, links
    rb"|[ -/]*[0-Z\\^-~])"  # any other
)
_UNFINISHED: Final = re.compile(
    rb"\x1b(?:\[[0-?]{0,64}[ -/]{0,64}|\][^\x07\x1b]{0,4096}\x1b?|[ -/]{0,64})\Z"
)
_LONGEST_END: Final = 4200
"""Bytes that an unfinished escape sequence may take."""


class PaintedMask:
    """Masks bytes that come in chunks cut anywhere. What may be the beginning of a secret with escapes in it is held back."""

    def __init__(self, secrets: Sequence[bytes]) -> None:
        self._needles = needles_of(tuple(secrets))
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """What of the stream is safe to show now."""
        if self._needles is None or not (self._held or b"\x1b" in chunk):
            return chunk
        shown, self._held = self._masked(self._held + chunk)
        if len(self._held) > _HELD_LIMIT:
            shown += self.flush()
        return shown

    def flush(self) -> bytes:
        """What was held back, at the end of the stream."""
        held, self._held = self._held, b""
        return self._masked(held, is_last=True)[0] if held else b""

    def _masked(self, data: bytes, *, is_last: bool = False) -> tuple[bytes, bytes]:
        """What can be shown of `data`, and what has to wait, which of the last is nothing."""
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
        wait_at = bare.place(safe_to) if safe_to < len(bare.text) else len(data)
        shown, done = [], 0
        for start, end in marks:
            first, last = bare.place(start), bare.place(end - 1)
            inside = b"".join(_ESCAPE.findall(data, first, last + 1))
            shown += [data[done:first], _STARS, inside]
            done = last + 1
        return b"".join([*shown, data[done:wait_at]]), data[wait_at:]


class _Bare:
    """Bytes without their escape sequences, each with its place among them."""

    def __init__(self, data: bytes) -> None:
        end = len(data)
        pieces: list[bytes] = []
        self._starts: list[int] = []
        """Of each piece, in the bare bytes."""
        self._places: list[int] = []
        """And in the data."""
        done = size = 0
        spans = [found.span() for found in _ESCAPE.finditer(data)]
        after = spans[-1][1] if spans else 0
        unfinished = _UNFINISHED.search(data, max(end - _LONGEST_END, after))
        if unfinished is not None:
            spans.append((unfinished.start(), end))
        for first, last in [*spans, (end, end)]:
            if first > done:
                pieces.append(data[done:first])
                self._starts.append(size)
                self._places.append(done)
                size += first - done
            done = last
        self.text = b"".join(pieces)

    def place(self, at: int) -> int:
        """Where the byte at `at` of the bare bytes stands in the data."""
        piece = bisect_right(self._starts, at) - 1
        return self._places[piece] + at - self._starts[piece]
