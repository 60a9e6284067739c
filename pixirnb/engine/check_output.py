"""The printed output of a check, as evidence: its beginning and its end, masked before either is cut."""

from __future__ import annotations

from typing import Final

from pixirnb.protocols.work import Output
from pixirnb.runners.checks import CheckOutput
from pixirnb.runners.output.mask import Mask

BEGINNING: Final = 4 * 1024 * 1024
"""Bytes that are kept: enough for a `git status` of some fifty thousand files."""
_TAIL: Final = 4096


class Overheard:
    """Both streams of one command or function of a check, as they came."""

    def __init__(self, mask: Mask) -> None:
        self._masks = {name: mask.stream() for name in ("stdout", "stderr")}
        self._beginning = bytearray()
        self._tail = b""
        self._size = 0

    def take(self, output: Output) -> None:
        """Take one chunk as it was produced."""
        self._keep(self._masks[output.stream].feed(output.chunk))

    def kept(self) -> CheckOutput:
        """Return the kept output, once the command or function has ended."""
        for mask in self._masks.values():
            self._keep(mask.flush())
        return CheckOutput(
            self._beginning.decode("utf-8", errors="replace"),
            is_cut=self._size > BEGINNING,
            tail=self._tail.decode("utf-8", errors="replace"),
        )

    def _keep(self, chunk: bytes) -> None:
        self._size += len(chunk)
        self._beginning += chunk[: max(0, BEGINNING - len(self._beginning))]
        self._tail = (self._tail + chunk[-_TAIL:])[-_TAIL:]
