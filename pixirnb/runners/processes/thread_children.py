"""What a step that runs in a thread has started: told apart by its mark, and ended with the step.

    step thread ── starts (`thread_starts.py`) ──▶ `begin`: the supervisor is told the mark ──▶ process, tagged and marked
    returned, raised, timed out, cancelled ──▶ `end`: SIGTERM, the grace, SIGKILL until nothing bears the mark

Nothing is watched meanwhile, and a step that starts nothing costs one look at its thread's own children.
"""

from __future__ import annotations

import errno
import os
import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pixirnb.runners.processes import process_tree
from pixirnb.runners.processes.reaper import KILL_LIMIT_S, STRAY_GRACE_S
from pixirnb.system import process_marks

INSTANCE: Final = secrets.token_hex(8)
"""Tells this process from another that bears its id."""

WHOSE: Final = "_pixirnb_children"
"""Attribute of a `threading.Thread`: the `Children` that it starts."""

SHARED: Final[set[int]] = set()
"""What serves the whole interpreter whoever was first to need it: multiprocessing's tracker of resources, its fork server."""

MOMENT: Final = threading.RLock()
"""Held while a mark is worn, and by everybody else while they start a process."""

_TASKS: Final = Path("/proc/self/task")


@dataclass(frozen=True, slots=True)
class Ending:
    """What was found when a step's processes were ended, by process id."""

    left: tuple[int, ...] = ()
    """Alive when the ending began."""
    killed: tuple[int, ...] = ()
    """Those that politeness did not move."""
    survivors: tuple[int, ...] = ()
    """Those that not even SIGKILL has ended."""


@dataclass(slots=True, weakref_slot=True)
class Children:
    """The processes of one attempt that runs in a thread, and in the threads that it starts."""

    tag: str
    """`<run_id>/<step>.<attempt>`, in the environment of each."""
    guard: Callable[[int], None]
    """Have the supervisor end what bears this mark when this process dies; returns when that is so. Raises OSError."""
    release: Callable[[int], None]
    """The opposite; nobody waits for it."""
    known: set[int] = field(default_factory=set)
    """Direct children that the step itself has started."""
    owner: int = field(default_factory=os.getpid)
    """A forked copy of this process has no steps."""
    has_ended: bool = False
    """The step has ended. Set while MOMENT is held."""
    has_begun: bool = False

    @property
    def threads(self) -> set[int]:
        """Native ids of the step's living threads."""
        ours = (each for each in threading.enumerate() if getattr(each, WHOSE, None) is self)
        return {each.native_id for each in ours if each.native_id is not None}

    @property
    def mark(self) -> int:
        """What each of them wears. Worked out when asked for: most steps start nothing."""
        return process_marks.mark_of(self.tag, INSTANCE)

    def begin(self) -> None:
        """Before a process is started: whoever kills this one must find it. Raises OSError where nobody would.

        Asked each time: the supervisor may have ended since.
        """
        self.refuse_late()
        self.guard(self.mark)
        self.has_begun = True

    def refuse_late(self) -> None:
        """Raise OSError once the step has ended: what a thread that it left behind starts would be ended by nobody."""
        if self.has_ended:
            words = f"{self.tag} has ended: a thread that it left behind starts no more processes"
            raise OSError(errno.ECANCELED, words)

    def adopt(self, pid: int) -> None:
        """Mark a process that was started without us, and what it has started meanwhile."""
        self.known.add(pid)
        for each in (pid, *process_tree.descendants(pid)):
            process_marks.put_on(each, self.mark)

    def end(self, grace_s: float) -> Ending:
        """End all that is left, politely first. Blocks; called on any thread, and twice does no harm."""
        self._adopt_unseen()
        if not self.has_begun:
            return Ending()
        is_ours = process_marks.one_of((self.mark,))
        return Ending(*process_marks.stop(is_ours, grace_s, KILL_LIMIT_S))

    def close(self) -> Ending:
        """The step's thread is about to return: end what is left, and have nobody look for it any more."""
        with MOMENT:
            self.has_ended = True
        ending = self.end(STRAY_GRACE_S)
        if self.has_begun and not ending.survivors:
            self.release(self.mark)
        return ending

    def _adopt_unseen(self) -> None:
        """C code forks as it likes: what it started on the step's threads are those threads' children all the same."""
        for thread in self.threads:
            for pid in children_of(thread):
                if (
                    pid not in SHARED
                    and process_marks.worn(pid) != self.mark
                    and process_tree.is_alive(pid)
                ):
                    self.has_begun = True
                    self.adopt(pid)


def children_of(thread: int) -> list[int]:
    """Ids of the children that a thread of this process has made, zombies too; none where it is gone."""
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
    """Ids of the living children that steps in threads of this process have made, marked or not."""
    owned = (each for each in threading.enumerate() if getattr(each, WHOSE, None) is not None)
    return {pid for each in owned if each.native_id for pid in children_of(each.native_id)}


def threads_beside(those: set[int]) -> set[int]:
    """Native ids of this process's threads but for those."""
    return {int(task.name) for task in _TASKS.iterdir()} - those
