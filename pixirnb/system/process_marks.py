"""The mark of an attempt: a number that its processes inherit and that every other process can read.

    run/step.attempt ──mark_of──▶ number ──wear──▶ soft RLIMIT_LOCKS of a process ──fork, exec──▶ all below it

Linux has not enforced that limit since 2.4.25, and still passes it on through `fork` and `exec`, past `setsid`, a
second fork and an emptied environment. Any process of the same user can read it, even after the parent has changed.
So a process of an attempt is recognised without knowing its ancestors. One that starts another and exits is gone when
it is asked, and the other is in no list made before: so a search also asks the ids that were given out meanwhile.
Standard library only: the supervisor process imports this module.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Final

from pixirnb.system.process_life import is_alive, look_up, read_given

if sys.platform == "linux":
    import resource

_LOCKS: Final = 10
"""RLIMIT_LOCKS; Python has no name for it."""

_SIGNATURE: Final = 1 << 62
"""Bits set in every mark, so that no limit set by a person looks like one."""

_LOWERED: Final = (1 << 63) - 1
"""Hard limit of a supervisor and of all below it: none of its marks is larger."""

_SWEEP_EVERY_S: Final = 0.005
_FREEZE_ROUNDS: Final = 20
_SEARCH_LIMIT_S: Final = 1.0
_NEAR: Final = 16
"""Number of newest ids that are asked again each time: a process can be asked only some microseconds after it got its id."""


def mark_of(tag: str, instance: str) -> int:
    """Return the mark of an attempt, from its tag `<run_id>/<step>.<attempt>` and its owner.

    24 bits identify the run, 10 the owner, 28 the attempt.
    """
    run_id, _, attempt = tag.partition("/")
    return _owned(run_id, instance) << 28 | _digest(attempt, 28)


def is_mark_of(mark: int, tag: str) -> bool:
    """Return whether a mark is that of an attempt, of whichever owner."""
    return (mark ^ mark_of(tag, "")) & ~(1023 << 28) == 0


def of_run(run_id: str, instances: Collection[str] | None = None) -> Callable[[int], bool]:
    """Return a predicate for the marks of all attempts of a run, started by `instances` or, if None, by any owner."""
    if instances is None:
        whole = _owned(run_id, "") >> 10
        return lambda mark: mark >> 38 == whole
    parts = {_owned(run_id, instance) for instance in instances}
    return lambda mark: mark >> 28 in parts


def workers_of(instance: str) -> str:
    """Return what stands for a run's id in the marks of workers, which whatever they start outside of a step bears."""
    return f"workers of {instance}"


def one_of(marks: Collection[int]) -> Callable[[int], bool]:
    """Return a predicate for any of these marks."""
    return marks.__contains__


def can_mark() -> bool:
    """Return whether processes can be marked: on Linux, with `/proc`, unless others have lowered the hard limit."""
    if sys.platform != "linux" or not Path("/proc/self/stat").exists():
        return False
    try:
        return resource.getrlimit(_LOCKS)[1] in {resource.RLIM_INFINITY, _LOWERED}
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


def wear_first(limit: int) -> None:
    """Put a mark on this process unless it has one, which is that of a step that started it, or can have none."""
    if can_mark() and mark_worn(os.getpid()) is None:
        wear(limit)


def put_on(pid: int, limit: int) -> None:
    """Put a mark on another process of this user. Does nothing if it is gone or belongs to another user."""
    if sys.platform == "linux":
        try:
            resource.prlimit(pid, _LOCKS, (limit, resource.prlimit(pid, _LOCKS)[1]))
        except (OSError, ValueError):
            pass


def lower_limit() -> None:
    """Lower the hard limit of this process and of all that it will start: only root can raise it again.

    So a process below a supervisor that took off its mark, and hides in a PID namespace, shows that it is below one.
    """
    if can_mark():
        soft, _ = resource.getrlimit(_LOCKS)
        resource.setrlimit(_LOCKS, (max(soft, 0), _LOWERED))


