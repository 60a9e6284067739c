"""The mark of an attempt: a number that its processes inherit and that every other process can read.

    run/step.attempt ──mark_of──▶ number ──wear──▶ soft RLIMIT_LOCKS of a process ──fork, exec──▶ all below it

Linux has not enforced that limit since 2.4.25, and still passes it on through `fork` and `exec`, past `setsid`, a
second fork and an emptied environment. Any process of the same user can read it, even after the parent has changed.
So a process of an attempt is recognised without knowing its ancestors. Standard library only: the supervisor process
imports this module.
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

from pixirnb.system.process_life import look_up, read_given

if sys.platform == "linux":
    import resource

_LOCKS: Final = 10
"""RLIMIT_LOCKS; Python has no name for it."""

_SIGNATURE: Final = 1 << 62
"""Bits set in every mark, so that no limit set by a person looks like one."""

_SWEEP_EVERY_S: Final = 0.005


def mark_of(tag: str, instance: str) -> int:
    """Return the mark of an attempt, from its tag `<run_id>/<step>.<attempt>` and its owner.

    24 bits identify the run, 10 the owner, 28 the attempt.
    """
    run_id, _, attempt = tag.partition("/")
    return _owned(run_id, instance) << 28 | _digest(attempt, 28)


def of_run(run_id: str, instances: Collection[str] | None = None) -> Callable[[int], bool]:
    """Return a predicate for the marks of all attempts of a run, started by `instances` or, if None, by any owner."""
    if instances is None:
        whole = _owned(run_id, "") >> 10
        return lambda mark: mark >> 38 == whole
    parts = {_owned(run_id, instance) for instance in instances}
    return lambda mark: mark >> 28 in parts


def one_of(marks: Collection[int]) -> Callable[[int], bool]:
    """Return a predicate for any of these marks."""
    return marks.__contains__


def can_mark() -> bool:
    """Return whether processes can be marked: on Linux, with `/proc`, unless the hard limit was lowered."""
    if sys.platform != "linux" or not Path("/proc/self/stat").exists():
        return False
    try:
        return resource.getrlimit(_LOCKS)[1] == resource.RLIM_INFINITY
    except (OSError, ValueError):
        return False  # a system that only looks like Linux


def wear(limit: int) -> int:
    """Put a mark on this process; processes forked later inherit it.

    Returns the previous limit. Raises OSError, ValueError.
    """
    if sys.platform != "linux":
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    before, hard = resource.getrlimit(_LOCKS)
    resource.setrlimit(_LOCKS, (limit, hard))
    return before


def put_on(pid: int, limit: int) -> None:
    """Put a mark on another process of this user. Does nothing if it is gone or belongs to another user."""
    if sys.platform == "linux":
        try:
            resource.prlimit(pid, _LOCKS, (limit, resource.prlimit(pid, _LOCKS)[1]))
        except (OSError, ValueError):
            pass


def worn(pid: int) -> int | None:
    """Return the limit of a process, a mark or not; None if it is gone or may not be read."""
    if sys.platform == "linux":
        try:
            return resource.prlimit(pid, _LOCKS)[0]
        except (OSError, ValueError):
            pass
    return None


def mark_worn(pid: int) -> int | None:
    """Return the mark of a process; None if it has none, is gone or may not be read."""
    limit = worn(pid)
    return None if limit is None or limit < _SIGNATURE else limit


def variables(name: str) -> Iterator[tuple[int, str]]:
    """Yield processes whose environment holds a variable, with its value.

    Skips this process and those that may not be read.
    """
    sign = f"{name}=".encode()
    for pid in _ids() if sys.platform == "linux" else []:
        try:
            entries = read_given(pid, "environ").split(b"\0")
        except OSError:
            continue
        entry = next((entry for entry in entries if entry.startswith(sign)), None)
        if entry is not None and pid != os.getpid():
            yield pid, entry[len(sign) :].decode(errors="replace")


def bearers(is_match: Callable[[int], bool]) -> list[int]:
    """Return the ids of living processes with a matching mark, oldest ids first, without this process."""
    if sys.platform != "linux":
        return []
    own_pid = os.getpid()
    return sorted(
        pid for pid in _ids() if pid != own_pid and _bears(pid, is_match) and look_up(pid)
    )


def stop(
    is_match: Callable[[int], bool], grace_s: float, limit_s: float
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """End all processes with a matching mark, and all below them: a kernel that a step started has steps with other marks.

    Each gets SIGTERM, SIGCONT so that the signal is handled, `grace_s` seconds to exit, then SIGKILL until none is
    left or `limit_s` seconds are over. Before SIGKILL they are frozen until a scan finds no new process: a process
    that forks faster than we scan cannot escape.

    Returns: ids of the processes seen, of those killed, and of those that survived.
    """
    known = _families(is_match, {})
    there = tuple(known)
    for pid, start in known.items():
        for number in (signal.SIGTERM, signal.SIGCONT):
            _send(pid, start, number)
    deadline = time.monotonic() + grace_s
    while time.monotonic() < deadline and _lives(known, is_match):
        time.sleep(_SWEEP_EVERY_S)
    killed: dict[int, int] = {}
    deadline = time.monotonic() + limit_s
    while alive := _families(is_match, known):
        known |= alive
        new = alive.keys() - killed.keys()
        for pid in new:
            _send(pid, alive[pid], signal.SIGSTOP)
            killed[pid] = alive[pid]
        if new:
            continue
        if time.monotonic() >= deadline:
            break
        for pid, start in alive.items():
            _send(pid, start, signal.SIGKILL)
        time.sleep(_SWEEP_EVERY_S)
    return there, tuple(pid for pid in killed if pid not in alive), tuple(alive)


def _families(is_match: Callable[[int], bool], known: Mapping[int, int]) -> dict[int, int]:
    """Return living processes with a matching mark or in `known`, and all below them: id to start time, parents first."""
    if sys.platform != "linux" or not (known or bearers(is_match)):
        return {}
    there = {pid: looks for pid in _ids() if (looks := look_up(pid)) is not None}
    below: dict[int, list[int]] = {}
    for pid, (parent, _) in there.items():
        below.setdefault(parent, []).append(pid)
    queue = [
        pid for pid, (_, start) in there.items() if known.get(pid) == start or _bears(pid, is_match)
    ]
    families: dict[int, int] = {}
    for pid in queue:
        if pid not in families and pid != os.getpid():
            families[pid] = there[pid][1]
            queue += below.get(pid, ())
    return families


def _lives(known: Mapping[int, int], is_match: Callable[[int], bool]) -> bool:
    is_there = any(
        (process_stat := look_up(pid)) and process_stat[1] == start for pid, start in known.items()
    )
    return is_there or bool(bearers(is_match))


def _ids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - hundreds, many times a second


def _bears(pid: int, is_match: Callable[[int], bool]) -> bool:
    mark = mark_worn(pid)
    return mark is not None and is_match(mark)


def now() -> int:
    """Return the current time as process start times are counted: in ticks since boot; 0 if it cannot be read."""
    if sys.platform != "linux":
        return 0
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def _send(pid: int, start: int, number: signal.Signals) -> None:
    """Send a signal to the process that started at `start`, never to a later process with its id."""
    try:
        process = os.pidfd_open(pid)
    except OSError:
        return  # gone already
    try:
        if (process_stat := look_up(pid)) is not None and process_stat[1] == start:
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
