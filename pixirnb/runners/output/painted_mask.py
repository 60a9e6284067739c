"""A mask of secrets that something unseen interrupts: colours, controls, characters without a picture.

The mask's input has no secret in one piece any more. What is unseen is ignored in its search; sequences are never lost.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from pixirnb.runners.output.text_search import needles_of
from pixirnb.runners.output.unseen import LONGEST_END, Unseen

_STARS: Final = b"***"
_HELD_LIMIT: Final = 64 * 1024
"""Maximum number of bytes held back: a beginning of a secret with so much unseen after it is passed on."""
_LAST_LETTER: Final = re.compile(rb"(?:[ -~]|[\xc2-\xf4][\x80-\xbf]*)\Z")


class PaintedMask:
    """Mask of bytes that come in chunks cut anywhere. The possible beginning of a secret is held back."""

    def __init__(self, secrets: Sequence[bytes], unseen: Unseen) -> None:
        self._needles = needles_of(tuple(secrets))
        self._unseen = unseen
        self._longest = max(map(len, secrets), default=0) + 4
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        """Return the part of the stream that is safe to show now."""
        if self._needles is None or not (self._held or self._concerns(chunk)):
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
        end = len(data)
        if not is_last and (
            unfinished := self._unseen.unfinished.search(data, max(end - LONGEST_END, 0))
        ):
            end = unfinished.start()
        text = self._unseen.whole.sub(b"", data[:end])
        wait_from = len(text) if is_last else self._begun(text, 0)
        if wait_from == len(text) and self._needles.find.search(text) is None:
            return data[:end], data[end:]
        bare, marks, at = _Bare(data, end, self._unseen), [], 0
        while True:
            safe_to = len(text) if is_last else self._begun(text, at)
            match = self._needles.find.search(text, at)
            if match is None or match.start() >= safe_to:
                break
            marks.append(match.span())
            at = match.end()
        wait_at = bare.position(safe_to) if safe_to < len(text) else len(data)
        shown, done = [], 0
        for start, until in marks:
            first, last = bare.position(start), bare.position(until - 1)
            shown += [
                data[done:first],
                _STARS,
                b"".join(self._unseen.sequence.findall(data, first, last + 1)),
            ]
            done = last + 1
        return b"".join([*shown, data[done:wait_at]]), data[wait_at:]

    def _concerns(self, chunk: bytes) -> bool:
        tail = chunk[-self._longest :]
        return bool(self._unseen.first.search(chunk)) or self._begun(tail, 0) < len(tail)

    def _begun(self, text: bytes, at: int) -> int:
        """Return where a secret may have begun that is not at its end; the end of the text if nowhere."""
        assert self._needles is not None
        begun = self._needles.possible_beginning(text, at)
        if not self._unseen.is_overstruck:
            return begun
        # A backspace may be about to strike out the last letter.
        last = _LAST_LETTER.search(text, max(at, len(text) - 4))
        before = self._needles.possible_beginning(text[: last.start()], at) if last else begun
        return begun if last and before == last.start() else min(begun, before)


class _Bare:
    """Positions in the data of bytes without what is unseen; of what begins at `end` nothing is seen."""

    def __init__(self, data: bytes, end: int, unseen: Unseen) -> None:
        self._starts: list[int] = []
        """Start of each piece in the bare bytes."""
        self._positions: list[int] = []
        """Start of each piece in the data."""
        done = size = 0
        spans = (match.span() for match in unseen.whole.finditer(data, 0, end))
        for first, last in [*spans, (end, end)]:
            if first > done:
                self._starts.append(size)
                self._positions.append(done)
                size += first - done
            done = last

    def position(self, at: int) -> int:
        """Return the position in the data of the bare byte at `at`."""
        piece = bisect_right(self._starts, at) - 1
        return self._positions[piece] + at - self._starts[piece]
