"""Whose a process is: which step's tag it bears, and which step it, or anyone else who asks for something, runs below.

A step's processes bear its mark (`process_marks.py`), and its tag in their environment; reapers, and functions that were only
forked, bear the tag in their command line, which no other process can change. Who cleared its environment, took off its mark
or left its parent has a reaper above it still; what a step in a thread has started has none, and its mark.
Who runs as the same user and has the system start something for it (`at`, `ssh localhost`, a debugger) can do more than
this finds. Source: contract.md §7, §11; docs/adr/0019-who-asked.md.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection
from pathlib import Path
from typing import Final

import psutil

from pixirnb.machine.requests import Sender
from pixirnb.runners.processes.process_tree import TAG
from pixirnb.runners.processes.thread_children import MOMENT, WHOSE, children_of_steps
from pixirnb.system import process_marks

_MARK: Final = f"{TAG}=".encode()
_OURS: Final = b"pixirnb.runners.processes.supervisor_process"
"""What the command line of a supervisor, and of all that was forked from it, names."""
_DEEPEST: Final = 256


def asking_step() -> str | None:
    """The tag `<run_id>/<step>.<attempt>` of the step that this thread or process runs below; None where it runs below none.

    `a step`, where the process bears a mark, and nothing above it says whose.
    """
    children = getattr(threading.current_thread(), WHOSE, None)
    own = _worn(os.environ.get(TAG)) if children is None else str(children.tag)
    if own is not None:
        return own
    above = next(filter(None, map(_worn_by, _ancestry(os.getpid()) or ())), None)
    if above is not None:
        return above
    with MOMENT:  # else it may be worn for a process that another thread starts
        return None if process_marks.mark_worn(os.getpid()) is None else "a step"


def sender(pid: int, marks: Collection[int] = ()) -> Sender:
    """Whether a living process is a step's, of this process or of another, or nobody's; `unproven` where it cannot be told.

    Args:
        marks: those of this process's steps that run in threads: what they started may have left this process.
    """
    above = _ancestry(pid)
    if above is None:
        return "unproven"
    own = os.getpid()
    below = above[: above.index(own)] if own in above else []
    inherited = {*_signs_of(own), None}
    is_own = not inherited.issuperset(sign for each in below for sign in _signs_of(each))
    is_own = is_own or (bool(below) and below[-1] in children_of_steps())
    is_own = is_own or process_marks.mark_worn(pid) in marks
    is_a_steps = any(sign is not None for each in above for sign in _signs_of(each))
    # What moved while it was looked at is nobody's proof.
    if above != _ancestry(pid):
        return "unproven"
    return "own_step" if is_own else "other_step" if is_a_steps else "person"


def is_loose(pid: int, since: int | None) -> bool:
    """Whether nothing above a process but the system's own init is older than `since` (`process_marks.now`).

    So a step that took off its mark may have orphaned it: above what a person types is a terminal or a server that was there
    before. None: no step can have.
    """
    if since is None:
        return False
    for each in _ancestry(pid) or (pid,):
        looks = process_marks.look_up(each)
        if looks is None:
            return True
        parent, start = looks
        if parent == 1 or (parent > 1 and _is_init(parent)):
            return start >= since
    return False


def _is_init(pid: int) -> bool:
    """Whether orphans come to a process that is not the first: `systemd --user` is the one that people have."""
    try:
        return Path(f"/proc/{pid}/comm").read_bytes().strip() == b"systemd"
    except OSError:
        return True


def tag_of(pid: int) -> str | None:
    """The tag that a process bears, padding included; None where it bears none, or is not there to be asked."""
    if not Path("/proc/self").exists():
        return _tag_elsewhere(pid)
    command = _entries(pid, "cmdline")
    if any(_OURS in word for word in command[1:4]) and (found := _tag_among(command)) is not None:
        return found
    # Read raw: psutil stops at the first empty entry, which a worn tag may leave.
    return _tag_among(_entries(pid, "environ"))


def _signs_of(pid: int) -> tuple[str | None, int | None]:
    """The tag and the mark of a process, each None where it bears none."""
    return _worn_by(pid), process_marks.mark_worn(pid)


def _worn_by(pid: int) -> str | None:
    return _worn(tag_of(pid))


def _worn(tag: str | None) -> str | None:
    """Without the padding that a supervisor keeps free for the tags of its steps; None where there is nothing else."""
    return tag.rstrip("-") if tag and "/" in tag else None


def _entries(pid: int, name: str) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes().split(b"\0")
    except OSError:
        return []  # gone, or not ours to read


def _tag_among(entries: list[bytes]) -> str | None:
    worn = (e[len(_MARK) :].decode(errors="replace") for e in entries if e.startswith(_MARK))
    return next(worn, None)


def _tag_elsewhere(pid: int) -> str | None:
    """macOS: own processes only, and best effort."""
    try:
        return psutil.Process(pid).environ().get(TAG)
    except (psutil.Error, OSError):
        return None


def _ancestry(pid: int) -> list[int] | None:
    """A process and all above it, up to the first or to what came from outside; None where that cannot be followed."""
    found: list[int] = []
    while len(found) < _DEEPEST:
        found.append(pid)
        try:
            pid = psutil.Process(pid).ppid()
        except psutil.Error:
            return None
        if pid <= 1:
            return found
    return None
