"""What differs between two runs of the same notebook, and says nothing: run ids, moments and spans."""

from __future__ import annotations

import re
from typing import Final

STABLE: Final[tuple[tuple[str, str], ...]] = (
    (r"r-[0-9]{8}-[0-9]{6}-[0-9a-z]{6}", "RUN"),
    (r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(?: UTC)?", "TIME"),
    (
        r"(?: *\b|(?<=%3E))[0-9]+(?:(?:\.[0-9])? (?:ms|s)| m [0-9]{2} s| h [0-9]{2} m)\b",
        " SPAN",
    ),
)
"""Pattern and what to put in its place, in the order in which to apply them; `tests/notebook/sanitize.cfg` has the same."""


def blanked(text: str) -> str:
    """A text of a view, the same for two runs that did the same."""
    for pattern, word in STABLE:
        text = re.sub(pattern, word, text)
    return text
