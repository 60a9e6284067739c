"""A session, and the outcome of a run, in the words of the Agent Client Protocol: dicts, and nothing of the SDK.

    acp_updates(events)        ──▶ parameters of `session/update`, the transcript as an editor would replay it
    acp_stop_reason(turn, …)   ──▶ the result of `session/prompt`
    acp_of_outcome(document)   ──▶ both of a workflow's outcome: its steps as a plan, its summary as a message

The protocol has one good end, `end_turn`, and it is said of what completed alone. It has no word for partial, held or failed:
`_meta.pixirnb` says which, and so does the text. Text that was cut off and failures are no part of a clean transcript.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pixirnb.history.events import Event
from pixirnb.json_types import JsonObject
from pixirnb.machine.outcome_documents import RunDocument, StepDocument
from pixirnb.sessions.events import Pair, as_pairs
from pixirnb.sessions.state import fold_session
from pixirnb.sessions.tool_calls import Calls, PendingCall, text_of
from pixirnb.sessions.unclean_end import orphan_output
from pixirnb.views.basics.phrases import reason_phrase
from pixirnb.views.basics.sanitize import line, plain
from pixirnb.views.basics.status_marks import run_mark, step_mark
from pixirnb.views.basics.step_names import label
from pixirnb.views.basics.tool_call import tool_use
from pixirnb.wording import join_names

Update = JsonObject

_TEXT: Final = 60_000
_TOOL_KINDS: Final = {
    "read": "read",
    "list": "search",
    "search": "search",
    "write": "edit",
    "edit": "edit",
    "shell": "execute",
    "run_workflow": "execute",
    "resume_workflow": "execute",
    "inspect_run": "read",
    "report_checkpoint": "think",
}
_STOPS: Final = {
    "turn_limit": "max_turn_requests",
    "context_overflow": "max_tokens",
    "output_limit": "max_tokens",
}
"""Failures that the protocol has a word for, by their kind."""


def acp_updates(events: Iterable[Event | Pair]) -> list[Update]:
    """Return the transcript of a session: `{sessionId, update}` each. Total.

    A call of an earlier turn, or of one that is over, is shown as failed where it has no result.
    """
    pairs = as_pairs(events)
    state = fold_session(pairs)
    session_id = text_of((state.started or {}).get("session_id"))
    calls = Calls()
    updates: list[Update] = []
    for kind, data in pairs:
        text = text_of(data.get("text"))
        match kind:
            case "user_message":
                for call in list(calls.open.values()):
                    updates.append(_orphan(call))
                    calls.end({"call_id": call.call_id})  # what comes later comes too late
                calls.next_turn()
                updates += _chunk("user_message_chunk", text)
            case "assistant_message" if not data.get("partial"):
                updates += _chunk("agent_message_chunk", text)
            case "reasoning":
                updates += _chunk("agent_thought_chunk", text)
            case "tool_call":
                updates.append(_begun(calls.begin(data)))
            case "tool_result":
                answered = calls.end(data)
                if answered is not None:
                    output = text_of(data.get("output"))
                    updates.append(_came(answered, output, is_ok=data.get("ok") is True))
            case _:
                pass
    if state.turn != "running":
        updates += map(_orphan, calls.open.values())
    return [{"sessionId": session_id, "update": update} for update in updates]


def acp_stop_reason(
    turn: str, checkpoint_status: str | None, *, error_kind: str | None = None
) -> JsonObject:
    """Return `{stopReason, _meta}` of a turn in this state. `error_kind`: of its failure, where there is one.

    `checkpoint_status`: what its step came to by it, None while that is open; only the turn of a ready step has a good end.
    The protocol's `refusal` stands for every end that is neither good nor the client's own doing; `_meta` says which.
    """
    is_complete = turn == "completed" and checkpoint_status == "checkpoint_ready"
    reason = "end_turn" if is_complete else "cancelled" if turn == "interrupted" else "refusal"
    if reason == "refusal" and error_kind is not None:
        reason = _STOPS.get(error_kind, reason)
    about = {
        "turn": turn,
        "checkpoint_status": checkpoint_status,
        "is_complete": is_complete,
        "error_kind": error_kind,
    }
    return {"stopReason": reason, "_meta": {"pixirnb": about}}


def acp_of_outcome(document: RunDocument) -> JsonObject:
    """Return `{updates, stopReason, _meta}` of a `RunOutcome.document()`: the updates without a session id around them.

    A plan entry is `completed` only for a step that is ready, and the prompt ends with `end_turn` only for a run that is.
    """
    status = line(document.get("status"), 40) or "unknown"
    is_complete = status == "completed" and document.get("ok") is True
    if status == "completed" and not is_complete:
        status = "unknown"
    steps = document.get("steps") or []
    reason = "end_turn" if is_complete else "cancelled" if status == "interrupted" else "refusal"
    about = {
        "run_id": line(document.get("run_id"), 80),
        "status": status,
        "is_complete": is_complete,
        **{
            name: _names(document.get(f"{name}_steps"))
            for name in ("partial", "failed", "timed_out", "held", "needs_orchestrator")
        },
        "usable_checkpoints": _names(document.get("usable_checkpoints")),
    }
    plan = {"sessionUpdate": "plan", "entries": [_entry(step) for step in steps]}
    message = _chunk("agent_message_chunk", _message(document, status))
    return {"updates": [plan, *message], "stopReason": reason, "_meta": {"pixirnb": about}}


# --- a session --------------------------------------------------------------------------------------------------------------


def _chunk(kind: str, text: str) -> list[Update]:
    shown = _clean(text)
    return [{"sessionUpdate": kind, "content": {"type": "text", "text": shown}}] if shown else []


def _clean(text: str) -> str:
    """Remove what a terminal would obey; tabs stay, for an editor is shown code."""
    parts = text[:_TEXT].split("\t")
    left = len(text) - _TEXT
    more = f"\n[{left:,} more characters]" if left > 0 else ""
    return "\t".join(plain(part, _TEXT) for part in parts) + more


def _begun(call: PendingCall) -> Update:
    used = tool_use(call.tool or "tool", call.args)
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": call.unique,
        "title": line(f"{used['name']} {used['about']}", 200) or "tool",
        "kind": _TOOL_KINDS.get(call.tool, "other"),
        "status": "in_progress",
        "rawInput": call.args,
    }


def _came(call: PendingCall, output: str, *, is_ok: bool) -> Update:
    shown = _clean(output)
    content = {"type": "content", "content": {"type": "text", "text": shown}}
    return {
        "sessionUpdate": "tool_call_update",
        "toolCallId": call.unique,
        "status": "completed" if is_ok else "failed",
        "content": [content] if shown else [],
    }


def _orphan(call: PendingCall) -> Update:
    return _came(call, orphan_output(call), is_ok=False)


# --- an outcome -------------------------------------------------------------------------------------------------------------


def _entry(step: StepDocument) -> JsonObject:
    """Return a step as an entry of a plan. What ended and is not ready is `pending`, and its text says why."""
    mark = step_mark(step)
    name = line(step.get("step_id"), 80) or "step"
    shown = label(name, step.get("title"), 120)
    is_ready = step.get("checkpoint_status") == "checkpoint_ready"
    status = "completed" if is_ready else "in_progress" if mark.key == "running" else "pending"
    return {
        "content": shown if is_ready else f"{shown}: {mark.word}",
        "priority": "medium",
        "status": status,
        "_meta": {
            "pixirnb": {
                "step": name,
                "checkpoint_status": line(step.get("checkpoint_status") or "", 40) or None,
            }
        },
    }


def _message(document: RunDocument, status: str) -> str:
    """Return the text that an editor shows as the agent's message: the status first."""
    workflow = line(document.get("workflow"), 80) or "workflow"
    word = run_mark(status).word
    parts = [f"Workflow {workflow} ({line(document.get('run_id'), 80)}): {word}."]
    if status == "completed":
        return f"{parts[0]} {line(document.get('summary') or '', 600)}".strip()
    parts.append(f"It is not complete. {line(document.get('summary') or '', 600)}".strip())
    kinds = {
        "partial": "partial",
        "failed": "failed",
        "timed_out": "timed out",
        "held": "held",
        "skipped": "skipped",
        "needs_orchestrator": "waiting for a decision",
    }
    narrower = {"failed": "timed_out", "held": "skipped"}
    for key, what in kinds.items():
        apart = _names(document.get(f"{narrower.get(key)}_steps"))
        names = [name for name in _names(document.get(f"{key}_steps")) if name not in apart]
        if names:
            parts.append(f"- {what}: {join_names(names, 20)}")
    ready = _names(document.get("usable_checkpoints"))
    if ready:
        parts.append(f"- ready: {', '.join(ready[:20])}")
    parts += [
        f"- reason: {words}"
        for words in map(reason_phrase, _list(document.get("reasons"))[:6])
        if words
    ]
    cells = [entry for entry in _list(document.get("next_actions")) if isinstance(entry, Mapping)]
    parts += [f"- next: {line(entry.get('cell'), 200)}" for entry in cells[:6] if entry.get("cell")]
    return "\n".join(parts)


def _names(given: Any) -> list[str]:
    return [line(name, 80) for name in _list(given)]


def _list(given: Any) -> list[Any]:
    return given if isinstance(given, list) else []
