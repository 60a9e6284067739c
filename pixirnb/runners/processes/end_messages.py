"""Messages for the end of an attempt's process."""

from __future__ import annotations

import errno
import os
import signal
from typing import Final, Literal

from pixirnb.errors import PixirnbError
from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import Job
from pixirnb.protocols.work import Ended

_LOST: Final = {
    "lost": "the process that watches this step was killed; all remaining processes of the step were stopped",
    "supervisor_lost": "the process that supervises all steps died; all remaining processes of the step were stopped",
}
_NOT_RUN: Final = {
    errno.ENOENT: "command not found",
    errno.EACCES: "command not executable",
}


def refusal(raised: Exception) -> OSError | None:
    """Return the system's error out of the exception groups of the tasks around it."""
    while isinstance(raised, ExceptionGroup) and len(raised.exceptions) == 1:
        raised = raised.exceptions[0]
    return raised if isinstance(raised, OSError) else None


def not_startable(error: OSError) -> Ended:
    """Return the end of an attempt for which the system gave the engine no process, pipe or socket."""
    message = f"no process could be started for this step: {error.strerror or error}"
    return Ended(
        "failed", error_kind="spawn_failed", message=message, details={"errno": error.errno}
    )


def never_started(limit_s: float, facts: JsonObject, details: JsonObject) -> Ended:
    """Return the end of an attempt whose process id has not come in time."""
    kind, message = "spawn_failed", f"the step did not start within {limit_s:g} s"
    if facts["strays"]:
        kind = "lost"
        message = (
            f"the step did not say within {limit_s:g} s that it started; its processes were stopped"
        )
    return Ended("failed", error_kind=kind, message=message, details=details)


def unreadable(error: Exception, facts: JsonObject) -> Ended:
    """Return the end of an attempt whose report is none; raise what the disk, or a limit, had against it."""
    if isinstance(error, PixirnbError):
        raise error
    message = "the report of the step's process cannot be read"
    return Ended("failed", error_kind="report_unreadable", message=message, **facts)


def lost(kind: Literal["lost", "supervisor_lost"], facts: JsonObject, details: JsonObject) -> Ended:
    """Return the end of an attempt whose reaper or supervisor has died."""
    return Ended("failed", error_kind=kind, message=_LOST[kind], details=details, **facts)


def spawn_failed(failure: JsonObject, job: Job) -> Ended:
    """Return the end of an attempt that could not be started."""
    match failure["spawn_failed"]:
        case "cwd":
            message = f"cannot enter the folder of the step: {job.cwd}: {_reason(failure)}"
        case "fork":
            message = f"the system refused a new process: {_reason(failure)}"
        case "exec":
            what = _NOT_RUN.get(failure["errno"], "the command cannot be run")
            message = f"{what}: {failure.get('command') or _reason(failure)}"
            if what not in _NOT_RUN.values():
                message = f"{what}: {_reason(failure)}"
        case _:
            message = f"the process of the step could not be prepared: {_reason(failure)}"
    return Ended(
        "failed",
        error_kind="spawn_failed",
        message=message,
        details={"errno": failure["errno"], "phase": failure["spawn_failed"]},
    )


def _reason(failure: JsonObject) -> str:
    number, command = failure["errno"], failure.get("command")
    reason = os.strerror(number) if number is not None else failure["reason"]
    return f"{command}: {reason}" if command else reason


def by_status(facts: JsonObject, details: JsonObject, *, is_function: bool) -> Ended:
    """Return an end described by its exit status only."""
    if facts["signal"] is not None:
        name = _signal_name(facts["signal"])
        message = f"killed by {name}"
        return Ended("failed", error_kind="crash", message=message, details=details, **facts)
    code = facts["exit_code"]
    if code == 0 and is_function:
        message = "the process exited with code 0 before the function returned"
        return Ended("failed", error_kind="exit", message=message, details=details, **facts)
    if code == 0:
        return Ended("completed", details=details, **facts)
    message = f"exited with code {code}" if code is not None else "ended without a status"
    return Ended("failed", error_kind="exit", message=message, details=details, **facts)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
