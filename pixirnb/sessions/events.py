"""The events of a child session's log: one agent, one attempt, in the envelope of `history.events.Event`.

    conversation   replayed to the provider
    audit          kept, and never replayed: adding one must not change a byte of the provider's input

Readers take a session as `(kind, data)` pairs or as events of a log: `as_pairs` makes pairs of either.
Streamed parts (deltas, status, progress) are never logged. Unknown kinds are audit. Source: contract.md §7. The data of each
kind, `?` for optional keys; errors are `{kind, message, details}`:

    session_started       session_id run_id step attempt agent runner model command role posture permission_mode tools
                          read_set write_set cwd timeout_ms
                          depth                    of delegation: 0 in a run that a person started
                          continues                the session whose conversation this one goes on with
    user_message          text origin              `prompt` (composed, the first), `person` or `harness`
    assistant_message     text partial final       cut off: evidence, never replayed · it ends its turn, no tool was called
                          model?                   with it: only such a message, whole, makes a turn `completed`
    reasoning             text model opaque?       `{id, signature, provider}`, what the provider wants back unchanged
    tool_call             call_id name args        as the agent gave them; on disk before the tool acts
    tool_result           call_id ok output error?
                          synthetic?               an orphan that the harness closed: the tool may or may not have acted
    compaction            text events              the summary that stands for so many conversation events
    branch_summary        text session_id          what another session came to
    subagent_event        event session_id agent status summary
    provider_usage        model input_tokens output_tokens requests? elapsed_ms? error?       of every try
    permission_requested  request_id call_id tool args
    permission_decided    request_id verdict by note                `allow`, `deny` or `unattended`
    checkpoint_reported   checkpoint_status summary? output? limitations? seams?       a claim, judged elsewhere
    turn_failed           terminal_status error_kind message details timeout_ms elapsed_ms reason child_session_id next_actions
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

from pixirnb.history.events import Event
from pixirnb.json_types import JsonObject

CONVERSATION: Final = frozenset(
    {
        "user_message",
        "assistant_message",
        "reasoning",
        "tool_call",
        "tool_result",
        "compaction",
        "branch_summary",
        "subagent_event",
    }
)
"""Kinds that may be replayed; `replay` decides which of their events are."""

ENDED_EVENTS: Final = frozenset({"finished", "failed", "timed_out", "interrupted", "cancelled"})
"""Values of `event` in a `subagent_event` that is replayed: its run or session is known to have ended."""

Pair = tuple[str, JsonObject]
"""An event without its position in a log: its kind and its data."""

TurnState = Literal["running", "completed", "partial_failed", "failed", "interrupted", "timed_out"]
"""State of the last turn. `completed` needs clean evidence in the log."""


def as_pairs(events: Iterable[Event | Pair]) -> list[Pair]:
    """Return events of a log, or pairs from a pipe, as pairs. Data that are not an object are dropped."""
    data: Any  # what came over a pipe is whatever it is
    pairs: list[Pair] = []
    for event in events:
        kind, data = (event.kind, event.data) if isinstance(event, Event) else event
        pairs.append((kind, data if isinstance(data, dict) else {}))
    return pairs


def is_conversation(kind: str, data: JsonObject) -> bool:
    """Return whether the event belongs to the conversation. Any other is audit and never affects a replay."""
    if kind == "assistant_message":
        return not data.get("partial")
    if kind == "subagent_event":
        reported = data.get("event")
        return isinstance(reported, str) and reported in ENDED_EVENTS
    return kind in CONVERSATION


def conversation_of(events: Iterable[Event | Pair]) -> list[Pair]:
    """Return the conversation, in order: all that a later session needs of this one."""
    return [(kind, data) for kind, data in as_pairs(events) if is_conversation(kind, data)]
