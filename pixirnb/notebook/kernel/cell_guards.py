"""Guards of a cell: a bug of ours is one line, never a traceback; an interrupt during a launch waits for the run's view."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator

from cyclopts.exceptions import CycloptsError
from IPython.core.error import UsageError

from pixirnb.errors import InternalError, InvalidArguments, PixirnbError


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