def has_lowered_limit() -> bool:
    """Return whether the hard limit of this process was lowered."""
    try:
        return sys.platform == "linux" and resource.getrlimit(_LOCKS)[1] != resource.RLIM_INFINITY
    except (OSError, ValueError):
        return False  # a system that only looks like Linux


def worn(pid: int) -> int | None:
    """Return the limit of a process, a mark or not; None if it is gone or may not be read."""
    if sys.platform == "linux":
        try:
            return resource.prlimit(pid, _LOCKS)[0]
        except PermissionError:
            return _limit_shown(pid)
        except (OSError, ValueError):
            pass
    return None


def _limit_shown(pid: int) -> int | None:
    """Return the limit as `/proc` shows it to everybody: prlimit(2) refuses where any one user or group id differs."""
    try:
        text = Path(f"/proc/{pid}/limits").read_bytes()
    except OSError:
        return None  # it has ended since
    words = text.partition(b"Max file locks")[2].split(maxsplit=1)
    return None if not words else int(words[0]) if words[0].isdigit() else resource.RLIM_INFINITY


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
    return search(lambda pid: _bears(pid, is_match))[0] if sys.platform == "linux" else []


def search(
    is_match: Callable[[int], bool], *, is_hasty: bool = False, limit_s: float = _SEARCH_LIMIT_S
) -> tuple[list[int], bool]:
    """Return the ids of the other living processes for which `is_match` is true, and whether none can be missing.

    It ends with the first matches, or when all processes listed and all that began since have been asked, in the order
    of their ids, and none began during that. After `limit_s` it is given up, and returns what has matched and ended since.
    `is_hasty`: return those that have ended too; finding that out costs more than all the rest.
    """
    if sys.platform != "linux":
        import psutil

        pids = (pid for pid in psutil.pids() if pid != os.getpid() and is_match(pid))
        return [pid for pid in pids if is_alive(pid)], True
    deadline = time.monotonic() + limit_s
    own_pid, began, before = os.getpid(), 0, 0
    ended: list[int] = []
    with _NewestId() as newest_id:
        while True:
            newest = newest_id()
            is_listing = not began or newest < before  # lower than before: ids start again
            is_last = not is_listing and newest == before
            if is_listing:
                began = max(newest - _NEAR, 1)
                seen = [pid for pid in sorted(_ids()) if pid != own_pid and is_match(pid)]
            else:
                since = began if is_last else max(began, newest - _NEAR)
                pids = (pid for pid in range(since, newest + 1) if pid != own_pid)
                seen = [pid for pid in pids if worn(pid) is not None and is_match(pid)]
            # Those that match are looked at last: until then others go on.
            matches = [
                pid for pid in seen if is_hasty or (look_up(pid) is not None and _leads(pid))
            ]
            if matches or (is_last and newest_id() == newest):
                return matches, not matches
            ended = [pid for pid in seen if not Path(f"/proc/{pid}").exists()] or ended
            if time.monotonic() >= deadline:
                return ended, False
            before = newest


class _NewestId:
    """The id given out last. Read without releasing the interpreter: other threads would make each answer 5 ms old."""

    def __enter__(self) -> Callable[[], int]:
        import ctypes

        self._read = ctypes.PyDLL(None).pread
        self._read.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_long)
        self._text = ctypes.create_string_buffer(128)
        try:
            self._file = os.open("/proc/sys/kernel/ns_last_pid", os.O_RDONLY)
        except OSError:  # a kernel without CONFIG_CHECKPOINT_RESTORE
            self._file = os.open("/proc/loadavg", os.O_RDONLY)
        return self._last

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def _last(self) -> int:
        length = self._read(self._file, self._text, len(self._text), 0)
        return int(self._text.raw[:length].split()[-1])


def send(pid: int, is_match: Callable[[int], bool], number: int) -> bool:
    """Send a signal to a process that matches. False if it does not, has ended, or may not be signalled."""
    try:
        if not hasattr(os, "pidfd_open"):
            os.kill(pid, number)  # macOS: an id reused within microseconds is out of reach
            return True
        process = os.pidfd_open(pid)
        try:
            # Asked of the process that is now held on to: its id cannot pass on.
            if not is_match(pid):
                return False
            signal.pidfd_send_signal(process, number)
            return True
        finally:
            os.close(process)
    except OSError:
        return False  # gone already, or not ours to end (a setuid program): the caller's next look tells


