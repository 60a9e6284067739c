"""Summaries of an outcome in words: of the run, of each step, and the counts behind them. Source: contract.md §4, §11."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

from pixirnb.machine.outcome_documents import FAILED_AS, RunRow
from pixirnb.machine.outcome_reasons import GONE

if TYPE_CHECKING:
    from pixirnb.history.events import Reason, WarningRaised
    from pixirnb.history.permission_state import PermissionRequest
    from pixirnb.history.run_state import RunState
    from pixirnb.history.step_state import StepState
    from pixirnb.planning.plan import Plan, PlannedStep

NOTES: Final = {
    "owner_died": "the process that ran it died",
    "cancelled": "canceled by the operator",
    "drained": "drained by the operator",
    "interrupted": "interrupted by the operator",
    "run_timed_out": "the run's timeout passed",
    "decided_not_resumed": "a decision is recorded, the run is not resumed yet",
}
"""Reasons of a run that its summary names."""
UNFINISHED: Final[WarningRaised] = {
    "code": "end_not_recorded",
    "message": "the process that ran it died before it recorded the end; every required step is ready",
    "step": None,
}
"""A log without `run_finished` is named, also where nothing is missing but that line."""


def step_counts(
    plan: Plan, run: RunState, skipped: Collection[int] = frozenset()
) -> dict[str, int]:
    """Return the number of steps of each checkpoint status, or of `running` and `queued` ones; of `skipped` ones apart."""
    counts: dict[str, int] = {}
    for step in plan.written:
        state = run.step(step.id)
        name: str | None = state.checkpoint_status
        if name is None:
            is_running = state.stage in {"running", "scheduled", "ended"}
            name = "running" if is_running or has_begun(plan, run, step) else "queued"
        if step.index in skipped:
            name = "skipped"
        counts[name] = counts.get(name, 0) + 1
    return counts


def has_begun(plan: Plan, run: RunState, step: PlannedStep) -> bool:
    """Return whether an item of a step that has not settled has begun."""
    items = plan.items.get(step.index, ())
    return any(run.step(plan.steps[each].id).stage != "idle" for each in items)


def attempt_status(plan: Plan, run: RunState, step: PlannedStep) -> str:
    """Return how the last attempt of a step ended, or stands; a step runs from the first of its items on."""
    state = run.step(step.id)
    is_begun = state.stage == "idle" and has_begun(plan, run, step)
    return "running" if is_begun else state.subagent_status


def failed_as(states: Iterable[StepState]) -> dict[str, int]:
    """Return the number of failed steps that people name by the end of their attempt, by that end."""
    ends = [str(state.subagent_status) for state in states if state.checkpoint_status == "failed"]
    return {end: ends.count(end) for end in sorted(FAILED_AS.intersection(ends))}


def run_summary(plan: Plan, run: RunState, counts: dict[str, int], reasons: list[Reason]) -> str:
    """Return the counts of statuses and the reasons of a run in one sentence."""
    total = len(plan.written)
    ready, skipped = counts.get("checkpoint_ready", 0), counts.get("skipped", 0)
    parts = [f"{ready} of {total} steps ready" if total != 1 else f"{ready} of 1 step ready"]
    if skipped and ready + skipped == total:
        parts = [f"{ready} ready"]  # "3 of 5" would read as if two were missing
    has_died = any(reason["code"] in GONE for reason in reasons)
    words = (
        ("failed", "failed"),
        ("timed_out", "timed out"),
        ("cancelled", "canceled"),
        ("interrupted", "interrupted"),
        ("detached", "detached"),
        ("partial", "partial"),
        ("needs_orchestrator", "waiting for a decision"),
        ("decided", "decided, not applied"),
        ("held", "held"),
        ("skipped", "skipped"),
        ("running", "was running" if has_died else "running"),
        ("starting", "starting"),
        ("permission", "waiting for permission"),
        ("retrying", "retry pending" if has_died else "waiting to retry"),
        ("undone", "merge undone"),
        ("queued", "not started"),
    )
    # Among those that do not run, some have run: "not started" would be wrong of them. And of those that count as running some
    # only begin, and some wait for a person; where their process died, nobody knows how far they came.
    states = [run.step(step.id) for step in plan.written]
    stages = [
        "permission" if state.open_requests and state.checkpoint_status is None else state.stage
        for state in states
    ]
    waiting, undone = stages.count("retrying"), sum(state.is_undone for state in states)
    stopped = failed_as(states)
    decided = sum(
        state.checkpoint_status == "needs_orchestrator"
        and not (state.awaits_human or state.open_requests)
        for state in states
    )
    starting = 0 if has_died else stages.count("scheduled")
    asking = 0 if has_died else stages.count("permission")
    totals = {
        **counts,
        **stopped,
        "failed": counts.get("failed", 0) - sum(stopped.values()),
        "needs_orchestrator": counts.get("needs_orchestrator", 0) - decided,
        "decided": decided,
        "running": counts.get("running", 0) - starting - asking,
        "permission": asking,
        "starting": starting,
        "retrying": waiting,
        "undone": undone,
        "queued": counts.get("queued", 0) - waiting - undone,
    }
    parts += [
        f"{count} {word if count == 1 else word.replace('was ', 'were ')}"
        for name, word in words
        if (count := totals.get(name))
    ]
    # "1 interrupted, interrupted by the operator" would say one fact twice.
    counted = {*stopped}
    counted |= {"decided_not_resumed"} if decided else set()
    parts += [NOTES[r["code"]] for r in reasons if r["code"] in NOTES.keys() - counted]
    return ", ".join(parts) + "."


def step_summary(run: RunState, state: StepState) -> str:
    """Return the summary of a step: its request for a permission, its last words, or its question."""
    if state.open_requests and state.checkpoint_status is None:
        return _describe_request(run.permissions[state.open_requests[0]])
    if state.ended is not None and state.checkpoint_status != "held":
        return state.ended["summary"]
    if state.checkpoint_status == "needs_orchestrator" and state.request is not None:
        return state.request["question"]
    return ""


def _describe_request(request: PermissionRequest) -> str:
    """Return an agent's request for a permission, in its own words and few of them."""
    args = request.get("args")
    given = args if isinstance(args, dict) else {}
    about = next((given[key] for key in ("title", "command", "path") if given.get(key)), "")
    text = f"asks to use {str(request.get('tool'))[:80]}"
    return f"{text}: {str(about)[:200]}" if about else text


def run_row(run_id: str, run: RunState, status: str, counts: dict[str, int]) -> RunRow:
    """Return the row of a run in a list, with the status and counts of its outcome."""
    row: RunRow = {
        "run_id": run_id,
        "workflow": run.workflow,
        "status": status,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "counts": counts,
        "name": run.name,
        "tags": run.tags,
    }
    if stopped := failed_as(run.step(step["id"]) for step in run.spec.get("steps", [])):
        row["failed_as"] = stopped
    return row
