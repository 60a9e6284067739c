"""Life of a process as `/proc` tells it: whether it can still act, when it was born, and what it was started with.

A process whose first thread has exited is shown as a zombie (`Z`) without memory, yet it lives on in its other threads: it
runs, forks and takes signals. No other module asks for that letter. Standard library only on Linux: the supervisor process
imports this module.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_ENDED: Final = (b"Z", b"X")


def is_alive(pid: int) -> bool:
    """Return whether a process can still act: it exists, and one of its threads has not ended."""
    if look_up(pid) is not None:
        return True
    return not Path("/proc/self").exists() and _is_alive_elsewhere(pid)


def look_up(pid: int) -> tuple[int, int] | None:
    """Return the parent and the start time of a living process. The start time tells it from a later process with its id."""
    try:
        fields = _stat(f"/proc/{pid}")
        if fields[0] in _ENDED and not any(True for _ in _living_threads(pid)):
            return None
    except OSError:
        return None
    return int(fields[1]), int(fields[19])


def birth_of(pid: int) -> str | None:
    """Return the birth of a living process, `<boot id>/<ticks>`; None if it is gone, or the system does not say (macOS).

    It tells the process from a later one with its id whatever clocks do: a start as a time of day is computed from the
    boot's, which moves when the clock is set. Source: docs/adr/0017.
    """
    looks = look_up(pid)
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    return None if looks is None else f"{boot}/{looks[1]}"


def own_id_of(pid: int) -> int:
    """Return the id of a process in its own pid namespace, which may be another container's; `pid` if it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_bytes()
    except OSError:
        return pid  # macOS has no namespaces
    ids = status.partition(b"\nNSpid:")[2].partition(b"\n")[0].split()
    return int(ids[-1]) if ids else pid


def read_given(pid: int, name: str) -> bytes:
    """Return what a process was started with: its `environ` or `cmdline`. Raises OSError.

    ProcessLookupError: its first thread has exited, and no other one shows it.
    """
    try:
        text = Path(f"/proc/{pid}/{name}").read_bytes()
    except ProcessLookupError:
        text = b""  # what older systems say of a process without memory
    if text or _stat(f"/proc/{pid}")[0] not in _ENDED:
        return text
    for thread in _living_threads(pid):
        try:
            return Path(f"{thread}/{name}").read_bytes()
        except OSError:
            continue  # it has exited since, or is not ours to read
    raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))


def _living_threads(pid: int) -> Iterator[str]:
    tasks = f"/proc/{pid}/task"
    for name in os.listdir(tasks):  # noqa: PTH208 - many times a second
        try:
            if _stat(f"{tasks}/{name}")[0] not in _ENDED:
                yield f"{tasks}/{name}"
        except OSError:
            continue  # it has exited since


def _stat(folder: str) -> list[bytes]:
    """Return the fields of `stat` after the name. Raises OSError."""
    return Path(f"{folder}/stat").read_bytes().rpartition(b")")[2].split()


def _is_alive_elsewhere(pid: int) -> bool:
    import psutil  # macOS only

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
