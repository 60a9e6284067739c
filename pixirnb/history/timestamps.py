"""Times of events as numbers."""

from __future__ import annotations

import re
from typing import Final

_MOMENT: Final = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?Z", re.ASCII
)
_DAYS_TO_1970: Final = 719_468
"""Number of days from 1 March of the year 0, where the calculation of `_days` begins."""


def epoch_ms(at: object) -> int | None:
    """Return the milliseconds since 1970-01-01T00:00:00Z; None for any other text.

    Good for the distances of a picture, never for the order of events.
    """
    parts = _MOMENT.fullmatch(at) if isinstance(at, str) else None
    if parts is None:
        return None
    year, month, day, hour, minute, second = map(int, parts.groups()[:6])
    milliseconds = int(float(f"0.{parts[7] or 0}") * 1000)
    seconds = ((_days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second
    return seconds * 1000 + milliseconds


def _days(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 in the Gregorian calendar: a year begins in March, so that its odd day comes last."""
    if month <= 2:
        year, month = year - 1, month + 12
    in_year = (153 * (month - 3) + 2) // 5 + day - 1
    return 365 * year + year // 4 - year // 100 + year // 400 + in_year - _DAYS_TO_1970
