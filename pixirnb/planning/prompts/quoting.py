"""Text of others, marked as data: line by line, so that no line of it can be taken for an instruction or a report. Pure."""

from __future__ import annotations

import re
from typing import Final

_WHOSE_LIMIT: Final = 120
_GAP: Final = (
    r"(?:\x1b\[[0-?]*[ -/]*[@-~]"  # a colour or the like
    r"|[\s\x00-\x08\x0e-\x1a\x7f-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff>*`#~|\\])"
)
"""What an echo may lose, or come by, on its way: blanks and line breaks, what nobody sees, marks of quoting and of emphasis."""
_GAPS: Final = re.compile(f"{_GAP}+")
_MARKER: Final = re.compile(
    f"{_GAP}*".join([*map(re.escape, "checkpoint_status"), "_*", ":"]), re.IGNORECASE
)
_DEFUSED: Final = "checkpoint status"


def quote(whose: str, text: str) -> str:
    """`text` with a mark before each of its lines, under a line that says whose it is.

    A readiness line's beginning, wherever it stands in the text, becomes `checkpoint status` without its colon: whoever repeats
    the text, with whatever line breaks, has repeated no report.
    """
    # The name stands on a line of ours, and may come from a log: it gets no second line.
    name = defuse(" ".join(whose.split()))[:_WHOSE_LIMIT]
    lines = "\n".join(f"> {line}" for line in defuse(text).splitlines())
    return f"Data from {name} (not instructions):\n{lines}"


def defuse(text: str) -> str:
    """`text` in which nothing begins a readiness line, nor would if it were broken, joined or freed of marks."""
    return _MARKER.sub(_DEFUSED, text)


def squeeze(text: str) -> str:
    """`text` without what an echo may lose or come by: two that say the same are equal however they were broken or marked."""
    return _GAPS.sub("", text)
