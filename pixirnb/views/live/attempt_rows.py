"""Attempts as a panel lists them: how each looks by itself, why it is not ready, and what followed it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pixirnb.history.events import ErrorData
from pixirnb.json_types import JsonMapping, PageObject
from pixirnb.views.basics.phrases import error_phrase
from pixirnb.views.basics.sanitize import line, plain
from pixirnb.views.basics.status_marks import Mark, step_mark
from pixirnb.views.live.attempt_history import PastAttempt

_LISTED: Final = 100


def attempt_documents(made: Sequence[PastAttempt], *, is_live: bool) -> list[PageObject]:
    """Return the last hundred attempts, oldest first. `is_live`: whether the run was driven then."""
    shown = list(made[-_LISTED:])
    last = len(shown) - 1
    return [
        _document(each, is_over=position < last or not is_live)
        for position, each in enumerate(shown)
    ]


def error_document(error: ErrorData) -> dict[str, str]:
    """Return `{kind, message}` of an error."""
    return {
        "kind": line(error["kind"] or "error", 60),
        "message": plain(error["message"], 2_000),
    }


def count_of(value: Any) -> int | None:
    """Return a number that a hostile log may have made something else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _document(made: PastAttempt, *, is_over: bool) -> PageObject:
    ended: JsonMapping = {**made.ended} if made.ended is not None else {}
    log = ended.get("output_log")
    status = _status(made, is_over=is_over)
    return {
        "attempt": made.attempt,
        "course": made.incarnation,
        "mark": _mark(made, status).document(),
        "status": status,
        "error": error_phrase(made.error, 2_000),
        "scheduled_at": _at(made.scheduled_at),
        "started_at": _at(made.started_at),
        "ended_at": _at(made.ended_at),
        "elapsed_ms": ended.get("elapsed_ms"),
        "timeout_ms": made.timeout_ms,
        "retry": None
        if made.retry is None
        else {
            "class": line(made.retry["retry_class"], 40),
            "delay_ms": made.retry["delay_ms"],
            "by": line(made.retry["by"], 80) if made.retry["by"] else None,
        },
        "checkpoint_status": None if made.verdict is None else line(made.verdict["status"], 40),
        "exit_code": ended.get("exit_code"),
        "signal": ended.get("signal"),
        "summary": line(ended.get("summary") or "", 2_000),
        "output": None
        if not isinstance(log, Mapping)
        else {"bytes": count_of(log.get("bytes")), "truncated": log.get("truncated") is True},
    }


def _at(moment: str | None) -> str | None:
    return None if moment is None else line(moment, 40)


def _status(made: PastAttempt, *, is_over: bool) -> str:
    if made.ended is not None:
        return line(made.ended["status"], 40)
    if made.is_lost or is_over:
        return "lost"
    return "queued" if made.started_at is None else "running"


def _mark(made: PastAttempt, status: str) -> Mark:
    verdict = None if made.verdict is None else made.verdict["status"]
    if verdict is None and (made.retry is not None or (made.ended and status != "completed")):
        verdict = "failed"
    return step_mark({"checkpoint_status": verdict, "subagent_status": status})
