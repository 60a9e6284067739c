"""Finding and ending what a dead owner left behind.

Every process of a step bears the tag `PIXIRNB_STEP=<run_id>/<step>.<attempt>` in its environment, and, where it descends from a
thread of the engine's process, the mark of it (`process_marks.py`), which it bears even where it emptied its environment.
The last resort, for when nobody is left that knows its tree. Only processes of this user are looked at.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import psutil

from pixirnb import process_marks
from pixirnb.runners import trees

_SWEEP_LIMIT_S: Final = 3.0
_MARK: Final = f"{trees.TAG}=".encode()


def find_strays(run_id: str) -> list[int]:
    """Ids of living processes that belong to any step of `run_id`, oldest first. Never this process."""
    return _find(_of_run(run_id))


def descendants(pid: int) -> frozenset[int]:
    """Ids of all living processes below one; none where it is not there."""
    try:
        return frozenset(child.pid for child in psutil.Process(pid).children(recursive=True))
    except psutil.Error:
        return frozenset()


def end_strays(run_id: str, *, spare: int | None = None) -> list[int]:
    """SIGKILL every process of `run_id` until none is left (at most 3 s); return those that were ended.

    `spare`: a process whose descendants are left alone, since they are no strays while it lives.
    """
    return _end(_of_run(run_id), spare)


def end_tagged(tag: str) -> list[int]:
    """SIGKILL every process of one attempt, `<run_id>/<step>.<attempt>`; return those that were ended."""
    mark = process_marks.mark_of(tag)
    return _end(lambda pid: process_marks.worn(pid) == mark or _tag_of(pid) == tag)


def _of_run(run_id: str) -> Callable[[int], bool]:
    is_marked = process_marks.of_run(run_id)

    def is_of_run(pid: int) -> bool:
        if is_marked(process_marks.worn(pid) or 0):
            return True
        tag = _tag_of(pid)
        return tag is not None and tag.startswith(f"{run_id}/")

    return is_of_run


def _find(wanted: Callable[[int], bool]) -> list[int]:
    own = os.getpid()
    return [pid for pid in psutil.pids() if pid != own and wanted(pid) and trees.is_alive(pid)]


def _end(wanted: Callable[[int], bool], spare: int | None = None) -> list[int]:
    ended: dict[int, None] = {}
    deadline = time.monotonic() + _SWEEP_LIMIT_S

    def found() -> list[int]:
        left = _find(wanted)
        # Asked after the search: what was born in between is known to be owned.
        owned = descendants(spare) if left and spare is not None else frozenset()
        return [pid for pid in left if pid not in owned]

    while (left := found()) and time.monotonic() < deadline:
        for pid in left:
            if _kill(pid, wanted):
                ended[pid] = None
        time.sleep(0.005)
    return list(ended)


def _kill(pid: int, wanted: Callable[[int], bool]) -> bool:
    """SIGKILL one process; False where it ended by itself since it was found, whoever bears its id now."""
    try:
        if not hasattr(os, "pidfd_open"):
            os.kill(pid, signal.SIGKILL)  # macOS: an id reused within microseconds is out of reach
            return True
        process = os.pidfd_open(pid)
        try:
            # Asked again of the process that is now held on to: its id cannot pass on.
            if not wanted(pid):
                return False
            signal.pidfd_send_signal(process, signal.SIGKILL)
            return True
        finally:
            os.close(process)
    except OSError:
        return False


def _tag_of(pid: int) -> str | None:
    """The tag in a process's environment, read raw: psutil stops at the first empty entry, which a worn tag may leave."""
    folder = Path(f"/proc/{pid}")
    try:
        if folder.exists():
            if folder.stat().st_uid != os.getuid():
                return None
            for entry in (folder / "environ").read_bytes().split(b"\0"):
                if entry.startswith(_MARK):
                    return entry[len(_MARK) :].decode(errors="replace")
            return None
        return (
            psutil.Process(pid).environ().get(trees.TAG)
        )  # macOS: own processes only, and best effort
    except (OSError, psutil.Error):
        return None
