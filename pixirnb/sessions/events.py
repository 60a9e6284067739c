"""What can be in the log of a child session: one agent, one attempt, in the envelope of `history.events.Event`.

    conversation   replayed to the provider
    audit          kept, and never replayed: adding one must not change a byte of the provider's input

Readers take a session as `(kind, data)` pairs or as events of a log: `as_pairs` makes one of either.
What streams by (deltas, status, progress) is never logged. Unknown kinds are audit. Source: contract.md §7. What the data of
each kind hold, `?` what may be missing; errors are `{kind, message, details}`:

    session_started       session_id run_id step attempt agent runner model command role posture permission_mode tools
                          read_set write_set cwd timeout_ms
                          depth                    of delegation: 0 in a run that a person started
                          continues                the session whose conversation this one goes on with
    user_message          text origin              `prompt` (composed, the first), `person` or `harness`
    assistant_message     text partial final       cut off: evidence, never replayed · it ends its turn, nothing was called
                          model?                   beside it: only such a message, whole, makes a turn `completed`
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
"""Kinds that may be replayed; which of their events are is for `replay` to say."""

ENDED_EVENTS: Final = frozenset({"finished", "failed", "timed_out", "interrupted", "cancelled"})
"""What a `subagent_event` that is replayed may say: its run or session has ended, and is known to have."""

Pair = tuple[str, dict[str, Any]]
"""An event without its place in a log: its kind and its data."""

TurnState = Literal["running", "completed", "partial_failed", "failed", "interrupted", "timed_out"]
"""How the last turn stands. `completed` means clean evidence in the log, and nothing else does."""


def as_pairs(events: Iterable[Event | Pair]) -> list[Pair]:
    """Events of a log, or pairs as they come over a pipe, as pairs. Data that are no object are none."""
    data: Any  # what came over a pipe is whatever it is
    found: list[Pair] = []
    for event in events:
        kind, data = (event.kind, event.data) if isinstance(event, Event) else event
        found.append((kind, data if isinstance(data, dict) else {}))
    return found


def is_conversation(kind: str, data: dict[str, Any]) -> bool:
    """Whether the event is of the conversation: what is not is audit, and no replay shows that it is there."""
    if kind == "assistant_message":
        return not data.get("partial")
    if kind == "subagent_event":
        said = data.get("event")
        return isinstance(said, str) and said in ENDED_EVENTS
    return kind in CONVERSATION


def conversation_of(events: Iterable[Event | Pair]) -> list[Pair]:
    """The conversation, in order: all a session needs of the one it goes on from."""
    return [(kind, data) for kind, data in as_pairs(events) if is_conversation(kind, data)]
