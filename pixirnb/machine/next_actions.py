"""Next actions of a person, each with its cell and its command: a closed list. Source: contract.md §4, `next_actions`."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pixirnb.history.file_state import last_of, open_seams
from pixirnb.machine.outcome_documents import Action, NextAction
from pixirnb.machine.outcome_reasons import seams_of
from pixirnb.spec.expressions.references import as_text

if TYPE_CHECKING:
    from pixirnb.history.run_state import RunState
    from pixirnb.history.step_state import StepState
    from pixirnb.planning.plan import Plan, PlannedStep

UNDECIDED: Final = "agent_undecided"
"""Kind of the error of a step whose agent asks a person."""
ENDED_WITH_RUN: Final = "ended with the timeout of the whole run"
"""The message of a step that had time left when its run had none; in every log of one."""
_PLAIN: Final = re.compile(r"[A-Za-z][\w-]*", re.ASCII)
_NUMBER: Final = re.compile(r"[\d.]+", re.ASCII)
_RESUME: Final = re.compile(r"(%pixir resume \S+(?: --from \S+)?)(?: --spec (?:FILE|<FILE>))?")
_NAMED: Final = 3
"""Items that are offered to be run again."""
_STOPPED = frozenset({"interrupted", "cancelled"})
"""Ends of attempts that were stopped and did not fail by themselves: a resume goes on with them."""


def step_actions(run_id: str, step: PlannedStep, state: StepState) -> list[NextAction]:
    """Return the actions for one step; none for a step that is ready or has not settled."""
    status = state.checkpoint_status
    if status is None:
        decide = (
            [_decide(run_id, step, state)] if state.stage == "asking" and state.awaits_human else []
        )
        return [*_approvals(step.id, state), *decide]
    again = offer("rerun_step", step.id, f"%pixir resume {run_id} --from {step.id}")
    if status in {"needs_orchestrator", "partial"}:
        if not state.awaits_human:  # a decision on it is recorded, and the run did not go on yet
            return [offer("resume_run", None, f"%pixir resume {run_id}")]
        answers = _answers(run_id, step, state)
        return answers if status == "needs_orchestrator" else [again, *answers]
    if status == "failed":
        actions = []
        if _is_late(state):
            late = None if _ended_with_run(state) else step.id
            actions.append(offer("raise_timeout", late, f"%pixir resume {run_id} --spec FILE"))
        return [*actions, again]
    return []


def next_actions(plan: Plan, run: RunState, status: str) -> list[NextAction]:
    """Return the actions for the run as it stands, most useful first; for a completed run only to merge its files."""
    run_id = run.run_id
    merge = [offer("merge_changes", None, f"%pixir merge {run_id}")]
    if status == "completed":
        return merge if mergeable(plan, run) else []
    states = [(step, run.step(step.id)) for step in plan.steps]
    actions = [action for step, state in states for action in _approvals(step.id, state)]
    if status == "running":
        actions += [
            _decide(run_id, step, state)
            for step, state in states
            if state.awaits_human
            and not state.open_requests  # these come first
            and (state.stage == "asking" or state.checkpoint_status == "needs_orchestrator")
        ]
        return [*actions, offer("abort", None, f"%pixir cancel {run_id}")]
    actions += _decisions(run_id, states, "needs_orchestrator")
    late = dict.fromkeys(
        None if _ended_with_run(state) else step.id
        for step, state in states
        if _is_late(state) and state.checkpoint_status != "checkpoint_ready"
    )
    actions += [
        offer("raise_timeout", step, f"%pixir resume {run_id} --spec FILE") for step in late
    ]
    failed = [(step, state) for step, state in states if state.checkpoint_status == "failed"]
    # A rejection stands, and a resume reuses it: only by its name is the step asked for again.
    actions += [
        offer("rerun_step", step.id, f"%pixir resume {run_id} --from {step.id}")
        for step, state in failed
        if state.decided
    ]
    done = {step.id for step, _ in failed if _is_of_ready_list(plan, run, step)}
    required = [
        state.held_by["step"] for _, state in states if state.held_by and state.hold == "dependency"
    ]
    actions += [
        offer("rerun_step", item, f"%pixir resume {run_id} --from {item}")
        for item in list(dict.fromkeys(each for each in required if each in done))[:_NAMED]
    ]
    if any(
        not state.decided and state.subagent_status not in _STOPPED and step.id not in done
        for step, state in failed
    ):
        actions.append(offer("retry_failed_steps", None, f"%pixir resume {run_id}"))
    has_more = any(_may_go_on(state) for _, state in states)
    if has_more and not any(a["cell"] == f"%pixir resume {run_id}" for a in actions):
        actions.append(offer("resume_run", None, f"%pixir resume {run_id}"))
    actions += _seams(plan, run)
    if mergeable(plan, run):
        actions += merge
    actions += _decisions(run_id, states, "partial")
    if any(state.checkpoint_status == "partial" for _, state in states):
        actions.append(offer("synthesize_from_partial", None, f"%pixir show {run_id}"))
    return actions


def _is_of_ready_list(plan: Plan, run: RunState, step: PlannedStep) -> bool:
    """Return whether a step is an item of a list that is ready without it: a resume that does not name it reuses it."""
    if step.parent is None:
        return False
    return run.step(plan.steps[step.parent].id).checkpoint_status == "checkpoint_ready"


def _ended_with_run(state: StepState) -> bool:
    """Return whether the timeout of the whole run ended a step, not its own."""
    return state.error is not None and state.error["message"].startswith(ENDED_WITH_RUN)


def mergeable(plan: Plan, run: RunState) -> list[str]:
    """Return the ready steps whose changes lie apart from the user's files, in the order of the plan."""
    return [
        step.id
        for step in plan.steps
        if (state := run.steps.get(step.id)) is not None
        and state.checkpoint_status == "checkpoint_ready"
        and state.captured is not None
        and state.captured["changes"]["count"] > 0
        and state.merged_by is None
    ]


