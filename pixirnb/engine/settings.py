"""What an engine may be set to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Settings:
    """What an engine may be set to, for all its runs."""

    grace_s: float = 5.0
    heartbeat_s: float = 30.0
    stall_after_s: float = 45.0
