"""Finding and ending what a dead owner left behind.

Every process of a step bears the tag `PIXIRNB_STEP=<run_id>/<step>.<attempt>` in its environment or its command line, and the
mark of its attempt (`process_marks.py`), which it bears even where it emptied its environment.
The last resort, for when nobody is left that knows its tree. Only processes of this user are looked at.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

import psutil

from pixirnb import process_marks
from pixirnb.runners import trees
from pixirnb.runners.lineage import tag_of

_SWEEP_LIMIT_S: Final = 3.0


def find_strays(run_id: str) -> list[int]:
    """Ids of living processes that belong to any step of `run_id`, oldest first. Never this process."""
    return _find(_of_run(run_id))


def owners_here(owners: Iterable[Mapping[str, Any]]) -> frozenset[int]:
    """Process ids of those of a run's owners that were of this machine."""
    here = socket.gethostname()
    pids = (each.get("pid") for each in owners if each.get("host") == here)
    return frozenset(pid for pid in pids if type(pid) is int)


def descendants(pids: Collection[int]) -> frozenset[int]:
    """Ids of all living processes below these; none where they are not there."""
    found: set[int] = set()
    for pid in pids:
        with suppress(psutil.Error, ValueError, OverflowError):
            found.update(child.pid for child in psutil.Process(pid).children(recursive=True))
    return frozenset(found)


def end_strays(run_id: str, *, spare: Collection[int] = ()) -> list[int]:
    """SIGKILL every process of `run_id` until none is left (at most 3 s); return those that were ended.

    `spare`: processes whose descendants are left alone, since they are no strays while these live.
    """
    return _end(_of_run(run_id), spare)


def end_tagged(tag: str) -> list[int]:
    """SIGKILL every process of one attempt, `<run_id>/<step>.<attempt>`; return those that were ended."""
    mark = process_marks.mark_of(tag)
    return _end(lambda pid: process_marks.worn(pid) == mark or _own_tag_of(pid) == tag)


def _of_run(run_id: str) -> Callable[[int], bool]:
    is_marked = process_marks.of_run(run_id)

    def is_of_run(pid: int) -> bool:
        if is_marked(process_marks.worn(pid) or 0):
            return True
        tag = _own_tag_of(pid)
        return tag is not None and tag.startswith(f"{run_id}/")

    return is_of_run


def _find(wanted: Callable[[int], bool]) -> list[int]:
    own = os.getpid()
    return [pid for pid in psutil.pids() if pid != own and wanted(pid) and trees.is_alive(pid)]


def _end(wanted: Callable[[int], bool], spare: Collection[int] = ()) -> list[int]:
    ended: dict[int, None] = {}
    deadline = time.monotonic() + _SWEEP_LIMIT_S

    def found() -> list[int]:
        left = _find(wanted)
        # Asked after the search: what was born in between is known to be owned.
        owned = descendants(spare) if left else frozenset()
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


def _own_tag_of(pid: int) -> str | None:
    """The tag of a process of this user; who hides belongs to root, as `/proc` has it, so it is asked for by name."""
    tag = tag_of(pid)
    try:
        is_ours = tag is not None and psutil.Process(pid).uids().real == os.getuid()
    except psutil.Error:
        return None
    return tag if is_ours else None
