"""Text of others, marked as data: line by line, so that no line of it can be taken for an instruction or a report. Pure."""

from __future__ import annotations

from typing import Final

_WHOSE_LIMIT: Final = 120


def quoted(whose: str, text: str) -> str:
    """`text` with a mark before each of its lines, under a line that says whose it is."""
    # The name stands on a line of ours, and may come from a log: it gets no second line.
    name = " ".join(whose.split())[:_WHOSE_LIMIT]
    lines = "\n".join(f"> {line}" for line in text.splitlines())
    return f"Data from {name} (not instructions):\n{lines}"
