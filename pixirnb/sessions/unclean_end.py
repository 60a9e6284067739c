"""The events that close a session which did not end clean: partial text, orphans, the failure.

The engine closes a session with the attempt; the next owner of a run closes those of a dead one. Closing twice adds
nothing. Source: contract.md §7 (turn terminal states, orphan tool calls).
"""

from __future__ import annotations

from typing import Final

from pixirnb.json_types import JsonObject
from pixirnb.sessions.events import Pair
from pixirnb.sessions.state import SessionState
from pixirnb.sessions.tool_calls import PendingCall

Drafts = list[Pair]

_NEXT: Final = {
    "interrupted": ["inspect_session", "resume_run"],
    "timed_out": ["inspect_session", "raise_timeout", "rerun_step"],
    "failed": ["inspect_session", "rerun_step"],
    "partial_failed": ["inspect_session", "rerun_step"],
}


def orphan_output(call: PendingCall, *, is_barred: bool = False) -> str:
    """Return the text shown to an agent for a call without a result. It names no cause.

    A replay that closes the call knows nothing of permissions; the log does, before anything is sent.
    """
    if is_barred:
        return f"`{call.tool}` was not approved and did not run."
    return f"No result of `{call.tool}` was recorded; it may or may not have had an effect."


def orphan_results(
    state: SessionState, reason: str, barred: frozenset[str] = frozenset()
) -> Drafts:
    """Return a durable result for every call without one.

    `reason`: the interruption; `barred`: ids of calls awaiting permission.

    A call that was never allowed did not act, and its result says so.
    """
    calls, kept = state.calls, state.barred | barred
    # In the order in which results find their calls, for several may have one id: those of this turn first.
    ordered = sorted(calls.open.values(), key=lambda call: call.turn != calls.turn)
    return [
        (
            "tool_result",
            {
                "call_id": call.call_id,
                "ok": False,
                "output": orphan_output(call, is_barred=call.call_id in kept),
                "error": _orphan_error(call, reason, is_barred=call.call_id in kept),
                "synthetic": True,
            },
        )
        for call in ordered
    ]


def _orphan_error(call: PendingCall, reason: str, *, is_barred: bool) -> JsonObject:
    what = "was not approved and did not run" if is_barred else "was called and its result was lost"
    details: JsonObject = {"tool": call.tool, "reason": reason}
    if is_barred:
        details["did_act"] = False
    return {"kind": "orphan_tool_call", "message": f"`{call.tool}` {what}.", "details": details}


def closing(
    state: SessionState,
    *,
    status: str,
    error_kind: str,
    message: str,
    details: JsonObject | None = None,
    reason: str,
    partial_text: str = "",
    timeout_ms: int | None = None,
    elapsed_ms: int | None = None,
    barred: frozenset[str] = frozenset(),
) -> Drafts:
    """Return the events that close a session which did not end clean.

    If its failure is recorded, only open calls are closed.

    `status`: `failed`, `interrupted` or `timed_out`, anything else counts as `failed`; a failure with remaining text
    of the agent is recorded as `partial_failed`. Check `state.is_closed` first if the end of the attempt is unknown:
    a turn that `completed` has its evidence, and closing it records that the attempt ended otherwise.
    """
    if state.failed is not None:
        return orphan_results(state, reason, barred)
    drafts: Drafts = []
    text = partial_text.strip()
    if text:
        drafts.append(("assistant_message", {"text": text, "partial": True, "final": False}))
    drafts += orphan_results(state, reason, barred)
    terminal = status if status in {"interrupted", "timed_out"} else "failed"
    if terminal == "failed" and (text or (state.partial or "").strip()):
        terminal = "partial_failed"
    drafts.append(
        (
            "turn_failed",
            {
                "terminal_status": terminal,
                "error_kind": error_kind,
                "message": message,
                "details": details or {},
                "timeout_ms": timeout_ms,
                "elapsed_ms": elapsed_ms,
                "reason": reason,
                "child_session_id": str((state.started or {}).get("session_id") or ""),
                "next_actions": list(_NEXT[terminal]),
            },
        )
    )
    return drafts
