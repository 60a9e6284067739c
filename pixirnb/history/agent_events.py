"""Events of child sessions in a run's log: how each session ended, and which permissions its agent requested.

A request belongs to an attempt. Once that attempt is over for another reason, or the step has begun again, no process waits for
the answer. Source: contract.md §7 (permissions).
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

PERMISSION_REQUESTED = "permission_requested"
PERMISSION_DECIDED = "permission_decided"
PERMISSION_REQUIRED = "permission_required"
"""Error kind of an attempt that ended because no person was there to permit a call."""


class SubagentEvent(TypedDict):
    """Data of a `subagent_event`: a fact about an agent step's child session.

    It says how the session ended (`finished failed timed_out interrupted cancelled detached`), that the agent requested a
    permission (`permission_requested`), or how that request was decided (`permission_decided`).
    """

    event: str
    """The name of this fact: one of those above."""
    step: str
    attempt: int
    session_id: str
    agent: NotRequired[str | None]
    """The agent's name in the workflow; null where the step has an agent of its own."""
    runner: NotRequired[str]
    """The kind of program that ran the session. Only of an end, like all keys down to `usage`."""
    turn: NotRequired[str]
    """The state of the last turn; only `completed` is clean."""
    status: NotRequired[str]
    """The raw end of the attempt."""
    summary: NotRequired[str]
    """The agent's last text; a text of others."""
    elapsed_ms: NotRequired[int]
    """The length of the attempt."""
    timeout_ms: NotRequired[int | None]
    """The time-out of the attempt; null: no limit."""
    reason: NotRequired[str | None]
    """The cause of an end that is not clean."""
    next_actions: NotRequired[list[str]]
    """Commands that a person may run after an end that is not clean."""
    usage: NotRequired[dict[str, int]]
    """Tokens and requests, summed."""
    request_id: NotRequired[str]
    """The id `<run_id>/<step>.<attempt>.<n>`, which `approve` and `deny` take. Of each request and its decision."""
    tool: NotRequired[str]
    """The tool that the agent requests to use. Only of a request, like the keys down to `why`."""
    args: NotRequired[Any]
    """The arguments of that call; long texts are cut."""
    digest: NotRequired[str]
    """Digest of the whole call; a permission covers this call and no other."""
    why: NotRequired[str]
    """The agent's own words; a text of others."""
    verdict: NotRequired[str]
    """`allow` or `deny`. Only of a decision, like the keys below."""
    by: NotRequired[str]
    """The author of the decision."""
    note: NotRequired[str]
    """The reason for the decision."""
    request: NotRequired[str]
    """Id of the person's request; one that arrives twice is granted once."""
