"""Reasons of an outcome, a closed set of codes. Source: contract.md §4."""

from __future__ import annotations

from pixirnb.history.events import Reason, RunStatus, WarningRaised
from pixirnb.history.file_events import UNPROVEN
from pixirnb.history.file_state import Seams, last_of, open_seams
from pixirnb.history.run_state import RunState
from pixirnb.machine.required_steps import required_steps, skipped_steps
from pixirnb.planning.plan import Plan

_HELD_REASONS = {"not_selected": "step_not_selected", "cancelled": "step_cancelled"}
"""Holds that are their own reason; all others follow from a step, a `when` or the run, which has a reason of its own."""

GONE = {"owner_died", "lock_lost", "log_write_failed"}
"""Reasons why no process drives a run whose end is not recorded: its process is gone, or may or can write no more."""

OPERATOR = {"cancel": "cancelled", "drain": "drained", "interrupt": "interrupted"}
"""Stops of the operator, each with its reason."""
NOT_RERUN = "rejected_not_rerun"
"""The warning of a resume that ran nothing because a person has rejected steps."""


def step_reasons(plan: Plan, run: RunState) -> list[Reason]:
    """Return the reasons against `completed`, step by step, then seam by seam."""
    codes = {
        "failed": "step_failed",
        "partial": "step_partial",
        "needs_orchestrator": "step_needs_decision",
    }
    reasons: list[Reason] = []
    blamed, skipped = _blamed(plan, run), skipped_steps(plan, run)
    for step in plan.steps:
        state = run.step(step.id)
        is_enough = step.parent is not None and _is_ready(run, plan.steps[step.parent].id)
        if is_enough and not (step.id in blamed and state.awaits_human):
            continue  # enough of the others are ready
        code = codes.get(state.checkpoint_status or "")
        if code is not None:
            timed_out = code == "step_failed" and state.subagent_status == "timed_out"
            reasons.append({"code": "step_timed_out" if timed_out else code, "step": step.id})
        elif state.held_by is not None and step.index not in skipped:
            reason = _HELD_REASONS.get(state.held_by["kind"])
            if reason is not None:
                reasons.append({"code": reason, "step": step.id})
    undone = {merge["step"] for merge in run.merges if merge["undone"]}
    for name, state in run.steps.items() if undone else ():
        is_taken_back = state.is_undone or name in undone
        if is_taken_back and state.stage == "idle" and name in plan.index:
            reasons.append({"code": "merge_undone", "step": name})
    reasons += [
        {"code": "seam_open", "step": last_of(seam), "seam": seam["id"]}
        for seam in open_seams(seams_of(plan, run))
    ]
    return reasons


def _blamed(plan: Plan, run: RunState) -> set[str]:
    """Return the steps that hold items of steps which are not ready, directly or through others."""
    waiting = [
        plan.steps[item].id
        for parent, items in plan.items.items()
        if not _is_ready(run, plan.steps[parent].id)
        for item in items
    ]
    blamed: set[str] = set()
    while waiting:
        state = run.steps.get(waiting.pop())
        if state is not None and state.holder is not None and state.holder not in blamed:
            blamed.add(state.holder)
            waiting.append(state.holder)
    return blamed


def _is_ready(run: RunState, name: str) -> bool:
    return run.step(name).checkpoint_status == "checkpoint_ready"


def run_status(plan: Plan, run: RunState, reasons: list[Reason]) -> RunStatus:
    """Return the first status that holds, in the contract's order."""
    codes = {reason["code"] for reason in reasons}
    states = [run.step(step.id) for step in plan.steps]
    must = required_steps(plan, run)
    seams = open_seams(seams_of(plan, run))
    if not seams and all(states[i].checkpoint_status == "checkpoint_ready" for i in must):
        return "completed"
    if codes & {*GONE, *OPERATOR.values()}:
        return "interrupted"
    statuses = {state.checkpoint_status for state in states}
    if "needs_orchestrator" in statuses or seams:
        return "needs_orchestrator"
    if statuses & {"checkpoint_ready", "partial"}:
        return "partial"
    if "run_timed_out" in codes or any(s.subagent_status == "timed_out" for s in states):
        return "timed_out"
    return "failed"


def holds(plan: Plan, run: RunState) -> list[Reason]:
    """Return the holds that a failure caused which was accepted since: the reasons where there are no others."""
    return [
        {"code": "step_run_stopped", "step": step.id}
        for step in plan.steps
        if run.step(step.id).hold == "run_stopped"
    ]


def seams_of(plan: Plan, run: RunState) -> Seams:
    """Return the seams of the steps in the plan: seams of removed steps left the outcome with them."""
    return {
        name: seam
        for name, seam in run.seams.items()
        if all(side in plan.index or side == "workspace" for side in seam["between"])
    }


def own_warnings(plan: Plan, run: RunState) -> list[WarningRaised]:
    """Return the warnings that follow from the state of a run and are in no log."""
    return [*_unproven(plan, run), *_idle(plan, run)]


def _idle(plan: Plan, run: RunState) -> list[WarningRaised]:
    """Return a warning if the last resume ran and asked nothing, because a person has rejected steps."""
    states = [run.step(step.id) for step in plan.steps]
    rejected = sum(
        state.decided and state.decision is not None and state.decision["verdict"] == "reject"
        for state in states
    )
    is_idle = run.finished is not None and not any(
        state.awaits_human or max(state.scheduled_seq, state.settled_seq) > run.resumed_seq
        for state in states
    )
    if not (rejected and is_idle):
        return []
    message = (
        f"the resume ran no step: {rejected:,} rejected; use `resume {run.run_id} --from STEP`"
    )
    return [{"code": NOT_RERUN, "message": message, "step": None}]


def _unproven(plan: Plan, run: RunState) -> list[WarningRaised]:
    """Return the ready steps whose checks have not run, or passed on a file that is not kept."""
    return [
        {
            "code": code,
            "message": limit.removeprefix(f"{code}: "),
            "step": step.id,
        }
        for step in plan.steps
        if (state := run.steps.get(step.id)) and state.checkpoint_status == "checkpoint_ready"
        for limit in state.limitations
        if (code := limit.partition(":")[0]) in UNPROVEN
    ]
