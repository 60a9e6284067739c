"""What a run can prove of itself, read from its log and never assumed. Source: contract.md §4, `proof_states`."""

from __future__ import annotations

from pixirnb.history.state import RunState, StepState
from pixirnb.machine.board import claim_of
from pixirnb.planning.conflicts import Claim, ClaimIndex
from pixirnb.planning.plan import Plan


def proof_states(plan: Plan, run: RunState, *, is_completed: bool) -> list[str]:
    """The proofs the log holds, in the contract's order; the last says whether the outcome is whole or partial."""
    started = [(step, run.step(step.id)) for step in plan.steps if run.step(step.id).attempt]
    proofs: list[str] = []
    if run.started_at is not None:
        proofs.append("workflow_validated")
    if started:
        proofs.append("steps_scheduled")
    dependents = [step for step, state in started if step.depends_on and state.scheduled_seq]
    if dependents and all(
        _ended_before(run.step(plan.steps[i].id), run.step(step.id))
        for step in dependents
        for i in step.depends_on
    ):
        proofs.append("dependencies_resolved")
    if _conflicts_serialized(plan, run):
        proofs.append("conflicts_serialized")
    ended = [state for _, state in started if state.ended is not None]
    if ended and all("summary" in (state.ended or {}) for state in ended):
        proofs.append("summaries_collected")
    if run.finished is not None:
        proofs.append("completion_ready" if is_completed else "partial_outcome_ready")
    return proofs


def _ended_before(dependency: StepState, dependent: StepState) -> bool:
    return dependency.checkpoint_status == "checkpoint_ready" and (
        dependency.ended_seq < dependent.scheduled_seq
    )


def _conflicts_serialized(plan: Plan, run: RunState) -> bool:
    """Whether two steps that conflict did run, and no two such were under way at once."""
    moves: list[tuple[int, bool, int, Claim]] = []
    for step in plan.steps:
        state = run.step(step.id)
        claim = claim_of(step) if state.scheduled_seq else None
        if claim is not None:
            moves.append((state.scheduled_seq, True, step.index, claim))
            if state.ended_seq > state.scheduled_seq:
                moves.append((state.ended_seq, False, step.index, claim))
    moves.sort(key=lambda move: move[0])
    live, seen, met = ClaimIndex(), ClaimIndex(), False
    for _, is_start, index, claim in moves:
        if not is_start:
            live.remove(index)
            continue
        if live.conflicts(claim):
            return False
        met = met or seen.conflicts(claim)
        live.add(index, claim)
        seen.add(index, claim)
    return met
