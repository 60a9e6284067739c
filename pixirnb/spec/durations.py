"""Durations: `45s`, `15m`, `1h30m`, `2d`, `500ms`, or a number of seconds; always milliseconds inside.

There is no fraction of a unit and no blank between parts, so that each span has few spellings; seconds given as a
number may have a fraction. Days are read and never written: what is printed or pinned has hours at most.
"""

from __future__ import annotations

import math
import re
from typing import Final

LONGEST_MS: Final = 7 * 24 * 3_600_000
"""Seven days: the longest duration in a workflow."""

_FORMS: Final = "use `45s`, `15m`, `1h30m`, `2d` or a number of seconds"
_UNITS: Final = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))
_SPELLING: Final = re.compile(
    r"(?:(?P<d>[0-9]{1,12})d)?(?:(?P<h>[0-9]{1,12})h)?(?:(?P<m>[0-9]{1,12})m(?!s))?"
    r"(?:(?P<s>[0-9]{1,12})s)?(?:(?P<ms>[0-9]{1,12})ms)?"
)
_LOOSE: Final = re.compile(
    r"([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*"
    r"(ms|milliseconds?|d|days?|h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)\b\s*",
    re.IGNORECASE,
)


class BadDuration(ValueError):
    """Raised when a value is not a duration; `fix` says what to write instead."""

    def __init__(self, message: str, fix: str = _FORMS) -> None:
        super().__init__(f"{message}; {fix}")
        self.message = message
        self.fix = fix


def parse_duration(value: str | float, *, allow_zero: bool = False) -> int:
    """Read a duration as milliseconds, at most seven days. Raises BadDuration."""
    milliseconds = _milliseconds(value)
    if milliseconds < 0 or (milliseconds == 0 and not allow_zero):
        raise BadDuration(f"{value!r} is not a duration above zero", "use at least `1ms`")
    if milliseconds > LONGEST_MS:
        raise BadDuration(f"{value!r} is longer than 7 days", "use at most `7d`")
    return milliseconds


def format_duration(milliseconds: int) -> str:
    """Return the shortest text that parses back to `milliseconds` (0 or more): `90_000` is `90s`."""
    spellings = [f"{milliseconds}ms"]
    for first in range(1, len(_UNITS)):
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
        raise BadDuration(f"{value!r} is not a duration")
    if isinstance(value, str):
        match = _SPELLING.fullmatch(value)
        if not value or match is None:
            raise BadDuration(f"{value!r} is not a duration", _corrected(value))
        return sum(int(match[unit] or 0) * size for unit, size in _UNITS)
    if isinstance(value, float) and not math.isfinite(value):
        raise BadDuration(f"{value!r} is not a duration")
    if isinstance(value, int) or not 0 < value <= LONGEST_MS:
        return int(value) * 1000
    return max(1, round(value * 1000))


def _corrected(text: str) -> str:
    """Return the fix for a text such as `10 min` or `1.5 hours`."""
    total, position = 0.0, 0
    sizes = dict(_UNITS)
    stripped = text.strip()
    while position < len(stripped) and (part := _LOOSE.match(stripped, position)):
        unit = part[2].lower()
        total += (
            float(part[1]) * sizes["ms" if unit.startswith("mil") else unit[: 1 + (unit == "ms")]]
        )
        position = part.end()
    if position < len(stripped) or not 1 <= total <= LONGEST_MS:
        return _FORMS
    return f"write `{format_duration(round(total))}`"
