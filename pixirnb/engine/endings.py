"""How an attempt ended, in words: what a stop means to a person stands in one place, for the run's log and the session's."""

from __future__ import annotations

import traceback
from dataclasses import replace
from typing import Final

from pixirnb.work import Ended

_STOPPED: Final[dict[str, tuple[str, str]]] = {
    "timed_out": ("timeout", "It was not done within its time-out of {limit} and was ended."),
    "cancelled": ("cancelled", "It was cancelled by the operator."),
    "interrupted": ("interrupted", "It was interrupted by the operator."),
}


def bug(error: Exception) -> Ended:
    """The end that a bug of ours makes, with the last of its traceback."""
    trace = "".join(traceback.format_exception(error))[-2000:]
    message = f"pixirnb failed while running this step: {type(error).__name__}: {error}"
    return Ended("failed", "internal_error", message, {"traceback": trace})


def worded(ended: Ended, *, timeout_ms: int | None, elapsed_ms: int) -> Ended:
    """The same end, with a kind and a sentence where the runner knew only that it was to stop."""
    if ended.status in _STOPPED:
        kind, sentence = _STOPPED[ended.status]
        message = sentence.format(limit=f"{(timeout_ms or 0) / 1000:g} s")
        if ended.status == "timed_out" and (timeout_ms is None or elapsed_ms < timeout_ms):
            message = "The time-out of the whole run was over, and it was ended with it."
        return replace(ended, error_kind=kind, message=message)
    if ended.status == "detached":
        message = ended.message or "Its thread cannot be ended and goes on by itself."
        return replace(ended, error_kind="detached", message=message)
    return ended
