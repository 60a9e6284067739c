"""Permission requests of agents: for a panel exactly what it is, what was answered and what each button would say; for a
terminal one line.
"""

from __future__ import annotations

from typing import Final

from pixirnb.history.agent_events import SubagentEvent
from pixirnb.history.permission_state import PermissionRequest
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.json_types import PageObject
from pixirnb.views.basics.sanitize import line, plain
from pixirnb.views.basics.tool_call import tool_use
from pixirnb.views.run.permission_calls import use_phrase

_OPEN: Final = 10
_ANSWERED: Final = 10


def permission_documents(run: RunState, step_id: str, *, is_past: bool) -> list[PageObject]:
    """Return the requests of a step: open ones, oldest first, then the last that were answered, newest first.

    `is_past`: nothing can be answered any more at that moment, or now.
    """
    open_ids = (run.steps.get(step_id) or StepState()).open_requests
    waiting = [run.permissions[each] for each in open_ids if each in run.permissions]
    answered = [
        request
        for request in reversed(run.permissions.values())
        if request["step"] == step_id and request["verdict"] is not None
    ]
    shown = [*waiting[:_OPEN], *answered[:_ANSWERED]]
    return [_document(request, is_past=is_past) for request in shown]


def request_line(data: SubagentEvent | PermissionRequest) -> str:
    """Return `◇ edit asks to use write src/a.py → pixirnb approve RUN/edit.1.1, or deny`, from the data of its event. Total."""
    step, request = line(data.get("step") or "", 64), line(data.get("request_id") or "", 200)
    return f"◇ {step} asks to use {use_phrase(data)} → pixirnb approve {request}, or deny"


def _document(data: PermissionRequest, *, is_past: bool) -> PageObject:
    request, is_open = line(data.get("request_id") or "", 200), data["verdict"] is None
    can_answer = is_open and not is_past
    return {
        "request": request,
        "attempt": data["attempt"],
        **tool_use(data.get("tool") or "tool", data.get("args")),
        "why": plain(data.get("why") or "", 1_000),
        "is_open": is_open,
        "verdict": None if is_open else line(data["verdict"], 20),
        "by": line(data.get("by") or "", 80),
        "note": plain(data.get("note") or "", 4_096),
        "wishes": {"allow": _word("approve", request), "deny": _word("deny", request)}
        if can_answer
        else None,
    }


def _word(verb: str, request: str) -> dict[str, str]:
    return {"do": verb, "request": request}
