"""What a run's log knows of permissions, folded: what agents asked for, and what was said to it.

A request belongs to an attempt. Once that is over for another reason, or the step has begun anew, nobody waits for the answer.
Source: contract.md §7 (permissions).
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict, cast

from pixirnb.history.agent_events import ASKED, DECIDED, WANTED, SubagentEvent
from pixirnb.history.step_state import StepState


class PermissionRequest(TypedDict):
    """A request for a permission, folded: data of `permission_requested`, and what was said to it."""

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
    """Static fingerprint of the step that asked: a word holds for the step as it was."""
    is_over: bool
    """A person began the step anew since: a word holds no longer."""
    verdict: str | None
    """`allow` or `deny`; None while it is open."""
    by: str
    note: str


Permissions = dict[str, PermissionRequest]
"""By request id."""


def take_permission(known: Permissions, step: StepState, data: SubagentEvent) -> bool:
    """Fold one event into what is known; True where it decided a request that was open."""
    request_id = data.get("request_id")
    if request_id is None:
        return False
    if data["event"] == ASKED:
        if request_id not in known:
            origin = {"static": _static(step), "is_over": False}
            asked = {**data, **origin, "verdict": None, "by": "", "note": ""}
            known[request_id] = cast("PermissionRequest", asked)
            if step.attempt == data["attempt"] and step.stage in {"scheduled", "running"}:
                step.open_requests.append(request_id)
        return False
    request = known.get(request_id)
    if data["event"] != DECIDED or request is None or request["verdict"] is not None:
        return False  # said twice, or of nothing that was asked: the first word stands
    verdict = data.get("verdict", "")
    said_by, note = data.get("by", ""), data.get("note", "")
    known[request_id] = {**request, "verdict": verdict, "by": said_by, "note": note}
    if request_id in step.open_requests:
        step.open_requests.remove(request_id)
        step.is_permitted = verdict == "allow" and parked_for_permission(step)
    return True


def parked_for_permission(step: StepState) -> bool:
    """Whether the step came to rest for want of a permission, and nobody has decided it otherwise since."""
    is_undecided = step.decision is None
    return step.stage == "settled" and is_undecided and step.error_kind == WANTED


def prior_approvals(known: Permissions, step_id: str, step: StepState) -> Permissions:
    """What a person has allowed a step as it is now, by the digest of the call.

    A word was given to whoever asked: an edited step, another agent of that name included, asks for itself.
    """
    static = _static(step)
    return {
        asked["digest"]: asked
        for asked in known.values()
        if asked["step"] == step_id
        and asked["verdict"] == "allow"
        and asked.get("digest")
        and asked["static"] == static
        and not asked["is_over"]
    }


def end_grants(known: Permissions, step_id: str | None = None) -> None:
    """What was allowed a step, or all steps, is allowed no more: it will ask again."""
    for request_id, asked in known.items():
        if step_id in {None, asked["step"]}:
            known[request_id] = {**asked, "is_over": True}


def _static(step: StepState) -> str | None:
    """What the step says it does, as of its last attempt."""
    return (step.fingerprint or {}).get("static")
