"""Data that an attempt takes over from earlier ones of its step: a person's approvals, and the conversation that waited for
one.

A model's session goes on: the conversation so far, then our message that the person approved. Any other agent starts again, and
an approved call needs no permission any more. Source: contract.md §7, docs/adr/0014-agents-are-sessions.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from msgspec.structs import replace

from pixirnb.errors import PixirnbError
from pixirnb.history.agent_events import PERMISSION_REQUIRED
from pixirnb.history.events import Event
from pixirnb.history.permission_state import PermissionRequest, prior_approvals
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.ids import attempt_name
from pixirnb.json_types import JsonObject
from pixirnb.protocols.ports import RunLog
from pixirnb.protocols.work import AgentWork, Approval
from pixirnb.sessions.events import CONVERSATION


def is_continued(step_id: str, state: StepState, run: RunState) -> bool:
    """Return whether the attempt before this one parked for a permission that it has now."""
    return bool(_answers(step_id, state, run))


def with_grants(work: AgentWork, step_id: str, run: RunState) -> AgentWork:
    """Return the work, with the approvals that hold for the step as it is now."""
    known = prior_approvals(run.permissions, step_id, run.step(step_id))
    granted: dict[str, Approval] = {
        digest: {
            "request_id": known[digest]["request_id"],
            "by": known[digest]["by"],
            "note": known[digest]["note"],
        }
        for digest in sorted(known)
    }
    return replace(work, granted=granted)


def continue_session(
    work: AgentWork, step_id: str, state: StepState, run: RunState, log: RunLog
) -> AgentWork:
    """Return the work, going on with the session that waited, where its kind of agent can. Reads the disk."""
    answers = _answers(step_id, state, run)
    if work.runner != "llm" or not answers:
        return work
    before = attempt_name(step_id, state.attempt - 1)
    try:
        session = log.session(before)
        known = session.held
        session.close()
    except PixirnbError:
        return work  # it cannot be read to its end: what was allowed is known all the same
    history = _conversation(known)
    if not history:
        return work
    return replace(
        work,
        session={**work.session, "continues": before},
        history=history,
        prompt=_compose_message(answers),
    )


def _answers(step_id: str, state: StepState, run: RunState) -> list[PermissionRequest]:
    """Return the requests of the attempt before that were allowed; none where it ended for another reason."""
    before = state.attempt - 1
    last = state.errors[-1] if state.errors else None
    if last is None or last["attempt"] != before or last["kind"] != PERMISSION_REQUIRED:
        return []
    return [
        request
        for request in prior_approvals(run.permissions, step_id, state).values()
        if request["attempt"] == before
    ]


def _conversation(events: Iterable[Event]) -> list[tuple[str, JsonObject]]:
    return [
        (event.kind, event.data)
        for event in events
        if event.kind in CONVERSATION and not event.data.get("partial")
    ]


def _compose_message(answers: list[PermissionRequest]) -> str:
    lines = [
        "A person has approved your request. It has not been executed yet: repeat the call unchanged."
    ]
    for request in answers:
        args = json.dumps(request.get("args"), ensure_ascii=False, sort_keys=True)
        lines.append(f"- `{request.get('tool')}` with {args}")
        if request["note"]:
            lines.append(f"  Their note: {request['note']}")
    lines.append("Then continue with the task and report as instructed.")
    return "\n".join(lines) + "\n"
