"""Answers of a person to requests for permissions, and the commands that answer a request that is open.

Allowed while the attempt waits: it goes on. Allowed once the step has come to rest for want of it: the step runs again, and
this very call needs no permission any more. Denied then: the step is decided with it, as by a rejection. Source: contract.md
§7.
"""

from __future__ import annotations

from typing import Literal

from pixirnb.errors import InvalidArguments
from pixirnb.history.agent_events import PERMISSION_DECIDED
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import DecisionRecorded, ErrorData, SubagentEvent
from pixirnb.history.permission_state import parked_for_permission
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.machine.outcome_documents import OpenRequest
from pixirnb.wording import join_names


def answer_permission(
    run: RunState,
    request_id: str,
    verdict: Literal["allow", "deny"],
    *,
    by: str,
    note: str,
    request: str,
) -> tuple[EventDraft, ...]:
    """Return the drafts of a person's answer to a request. Raises InvalidArguments for an unknown or closed request."""
    permission = run.permissions.get(request_id)
    if permission is None:
        raise InvalidArguments(
            f"unknown request `{request_id:.160}` of {run.run_id}",
            fix=_open_ones(run),
            code="unknown_request",
        )
    if permission["verdict"] is not None:
        word = "allowed" if permission["verdict"] == "allow" else "denied"
        raise InvalidArguments(
            f"`{request_id}` is already {word} by {permission['by']}",
            fix=f"show the step: `pixirnb show {run.run_id} {permission['step']}`",
            code="answered_already",
        )
    step = run.steps.get(permission["step"])
    if step is None or request_id not in step.open_requests:
        raise InvalidArguments(
            f"`{request_id}` is outdated: attempt {permission['attempt']} of `{permission['step']}` has ended",
            fix=_fix_outdated(run, permission["step"]),
            code="request_outdated",
        )
    answer: SubagentEvent = {
        "event": PERMISSION_DECIDED,
        "step": permission["step"],
        "attempt": permission["attempt"],
        "session_id": permission["session_id"],
        "agent": permission.get("agent"),
        "request_id": request_id,
        "verdict": verdict,
        "by": by,
        "note": note,
        "request": request,
    }
    drafts = [EventDraft("subagent_event", answer)]
    if verdict == "deny" and parked_for_permission(step):
        rejected: DecisionRecorded = {
            "step": permission["step"],
            "attempt": permission["attempt"],
            "verdict": "reject",
            "value": None,
            "note": note,
            "by": by,
            "request_id": request,
            "permission": request_id,
        }
        drafts.append(EventDraft("decision_recorded", rejected))
    return tuple(drafts)


def open_requests(run: RunState, step: StepState) -> list[OpenRequest]:
    """Return what the agent of a step asks to be allowed."""
    requests = [run.permissions[request_id] for request_id in step.open_requests]
    return [
        {"request_id": each["request_id"], "tool": each.get("tool"), "args": each.get("args")}
        for each in requests
    ]


def refusal(request_id: str, note: str) -> ErrorData:
    """Return the error of a step to which a person denied a permission that it needed."""
    note = note or "no reason given"
    return {
        "kind": "permission_denied",
        "message": f"permission denied: {note}",
        "details": {"request_id": request_id},
    }


def _fix_outdated(run: RunState, name: str) -> str:
    """Return the fix for an answer to an attempt that is over: where the step is to run again, its agent asks again."""
    step = run.steps.get(name)
    if step is None or step.checkpoint_status == "checkpoint_ready" or run.open_permissions(name):
        return _open_ones(run)
    again = f" --from {name}" if step.decided else ""
    # Whether somebody drives the run now, no log tells.
    return f"resume the run, and its agent asks again: `pixirnb resume {run.run_id}{again}`"


def _open_ones(run: RunState) -> str:
    waiting = [permission["request_id"] for permission in run.open_permissions()]
    if not waiting:
        return "this run has no open request"
    return "open requests: " + join_names(waiting, 4)
