"""Search for processes that a dead owner left, and their end.

Every process of a step bears the tag `PIXIRNB_STEP=<run_id>/<step>.<attempt>` in its environment or its command line,
and the mark of its attempt (`process_marks.py`), which it bears even with an empty environment. This is the last
resort when no process knows the tree any more. Only processes of this user are examined.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache, partial
from typing import Final

import psutil
from msgspec.structs import replace

from pixirnb.json_types import JsonMapping
from pixirnb.runners.processes.ancestry import living_owner_of, tag_of
from pixirnb.runners.processes.thread_children import INSTANCE, Children, Ending
from pixirnb.system import process_marks
from pixirnb.system.process_life import birth_of, is_alive

_SWEEP_LIMIT_S: Final = 3.0
_look: Final = partial(process_marks.search, limit_s=5.0)
"""A search that says whether it was complete: on a busy machine processes start for longer than a second."""
_CLOCK_TOLERANCE_S: Final = 5.0
"""Tolerance for start times, where no birth is recorded: they are computed from the boot time, which moves when the
clock is set."""


def find_strays(run_id: str, owners: Sequence[JsonMapping] | None = None) -> list[int]:
    """Return ids of living processes that belong to any step of `run_id`, oldest first, without this process.

    `owners`: the processes that drove the run, each with the time `at` when it took it: processes of a living one are
    no strays, nor those of anybody else. A copy of a run's folder has the run's id too.
    """
    return list(search_strays(run_id, owners) or ())


def search_strays(
    run_id: str,
    owners: Sequence[JsonMapping] | None = None,
    search: Callable[[Callable[[int], bool]], tuple[list[int], bool]] = _look,
) -> tuple[int, ...] | None:
    """Return what `find_strays` returns; None if it is nothing and some may have been missed."""
    pids, is_complete = search(_of_run(run_id, owners))
    return tuple(pids) if pids or is_complete else None


def end_strays(run_id: str, owners: Sequence[JsonMapping] | None = None) -> list[int]:
    """SIGKILL every process that `find_strays` returns until none is left (at most 3 s); return the ended ones."""
    return _end(_of_run(run_id, owners))[0]


def find_tagged(tag: str) -> list[int]:
    """Return ids of the processes of one attempt, `<run_id>/<step>.<attempt>`, of this process."""
    return _find(_of_attempt(tag))


def end_tagged(tag: str) -> list[int]:
    """SIGKILL every process of one attempt, `<run_id>/<step>.<attempt>`, of this process; return the ended ones."""
    return _end(_of_attempt(tag))[0]


def wake_tagged(tag: str) -> None:
    """Continue every process of one attempt, its reaper too: one that is stopped ends nothing."""
    for pid in find_tagged(tag):
        with suppress(OSError):
            os.kill(pid, signal.SIGCONT)


def end_children(children: Children, grace_s: float, *, is_last: bool) -> Ending:
    """End the processes of a step in a thread: by its mark, and by its tag if a program removed the mark (`su` does).

    `is_last`: the step's thread is about to return; else it may go on, and starts no more of them when the grace is over.
    Where the system cannot say which processes there are, `survivors` is empty: unknown.
    """
    try:
        return _end_children(children, grace_s, is_last=is_last)
    except OSError:  # no file descriptor is left
        children.refuse()
        return Ending(survivors=())


def _end_children(children: Children, grace_s: float, *, is_last: bool) -> Ending:
    ending = children.close() if is_last else children.end(grace_s)
    if not is_last:
        children.refuse()
        late = children.end(0.0)  # what began meanwhile
        ending = Ending(
            left=(*ending.left, *late.left),
            killed=(*ending.killed, *late.killed),
            survivors=late.survivors,
            runs=ending.runs + late.runs,
        )
    if not children.has_begun:
        return ending
    ended, remaining = _end(_of_attempt(children.tag))
    survivors = ending.survivors
    if remaining:
        survivors = tuple({*(survivors or ()), *remaining})
    return replace(
        ending,
        left=(*ending.left, *ended),
        killed=(*ending.killed, *ended),
        survivors=survivors,
    )


def _of_attempt(tag: str) -> Callable[[int], bool]:
    mark = process_marks.mark_of(tag, INSTANCE)
    return lambda pid: process_marks.worn(pid) == mark or _own_tag_of(pid) == tag


def _of_run(run_id: str, owners: Sequence[JsonMapping] | None) -> Callable[[int], bool]:
    instances = None if owners is None else {str(owner.get("instance")) for owner in owners}
    is_marked = process_marks.of_run(run_id, instances)
    living = cache(partial(_living, owners or ()))  # looked for once something is found

    def is_of_run(pid: int) -> bool:
        mark = process_marks.mark_worn(pid)
        if mark is not None:  # marks of two owners may be alike
            if is_marked(mark):
                return not process_marks.of_run(run_id, living())(mark)
            dead = (instances or set()) - {INSTANCE, *living()}
            return any(process_marks.of_run(process_marks.workers_of(each))(mark) for each in dead)
        tag = _own_tag_of(pid)
        return tag is not None and tag.startswith(f"{run_id}/") and not _is_below(pid, living())

    return is_of_run


def _living(owners: Sequence[JsonMapping]) -> dict[str, int]:
    """Return the living ones of a run's owners, without this process: instance to process id.

    In another container ids and births are others: there the supervisor below an owner tells.
    """
    known = {str(owner.get("instance")): owner for owner in owners}
    living: dict[str, int] = {}
    for instance, owner in known.items():
        pid = owner.get("pid")
        if type(pid) is int and _is_still(pid, owner):
            living[instance] = pid
    for result in map(living_owner_of, psutil.pids() if known else ()):
        if result is not None and result[1] in known:
            living[result[1]] = result[0]
    return {instance: pid for instance, pid in living.items() if pid != os.getpid()}


def _is_still(pid: int, owner: JsonMapping) -> bool:
    """Return whether a process is an owner, not a later one with its id.

    Its birth tells, which no clock moves; where an older release recorded none, the clock.
    """
    recorded, born = owner.get("born"), birth_of(pid)
    if born is not None and isinstance(recorded, str):
        return born == recorded
    try:
        began = datetime.fromisoformat(str(owner.get("at"))).timestamp()
        is_older = psutil.Process(pid).create_time() <= began + _CLOCK_TOLERANCE_S
    except (psutil.Error, ValueError, OverflowError):
        return False
    return is_older and is_alive(pid) and owner.get("host") == socket.gethostname()


def _is_below(pid: int, owners: Mapping[str, int]) -> bool:
    """Return whether a process descends from one of these owners."""
    try:
        above = {each.pid for each in psutil.Process(pid).parents()} if owners else set()
    except psutil.Error:
        return True  # it has ended since it was found
    return not above.isdisjoint(owners.values())


def _find(is_match: Callable[[int], bool]) -> list[int]:
    return process_marks.search(is_match)[0]


def _end(is_match: Callable[[int], bool]) -> tuple[list[int], list[int]]:
    """Return the ended processes, and those that were still found when the limit was over."""
    ended: dict[int, None] = {}
    deadline = time.monotonic() + _SWEEP_LIMIT_S
    while (left := _find(is_match)) and time.monotonic() < deadline:
        for pid in left:
            if process_marks.send(pid, is_match, signal.SIGKILL):
                ended[pid] = None
        time.sleep(0.005)
    return list(ended), left


def _own_tag_of(pid: int) -> str | None:
    """Return the tag of a process of this user. A hidden process belongs to root in `/proc`, so it is read by its id."""
    tag = tag_of(pid)
    try:
        is_ours = tag is not None and os.getuid() in {0, psutil.Process(pid).uids().real}
    except psutil.Error:
        return None
    return tag if is_ours else None
