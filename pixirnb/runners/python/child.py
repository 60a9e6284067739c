"""The child process of a `process: true` Python step: calls the function, reports its value, exits.

Runs in a fork of the supervisor, in the step's own session, with its directory, environment and pipes in place. The
value is encoded here and signed by the engine: the child must not have the user's key.
"""

from __future__ import annotations

import io
import pickle
import signal
import sys
import types
from typing import Any

from pixirnb.json_types import JsonObject
from pixirnb.runners.processes.frames import FrameWriter
from pixirnb.runners.python import functions, progress, source_loader
from pixirnb.runners.python.loaded_modules import add_to_path
from pixirnb.runners.python.own_process import OwnProcess, flush


def run_function(header: JsonObject, arguments: bytes, report: int) -> int:
    """Call the function in `header` with the pickled `arguments`. Returns the exit code: 0 with a value, 1 without."""
    _look_like_a_program()
    frames = FrameWriter(report)
    progress.listen_in_this_process(
        lambda fraction, message: frames.write("progress", fraction=fraction, message=message)
    )
    add_to_path([header["cwd"], header["workspace"]])
    source_loader.install(is_for_all_threads=True)
    try:
        with OwnProcess():
            given = pickle.loads(arguments)  # noqa: S301 — pickled by our own engine a moment ago
    except BaseException as error:  # noqa: BLE001 — an argument's class may be missing here, or raise anything
        outcome: Any = functions.failure_of(error)
    else:
        outcome = functions.call(
            header["call"],
            given,
            header["source"],
            is_check=header["is_check"],
            holds_unloaded=header["holds_unloaded"],
            may_nest=True,
        )
    if not isinstance(outcome, functions.Failure):
        # The function may have lifted the limit; the engine reads no longer numbers.
        sys.set_int_max_str_digits(sys.int_info.default_max_str_digits)
        outcome = functions.encode(outcome)
    flush()
    if isinstance(outcome, functions.Failure):
        frames.write("error", kind=outcome.kind, message=outcome.message, details=outcome.details)
        return 1
    stored, data = outcome
    frames.write("value", data or b"", stored=stored, has_data=data is not None)
    return 0


def _look_like_a_program() -> None:
    """Set standard streams, signals and `__main__` as for a script of the user."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv[:] = [""]
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 — lives as long as the process
    sys.stdout = _text(1)
    sys.stderr = _text(2)


def _text(descriptor: int) -> io.TextIOWrapper:
    """Return a text stream that flushes every line, so that output is seen as it is produced."""
    raw = open(descriptor, "wb", closefd=False)  # noqa: SIM115 — lives as long as the process
    return io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)
