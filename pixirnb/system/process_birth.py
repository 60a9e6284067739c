"""The birth of a process: boot and ticks since then, which tell it from a later one with its id whatever clocks do.

A start as a time of day is computed from the boot's, which moves when the clock is set. Source: docs/adr/0017.
"""

from __future__ import annotations

from pathlib import Path

from pixirnb.system.process_life import look_up


def birth_of(pid: int) -> str | None:
    """Return the birth of a living process, `<boot id>/<ticks>`; None if it is gone, or the system does not say (macOS)."""
    looks = look_up(pid)
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return None if looks is None else f"{boot}/{looks[1]}"