def stop(
    is_match: Callable[[int], bool], grace_s: float, limit_s: float
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...] | None]:
    """End all processes with a matching mark, and all below them: a kernel that a step started has steps with other marks.

    Each gets SIGTERM, SIGCONT so that the signal is handled, `grace_s` seconds to exit, then SIGKILL until none is
    left or `limit_s` seconds are over. Before SIGKILL they are frozen until a scan finds no new process: a process that
    forks faster than we scan cannot escape.

    Returns: ids of the processes seen, of those killed, and of those still found when the limit was over; None if
    none is left, empty if the last search was not complete.
    """
    known, is_complete = _families(is_match, {})
    if is_complete and not known:
        return (), (), None
    there = tuple(known)
    for pid, start in known.items():
        for number in (signal.SIGTERM, signal.SIGCONT):
            send(pid, _started_at(start), number)
    deadline = time.monotonic() + grace_s
    while time.monotonic() < deadline and _lives(known, is_match):
        time.sleep(_SWEEP_EVERY_S)
    killed: dict[int, int] = {}
    deadline = time.monotonic() + limit_s
    while True:
        _freeze(is_match, deadline)
        is_late = time.monotonic() >= deadline
        alive, is_complete = _families(is_match, known)
        if is_complete and not alive:
            return there, tuple(killed), None
        known |= alive
        new = {pid: start for pid, start in alive.items() if start and pid not in killed}
        for pid, start in new.items():
            send(pid, _started_at(start), signal.SIGSTOP)
        killed |= new
        if new and not is_late:
            continue
        for pid, start in alive.items():
            send(pid, _started_at(start), signal.SIGKILL)
        if is_late:
            return there, tuple(pid for pid in killed if pid not in alive), tuple(alive)
        time.sleep(_SWEEP_EVERY_S)


def _families(
    is_match: Callable[[int], bool], known: Mapping[int, int]
) -> tuple[dict[int, int], bool]:
    """Return living processes with a matching mark or in `known`, and all below them, and whether none can be missing.

    They are given as id to start time, parents first; 0 for those that ended since they were found.
    """
    if sys.platform != "linux":
        return {}, True
    matches, is_complete = search(lambda pid: _bears(pid, is_match))
    if not matches and not any(_started_at(start)(pid) for pid, start in known.items()):
        return {}, is_complete
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
    return dict.fromkeys(matches, 0) | families, is_complete


def _freeze(is_match: Callable[[int], bool], deadline: float) -> None:
    """Stop each process with a matching mark as it is found, until a search finds no other.

    A process that is just forking is stopped too late. After 20 searches they are killed, which ends the fork as well.
    """
    sent: set[int] = set()
    number = signal.SIGSTOP

    def is_new(pid: int) -> bool:
        if pid in sent or not send(pid, lambda each: _bears(each, is_match), number):
            return False
        sent.add(pid)
        return True

    for turn in count():
        number = signal.SIGSTOP if turn < _FREEZE_ROUNDS else signal.SIGKILL
        matches, is_complete = search(is_new, is_hasty=True)
        if (is_complete and not matches) or time.monotonic() >= deadline:
            return


def _lives(known: Mapping[int, int], is_match: Callable[[int], bool]) -> bool:
    return any(_started_at(start)(pid) for pid, start in known.items()) or bool(bearers(is_match))


def _started_at(start: int) -> Callable[[int], bool]:
    return lambda pid: (looks := look_up(pid)) is not None and looks[1] == start


def _leads(pid: int) -> bool:
    """Return whether an id is that of a living process, not of one of its other threads."""
    return send(pid, lambda _: True, 0)


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


def _owned(run_id: str, instance: str) -> int:
    return _SIGNATURE >> 28 | _digest(run_id, 24) << 10 | _digest(instance, 10)


def _digest(text: str, bits: int) -> int:
    from hashlib import blake2b  # the supervisor process, which is handed numbers, never needs it

    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "big") >> 32 - bits
