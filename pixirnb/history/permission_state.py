"""Folded state of permissions: the requests of agents, and how each was decided.

A request belongs to an attempt. Once that attempt is over for another reason, or the step has begun again, no process waits for
the answer. Source: contract.md §7 (permissions).
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict, cast

from pixirnb.history.agent_events import (
    PERMISSION_DECIDED,
    PERMISSION_REQUESTED,
    PERMISSION_REQUIRED,
    SubagentEvent,
)
from pixirnb.history.step_state import StepState


class PermissionRequest(TypedDict):
    """A folded request for a permission: data of `permission_requested`, and its decision."""

    event: str
    step: str
    attempt: int
    session_id: str
    request_id: str
    agent: NotRequired[str | None]
    tool: NotRequired[str]
    args: NotRequired[Any]
    digest: NotRequired[str]
    why: NotRequired[str]
    static: str | None
    """Static fingerprint of the requesting step: a decision holds for the step as it was."""
    is_over: bool
    """True once a person began the step again: the decision holds no longer."""
    verdict: str | None
    """`allow` or `deny`; None while the request is open."""
    by: str
    note: str


Permissions = dict[str, PermissionRequest]
"""Requests by id."""


def take_permission(known: Permissions, step: StepState, data: SubagentEvent) -> bool:
    """Fold one event into `known`; return True if it decided a request that was open."""
    request_id = data.get("request_id")
    if request_id is None:
        return False
    if data["event"] == PERMISSION_REQUESTED:
        if request_id not in known:
            origin = {"static": _static(step), "is_over": False}
            opened = {**data, **origin, "verdict": None, "by": "", "note": ""}
            known[request_id] = cast("PermissionRequest", opened)
            if step.attempt == data["attempt"] and step.stage in {"scheduled", "running"}:
                step.open_requests.append(request_id)
        return False
    request = known.get(request_id)
    if data["event"] != PERMISSION_DECIDED or request is None or request["verdict"] is not None:
        return False  # said twice, or of nothing that was asked: the first word stands
    verdict = data.get("verdict", "")
    author, note = data.get("by", ""), data.get("note", "")
    known[request_id] = {**request, "verdict": verdict, "by": author, "note": note}
    if request_id in step.open_requests:
        step.open_requests.remove(request_id)
        step.is_permitted = verdict == "allow" and parked_for_permission(step)
    return True


def parked_for_permission(step: StepState) -> bool:
    """Return whether the step came to rest for want of a permission, and has not been decided since."""
    is_undecided = step.decision is None
    return step.stage == "settled" and is_undecided and step.error_kind == PERMISSION_REQUIRED


def prior_approvals(known: Permissions, step_id: str, step: StepState) -> Permissions:
    """Return the approvals that hold for a step as it is now, by the digest of the call.

    An approval holds for the step that requested it: an edited step, another agent of that name included, requests its own.
    """
    static = _static(step)
    return {
        request["digest"]: request
        for request in known.values()
        if request["step"] == step_id
        and request["verdict"] == "allow"
        and request.get("digest")
        and request["static"] == static
        and not request["is_over"]
    }


def end_grants(known: Permissions, step_id: str | None = None) -> None:
    """End the approvals of a step, or of all steps: later attempts request them again."""
    for request_id, request in known.items():
        if step_id in {None, request["step"]}:
            known[request_id] = {**request, "is_over": True}


def _static(step: StepState) -> str | None:
    """Return the static fingerprint of the step's last attempt."""
    return (step.fingerprint or {}).get("static")
