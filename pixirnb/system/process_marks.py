"""The mark of an attempt: a number that its processes cannot lose by accident, and that every other process can read.

    run/step.attempt ──mark_of──▶ number ──wear──▶ soft RLIMIT_LOCKS of a process ──fork, exec──▶ all below it

Linux has not enforced that limit since 2.4.25, and still hands it on: through `fork` and `exec`, past `setsid`, a second fork
and an emptied environment. Whoever runs as the same user may ask for it, whoever the parent is by now. So a process is told to
be an attempt's without knowing where it came from. Standard library only: the supervisor process stands on this too.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

if sys.platform == "linux":
    import resource

_LOCKS: Final = 10
"""RLIMIT_LOCKS; Python has no name for it."""

_SIGNATURE: Final = 1 << 62
"""Set in every mark: no limit that a person would write."""

_SWEEP_EVERY_S: Final = 0.005


def mark_of(tag: str, instance: str) -> int:
    """The mark of an attempt, by its tag `<run_id>/<step>.<attempt>` and its owner.

    24 bits tell the run, 10 the owner, 28 the attempt.
    """
    run_id, _, attempt = tag.partition("/")
    return _owned(run_id, instance) << 28 | _digest(attempt, 28)


def of_run(run_id: str, instances: Collection[str] | None = None) -> Callable[[int], bool]:
    """The wish for the marks of all attempts of a run, begun by these owners or by any."""
    if instances is None:
        whole = _owned(run_id, "") >> 10
        return lambda mark: mark >> 38 == whole
    parts = {_owned(run_id, instance) for instance in instances}
    return lambda mark: mark >> 28 in parts


def one_of(marks: Collection[int]) -> Callable[[int], bool]:
    """The wish for any of these marks."""
    return marks.__contains__


def can_mark() -> bool:
    """Whether processes can be marked here: on Linux, with `/proc`, where nobody has lowered the hard limit."""
    if sys.platform != "linux" or not Path("/proc/self/stat").exists():
        return False
    try:
        return resource.getrlimit(_LOCKS)[1] == resource.RLIM_INFINITY
    except (OSError, ValueError):
        return False  # a system that only looks like Linux


def wear(limit: int) -> int:
    """Put a mark on this process, for what it forks from now on; returns the limit it had. Raises OSError, ValueError."""
    if sys.platform != "linux":
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    before, hard = resource.getrlimit(_LOCKS)
    resource.setrlimit(_LOCKS, (limit, hard))
    return before


def put_on(pid: int, limit: int) -> None:
    """Put a mark on another process of this user; silence where it is gone or not ours."""
    if sys.platform == "linux":
        try:
            resource.prlimit(pid, _LOCKS, (limit, resource.prlimit(pid, _LOCKS)[1]))
        except (OSError, ValueError):
            pass


def worn(pid: int) -> int | None:
    """The mark, or whatever else stands in its place, of a process; None where it is gone or not ours to ask."""
    if sys.platform == "linux":
        try:
            return resource.prlimit(pid, _LOCKS)[0]
        except (OSError, ValueError):
            pass
    return None


def mark_worn(pid: int) -> int | None:
    """The mark of a process; None where it bears none, is gone or is not ours to ask."""
    found = worn(pid)
    return None if found is None or found < _SIGNATURE else found


def variables(name: str) -> Iterator[tuple[int, str]]:
    """Processes whose environment holds a variable, and its value. Never this one; none that may not be looked into."""
    sign = f"{name}=".encode()
    for pid in _ids() if sys.platform == "linux" else []:
        try:
            entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        found = next((entry for entry in entries if entry.startswith(sign)), None)
        if found is not None and pid != os.getpid():
            yield pid, found[len(sign) :].decode(errors="replace")


def bearers(wanted: Callable[[int], bool]) -> list[int]:
    """Ids of living processes with such a mark, oldest ids first. Never this process."""
    if sys.platform != "linux":
        return []
    own = os.getpid()
    return sorted(pid for pid in _ids() if pid != own and _bears(pid, wanted) and look_up(pid))


def stop(
    wanted: Callable[[int], bool], grace_s: float, limit_s: float
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """End all that bear such a mark, and all below them: a step may have a kernel of its own, whose steps bear other marks.

    SIGTERM, SIGCONT so that it is heard, `grace_s` to go, then SIGKILL until nobody is left or `limit_s` is over. They are
    frozen before that, until a look finds nobody new: what forks faster than we look cannot get away.

    Returns: process ids of those there were, of those that were killed, and of those that would not go.
    """
    known = _families(wanted, {})
    there = tuple(known)
    for pid, start in known.items():
        for number in (signal.SIGTERM, signal.SIGCONT):
            _send(pid, start, number)
    deadline = time.monotonic() + grace_s
    while time.monotonic() < deadline and _lives(known, wanted):
        time.sleep(_SWEEP_EVERY_S)
    killed: dict[int, int] = {}
    deadline = time.monotonic() + limit_s
    while left := _families(wanted, known):
        known |= left
        new = left.keys() - killed.keys()
        for pid in new:
            _send(pid, left[pid], signal.SIGSTOP)
            killed[pid] = left[pid]
        if new:
            continue
        if time.monotonic() >= deadline:
            break
        for pid, start in left.items():
            _send(pid, start, signal.SIGKILL)
        time.sleep(_SWEEP_EVERY_S)
    return there, tuple(pid for pid in killed if pid not in left), tuple(left)


def _families(wanted: Callable[[int], bool], known: Mapping[int, int]) -> dict[int, int]:
    """Living processes that bear such a mark or are known, and all below them: ids to starts, parents first. Never this one."""
    if sys.platform != "linux" or not (known or bearers(wanted)):
        return {}
    there = {pid: looks for pid in _ids() if (looks := look_up(pid)) is not None}
    below: dict[int, list[int]] = {}
    for pid, (parent, _) in there.items():
        below.setdefault(parent, []).append(pid)
    queue = [
        pid for pid, (_, start) in there.items() if known.get(pid) == start or _bears(pid, wanted)
    ]
    found: dict[int, int] = {}
    for pid in queue:
        if pid not in found and pid != os.getpid():
            found[pid] = there[pid][1]
            queue += below.get(pid, ())
    return found


def _lives(known: Mapping[int, int], wanted: Callable[[int], bool]) -> bool:
    is_there = any((found := look_up(pid)) and found[1] == start for pid, start in known.items())
    return is_there or bool(bearers(wanted))


def _ids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - hundreds, many times a second


def _bears(pid: int, wanted: Callable[[int], bool]) -> bool:
    mark = mark_worn(pid)
    return mark is not None and wanted(mark)


def now() -> int:
    """This moment, as starts of processes are told: in ticks since the system's. 0 where nothing tells that."""
    if sys.platform != "linux":
        return 0
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def look_up(pid: int) -> tuple[int, int] | None:
    """The parent of a living process, and when it started, which tells it from another that has its id by now."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else (int(fields[1]), int(fields[19]))


def _send(pid: int, start: int, number: signal.Signals) -> None:
    """A signal to the process that started then, and to no other that has its id by now."""
    try:
        process = os.pidfd_open(pid)
    except OSError:
        return  # gone already
    try:
        if (found := look_up(pid)) is not None and found[1] == start:
            signal.pidfd_send_signal(process, number)
    except OSError:
        pass  # gone already, or not ours to end (a setuid program): the caller's next look tells
    finally:
        os.close(process)


def _owned(run_id: str, instance: str) -> int:
    return _SIGNATURE >> 28 | _digest(run_id, 24) << 10 | _digest(instance, 10)


def _digest(text: str, bits: int) -> int:
    from hashlib import blake2b  # the supervisor process, which is handed numbers, never needs it

    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "big") >> 32 - bits
