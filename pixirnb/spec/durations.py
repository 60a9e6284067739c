"""Durations: `45s`, `15m`, `1h30m`, `500ms`, or a number of seconds; always milliseconds inside.

There is no unit above hours, no fraction of a unit and no blank between parts, so that each span
has few spellings; seconds given as a number may have a fraction.
"""

from __future__ import annotations

import math
import re
from typing import Final

LONGEST_MS: Final = 7 * 24 * 3_600_000
"""Seven days: the longest duration in a workflow."""

_HOW: Final = "write 45s, 15m, 1h30m or a number of seconds."
_UNITS: Final = (("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))
_SPELLING: Final = re.compile(
    r"(?:(?P<h>[0-9]{1,12})h)?(?:(?P<m>[0-9]{1,12})m(?!s))?"
    r"(?:(?P<s>[0-9]{1,12})s)?(?:(?P<ms>[0-9]{1,12})ms)?"
)


def parse_duration(value: str | float, *, allow_zero: bool = False) -> int:
    """Read a duration as milliseconds, at most seven days. Raises ValueError with a sentence."""
    milliseconds = _milliseconds(value)
    if milliseconds < 0 or (milliseconds == 0 and not allow_zero):
        raise ValueError(f"{value!r} is not a duration above zero.")
    if milliseconds > LONGEST_MS:
        raise ValueError(f"{value!r} is longer than 7 days, the longest duration there is.")
    return milliseconds


def format_duration(milliseconds: int) -> str:
    """Return the shortest text that parses back to `milliseconds` (0 or more): `90_000` is `90s`."""
    spellings = [f"{milliseconds}ms"]
    for first in range(len(_UNITS)):
        rest, parts = milliseconds, []
        for unit, size in _UNITS[first:]:
            count, rest = divmod(rest, size)
            if count:
                parts.append(f"{count}{unit}")
        spellings.append("".join(parts) or "0s")
    # Of equally short ones the one with the larger unit first: `1m` is not longer than `60s`.
    return min(reversed(spellings), key=len) if milliseconds else "0s"


def _milliseconds(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{value!r} is not a duration: {_HOW}")  # noqa: TRY004 - one error, one catch
    if isinstance(value, str):
        match = _SPELLING.fullmatch(value)
        if not value or match is None:
            raise ValueError(f"{value!r} is not a duration: {_HOW}")
        return sum(int(match[unit] or 0) * size for unit, size in _UNITS)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value!r} is not a duration: it has no end.")
    if isinstance(value, int) or not 0 < value <= LONGEST_MS:
        return int(value) * 1000
    return max(1, round(value * 1000))
