"""The owner of a process: the step whose tag it bears, and the step above it.

A step's processes bear its mark (`process_marks.py`), and its tag in their environment; reapers, and functions that
were only forked, bear the tag in their command line, which no other process can change. The nearest reaper above a
process names its step; its environment, which it can change, does not. A process that cleared its environment, removed
its mark or left its parent still has a reaper above it, or the supervisor if it killed that; a process started by a step
in a thread has no reaper, but its mark; what workers on this machine start has their mark, or their program above it.
This does not find processes that the system starts for this user (`at`,
`ssh localhost`, a debugger). Source: contract.md §7, §11; docs/adr/0019-who-asked.md.

Orphans are adopted by the nearest subreaper above, or by the system's init. No system says which
processes are subreapers (`tini -s`, `slurmstepd`, `systemd --user`). So one is orphaned on
purpose, and the system asked for its parent.

    this process ── starts ──▶ sh ── starts ──▶ reader of a pipe that we hold
                               sh ends ──▶ the reader's parent is the adopter; the pipe closes, the reader ends

The command line of a supervisor says for which owner it stands above steps:

    python -c BOOTSTRAP package channel engine instance PIXIRNB_STEP=…

No other process can change them. What a supervisor forks (reapers, our own functions) has the same line, and its own
tag in it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import psutil

from pixirnb.machine.requests import Sender
from pixirnb.runners.processes.process_tree import TAG
from pixirnb.runners.processes.thread_children import (
    INSTANCE,
    MOMENT,
    children_of_steps,
    children_of_this_thread,
)
from pixirnb.system import process_life, process_marks
from pixirnb.system.process_life import look_up, read_given

_INIT: Final = 1
# The subshell reads a descriptor of its own: that of what a shell starts in the background is /dev/null.
_ORPHAN: Final = "exec 3<&0; { read -r _; } <&3 >/dev/null 2>&1 & echo $!"
_PATIENCE_S: Final = 5.0


def adopter() -> int | None:
    """Return the id of the process that adopts orphans of this one now; None if that cannot be found out.

    It may be this process itself. Blocks for some milliseconds.
    """
    if sys.platform != "linux":
        return _INIT  # nothing else adopts
    try:
        with subprocess.Popen(
            ["/bin/sh", "-c", _ORPHAN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            start_new_session=True,  # else an interrupt at the terminal ends it
        ) as shell:
            return _parent_of_orphan(shell)
    except OSError:
        return None  # no process can be started


def _parent_of_orphan(shell: subprocess.Popen[bytes]) -> int | None:
    assert shell.stdin is not None
    assert shell.stdout is not None
    try:
        shell.wait(_PATIENCE_S)
        orphan = int(shell.stdout.readline())
    except (subprocess.TimeoutExpired, ValueError):
        shell.kill()
        return None
    looks = look_up(orphan)
    shell.stdin.close()
    parent = None if looks is None else looks[0]
    if parent == os.getpid():
        try:
            os.waitpid(orphan, 0)  # nobody else will
        except ChildProcessError:
            pass  # somebody did
    return parent


_SUPERVISOR: Final = b"pixirnb.runners.processes.supervisor_process"
_WORKERS: Final = b"pixirnb.runners.cluster.local_cluster"
_ENGINE: Final = 5
"""Index of the owner's process id in the line; its instance follows."""


def line_of(pid: int) -> list[bytes] | None:
    """Return the command line of a supervisor or of what it forked; None if the process is neither, or is gone."""
    line = _command(pid)
    return line if any(_SUPERVISOR in word for word in line[1:4]) else None


def _watches(pid: int) -> bool:
    """Return whether a process is a supervisor, forked from one, or the program of workers on this machine."""
    return any(_SUPERVISOR in word or _WORKERS in word for word in _command(pid)[1:4])


