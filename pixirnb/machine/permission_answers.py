"""What follows from a person's word on what an agent asked to be allowed, and what a step that waits for one asks of people.

Allowed while the attempt waits: it goes on. Allowed once the step has come to rest for want of it: the step runs again, and
this very call needs no leave any more. Denied then: the step is decided with it, as by a rejection. Source: contract.md §7.
"""

from __future__ import annotations

from typing import Literal

from pixirnb.errors import InvalidArguments
from pixirnb.history.agent_events import DECIDED
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import DecisionRecorded, ErrorData, SubagentEvent
from pixirnb.history.permission_state import parked_for_permission
from pixirnb.history.run_state import RunState


def answer_permission(
    run: RunState,
    request_id: str,
    verdict: Literal["allow", "deny"],
    *,
    by: str,
    note: str,
    request: str,
) -> tuple[EventDraft, ...]:
    """The facts of a person's word on a request. Raises InvalidArguments where it is none, or waits for none."""
    asked = run.permissions.get(request_id)
    if asked is None:
        raise InvalidArguments(
            f"Nobody asked `{request_id:.160}` of {run.run_id}.",
            fix=_open_ones(run),
            code="unknown_request",
        )
    if asked["verdict"] is not None:
        raise InvalidArguments(
            f"`{request_id}` has been answered already ({asked['verdict']}, by {asked['by']}).",
            fix=f"See what came of it: `pixirnb show {run.run_id} {asked['step']}`.",
            code="answered_already",
        )
    step = run.steps.get(asked["step"])
    if step is None or request_id not in step.open_requests:
        raise InvalidArguments(
            f"Nobody waits for an answer to `{request_id}`: attempt {asked['attempt']} of `{asked['step']}` is over.",
            fix=_asks_anew(run, asked["step"]),
            code="request_outdated",
        )
    said: SubagentEvent = {
        "event": DECIDED,
        "step": asked["step"],
        "attempt": asked["attempt"],
        "session_id": asked["session_id"],
        "agent": asked.get("agent"),
        "request_id": request_id,
        "verdict": verdict,
        "by": by,
        "note": note,
        "request": request,
    }
    facts = [EventDraft("subagent_event", said)]
    if verdict == "deny" and parked_for_permission(step):
        rejected: DecisionRecorded = {
            "step": asked["step"],
            "attempt": asked["attempt"],
            "verdict": "reject",
            "value": None,
            "note": note,
            "by": by,
            "request_id": request,
            "permission": request_id,
        }
        facts.append(EventDraft("decision_recorded", rejected))
    return tuple(facts)


def refusal(request_id: str, note: str) -> ErrorData:
    """The error of a step that a person did not allow what it needed."""
    note = note or "no reason given"
    return {
        "kind": "permission_denied",
        "message": f"A person did not allow what it needed: {note}",
        "details": {"request_id": request_id},
    }


def _asks_anew(run: RunState, name: str) -> str:
    """What to do where an attempt is over whose agent asked: where it is to be made again, its agent asks again."""
    step = run.steps.get(name)
    if step is None or step.checkpoint_status == "checkpoint_ready" or run.open_permissions(name):
        return _open_ones(run)
    again = f" --from {name}" if step.decided else ""
    # Whether somebody drives the run now, no log tells.
    return f"Where nobody drives the run, resume it: its agent asks anew. `pixirnb resume {run.run_id}{again}`"


def _open_ones(run: RunState) -> str:
    waiting = [asked["request_id"] for asked in run.open_permissions()]
    if not waiting:
        return "No request of this run waits for an answer."
    return "Waiting for an answer: " + ", ".join(waiting[:4]) + "."
