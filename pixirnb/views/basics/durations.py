"""Spans and moments for people: `12 ms`, `1.2 s`, `1 m 05 s`, `1 h 02 m`; `2026-11-21 22:03:44`."""

from __future__ import annotations

import re
from typing import Any, Final

_MOMENT: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2}:[0-9]{2})")


def span(milliseconds: Any) -> str:
    """A span for people; empty where there is none. Rounds half up, to a tenth of a second below a minute."""
    if not isinstance(milliseconds, int | float) or isinstance(milliseconds, bool):
        return ""
    if not 0 <= milliseconds < 1e15:
        return ""
    whole = int(milliseconds)
    if whole < 1_000:
        return f"{whole} ms"
    tenths = (whole + 50) // 100
    if tenths < 600:
        return f"{tenths // 10}.{tenths % 10} s"
    seconds = (whole + 500) // 1_000
    if seconds < 3_600:
        return f"{seconds // 60} m {seconds % 60:02} s"
    minutes = (seconds + 30) // 60
    return f"{minutes // 60} h {minutes % 60:02} m"


def moment(at: Any) -> str:
    """An event's `…Z` time to the second; empty where there is none."""
    found = _MOMENT.match(at) if isinstance(at, str) else None
    return f"{found[1]} {found[2]}" if found else ""