def living_owner_of(pid: int) -> tuple[int, str] | None:
    """Return process id and instance of the owner of a supervisor; None if `pid` is none, or its owner is gone.

    The owner may be in another container, where its id, which the supervisor was given, is another.
    """
    line = line_of(pid)
    try:
        owner = 0 if line is None else psutil.Process(pid).ppid()
        if line is None or process_life.own_id_of(owner) != int(line[_ENGINE]):
            return None  # forked from a supervisor, or left by its owner, which was its parent
        return owner, line[_ENGINE + 1].decode()
    except (psutil.Error, ValueError, IndexError):
        return None


def _command(pid: int) -> list[bytes]:
    try:
        if Path("/proc/self").exists():
            return read_given(pid, "cmdline").split(b"\0")
        return [word.encode() for word in psutil.Process(pid).cmdline()]
    except (psutil.Error, OSError):
        return []  # gone, or not ours to read


_MARK: Final = f"{TAG}=".encode()
_DEEPEST: Final = 256


def asking_step() -> str | None:
    """Return the tag `<run_id>/<step>.<attempt>` of the step above this thread or process; None if there is none.

    A reaper above gives the tag; an environment, which its process can change, only where no reaper is. Returns `a step`
    if a mark contradicts that tag, or nothing gives one and this process bears a mark, is below a supervisor, or is
    below something that cannot be known.
    """
    children = children_of_this_thread()
    if children is not None:
        return str(children.tag)
    above = _ancestry(os.getpid()) or ()
    with MOMENT:  # else it may be worn for a process that another thread starts
        mark = process_marks.mark_worn(os.getpid())
    is_watched = any(map(_watches, above))
    if is_watched and sys.platform == "linux":  # elsewhere reapers bear no tag
        return _tag_of_reaper(above, mark) or "a step"
    worn = (_without_padding(os.environ.get(TAG)), *map(_tag_in_environment, above))
    tag = next(filter(None, worn), None)
    if tag is not None:
        return tag if mark is None or process_marks.is_mark_of(mark, tag) else "a step"
    is_known = len(above) < _DEEPEST and not any(map(_is_unreadable, above))
    is_known = (
        is_known and not process_marks.has_lowered_limit()
    )  # below a supervisor that is out of sight
    is_marked = any(process_marks.mark_worn(each) is not None for each in above[1:])
    return "a step" if is_marked or mark is not None or not is_known or is_watched else None


def owner_above() -> int | None:
    """Return the id of the owner of the nearest supervisor above this process; None if there is none."""
    watchers = _watchers(_ancestry(os.getpid()) or ())
    owner = None if watchers is None else living_owner_of(watchers[1])
    return None if owner is None else owner[0]


def _watchers(above: Sequence[int]) -> tuple[int, int] | None:
    """Return the nearest supervisor among ancestors, after its child among them."""
    pairs = pairwise(above)
    return next((pair for pair in pairs if living_owner_of(pair[1]) is not None), None)


def _tag_of_reaper(above: Sequence[int], mark: int | None) -> str | None:
    """Return the tag of the nearest reaper among the ancestors of a process with a mark; None if none gives it."""
    watchers = _watchers(above)
    if watchers is None:
        return None
    reaper, supervisor = watchers
    try:
        # What a supervisor adopted has left its session, for ever: such a process may have written its own line.
        is_reaper = os.getsid(reaper) == supervisor
    except OSError:
        return None
    # A step in a thread, of an owner below that reaper, has another mark.
    is_its_step = mark is None or mark == process_marks.mark_worn(reaper)
    return _tag_in_environment(reaper) if is_reaper and is_its_step else None


_is_of_our_workers: Final = process_marks.of_run(process_marks.workers_of(INSTANCE))


