"""How an attempt ended, in words: what a stop means to a person stands in one place, for the run's log and the session's."""

from __future__ import annotations

import traceback
from dataclasses import replace
from typing import Any, Final

from pixirnb.runners.masking import Mask
from pixirnb.work import Ended

SUMMARY_LIMIT: Final = 2000
"""Characters of a summary, and of the message of an error."""

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


def error_of(
    ended: Ended, mask: Mask, timeout_ms: int | None, elapsed_ms: int
) -> dict[str, Any] | None:
    """The error of an attempt as the log has it; None for a clean end."""
    if ended.status == "completed":
        return None
    told = worded(ended, timeout_ms=timeout_ms, elapsed_ms=elapsed_ms)
    return {
        "kind": told.error_kind or "failed",
        "message": mask.beginning(told.message, SUMMARY_LIMIT),
        "details": mask.data(dict(told.details)),
    }
