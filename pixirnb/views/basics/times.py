"""Times of a log, in milliseconds and for people: `12 ms`, `1.2 s`, `1 m 05 s`, `1 h 02 m`; `2026-11-21 22:03:44 UTC`."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

_TO_THE_SECOND: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}:[0-9]{2}:[0-9]{2})")
_MOMENT: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z", re.ASCII)
_EPOCH: Final = datetime.fromtimestamp(0, UTC)


def span(milliseconds: Any) -> str:
    """Return a span for people; empty if there is none. Rounds half up, to a tenth of a second below a minute."""
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


def in_utc(at: str) -> str:
    """Return a moment of a log as date, time and zone; empty for any other text."""
    parts = _TO_THE_SECOND.match(at)
    return f"{parts[1]} {parts[2]} UTC" if parts else ""


_zones: list[Callable[[str], str]] = [in_utc]


def show_times(in_zone: Callable[[str], str]) -> None:
    """Show moments as `in_zone` writes them from now on: only the edges of the program know the zone of the machine."""
    _zones[0] = in_zone


def moment(at: Any) -> str:
    """Return an event's `…Z` time to the second with its zone; empty if there is none."""
    is_known = isinstance(at, str) and _TO_THE_SECOND.match(at)
    return _zones[0](at) if is_known else ""


def time_of_day(at: Any) -> str:
    """Return the time and zone of an event's `…Z` time; empty if there is none."""
    return moment(at).partition(" ")[2]


def epoch_ms(at: Any) -> int | None:
    """Return the milliseconds since 1970-01-01T00:00:00Z; None for any other text.

    Good for the distances of a picture, never for the order of events.
    """
    if not isinstance(at, str) or not _MOMENT.fullmatch(at):
        return None
    try:
        return (datetime.fromisoformat(at) - _EPOCH) // timedelta(milliseconds=1)
    except ValueError:  # no day of the calendar
        return None
