"""A cell that waits for its run: it ends when the run does, and is an error unless the run ended as it should.

The one place of the package that knows the kernel's event loop. An interrupt reaches an awaiting cell as a cancellation,
and only when the loop wakes up: so the wait ticks. Either way of waiting ends the run in good order first, and lets it
write that down. A bug of ours is one line, never a traceback; an interrupt during a launch waits for the run's view.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Final

from cyclopts.exceptions import CycloptsError
from IPython.core.error import UsageError
from msgspec import Struct

from pixirnb.errors import Cannot, InternalError, InvalidArguments, PixirnbError, RunInterrupted
from pixirnb.notebook.kernel.cell_output import CellOutput
from pixirnb.notebook.kernel.line_args import WaitOptions
from pixirnb.operations.outcome_details import not_completed
from pixirnb.operations.run import Run


@contextlib.contextmanager
def honest() -> Iterator[None]:
    """Let errors meant for the user through; raise InternalError for any other."""
    try:
        yield
    except InvalidArguments as error:
        if isinstance(error.__cause__, CycloptsError):  # as IPython shows a line that is refused
            raise UsageError(f"{error.message}; {error.fix} [{error.code}]") from error
        raise
    except (PixirnbError, UsageError):
        raise
    except Exception as error:
        if os.environ.get("PIXIRNB_DEBUG"):
            traceback.print_exception(error)
        raise InternalError(
            f"internal error in pixirnb: {type(error).__name__}: {error}",
            fix="set PIXIRNB_DEBUG=1 to print the traceback, and report it; the logs on disk are intact",
        ) from error


@contextlib.contextmanager
def interrupt_deferred() -> Iterator[Callable[[], None]]:
    """Hold SIGINT back until the call that is given is made, or the end. Both raise KeyboardInterrupt if one came."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None  # no signal interrupts another thread
        return
    came: list[int] = []
    former = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    is_over = False

    def let_through() -> None:
        nonlocal is_over
        if not is_over:
            is_over = True
            signal.signal(signal.SIGINT, former)
            if came:
                raise KeyboardInterrupt

    try:
        yield let_through
    finally:
        let_through()


_TICK_S: Final = 0.1
_FAREWELL_S: Final = 30.0
"""How long an interrupted run may take to come to rest; its steps' grace and their kill fit in many times over."""


class CellWait(Struct, frozen=True):
    """One cell with one run."""

    run: Run
    options: WaitOptions
    tail: CellOutput
    show: Callable[[], None]
    """Shows how it ended."""
    is_attended: bool = False
    """True if a person sees what is shown; the log of a program has the error alone."""

    async def wait(self) -> None:
        """Wait in a cell that is awaited. Raises RunNotCompleted, RunInterrupted."""
        with honest():
            self._conclude(is_interrupted=await _wait(self.run, self.tail.tell))

    def wait_blocking(self) -> None:
        """Wait in a cell that cannot be awaited. Raises as `wait`."""
        with honest():
            self._conclude(is_interrupted=_wait_blocking(self.run, self.tail.tell))

    def _conclude(self, *, is_interrupted: bool) -> None:
        self.tail.finish()
        self.show()
        outcome = self.run.wait(timeout=0)
        if is_interrupted and outcome.status != "interrupted":
            raise RunInterrupted(
                f"the cell was interrupted when {outcome.run_id} was {outcome.status}: {outcome.summary}",
                fix=f"see it with %pixir show {outcome.run_id}",
                details={"run_id": outcome.run_id, "status": outcome.status},
            )
        if not outcome.ok and (is_interrupted or outcome.status not in self.options.expect):
            raise not_completed(outcome, is_shown=self.is_attended)


async def _wait(run: Run, tick: Callable[[], None]) -> bool:
    """Let the loop breathe until the run is at rest, `tick` ten times a second. True when an interrupt ended it."""
    given_up_at: float | None = None
    while run.is_live_here and (given_up_at is None or time.monotonic() < given_up_at):
        try:
            tick()
            await asyncio.sleep(_TICK_S)
        except (asyncio.CancelledError, KeyboardInterrupt):
            if given_up_at is None:
                given_up_at = time.monotonic() + _FAREWELL_S
                _interrupt(run)
    return given_up_at is not None


def _wait_blocking(run: Run, tick: Callable[[], None]) -> bool:
    """Wait like `_wait`, where nothing can be awaited: a terminal, a function, a magic within a magic."""
    given_up_at: float | None = None
    while run.is_live_here and (given_up_at is None or time.monotonic() < given_up_at):
        try:
            tick()
            if run.live is not None:
                run.live.ended.wait(_TICK_S)
        except KeyboardInterrupt:
            if given_up_at is None:
                given_up_at = time.monotonic() + _FAREWELL_S
                _interrupt(run)
    return given_up_at is not None


def _interrupt(run: Run) -> None:
    try:
        run.interrupt()
    except Cannot:
        return  # it came to rest by itself in this very moment
