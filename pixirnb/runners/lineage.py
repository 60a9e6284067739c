"""Whether this very process runs below a step: what an agent asks for is not for the agent to allow.

A step's processes bear its tag in their environment, and so do the agent's own process and the reaper above it. A process
that cleared its environment, or left its parent, still has a reaper above it that bears the tag. Who runs as the same user
and means to deceive can do more than this finds; it is against words, not against a break-in.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import psutil

from pixirnb.runners.trees import TAG

_MARK: Final = f"{TAG}=".encode()
_DEEPEST: Final = 256


def asking_step() -> str | None:
    """The tag `<run_id>/<step>.<attempt>` of the step that this process runs below; None where it runs below none."""
    own = _worn(os.environ.get(TAG))
    if own is not None:
        return own
    pid = os.getpid()
    for _ in range(_DEEPEST):
        if (found := _tag_of(pid)) is not None:
            return found
        above = _parent(pid)
        if above is None or above <= 1:
            return None
        pid = above
    return None


def _worn(tag: str | None) -> str | None:
    """Without the padding that a supervisor keeps free for the tags of its steps; None where there is nothing else."""
    return tag.rstrip("-") if tag and "/" in tag else None


def _tag_of(pid: int) -> str | None:
    try:
        entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except FileNotFoundError:
        return _tag_elsewhere(pid)
    except OSError:
        return None  # another user's: none of our steps
    worn = (e[len(_MARK) :].decode(errors="replace") for e in entries if e.startswith(_MARK))
    return _worn(next(worn, None))


def _tag_elsewhere(pid: int) -> str | None:
    """macOS: own processes only, and best effort."""
    try:
        return _worn(psutil.Process(pid).environ().get(TAG))
    except (psutil.Error, OSError):
        return None


def _parent(pid: int) -> int | None:
    try:
        return psutil.Process(pid).ppid()
    except psutil.Error:
        return None
