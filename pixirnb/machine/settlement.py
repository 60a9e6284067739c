"""Settlement of steps: the verdict on an attempt, a decision, a hold. Each is one or two events.

Source: contract.md §4 (the table), §5 (retries), §6 (decisions).
"""

from __future__ import annotations

from typing import Final

from pixirnb.history.agent_events import PERMISSION_REQUIRED
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import CheckpointDecided, ErrorData, SubagentStatus
from pixirnb.history.file_events import CHECKS_NOT_RUN, CONFLICT
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.machine import fingerprint, permission_answers, retry
from pixirnb.machine.failure_evidence import check_phrase
from pixirnb.machine.instructions import Snapshot
from pixirnb.machine.next_actions import UNDECIDED
from pixirnb.machine.readiness import Verdict, judge
from pixirnb.machine.requests import is_agents_word
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.wording import join_names


def after_attempt(snapshot: Snapshot, index: int) -> list[EventDraft]:
    """Return the events that follow from an ended attempt: a retry, or the step's checkpoint status."""
    step, state = snapshot.plan.steps[index], snapshot.board.state(index)
    verdict = judge(step, state, is_lenient=snapshot.plan.workflow.readiness == "lenient")
    planned = retry.plan_retry(snapshot, index, verdict)
    if planned is not None:
        return [planned]
    return settle_step(step, state, verdict)


def missing_verdicts(plan: Plan, run: RunState) -> list[EventDraft]:
    """Return the verdicts on attempts whose end is in the log and whose verdict was torn off: a resume records them first, so
    that nothing that was finished is done twice.
    """
    is_lenient = plan.workflow.readiness == "lenient"
    states = [(step, run.steps.get(step.id)) for step in plan.steps]
    return [
        draft
        for step, state in states
        if state is not None and state.stage == "ended"
        for draft in settle_step(step, state, judge(step, state, is_lenient=is_lenient))
    ]


def settle_step(step: PlannedStep, state: StepState, verdict: Verdict) -> list[EventDraft]:
    """Return the checkpoint decision, and the question to the human where the verdict leaves one."""
    digest = None
    if verdict.status == "checkpoint_ready":
        digest = fingerprint.of_result(state)
    drafts = [checkpoint_event(step, state, verdict, digest)]
    if verdict.status == "needs_orchestrator":
        drafts.append(
            EventDraft(
                "decision_requested",
                {
                    "step": step.id,
                    "attempt": state.attempt,
                    "reason": "needs_orchestrator"
                    if verdict.error is None
                    else verdict.error["kind"],
                    "question": _question(step, verdict),
                    "choices": [],
                    "timeout_ms": None,
                    "fingerprint": state.fingerprint or {},
                },
            )
        )
    return drafts


def _question(step: PlannedStep, verdict: Verdict) -> str:
    message = "" if verdict.error is None else verdict.error["message"]
    reason = message
    if verdict.error is not None and verdict.error["kind"] == CONFLICT:
        return f"Run `{step.id}` again with the conflicting files as they are in your workspace? {reason}"
    if verdict.error is not None and verdict.error["kind"] == UNDECIDED:
        return message
    return f"Accept the result of `{step.id}` as it is? {reason}".strip()


def checkpoint_event(
    step: PlannedStep,
    state: StepState,
    verdict: Verdict,
    digest: str | None,
    *,
    subagent_status: SubagentStatus | None = None,
    reused: bool = False,
) -> EventDraft:
    """Return the event that unlocks dependents, or says why they stay locked."""
    data: CheckpointDecided = {
        "step": step.id,
        "attempt": state.attempt,
        "status": verdict.status,
        "subagent_status": subagent_status or state.subagent_status,
        "error": verdict.error,
        "limitations": verdict.limitations,
        "digest": digest,
    }
    if reused:
        data["reused"] = True
    return EventDraft("checkpoint_decided", data)


def after_permission(snapshot: Snapshot, index: int) -> list[EventDraft]:
    """Return a retry of a step that came to rest for want of a permission and has it now, without counting an attempt."""
    state = snapshot.board.state(index)
    if not state.is_permitted or snapshot.is_stopping or index in snapshot.board.cancelled:
        return []
    return [retry.plan_rerun(snapshot, index, PERMISSION_REQUIRED)]


_A: Final = {"human": "a human", "agent": "an agent"}


def after_decision(snapshot: Snapshot, index: int) -> list[EventDraft]:
    """Return the events that follow from a decision on a step, of a human or of the agent that delegated the run."""
    step, state = snapshot.plan.steps[index], snapshot.board.state(index)
    decision = state.decision
    by = "a human" if decision is None else decision["by"] or "a human"
    who = "agent" if is_agents_word(by) else "human"
    if decision is not None and decision["verdict"] == "reject":
        error: ErrorData
        if "permission" in decision:
            error = permission_answers.refusal(decision["permission"], decision["note"])
        else:
            note = decision["note"] or "no reason given"
            error = {"kind": "rejected", "message": f"rejected by {_A[who]}: {note}", "details": {}}
        verdict = Verdict("failed", error, list(state.limitations))
        return [checkpoint_event(step, state, verdict, None)]
    if state.error_kind == CONFLICT:
        return [retry.plan_rerun(snapshot, index, CONFLICT)]
    limits = list(state.limitations)
    if step.kind != "decision":
        limits.append(f"accepted_by_{who} ({by})")
    if step.spec.verify and not state.checks:
        checks = [check_phrase(check.document()) for check in step.spec.verify]
        names = join_names(checks, 3, "`{}`".format)
        limits.append(f"{CHECKS_NOT_RUN}: its checks have not run: {names}")
    verdict = Verdict("checkpoint_ready", None, limits)
    return [checkpoint_event(step, state, verdict, fingerprint.of_result(state))]


def expired_event(step: PlannedStep, state: StepState) -> EventDraft:
    """Return the end of a question that was not answered in time."""
    message = f"no decision on `{step.id}` within its timeout"
    return EventDraft(
        "attempt_ended",
        {
            "step": step.id,
            "attempt": state.attempt,
            "status": "timed_out",
            "error": {"kind": "timeout", "message": message, "details": {}},
            "elapsed_ms": state.timeout_ms or 0,
            "summary": "",
        },
    )


def cancelled_event(step: PlannedStep, state: StepState) -> EventDraft:
    """Return the checkpoint of a step cancelled while it waited. The result of its last attempt stays usable."""
    error: ErrorData = {"kind": "cancelled", "message": "canceled by the operator", "details": {}}
    worth = "failed" if state.ended is None else judge(step, state, is_lenient=False).status
    verdict = Verdict("partial" if worth == "partial" else "failed", error, list(state.limitations))
    return checkpoint_event(step, state, verdict, None, subagent_status="cancelled")
