"""Moments of a log, `2026-11-21T22:03:44.123456Z`, in milliseconds since 1970.

Good for the distances of a picture, never for the order of events.
"""

from __future__ import annotations

import re
from typing import Any, Final

_MOMENT: Final = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?Z", re.ASCII
)
_DAYS_TO_1970: Final = 719_468
"""From 1 March of the year 0, where the reckoning below begins."""


def epoch_ms(at: Any) -> int | None:
    """Milliseconds since 1970-01-01T00:00:00Z; None for what is no moment."""
    found = _MOMENT.fullmatch(at) if isinstance(at, str) else None
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    milliseconds = int(float(f"0.{found[7] or 0}") * 1000)
    seconds = ((_days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
    return seconds * 1000 + milliseconds


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the Gregorian calendar: a year begins in March, so that its odd day comes last."""
    if month <= 2:
        year, month = year - 1, month + 12
    in_year = (153 * (month - 3) + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + in_year - _DAYS_TO_1970
