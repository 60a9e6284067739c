"""Child processes of a step in a thread: recognised by its mark, and ended with the step.

    step thread ── starts (`thread_starts.py`) ──▶ `begin`: the supervisor gets the mark ──▶ process, tagged and marked
    returned, raised, timed out, cancelled ──▶ `end`: SIGTERM, the grace, SIGKILL until nothing bears the mark

Nothing is watched meanwhile; a step that starts nothing costs one scan of its thread's own children.
"""

from __future__ import annotations

import errno
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, Literal, Protocol, TypeVar

from msgspec import Struct, field

from pixirnb.runners.processes import process_tree
from pixirnb.runners.processes.reaper import KILL_LIMIT_S, STRAY_GRACE_S
from pixirnb.system import process_marks
from pixirnb.system.process_life import is_alive

T = TypeVar("T")
INSTANCE: Final = secrets.token_hex(8)
"""Name that tells this process from a later one with its id."""

WHOSE: Final = "_pixirnb_children"
"""Attribute of a `threading.Thread` for its `Children`."""

SHARED: Final[set[int]] = set()
"""Processes that serve the whole interpreter: multiprocessing's resource tracker and fork server."""

MOMENT: Final = threading.RLock()
"""Lock held while a mark is set, and by all other threads while they start a process."""

_END_S: Final = 10.0
"""Seconds, in addition to the grace, for runs to come to rest when the step that started them ends."""

_OF_THIS_THREAD: Final = 0x20000000
_OF_ANY_KIND: Final = 0x40000000
"""`__WNOTHREAD` and `__WALL` of Linux's `waitid`, which `os` does not name."""

_TASKS: Final = Path("/proc/self/task")


class Ending(Struct, frozen=True):
    """The end of a step's processes, by process id."""

    left: tuple[int, ...] = ()
    """Ids alive when the ending began."""
    killed: tuple[int, ...] = ()
    """Ids that ignored SIGTERM."""
    survivors: tuple[int, ...] | None = None
    """Ids still found when the limit of SIGKILL was over; None if none is left, empty if that is unknown."""
    runs: int = 0
    """Number of runs that its threads had started."""


class StartedRun(Protocol):
    """The part of a live run that its step needs to end it."""

    @property
    def ended(self) -> threading.Event:
        """Return the event of its rest."""
        ...

    def stop(self, how: Literal["interrupt"]) -> None:
        """Request its end. Returns at once."""
        ...


