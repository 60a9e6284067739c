"""Process trees of the operating system: descendants of a process, and how to end all of them.

Standard library only, and cheap to import: the supervisor process and its reapers use it. It relies on one fact: a
*subreaper* inherits its orphaned descendants, so a tree is gone exactly when its reaper has no child left. Linux is
the platform. Elsewhere there is no subreaper and no `/proc`: direct children are still ended, daemons may escape.
"""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path
from typing import Final

from pixirnb.system.process_life import is_alive

TAG: Final = "PIXIRNB_STEP"
"""Tag of every process of a step, `PIXIRNB_STEP=<run_id>/<step>.<attempt>`: a variable of its environment if it was
exec'ed, the last argument of its command line if it was only forked.
"""

TAG_ROOM: Final = 192
"""Bytes reserved in the supervisor's last argument for the tag of a forked, not exec'ed, process."""

_SET_PARENT_DEATH_SIGNAL: Final = 1
_SET_DUMPABLE: Final = 4
_SET_CHILD_SUBREAPER: Final = 36
_ARGUMENTS_START: Final = 45
"""Index of `arg_start` in `/proc/<pid>/stat`, counted after the name; see proc_pid_stat(5)."""
_FREEZE_ROUNDS: Final = 20


class Native:
    """C calls that Python does not have. Loaded once, before any fork."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._room, self._length = _room_for_tag()

    def hide(self) -> None:
        """Hide the calling process's environment, memory and descriptors from other processes of this user (Linux)."""
        self._set_dumpable(0)

    def show(self) -> None:
        """Undo `hide`, for a forked child that runs code of others: `/proc/self` is readable again."""
        self._set_dumpable(1)

    def _set_dumpable(self, value: int) -> None:
        try:
            self._libc.prctl(_SET_DUMPABLE, value, 0, 0, 0)
        except AttributeError:
            pass  # macOS has no prctl, and no /proc to read either

    def become_subreaper(self) -> bool:
        """Make the calling process inherit its orphaned descendants. False if the system cannot."""
        try:
            return bool(self._libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
        except AttributeError:
            return False  # macOS has no prctl: best effort

    def wake_at_parents_death(self) -> None:
        """Make the system continue the calling process when its parent dies: who is stopped hears no end-of-file."""
        try:
            self._libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGCONT, 0, 0, 0)
        except AttributeError:
            pass  # macOS has no prctl: best effort

    def set_process_tag(self, tag: str) -> None:
        """Write `tag` over the padding in the last argument this process was exec'ed with.

        A forked function is never exec'ed, so without this a sweep by tag could not recognise it. Not in the
        environment: that of a hidden process cannot be read, its command line can.
        """
        data = tag.encode() + b"\0"
        if len(data) <= self._length:
            ctypes.memmove(self._room, data, len(data))


def _room_for_tag() -> tuple[int, int]:
    """Return address and length of the text after `PIXIRNB_STEP=` in this process's last argument; length 0 if none."""
    try:
        fields = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0, 0  # macOS: forked functions bear no tag
    start, end = int(fields[_ARGUMENTS_START]), int(fields[_ARGUMENTS_START + 1])
    arguments = ctypes.string_at(start, end - start)
    at = arguments.rfind(b"\0" + TAG.encode() + b"=")
    if at < 0:
        return 0, 0
    at += len(TAG) + 2
    return start + at, len(arguments) - at - 1


def descendants(root: int, *, spare: frozenset[int] = frozenset()) -> list[int]:
    """Return every living descendant of `root` except the trees under `spare`, parents first."""
    pids: list[int] = []
    queue = [root]
    while queue:
        for child in _children(queue.pop()):
            # Skipped during the walk, not removed afterwards: processes that such a tree starts meanwhile belong to it.
            if child in spare:
                continue
            if is_alive(child):
                pids.append(child)
            queue.append(child)
    return pids


def is_stopped(pid: int) -> bool:
    """Return whether a signal has stopped `pid`; False where that cannot be read."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    return stat.rpartition(b")")[2].split()[0] == b"T"


def terminate_all(pids: list[int]) -> None:
    """Send SIGTERM, then SIGCONT so that a stopped process can handle it."""
    for pid in pids:
        _send(pid, signal.SIGTERM)
        _send(pid, signal.SIGCONT)


def kill_descendants(root: int, *, spare: frozenset[int] = frozenset()) -> list[int]:
    """SIGKILL every descendant of `root` except the trees under `spare`; return those that were alive.

    They are frozen first, until a scan finds no new one: a process that forks faster than we scan cannot escape, and
    no pid can be reused between scan and kill.
    """
    seen: dict[int, None] = {}
    for _ in range(_FREEZE_ROUNDS):
        new = [pid for pid in descendants(root, spare=spare) if pid not in seen]
        if not new:
            break
        for pid in new:
            _send(pid, signal.SIGSTOP)
            seen[pid] = None
    for pid in seen:
        _send(pid, signal.SIGKILL)
    return list(seen)


def _children(pid: int) -> list[int]:
    tasks = f"/proc/{pid}/task"
    children: list[int] = []
    try:
        for thread in Path(tasks).iterdir():
            children += [int(child) for child in (thread / "children").read_bytes().split()]
    except (FileNotFoundError, ProcessLookupError):
        if not children and Path(tasks).exists() and not Path(f"{tasks}/{pid}/children").exists():
            return _children_by_parent(pid)  # a kernel built without CONFIG_PROC_CHILDREN
    except OSError:
        return children
    return children


def _children_by_parent(parent: int) -> list[int]:
    children = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                stat = (folder / "stat").read_bytes()
            except OSError:
                continue
            if int(stat.rpartition(b")")[2].split()[1]) == parent:
                children.append(int(folder.name))
    return children


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass  # gone already, or not ours to end (a setuid program): the caller's next look tells
