"""What a session that did not end clean is closed with, so that its log says so for ever: partial text, orphans, the failure.

The engine closes a session with the attempt; whoever takes up a run closes those its dead owner left open. Closing twice adds
nothing. Source: contract.md §7 (turn terminal states, orphan tool calls).
"""

from __future__ import annotations

from typing import Any, Final

from pixirnb.sessions.state import SessionState

Drafts = list[tuple[str, dict[str, Any]]]

_NEXT: Final = {
    "interrupted": ["inspect_session", "resume_run"],
    "timed_out": ["inspect_session", "raise_timeout", "rerun_step"],
    "failed": ["inspect_session", "rerun_step"],
    "partial_failed": ["inspect_session", "rerun_step"],
}


def orphan_results(state: SessionState, reason: str) -> Drafts:
    """A durable result for every call that has none. `reason`: what broke them off."""
    return [
        (
            "tool_result",
            {
                "call_id": call_id,
                "ok": False,
                "output": f"No result of `{name}` was recorded ({reason}); it may or may not have acted.",
                "error": {
                    "kind": "orphan_tool_call",
                    "message": f"`{name}` was called and its result was lost.",
                    "details": {"tool": name, "reason": reason},
                },
                "synthetic": True,
            },
        )
        for call_id, name in state.open_calls.items()
    ]


def closing(
    state: SessionState,
    *,
    status: str,
    error_kind: str,
    message: str,
    details: dict[str, Any] | None = None,
    reason: str,
    partial_text: str = "",
    timeout_ms: int | None = None,
    elapsed_ms: int | None = None,
) -> Drafts:
    """The events that end a session which did not end clean; none where it has ended already.

    `status`: `failed`, `interrupted`, `timed_out`, or `partial_failed`; a failure with text of the agent's own left over
    becomes `partial_failed`.
    """
    if state.failed is not None:
        return []
    drafts: Drafts = []
    text = partial_text.strip()
    if text:
        drafts.append(("assistant_message", {"text": text, "partial": True, "final": False}))
    drafts += orphan_results(state, reason)
    has_text = bool(text) or state.partial is not None
    terminal = "partial_failed" if status == "failed" and has_text else status
    session_id = str((state.started or {}).get("session_id", ""))
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
                "child_session_id": session_id,
                "next_actions": _NEXT.get(terminal, _NEXT["failed"]),
            },
        )
    )
    return drafts