def sender(pid: int, marks: Collection[int] = ()) -> Sender:
    """Return whether a living process belongs to a step, of this or another process, or to none; `unproven` if that
    is unknown.

    Args:
        marks: those of this process's steps in threads: processes that they started may have left this process.
    """
    above = _ancestry(pid)
    if above is None or len(above) == _DEEPEST or any(map(_is_unreadable, above)):
        return "unproven"
    own = os.getpid()
    below = above[: above.index(own)] if own in above else []
    inherited = {*_signs_of(own), None}
    is_own = not inherited.issuperset(sign for each in below for sign in _signs_of(each))
    is_own = is_own or (bool(below) and below[-1] in children_of_steps())
    mark = process_marks.mark_worn(pid)
    is_own = is_own or mark in marks or (mark is not None and _is_of_our_workers(mark))
    is_a_steps = any(sign is not None for each in above for sign in _signs_of(each))
    # A process whose ancestry changed during the walk proves nothing.
    if above != _ancestry(pid):
        return "unproven"
    return "own_step" if is_own else "other_step" if is_a_steps else "person"


def is_loose(pid: int, since: int | None) -> bool:
    """Return whether only what adopts orphans above a process is older than `since` (`process_marks.now`).

    So a step that removed its mark may have orphaned it: above a process that a person starts is a terminal or a
    server that existed before. None: no step can have.
    """
    if since is None:
        return False
    heir = adopter()
    if heir is None:
        return True
    for each in _ancestry(pid) or (pid,):
        looks = process_life.look_up(each)
        if looks is None:
            return True
        parent, start = looks
        is_adopted = parent in {1, heir} or (parent > 1 and _is_init(parent))
        if is_adopted and start >= since:
            return True
    return False


def _is_init(pid: int) -> bool:
    """Return whether a process adopts orphans of others than this process: `systemd --user`."""
    try:
        return Path(f"/proc/{pid}/comm").read_bytes().strip() == b"systemd"
    except OSError:
        return True


def tag_of(pid: int) -> str | None:
    """Return the tag of a process, padding included; None if it has none, or is gone."""
    if not Path("/proc/self").exists():
        return _tag_elsewhere(pid)
    if (tag := _tag_among(line_of(pid) or [])) is not None:
        return tag
    # Read raw: psutil stops at the first empty entry, which a tag written over padding may leave.
    return _tag_among(_environment(pid))


def _signs_of(pid: int) -> tuple[str | int | None, ...]:
    """Return what shows that a process is a step's or stands above steps; None for each sign that it lacks.

    A supervisor's sign is its id: it adopts what stopped it and killed its own reaper, and has no tag itself.
    """
    return _tag_in_environment(pid), process_marks.mark_worn(pid), pid if _watches(pid) else None


def _tag_in_environment(pid: int) -> str | None:
    return _without_padding(tag_of(pid))


def _without_padding(tag: str | None) -> str | None:
    """Return a tag without the padding that a supervisor reserves for its steps; None if nothing else is there."""
    return tag.rstrip("-") if tag and "/" in tag else None


def _environment(pid: int) -> list[bytes]:
    try:
        return process_life.read_given(pid, "environ").split(b"\0")
    except OSError:
        return []  # gone, or not ours to read


def _is_unreadable(pid: int) -> bool:
    """Return whether the first thread of a process has exited and no other one shows whose it is."""
    try:
        process_life.read_given(pid, "environ")
    except ProcessLookupError:
        return True
    except OSError:
        return False  # not ours to read
    return False


def _tag_among(entries: list[bytes]) -> str | None:
    tags = (e[len(_MARK) :].decode(errors="replace") for e in entries if e.startswith(_MARK))
    return next(tags, None)


def _tag_elsewhere(pid: int) -> str | None:
    """Return the tag of one of the user's own processes on macOS, best effort."""
    try:
        return psutil.Process(pid).environ().get(TAG)
    except (psutil.Error, OSError):
        return None


def _ancestry(pid: int) -> list[int] | None:
    """Return a process and all above it, up to the first, to one from outside or to `_DEEPEST`; None if that cannot be
    followed."""
    ancestors: list[int] = []
    while len(ancestors) < _DEEPEST:
        ancestors.append(pid)
        try:
            pid = psutil.Process(pid).ppid()
        except psutil.Error:
            return None
        if pid <= 1:
            break
    return ancestors
