"""What a person can do from within a session, as commands: answer what its agent asks, decide its step, have it run again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pixirnb.views.basics.phrases import action_phrase
from pixirnb.views.basics.sanitize import line
from pixirnb.views.basics.tool_call import asked_for


def next_steps(document: Mapping[str, Any], *, command: str) -> list[tuple[str, str]]:
    """`(command, what it does)` each, of a `SessionView.document()`. `command` is how the reader calls the verbs."""
    asked = {each.get("request_id"): each for each in document.get("open_requests") or []}
    found = []
    for action in document.get("next_actions") or []:
        cell = str(action.get("cell") or "")
        request = asked.get(cell.rpartition(" ")[2])
        words = action_phrase(action) if request is None else _wanted(request)
        found.append((line(cell.replace("%pixir", command, 1), 300), words))
    return found


def _wanted(request: Mapping[str, Any]) -> str:
    used = asked_for(request.get("tool") or "tool", request.get("args"))
    wanted = f"{used['name']} {line(used['about'], 120)}".rstrip()
    return f"allow {wanted}; or `deny`"
