"""The process of a step, and the copies of it that a function forks.

The frames around a function belong to the step: a forked copy that returned into them would report a value of the
step, or end the step's processes. It ends where it leaves the function, with the exit code that a script would have.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import NoReturn


class OwnProcess:
    """A block of the author's code that only the process that entered it leaves: a forked copy ends there."""

    def __enter__(self) -> None:
        self._pid = os.getpid()

    def __exit__(self, _kind: object, error: BaseException | None, _frames: object) -> None:
        if os.getpid() != self._pid:
            _end_copy(error)


def _end_copy(error: BaseException | None) -> NoReturn:
    """End this forked copy. What it raised is printed, unless it is an exit with a number."""
    code = 1
    try:
        status = error.code if isinstance(error, SystemExit) else error
        if status is None or isinstance(status, int):
            code = (status or 0) & 0xFF
        else:
            traceback.print_exception(error)
        flush()
    finally:
        os._exit(code)


def flush() -> None:
    """Flush standard output and error. A stream of the author's own that cannot be flushed is reported, and fails nothing."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name, None)
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            pass  # closed by the function itself: nothing is left to flush
        except BaseException:  # noqa: BLE001 — the author's own method may raise anything, an exit too
            os.write(2, traceback.format_exc().encode(errors="replace"))
