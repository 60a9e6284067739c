"""The documents of a live view that are about the whole run: heading, controls, forecast of a resume, log in lines,
and the next actions of a person: the phrase, the cell to run, and the message its button sends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from pixirnb.history.events import Event, ResumeStep, SavedCheckpoint, WarningRaised
from pixirnb.history.run_state import RunState
from pixirnb.json_types import PageObject
from pixirnb.machine.outcome_documents import NextAction, RunDocument
from pixirnb.machine.outcome_summary import NOTES
from pixirnb.views.basics.phrases import (
    action_phrase,
    clashing,
    has_stopped_steps,
    mark_placeholders,
    needs_edit,
    partial_steps,
    reason_phrase,
)
from pixirnb.views.basics.sanitize import line
from pixirnb.views.basics.status_marks import run_mark
from pixirnb.views.files.changes import merge_documents
from pixirnb.views.files.seams import seam_documents
from pixirnb.views.run.event_lines import event_line
from pixirnb.views.run.resume_preview import RERUNS, forecast, sentence, steps_to_run

Message = PageObject

_LISTED: Final = 40
_RESUME_REQUESTS: Final = frozenset({"retry_failed_steps", "resume_run"})


def action_documents(
    actions: Iterable[NextAction],
    *,
    is_live: bool,
    is_past: bool,
    clashing: Collection[str] = (),
    partial: Sequence[str] = (),
    has_stopped: bool = False,
) -> list[PageObject]:
    """Return `next_actions` with their phrases, wishes and previews. What was offered in the past has no button.

    `clashing`, `partial` and `has_stopped` are those of `action_phrase`.
    """
    return [
        {
            "action": line(action.get("action"), 40),
            "step": line(action["step"], 80) if action.get("step") else None,
            "phrase": action_phrase(action, clashing, partial, has_stopped=has_stopped),
            "cell": line(mark_placeholders(action.get("cell") or ""), 400),
            "wish": None if is_past else _request(action, is_live=is_live),
            "forecast": None if is_past or is_live else _forecast(action),
        }
        for action in list(actions)[:_LISTED]
    ]


def resume_request(**choice: str | None) -> Message:
    """Return the message that resumes: `from_step`, `only`, `until` and `checkpoint`, as far as they are given."""
    return {"do": "resume", **_named(choice)}


def resume_forecast(**choice: str | None) -> Message:
    """Return the message that shows what the same resume would do."""
    return {"ask": "forecast", **_named(choice)}


def _request(action: NextAction, *, is_live: bool) -> Message | None:
    """Return the message of a button; None for what no button can do: edit the workflow, or resume a run that is under way."""
    name, step = action.get("action"), action.get("step")
    if name == "decide_step":
        return {"do": "decide", "step": step}
    if name == "abort":
        return {"do": "cancel"}
    if name == "merge_changes":
        return {"do": "merge", "steps": []}
    if is_live or needs_edit(action):
        return None
    if name in _RESUME_REQUESTS:
        return resume_request()
    return resume_request(from_step=step) if name == "rerun_step" else None


def _forecast(action: NextAction) -> Message | None:
    name = action.get("action")
    if needs_edit(action):
        return None
    if name in _RESUME_REQUESTS:
        return resume_forecast()
    return resume_forecast(from_step=action.get("step")) if name == "rerun_step" else None


def _named(choice: Mapping[str, str | None]) -> Message:
    return {
        name.removesuffix("_step"): value for name, value in choice.items() if value is not None
    }


_CHECKPOINTS: Final = 100
_IN_HEADING: Final = 12
_DECISIONS: Final = frozenset({"decide_step", "approve_request"})
_RESUMES: Final = frozenset({"retry_failed_steps", "resume_run", "rerun_step", "raise_timeout"})


def controls(
    outcome: RunDocument, run: RunState, *, live: str, is_past: bool, folder: str
) -> PageObject:
    """Return the run as its controls show it. `live`: `here`, `elsewhere` or empty; `folder`: where it lies."""
    status = outcome["status"]
    is_damaged = any(reason.get("code") == "log_damaged" for reason in outcome["reasons"])
    is_live = bool(live) and not is_past
    can_go_on = not (live or is_past or is_damaged)
    offered = {each["action"] for each in outcome["next_actions"]}
    # A resume of a run that only waits for a person would ask again.
    is_asking = bool(offered & _DECISIONS) and not offered & _RESUMES
    return {
        "run_id": run.run_id,
        "workflow": line(run.workflow, 80),
        "seq": run.seq,
        "is_past": is_past,
        "mark": run_mark(status).document(),
        "sentence": line(outcome["summary"], 600),
        "reasons": [reason_phrase(each) for each in outcome["reasons"][:_LISTED]],
        "warnings": [_warning(each) for each in outcome["warnings"][:_LISTED]],
        "checkpoints": [
            _checkpoint(each, can_fork=not is_damaged)
            for each in run.checkpoints[: -_CHECKPOINTS - 1 : -1]
        ],
        "seams": seam_documents(list(run.seams.values()), can_resolve=not (is_past or is_damaged)),
        "merges": _merges(run, can_undo=not (is_past or is_damaged)),
        "actions": action_documents(
            outcome["next_actions"],
            is_live=bool(live),
            is_past=is_past or is_damaged,
            clashing=clashing(outcome),
            partial=partial_steps(outcome),
            has_stopped=has_stopped_steps(outcome),
        ),
        "can": {
            "cancel": is_live or (can_go_on and run.finished is None),
            "drain": is_live,
            "checkpoint": not is_past and not is_damaged,
            "resume": can_go_on and not is_asking,
        },
        "live": live,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "elapsed_ms": outcome["elapsed_ms"],
        "courses": run.courses,
        "folder": line(folder, 1_000),
    }


def forecast_document(
    run_id: str, entries: Iterable[ResumeStep], choice: Mapping[str, str | None]
) -> PageObject:
    """Return the forecast of a resume, as `views.run.resume_preview` groups it.

    `choice`: `from_step`, `only`, `until`, `checkpoint`.
    """
    entries = list(entries)
    groups = forecast(entries)
    return {
        "run_id": run_id,
        "sentence": sentence(groups),
        "groups": [
            {
                "mark": mark.document(),
                "count": sum(row.count for row in rows),
                "rows": [
                    {
                        "why": row.why,
                        "because": list(row.because),
                        "count": row.count,
                        "steps": list(row.steps),
                    }
                    for row in rows[:_LISTED]
                ],
            }
            for mark, rows in groups
        ],
        "runs": steps_to_run(entries),
        "is_nothing": not any(mark in RERUNS for mark, _ in groups),
        "wish": resume_request(**choice),
    }


def log_document(events: Sequence[Event], first: int, limit: int) -> PageObject:
    """Return events from the sequence number `first` on, a line each."""
    start = max(first, 1) - 1
    shown = events[start : start + limit]
    after = start + len(shown)
    return {
        "events": [
            {
                "seq": event.seq,
                "at": line(event.at, 40),
                "kind": line(event.kind, 40),
                "step": line(event.data["step"], 80)
                if isinstance(event.data.get("step"), str)
                else None,
                "line": line(event_line(event), 600),
            }
            for event in shown
        ],
        "next": after + 1 if after < len(events) else None,
        "count": len(events),
    }


def _merges(run: RunState, *, can_undo: bool) -> list[PageObject]:
    """Return the merges, newest first; the last that stands has the wish that takes it back."""
    return [
        {
            "merge": line(merge["merge"], 80),
            "step": line(merge["step"] or "", 80),
            "by": line(merge["by"], 80),
            "undoes": line(merge["undoes"] or "", 80),
            "steps": [line(step, 80) for step in merge["steps"][:_LISTED]],
            "phrase": merge["phrase"],
            "undone": merge["undone"],
            "wish": {"do": "merge", "undo": True} if can_undo and merge["is_last"] else None,
        }
        for merge in merge_documents(run)[: -_LISTED - 1 : -1]
    ]


def _warning(entry: WarningRaised) -> PageObject:
    step = entry.get("step")
    return {
        "code": line(entry.get("code"), 60),
        "text": line(entry.get("message") or "", 600),
        "step": line(step, 80) if step else None,
    }


def _checkpoint(entry: SavedCheckpoint, *, can_fork: bool) -> PageObject:
    return {
        "name": line(entry.get("name"), 80),
        "seq": entry.get("seq"),
        "at": line(entry.get("at") or "", 40),
        "reason": line(entry.get("reason"), 20),
        "note": line(entry.get("note") or "", 600),
        "ready": len(entry.get("ready") or []),
        "forecast": resume_forecast(checkpoint=entry.get("name")) if can_fork else None,
    }


def heading(document: RunDocument, *, live: str, now_ms: int) -> PageObject:
    """Return the status, reasons, warnings and next actions of a `RunOutcome.document()`.

    `live`: `here`, `elsewhere` or empty; `now_ms`: since the run's first event. `has_note`: the sentence says more than counts.
    """
    return {
        "status": document["status"],
        "cell": f"%pixir show {document['run_id']}",
        "sentence": line(document["summary"], 600),
        "has_note": any(reason["code"] in NOTES for reason in document["reasons"]),
        "reasons": [reason_phrase(reason) for reason in document["reasons"][:_IN_HEADING]],
        "warnings": [
            {"text": line(warning.get("message", ""), 300), "step": warning.get("step")}
            for warning in document["warnings"][:_IN_HEADING]
        ],
        "actions": [
            {
                "phrase": action_phrase(
                    action,
                    clashing(document),
                    partial_steps(document),
                    has_stopped=has_stopped_steps(document),
                ),
                "cell": line(mark_placeholders(action.get("cell", "")), 300),
            }
            for action in document["next_actions"][:_IN_HEADING]
        ],
        "elapsed_ms": document["elapsed_ms"],
        "live": live,
        "now": now_ms,
    }
