"""What a run's log has to know of the child sessions of its agents: how each ended, and what each asked to be allowed.

    Permissions    the requests of a run, folded: `{request_id: {…, "verdict": None | "allow" | "deny", "static", "is_over"}}`

`static` is the static fingerprint of the step that asked, `is_over` that a person began the step anew since: a word holds for
the step as it was, until it is begun anew.

A request belongs to an attempt. Once that is over for another reason, or the step has begun anew, nobody waits for the answer.
Source: contract.md §7 (permissions).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

if TYPE_CHECKING:
    from pixirnb.history.step_state import StepState

Permissions = dict[str, dict[str, Any]]

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


def take_permission(known: Permissions, step: StepState, data: dict[str, Any]) -> bool:
    """Fold one event into what is known; True where it decided a request that was open."""
    request_id = data.get("request_id")
    if request_id is None:
        return False
    if data["event"] == ASKED:
        if request_id not in known:
            origin = {"static": _static(step), "is_over": False}
            known[request_id] = {**data, **origin, "verdict": None, "by": "", "note": ""}
            if step.attempt == data["attempt"] and step.stage in {"scheduled", "running"}:
                step.open_requests.append(request_id)
        return False
    asked = known.get(request_id)
    if data["event"] != DECIDED or asked is None or asked["verdict"] is not None:
        return False  # said twice, or of nothing that was asked: the first word stands
    words = {key: data.get(key, "") for key in ("verdict", "by", "note")}
    known[request_id] = {**asked, **words}
    if request_id in step.open_requests:
        step.open_requests.remove(request_id)
        step.is_permitted = data["verdict"] == "allow" and parked_for_permission(step)
    return True


def parked_for_permission(step: StepState) -> bool:
    """Whether the step came to rest for want of a permission, and nobody has decided it otherwise since."""
    is_undecided = step.decision is None
    kind = (step.error or {}).get("kind")
    return step.stage == "settled" and is_undecided and kind == WANTED


def prior_approvals(known: Permissions, step_id: str, step: StepState) -> dict[str, dict[str, Any]]:
    """What a person has allowed a step as it is now, by the digest of the call.

    A word was given to whoever asked: an edited step, another agent of that name included, asks for itself.
    """
    static = _static(step)
    return {
        asked["digest"]: asked
        for asked in known.values()
        if asked["step"] == step_id
        and asked["verdict"] == "allow"
        and asked.get("digest")
        and asked["static"] == static
        and not asked["is_over"]
    }


def end_grants(known: Permissions, step_id: str | None = None) -> None:
    """What was allowed a step, or all steps, is allowed no more: it will ask again."""
    for request_id, asked in known.items():
        if step_id in {None, asked["step"]}:
            known[request_id] = {**asked, "is_over": True}


def _static(step: StepState) -> str | None:
    """What the step says it does, as of its last attempt."""
    return (step.fingerprint or {}).get("static")
