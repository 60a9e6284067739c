"""The command lines of supervisors: which processes stand above steps, and for which owner.

    python -c BOOTSTRAP package channel engine instance PIXIRNB_STEP=…

No other process can change them. What a supervisor forks (reapers, our own functions) has the same line, and its own
tag in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import psutil

from pixirnb.system.process_life import read_given

_OURS: Final = b"pixirnb.runners.processes.supervisor_process"
_ENGINE: Final = 5
"""Index of the owner's process id in the line; its instance follows."""


def line_of(pid: int) -> list[bytes] | None:
    """Return the command line of a supervisor or of what it forked; None if the process is neither, or is gone."""
    line = _command(pid)
    return line if any(_OURS in word for word in line[1:4]) else None


def living_owner_of(pid: int) -> tuple[int, str] | None:
    """Return process id and instance of the owner of a supervisor; None if `pid` is none, or its owner is gone."""
    line = line_of(pid)
    try:
        if line is None or psutil.Process(pid).ppid() != int(line[_ENGINE]):
            return None  # forked from a supervisor, or left by its owner, which was its parent
        return int(line[_ENGINE]), line[_ENGINE + 1].decode()
    except (psutil.Error, ValueError, IndexError):
        return None


def _command(pid: int) -> list[bytes]:
    try:
        if Path("/proc/self").exists():
            return read_given(pid, "cmdline").split(b"\0")
        return [word.encode() for word in psutil.Process(pid).cmdline()]
    except (psutil.Error, OSError):
        return []  # gone, or not ours to read
