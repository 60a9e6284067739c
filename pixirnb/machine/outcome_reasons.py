"""Why a run stands where it stands: the reasons of an outcome, a closed set of codes. Source: contract.md §4."""

from __future__ import annotations

from pixirnb.history.events import Reason
from pixirnb.history.file_state import Seams, open_seams
from pixirnb.history.run_state import RunState
from pixirnb.planning.plan import Plan

_HELD_REASONS = {"not_selected": "step_not_selected", "cancelled": "step_cancelled"}
"""Holds that are their own reason; all others follow from a step, a `when` or the run, which says so itself."""


def step_reasons(plan: Plan, run: RunState) -> list[Reason]:
    """What speaks against `completed`, step by step, then seam by seam."""
    codes = {
        "failed": "step_failed",
        "partial": "step_partial",
        "needs_orchestrator": "step_needs_decision",
    }
    reasons: list[Reason] = []
    for step in plan.steps:
        state = run.step(step.id)
        code = codes.get(state.checkpoint_status or "")
        if code is not None:
            timed_out = code == "step_failed" and state.subagent_status == "timed_out"
            reasons.append({"code": "step_timed_out" if timed_out else code, "step": step.id})
        elif state.held_by is not None:
            held = _HELD_REASONS.get(state.held_by["kind"])
            if held is not None:
                reasons.append({"code": held, "step": step.id})
    for merge in run.merges:
        name = merge["step"]
        if merge["undone"] and name in plan.index and run.step(name).stage == "idle":
            reasons.append({"code": "merge_undone", "step": name})
    reasons += [
        {"code": "seam_open", "step": seam["between"][-1], "seam": seam["id"]}
        for seam in open_seams(seams_of(plan, run))
    ]
    return reasons


def holds(plan: Plan, run: RunState) -> list[Reason]:
    """Why a run stands where it stands when nothing else says so: the failure that stopped it was accepted since."""
    return [
        {"code": "step_run_stopped", "step": step.id}
        for step in plan.steps
        if run.step(step.id).hold == "run_stopped"
    ]


def seams_of(plan: Plan, run: RunState) -> Seams:
    """The seams of the steps there are: those of removed ones left the outcome with them."""
    return {
        name: seam
        for name, seam in run.seams.items()
        if all(side in plan.index or side == "workspace" for side in seam["between"])
    }
