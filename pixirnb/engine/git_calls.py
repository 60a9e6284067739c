"""Git as an attempt calls it: ended with the attempt, and with this process however it dies.

    loop ── `call` ──▶ supervisor gets the mark ──▶ thread ── `Git.run` ──▶ git, tagged and marked
    time-out, cancel ──▶ git has `stop_s` more, then SIGTERM ──▶ Cannot (`git_stopped`): the attempt ends as it was asked to

What a step leaves can keep git busy for ever: a FIFO for a `.gitignore`, a pattern that backtracks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from pixirnb.engine.run_context import Attempt
from pixirnb.errors import Cannot
from pixirnb.ids import attempt_tag
from pixirnb.protocols.ports import Guard, Offload
from pixirnb.runners.processes.process_tree import TAG
from pixirnb.runners.processes.thread_children import INSTANCE
from pixirnb.system import process_marks
from pixirnb.workspace.git.command import CALLER, GitCaller

T = TypeVar("T")


@dataclass(slots=True)
class GitCalls:
    """The calls of git for one attempt. Used on the loop's thread, except for `is_over`."""

    attempt: Attempt
    run_id: str
    offload: Offload
    supervisor: Guard | None = None
    """None where no process is started: in a simulation."""
    stop_s: float = 5.0
    """Seconds that git has when its attempt was stopped: the files of a step that timed out are kept, too."""
    _ends_at: float | None = field(default=None, init=False)

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return what a blocking call returns that may ask git. Raises what it raises, and Cannot (`git_stopped`)."""
        # A mark of its own: that of the attempt may be guarded for a thread that goes on, and must stay so.
        tag = f"{attempt_tag(self.run_id, self.attempt.step.id, self.attempt.number)}/git"
        mark = process_marks.mark_of(tag, INSTANCE)
        if self.supervisor is not None:
            try:
                self.supervisor.guard(mark)
            except OSError as error:
                message = f"git was not started: {error.strerror}"
                raise Cannot(message, code="spawn_failed") from error
        self._ends_at = None
        adopt = partial(_put_on, mark)
        token = CALLER.set(GitCaller({TAG: tag}, adopt, self.is_over))
        try:
            return await self.offload(function, *arguments)
        finally:
            CALLER.reset(token)
            if self.supervisor is not None:
                self.supervisor.release(mark)

    def is_over(self) -> bool:
        """Return whether git has had its time since the attempt was stopped."""
        if self.attempt.stop.reason is None:
            return False
        now = time.monotonic()
        if self._ends_at is None:
            self._ends_at = now + self.stop_s
        return now >= self._ends_at


def _put_on(mark: int, pid: int) -> None:
    process_marks.put_on(pid, mark)
