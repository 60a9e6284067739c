"""Moments of a log in the time zone of this machine, for people: `2026-11-24 14:03:11 CET`. Logs and JSON keep UTC.

Views are pure and know no zone: the command line and the notebook extension hand them this function.
"""

from __future__ import annotations

from datetime import datetime


def local_time(at: str) -> str:
    """Return an ISO 8601 moment as local date, time and zone; empty for any other text."""
    try:
        moment = datetime.fromisoformat(at)
        # Without a zone it is no moment of a log; years at the calendar's ends have no local time.
        return f"{moment.astimezone():%Y-%m-%d %H:%M:%S %Z}" if moment.tzinfo else ""
    except (ValueError, OverflowError, OSError):
        return ""