class Children(Struct, weakref=True):
    """The processes of one attempt that runs in a thread, and in the threads that it starts."""

    tag: str
    """Tag `<run_id>/<step>.<attempt>`, in the environment of each."""
    guard: Callable[[int], None]
    """Makes the supervisor end all processes with this mark when this process dies; returns when it will. Raises OSError."""
    release: Callable[[int], None]
    """Undoes `guard`, without waiting."""
    known: set[int] = field(default_factory=set)
    """Direct children that the step itself has started."""
    owner: int = field(default_factory=os.getpid)
    """Id of this process: a forked copy of it has no steps."""
    has_ended: bool = False
    """True if the step has ended. Set while MOMENT is held."""
    has_begun: bool = False
    _runs: list[StartedRun] = field(default_factory=list)

    @property
    def threads(self) -> set[int]:
        """Return native ids of the step's living threads."""
        ours = (each for each in threading.enumerate() if getattr(each, WHOSE, None) is self)
        return {each.native_id for each in ours if each.native_id is not None}

    @property
    def mark(self) -> int:
        """Return the mark of its processes. Computed on demand: most steps start nothing."""
        return process_marks.mark_of(self.tag, INSTANCE)

    def begin(self) -> None:
        """Prepare the start of a process: it must be found if this one is killed. Raises OSError if it could not.

        Done each time: the supervisor may have ended since.
        """
        self.refuse_late()
        self.guard(self.mark)
        self.has_begun = True

    def refuse_late(self) -> None:
        """Raise OSError once the step has ended: a process of its remaining threads would never be ended."""
        if self.has_ended:
            words = f"{self.tag} has ended; its remaining threads cannot start processes"
            raise OSError(errno.ECANCELED, words)

    def hold_run(self, run: StartedRun) -> None:
        """Take a run that a thread of the step has started."""
        with MOMENT:
            self._runs.append(run)
            is_late = self.has_ended
        if is_late:
            self._end_runs(STRAY_GRACE_S)

    def refuse(self) -> None:
        """Let the threads start no more processes."""
        with MOMENT:
            self.has_ended = True

    def adopt(self, pid: int) -> None:
        """Mark a process that was started without us, and its own children."""
        self.known.add(pid)
        for each in (pid, *process_tree.descendants(pid)):
            process_marks.put_on(each, self.mark)

    def end(self, grace_s: float) -> Ending:
        """End all remaining runs and processes, politely first. Blocks; callable on any thread, and more than once."""
        runs = self._end_runs(grace_s)
        self._adopt_unseen()
        if not self.has_begun:
            return Ending(runs=runs)
        is_ours = process_marks.one_of((self.mark,))
        return Ending(*process_marks.stop(is_ours, grace_s, KILL_LIMIT_S), runs=runs)

    def close(self) -> Ending:
        """End the remaining processes before the step's thread returns, and release the mark."""
        self.refuse()
        ending = self.end(STRAY_GRACE_S)
        if self.has_begun and ending.survivors is None:
            self.release(self.mark)
        return ending

    def _end_runs(self, grace_s: float) -> int:
        with MOMENT:
            runs, self._runs = self._runs, []
        going = [run for run in runs if not run.ended.is_set()]
        for run in going:
            run.stop("interrupt")
        deadline = time.monotonic() + grace_s + _END_S
        for run in going:
            run.ended.wait(max(0.0, deadline - time.monotonic()))
        return len(going)

    def _adopt_unseen(self) -> None:
        """Adopt children that C code forked on the step's threads."""
        here = threading.get_native_id()
        for thread in self.threads:
            for pid in () if thread == here and has_no_children() else children_of(thread):
                if pid not in SHARED and process_marks.worn(pid) != self.mark and is_alive(pid):
                    self.has_begun = True
                    self.adopt(pid)


def children_of_this_thread() -> Children | None:
    """Return what the step of this thread has started; None outside of any step's thread."""
    children: Children | None = getattr(threading.current_thread(), WHOSE, None)
    return children


def outside_steps(call: Callable[[], T]) -> T:
    """Return what `call` returns: on another thread if this one is a step's, for what it starts serves the whole process."""
    thread, children = threading.current_thread(), children_of_this_thread()
    if children is None:
        return call()
    delattr(thread, WHOSE)
    try:
        pool = ThreadPoolExecutor(1)
        done = pool.submit(call)
    finally:
        setattr(thread, WHOSE, children)
    with pool:
        return done.result()


def has_no_children() -> bool:
    """Return True if the calling thread has made no child that is still there; False where the system cannot tell.

    A look at it among the system's files costs a fifth of a short step.
    """
    if sys.platform != "linux":
        return False
    try:
        os.waitid(
            os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT | _OF_THIS_THREAD | _OF_ANY_KIND
        )
    except ChildProcessError:
        return True
    except OSError:
        pass  # a kernel older than these options
    return False


def children_of(thread: int) -> list[int]:
    """Return ids of the children that a thread of this process has made, zombies too; none if it is gone."""
    try:
        listed = os.open(f"/proc/self/task/{thread}/children", os.O_RDONLY)
    except OSError:
        return []  # gone, or a kernel without CONFIG_PROC_CHILDREN
    try:
        return [int(pid) for pid in os.read(listed, 1 << 20).split()]
    except OSError:
        return []
    finally:
        os.close(listed)


def children_of_steps() -> set[int]:
    """Return ids of the living children that steps in threads of this process have made, marked or not."""
    owned = (each for each in threading.enumerate() if getattr(each, WHOSE, None) is not None)
    return {pid for each in owned if each.native_id for pid in children_of(each.native_id)}


def other_threads(those: set[int]) -> set[int]:
    """Return native ids of this process's other threads."""
    return {int(task.name) for task in _TASKS.iterdir()} - those
