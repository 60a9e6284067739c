"""What a run's log has to know of the child sessions of its agents: how each ended, and what each asked to be allowed.

A request belongs to an attempt. Once that is over for another reason, or the step has begun anew, nobody waits for the answer.
Source: contract.md §7 (permissions).
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

ASKED = "permission_requested"
DECIDED = "permission_decided"
WANTED = "permission_required"
"""Error kind of an attempt that ended because nobody was there to allow what it asked for."""


class SubagentEvent(TypedDict):
    """Something about an agent step's child session that the run's log has to know.

    How the session ended (`finished failed timed_out interrupted cancelled detached`), or that it asked for a permission
    (`permission_requested`), or what was said to that (`permission_decided`).
    """

    event: str
    """Which of these it is."""
    step: str
    attempt: int
    session_id: str
    agent: NotRequired[str | None]
    """Its name in the workflow; null where the step has one of its own."""
    runner: NotRequired[str]
    """Of an end: what kind of program it was."""
    turn: NotRequired[str]
    """Of an end: how the last turn stands; only `completed` is clean."""
    status: NotRequired[str]
    """Of an end: the raw end of the attempt."""
    summary: NotRequired[str]
    """Of an end: what the agent said last; a text of others."""
    elapsed_ms: NotRequired[int]
    """Of an end."""
    timeout_ms: NotRequired[int | None]
    """Of an end: what the attempt was given; null: no limit."""
    reason: NotRequired[str | None]
    """Of an end that is not clean: what broke it off."""
    next_actions: NotRequired[list[str]]
    """Of an end that is not clean: what a person may do next."""
    usage: NotRequired[dict[str, int]]
    """Of an end: tokens and requests, summed."""
    request_id: NotRequired[str]
    """Of a permission: `<run_id>/<step>.<attempt>.<n>`, what `approve` and `deny` are given."""
    tool: NotRequired[str]
    """Of a permission that is asked for: what the agent wants to use."""
    args: NotRequired[Any]
    """Of a permission that is asked for: with what; long texts are cut."""
    digest: NotRequired[str]
    """Of a permission that is asked for: of the whole call; what is allowed is this call and no other."""
    why: NotRequired[str]
    """Of a permission that is asked for: the agent's own words; a text of others."""
    verdict: NotRequired[str]
    """Of a permission that was decided: `allow` or `deny`."""
    by: NotRequired[str]
    """Of a permission that was decided: who said it."""
    note: NotRequired[str]
    """Of a permission that was decided: why."""
    request: NotRequired[str]
    """Of a permission that was decided: the id of what a person asked; one that arrives twice is done once."""
