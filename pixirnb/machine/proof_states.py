"""Proofs that a run's log holds: read from it and never assumed. Source: contract.md §4, `proof_states`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pixirnb.machine.step_claims import claim_of
from pixirnb.planning.claims import Claim, ClaimIndex

if TYPE_CHECKING:
    from pixirnb.history.events import RunStatus
    from pixirnb.history.run_state import RunState
    from pixirnb.history.step_state import StepState
    from pixirnb.planning.plan import Plan


def proof_states(plan: Plan, run: RunState, *, status: RunStatus) -> list[str]:
    """Return the proofs the log holds, in the contract's order; the last says whether the outcome is whole or partial.

    A run that goes on has no last proof yet.
    """
    states = [run.step(step.id) for step in plan.steps]
    proofs: list[str] = []
    if run.started_at is not None:
        proofs.append("workflow_validated")
    if any(state.attempt for state in states):
        proofs.append("steps_scheduled")
    dependents = [
        (step, state)
        for step, state in zip(plan.steps, states, strict=True)
        if step.depends_on and _has_started(state)
    ]
    if dependents and all(
        _was_ready_before(states[i], state)
        for step, state in dependents
        for i in plan.awaited(step)
        if i != step.leader
    ):
        proofs.append("dependencies_resolved")
    if _conflicts_serialized(plan, run):
        proofs.append("conflicts_serialized")
    ended = [state.ended for state in states if state.ended is not None]
    if ended and all("summary" in data for data in ended):
        proofs.append("summaries_collected")
    if status != "running":
        proofs.append("completion_ready" if status == "completed" else "partial_outcome_ready")
    return proofs


def _has_started(state: StepState) -> bool:
    """Return whether the state of the step belongs to an attempt or a question, not to a hold or a wait."""
    return state.stage not in {"idle", "retrying"} and state.checkpoint_status != "held"


def _was_ready_before(dependency: StepState, dependent: StepState) -> bool:
    return dependency.checkpoint_status == "checkpoint_ready" and (
        0 < dependency.settled_seq < dependent.confirmed_seq
    )


def _conflicts_serialized(plan: Plan, run: RunState) -> bool:
    """Return whether two steps that conflict did run, and no two such steps were under way at once."""
    moves: list[tuple[int, bool, int, Claim]] = []
    for step in plan.steps:
        state = run.step(step.id)
        claim = claim_of(step, plan.roots) if state.scheduled_seq else None
        if claim is not None:
            moves.append((state.scheduled_seq, True, step.index, claim))
            if state.ended_seq > state.scheduled_seq:
                moves.append((state.ended_seq, False, step.index, claim))
    moves.sort(key=lambda move: move[0])
    live, seen, has_conflict = ClaimIndex(), ClaimIndex(), False
    for _, is_start, index, claim in moves:
        if not is_start:
            live.remove(index)
            continue
        if live.conflicts(claim):
            return False
        has_conflict = has_conflict or seen.conflicts(claim)
        live.add(index, claim)
        seen.add(index, claim)
    return has_conflict
