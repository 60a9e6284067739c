"""Messages for the end of an attempt's process."""

from __future__ import annotations

import os
import signal
from typing import Final, Literal

from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import Job
from pixirnb.protocols.work import Ended

_LOST: Final = {
    "lost": "the process that watched this step was killed; every process that still bore the step's mark was ended.",
    "supervisor_lost": "the process that supervises all steps died; every process that still bore the step's mark was ended.",
}


def refusal(raised: Exception) -> OSError | None:
    """Return the system's error out of the exception groups of the tasks around it."""
    while isinstance(raised, ExceptionGroup) and len(raised.exceptions) == 1:
        raised = raised.exceptions[0]
    return raised if isinstance(raised, OSError) else None


def not_startable(error: OSError) -> Ended:
    """Return the end of an attempt for which the system gave the engine no process, pipe or socket."""
    message = f"no process could be started for this step: {error.strerror or error}."
    return Ended(
        "failed", error_kind="spawn_failed", message=message, details={"errno": error.errno}
    )


def never_started(limit_s: float, facts: JsonObject, details: JsonObject) -> Ended:
    """Return the end of an attempt whose process id has not come in time."""
    kind, words = "spawn_failed", "nothing was started"
    if facts["strays"]:
        kind, words = "lost", "what had started was ended"
    message = f"no process id came within {limit_s:g} s: {words}."
    return Ended("failed", error_kind=kind, message=message, details=details)


def lost(kind: Literal["lost", "supervisor_lost"], facts: JsonObject, details: JsonObject) -> Ended:
    """Return the end of an attempt whose reaper or supervisor has died."""
    return Ended("failed", error_kind=kind, message=_LOST[kind], details=details, **facts)


def spawn_failed(failure: JsonObject, job: Job) -> Ended:
    """Return the end of an attempt that could not be started."""
    match failure["spawn_failed"]:
        case "cwd":
            message = f"the step's directory cannot be entered: {job.cwd}: {_reason(failure)}."
        case "fork":
            message = f"the system refused a new process: {_reason(failure)}."
        case "exec":
            message = f"the command cannot be run: {_reason(failure)}."
        case _:
            message = f"the step's process could not be prepared: {_reason(failure)}."
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
        message = f"ended by {name}"
        return Ended("failed", error_kind="crash", message=message, details=details, **facts)
    code = facts["exit_code"]
    if code == 0 and is_function:
        message = "the process left with code 0 before the function had returned."
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