def _seams(plan: Plan, run: RunState) -> list[NextAction]:
    return [
        offer(
            "resolve_seam",
            last_of(seam),
            f"%pixir decide {run.run_id} {seam['id']} accept --note WHY",
        )
        for seam in open_seams(seams_of(plan, run))
    ]


def _decisions(
    run_id: str, states: Sequence[tuple[PlannedStep, StepState]], status: str
) -> list[NextAction]:
    return [
        answer
        for step, state in states
        if state.checkpoint_status == status and state.awaits_human
        for answer in _answers(run_id, step, state)
        if answer["action"] != "approve_request"  # these come first
    ]


def _may_go_on(state: StepState) -> bool:
    """Return whether a resume that names no step runs this one: a rejection stands, and so does a step that waits for it."""
    if state.checkpoint_status == "held":
        return state.hold not in {"dependency", "when"}
    if state.awaits_human and state.checkpoint_status == "needs_orchestrator":
        return False  # it would only ask the same question again
    return state.checkpoint_status != "checkpoint_ready" and not (
        state.checkpoint_status == "failed" and state.decided
    )


def _is_late(state: StepState) -> bool:
    """Return whether the last attempt ended by its timeout, though its thread may go on."""
    details = {} if state.error is None else state.error["details"]
    is_detached = state.subagent_status == "detached"
    return state.subagent_status == "timed_out" or (
        is_detached and details.get("reason") == "timed_out"
    )


def _approvals(step: str, state: StepState) -> list[NextAction]:
    return [
        offer("approve_request", step, f"%pixir approve {request}")
        for request in state.open_requests
    ]


def _answers(run_id: str, step: PlannedStep, state: StepState) -> list[NextAction]:
    """Return the answers to what a step asks; while its agent waits for a permission, to accept the step is none."""
    if approvals := _approvals(step.id, state):
        return approvals
    accept = _decide(run_id, step, state)
    if state.request is not None and state.request["reason"] == "in_flight":
        return [accept, offer("rerun_step", step.id, f"%pixir resume {run_id} --from {step.id}")]
    if state.error_kind != UNDECIDED:
        return [accept]
    return [offer("rerun_step", step.id, f"%pixir resume {run_id} --spec FILE"), accept]


def _decide(run_id: str, step: PlannedStep, state: StepState) -> NextAction:
    return decide_step(run_id, step.id, state.choices, takes_answer=needs_answer(step, state))


def decide_step(
    run_id: str, step: str, choices: Sequence[Any], *, takes_answer: bool = False
) -> NextAction:
    """Return the action that accepts a step. A person chooses: words in place of the value are refused as they are."""
    answer = " --value ANSWER" if takes_answer else ""
    if choices:
        texts = "|".join(as_text(choice) for choice in choices)
        one = len(choices) == 1
        answer = f" --value {value_argument(choices[0]) if one else shlex.quote(texts)}"
    return offer("decide_step", step, f"%pixir decide {run_id} {step} accept{answer}")


def needs_answer(step: PlannedStep, state: StepState) -> bool:
    """Return whether a question can be accepted only with a value: with one of its choices, or as later steps refer to it."""
    return bool(state.choices) or (state.stage == "asking" and step.is_referenced)


def value_argument(value: Any) -> str:
    """Return a value as `--value` takes it in a shell: plain text where this means the same, else quoted JSON."""
    if (
        isinstance(value, str)
        and _PLAIN.fullmatch(value)
        and value not in {"true", "false", "null"}
    ):
        return value
    text = json.dumps(value, ensure_ascii=False)
    return text if _NUMBER.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'"


def with_spec(actions: Sequence[NextAction], name: str) -> list[NextAction]:
    """Return the actions where cells define the workflow: each resume continues with that of the cells.

    To rerun what failed is then the same cell as to raise a timeout before.
    """
    spelled: list[NextAction] = []
    for action in actions:
        cell = spell_spec(action["cell"], name)
        if action["step"] is not None or all(cell != each["cell"] for each in spelled):
            spelled.append({**action, "cell": cell})
    return spelled


def spell_spec(text: str, name: str) -> str:
    """Return a text in which each resume continues with the workflow `name`."""
    return _RESUME.sub(rf"\1 --spec {name}", text)


def offer(action: Action, step: str | None, cell: str) -> NextAction:
    """Return one next action."""
    command = cell.replace("%pixir", "pixirnb", 1)
    return {"action": action, "step": step, "cell": cell, "command": command}
