"""What can be in the log of a child session: one agent, one attempt, in the envelope of `history.events.Event`.

    conversation   replayed to the provider
    audit          kept, and never replayed: adding one must not change a byte of the provider's input

Readers take a session as `(kind, data)` pairs or as events of a log: `as_pairs` makes one of either.
What streams by (deltas, status, progress) is never logged. Unknown kinds are audit. Source: contract.md §7.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal, NotRequired, TypedDict

from pixirnb.history.events import Event

SessionKind = Literal[
    "session_started",
    "user_message",
    "assistant_message",
    "reasoning",
    "tool_call",
    "tool_result",
    "compaction",
    "branch_summary",
    "subagent_event",
    "provider_usage",
    "permission_requested",
    "permission_decided",
    "checkpoint_reported",
    "turn_failed",
]
"""Closed for writers, open for readers."""

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


class SessionStarted(TypedDict):
    """Whose session it is, and what it was given."""

    session_id: str
    run_id: str
    step: str
    attempt: int
    agent: str | None
    runner: str
    model: str | None
    command: list[str] | None
    role: str
    posture: str
    permission_mode: str
    tools: list[str]
    read_set: list[str]
    write_set: list[str]
    cwd: str
    timeout_ms: int | None
    depth: int
    """Of delegation: 0 in a run that a person started."""
    continues: str | None
    """The session whose conversation this one goes on with."""


class UserMessage(TypedDict):
    """What the agent is told. The first is the composed prompt."""

    text: str
    origin: Literal["prompt", "person", "harness"]


class AssistantMessage(TypedDict):
    """Text of the agent's own."""

    text: str
    partial: bool
    """It was cut off: kept as evidence, never replayed."""
    final: bool
    """It ends its turn: nothing was called beside it. Only such a message, whole, makes a turn `completed`."""
    model: NotRequired[str | None]


class Reasoning(TypedDict):
    """What a model thought, as far as its provider tells; valid for the same model only."""

    text: str
    model: str | None
    opaque: NotRequired[dict[str, Any]]
    """What the provider wants back unchanged: `{id, signature, provider}`."""


class ToolCall(TypedDict):
    """The agent wants a tool. On disk before the tool acts."""

    call_id: str
    name: str
    args: Any
    """As the agent gave them, whatever they are."""


class ToolResult(TypedDict):
    """What came of a call."""

    call_id: str
    ok: bool
    output: str
    """As the agent is shown it."""
    error: NotRequired[dict[str, Any]]
    """`{kind, message, details}` where it is not ok."""
    synthetic: NotRequired[bool]
    """True where the harness closed an orphan: the tool may or may not have acted."""


class Compaction(TypedDict):
    """From here on the conversation is this summary and what follows it."""

    text: str
    events: int
    """How many conversation events it stands for."""


class BranchSummary(TypedDict):
    """What another session came to, told to this one."""

    text: str
    session_id: str


class DelegationEvent(TypedDict):
    """What became of a run or a session that this one delegated to; replayed when it has ended, but for `detached`."""

    event: str
    session_id: str | None
    agent: str | None
    status: str
    summary: str


class ProviderUsage(TypedDict):
    """What one request cost, or why it came to nothing: every try is one."""

    model: str | None
    input_tokens: int
    output_tokens: int
    requests: NotRequired[int]
    elapsed_ms: NotRequired[int]
    error: NotRequired[dict[str, Any]]
    """`{kind, message, …}` of a try that gave no whole answer."""


class PermissionRequested(TypedDict):
    """The agent wants to do what its mode does not simply allow."""

    request_id: str
    call_id: str | None
    tool: str
    args: Any


class PermissionDecided(TypedDict):
    """What was said to it, by whom: a person, or the mode it runs in."""

    request_id: str
    verdict: Literal["allow", "deny", "unattended"]
    by: str
    note: str


class CheckpointReported(TypedDict):
    """The agent's structured report: a claim, judged elsewhere."""

    checkpoint_status: str
    summary: NotRequired[str]
    output: NotRequired[Any]
    limitations: NotRequired[list[str]]
    seams: NotRequired[list[Any]]


class TurnFailed(TypedDict):
    """Durable evidence of a turn that did not end clean."""

    terminal_status: Literal["partial_failed", "failed", "interrupted", "timed_out"]
    error_kind: str
    message: str
    details: dict[str, Any]
    timeout_ms: int | None
    elapsed_ms: int | None
    reason: str
    child_session_id: str
    next_actions: list[str]


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
