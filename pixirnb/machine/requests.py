"""Requests to a run, and what the machine makes of each: events to record, or an action for the engine.

    Request   a verb with its arguments, who said it, and an id of its own
    grant     what follows from it as the run stands now; it raises where nothing can

The owner of the run grants requests in the order of their arrival, so that of two answers to one question the first counts and
the second is refused. A request that was handled already changes nothing: its id is in the log. Source: contract.md §3
(requests), §6 (decisions, checkpoints), §10 (limits).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct, field

from pixirnb.errors import Cannot, InvalidArguments
from pixirnb.history.event_draft import EventDraft, warning
from pixirnb.history.events import CheckpointSaved
from pixirnb.history.file_events import CONFLICT
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.ids import NAME_RULE, is_run_id, is_step_id
from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.machine import merge_requests, permission_answers
from pixirnb.machine.board import RunStop
from pixirnb.machine.conflict_sides import require_sides
from pixirnb.machine.next_actions import needs_answer, value_argument
from pixirnb.planning.plan import Plan
from pixirnb.spec.expressions.conditions import is_same
from pixirnb.spec.limits import NESTING, nests_too_deep
from pixirnb.wording import join_names, local_time

NOTE_LIMIT: Final = 4096
VALUE_LIMIT: Final = 16 * 1024
_STOPS: Final[Mapping[str, RunStop]] = {
    "cancel": "cancel",
    "drain": "drain",
    "interrupt": "interrupt",
}


Sender = Literal["person", "own_step", "other_step", "unproven"]
"""Author of a request, as the owner could prove: a process below no step · one below a step of this owner · one below a step of
another owner · unproven, since only a file names it."""


class Request(Struct, frozen=True):
    """One request to a run. `arguments` is plain JSON."""

    id: str
    verb: str
    """`decide`, `approve`, `deny`, `merge`, `checkpoint`, `cancel`, or `neighbour` (another run that may write the same files);
    others are refused."""
    arguments: JsonObject = field(default_factory=dict)
    by: str = "unknown"
    is_awaited: bool = True
    """True if a process waits for the reply."""
    sender: Sender = "person"
    """Author of the request. One made in this process proves itself; one that came by the inbox has been judged there."""


def is_agents_word(by: str) -> bool:
    """Return whether a decision's author is an agent: `agent SESSION of RUN` or `mcp client NAME`. User names have no blank."""
    return by.startswith(("agent ", "mcp client "))


class Grant(Struct, frozen=True):
    """The consequences of a request."""

    drafts: tuple[EventDraft, ...] = ()
    stop: RunStop | None = None
    """The stop of the whole run."""
    cancelled: str | None = None
    """The step that is cancelled."""
    merge: merge_requests.MergeRequest | None = None
    """The merge that the engine is to do."""


def grant(request: Request, plan: Plan, run: RunState) -> Grant:
    """Return the consequences of a request as the run stands. Changes nothing.

    Raises InvalidArguments where the request cannot be granted, whatever its arguments hold; Cannot where its sender may not
    ask.
    """
    _require_sender(request)
    if request.id in run.requests:
        return Grant()
    arguments = request.arguments
    match request.verb:
        case "decide" if _is_seam(arguments.get("step"), plan, run):
            return Grant((_seam(request, run),))
        case "decide":
            return Grant((_decision(request, plan, run),))
        case "merge":
            return Grant(
                merge=merge_requests.parse_request(
                    arguments, plan, run, by=request.by, request_id=request.id
                )
            )
        case "approve" | "deny":
            verdict: Literal["allow", "deny"] = "allow" if request.verb == "approve" else "deny"
            permission = str(arguments.get("request_id"))
            drafts = permission_answers.answer_permission(
                run, permission, verdict, by=request.by, note=_note(arguments), request=request.id
            )
            return Grant(drafts)
        case "checkpoint":
            return Grant((_checkpoint(request, plan, run),))
        case "neighbour" if is_run_id(str(arguments.get("run_id"))):
            return Grant(_neighbour(str(arguments.get("run_id")), run))
        case "cancel" if arguments.get("step") is not None:
            return Grant(
                cancelled=_cancelled(merge_requests.require_step(arguments.get("step"), plan), run)
            )
        case "cancel" if arguments.get("how", "cancel") in _STOPS:
            return Grant(stop=_STOPS[arguments.get("how", "cancel")])
        case _:
            raise InvalidArguments(
                f"unknown request `{request.verb}`",
                fix="use the pixirnb version that drives the run",
                code="request_unknown",
            )


PERSONS: Final = frozenset({"approve", "deny", "decide", "merge"})
"""Verbs that only a person may use."""


def _require_sender(request: Request) -> None:
    """Raise Cannot where the sender must not send this request, or has not proved that it may."""
    verb, sender = request.verb, request.sender
    is_harmless = verb not in {*PERSONS, "cancel"}
    if sender == "person" or is_harmless or (sender == "other_step" and verb == "cancel"):
        return
    if sender == "unproven":
        raise Cannot(
            f"cannot verify who sent `{verb}`: a step could have left the request",
            fix="use a cell, or a terminal opened before the run started, on the host and in the container of the run",
            code="sender_unproven",
        )
    raise Cannot(
        f"`{verb}` was sent by a process of a step; only a person can use it",
        fix=f"use a cell (`%pixir {verb} …`) or a terminal outside of the run",
        code="approval_by_agent" if verb in PERSONS else "cancel_by_step",
    )


def _is_seam(named: Any, plan: Plan, run: RunState) -> bool:
    if not isinstance(named, str) or named not in run.seams or named not in plan.index:
        return isinstance(named, str) and named in run.seams
    # The step came after the seam whose name it has.
    return run.seams[named]["state"] == "open" and not run.step(named).awaits_human


def _cancelled(step: str, run: RunState) -> str:
    state = run.steps.get(step) or StepState()
    if state.stage == "settled":
        raise InvalidArguments(
            f"nothing to cancel: `{step}` {_IS.get(str(state.checkpoint_status), f'is {state.checkpoint_status}')}",
            fix="cancel a running or waiting step, or the whole run",
            code="nothing_to_cancel",
        )
    return step


def _decision(request: Request, plan: Plan, run: RunState) -> EventDraft:
    arguments = request.arguments
    step, verdict, value = (
        merge_requests.require_step(arguments.get("step"), plan),
        arguments.get("verdict"),
        arguments.get("value"),
    )
    state = run.steps.get(step) or StepState()
    if verdict not in {"accept", "reject"}:
        raise InvalidArguments(
            f"invalid verdict `{verdict}`", fix="use `accept` or `reject`", code="unknown_verdict"
        )
    if state.has_open_decision:
        raise InvalidArguments(
            _decided_already(step, state),
            fix="resume the run to apply the decision",
            code="decided_already",
        )
    if state.is_permitted:
        raise InvalidArguments(
            f"the permission of `{step}` is already given",
            fix="resume the run to apply it",
            code="decided_already",
        )
    if state.checkpoint_status not in {"needs_orchestrator", "partial"} or state.recheck:
        status = state.checkpoint_status or state.subagent_status
        is_old = state.decision is not None and not state.recheck
        raise InvalidArguments(
            _decided_already(step, state)
            if is_old
            else f"`{step}` needs no decision: it {_IS.get(status, f'is {status}')}",
            fix=f"run it again: `pixirnb resume {run.run_id} --from {step}`"
            if is_old or status == "failed"
            else "decide a step that waits for a decision or is partial",
            code="nothing_to_decide",
        )
    left = None if state.ended is None else state.ended.get("output")
    if verdict == "accept" and value is not None and left:
        is_agent = plan.steps[plan.index[step]].kind == "agent"
        raise InvalidArguments(
            f"`{step}` is an agent's result: accept or reject it as it is"
            if is_agent
            else f"a value has no effect: `{step}` already has an output",
            fix="remove the value, and explain in the note"
            if is_agent
            else "remove the value, or write it as the note",
            code="value_not_taken",
        )
    if verdict == "accept" and state.error_kind == CONFLICT:
        require_sides(value, state, run)
    planned = plan.steps[plan.index[step]]
    if verdict == "accept" and value is None and not state.choices and needs_answer(planned, state):
        raise InvalidArguments(
            f"`{step}` needs an answer: later steps refer to its output",
            fix=f"use run.accept({_quoted(step)}, ANSWER)",
            code="not_a_choice",
        )
    is_choice = any(is_same(value, choice) for choice in state.choices)
    if verdict == "accept" and state.choices and not is_choice:
        calls = [f"run.accept({_quoted(step)}, {_quoted(each)})" for each in state.choices]
        raise InvalidArguments(
            f"`{step}` needs an answer"
            if value is None
            else f"{repr(value)[:80]} is not an answer of `{step}`",
            fix=f"use {_one_of(calls)}",
            code="not_a_choice",
        )
    try:
        text = json.dumps(value, allow_nan=False)
        value = json.loads(text)  # what an inbox would have made of it: keys are texts
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidArguments(
            f"the value is not JSON: {error}",
            fix="pass a string, number, list or mapping",
            code="value_not_json",
        ) from error
    _within("value", text.encode(), VALUE_LIMIT)
    if nests_too_deep(value):
        raise InvalidArguments(
            f"the value nests deeper than {NESTING} levels",
            fix="flatten it",
            code="limit_exceeded",
            details={"limit": "nesting"},
        )
    return EventDraft(
        "decision_recorded",
        {
            "step": step,
            "attempt": state.attempt,
            "verdict": verdict,
            "value": value,
            "note": _note(arguments),
            "by": request.by,
            "request_id": request.id,
        },
    )


def spell_answers(
    error: InvalidArguments,
    choices: Sequence[Any],
    *,
    fix: str = "use {}",
    each: str = "{}",
    spell: Callable[[Any], str] = value_argument,
) -> None:
    """Write the fix of a decision that is not a choice as its reader gives answers."""
    if error.code == "not_a_choice":
        known = [spell(value) for value in choices] or ["ANSWER"]
        error.fix = fix.format(_one_of([each.format(value) for value in known]))


def _one_of(answers: Sequence[str]) -> str:
    """Return a few answers of which a person gives one, for a message."""
    return " or ".join(answers) if len(answers) <= 6 else join_names(answers, 6)


def _quoted(value: Any) -> str:
    """Return a value as a call spells it: text in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


_IS: Final = {
    "checkpoint_ready": "is ready",
    "failed": "failed",
    "queued": "has not started",
}
"""Status of a step to the words for it, where `is` and the status are none."""


def _decided_already(step: str, state: StepState) -> str:
    """Return the decision that a step has: who made it, when, and with which value."""
    decision = state.decision
    assert decision is not None
    at = local_time(state.decided_at or "")
    when = f" at {at}" if at else ""
    value = "" if decision["value"] is None else f" with {json.dumps(decision['value'])[:80]}"
    return f"`{step}` was already {decision['verdict']}ed by {decision['by']}{when}{value}"


def _seam(request: Request, run: RunState) -> EventDraft:
    """Return a person's confirmation that the work on both sides of a seam fits."""
    arguments = request.arguments
    seam, note = run.seams[str(arguments.get("step"))], _note(arguments)
    if seam["state"] == "resolved":
        raise InvalidArguments(
            f"seam `{seam['id']}` is already resolved: {seam['resolution']}",
            code="nothing_to_decide",
        )
    if (
        arguments.get("verdict") != "accept"
        or not note.strip()
        or arguments.get("value") is not None
    ):
        raise InvalidArguments(
            f"seam `{seam['id']}` can only be accepted, with a note that says why the changes are compatible",
            fix=f"use `pixirnb decide {run.run_id} {seam['id']} accept --note <WHY>`; "
            f"if they are not compatible: `pixirnb resume {run.run_id} --from STEP`",
            code="seam_needs_note",
        )
    return EventDraft(
        "seam_resolved",
        {"id": seam["id"], "by": request.by, "note": note, "request_id": request.id},
    )


def _checkpoint(request: Request, plan: Plan, run: RunState) -> EventDraft:
    name = request.arguments.get("name")
    if not isinstance(name, str) or not is_step_id(name):
        raise InvalidArguments(
            f"invalid checkpoint name `{name}`",
            fix=f"use {NAME_RULE}",
            code="bad_name",
        )
    known = run.steps
    ready = [
        step.id
        for step in plan.steps
        if step.id in known and known[step.id].checkpoint_status == "checkpoint_ready"
    ]
    data: CheckpointSaved = {
        "name": name,
        "reason": "manual",
        "ready": ready,
        "note": _note(request.arguments),
        "request_id": request.id,
    }
    if request.sender != "person":
        data["sender"] = request.sender
    return EventDraft("checkpoint_saved", data)


def workspace_shared(other: str) -> EventDraft:
    """Return the warning that another live run may write files that this one writes."""
    message = f"{other} is running in the same workspace and may write the same files"
    return warning("workspace_shared", message, None)


def _neighbour(other: str, run: RunState) -> tuple[EventDraft, ...]:
    draft = workspace_shared(other)
    return () if draft.data in run.warnings else (draft,)


def _note(arguments: JsonMapping) -> str:
    note = str(arguments.get("note") or "")
    _within("note", note.encode("utf-8", errors="replace"), NOTE_LIMIT)
    return note


def _within(what: str, data: bytes, limit: int) -> None:
    if len(data) > limit:
        raise InvalidArguments(
            f"the {what} has {len(data)} bytes; the limit is {limit}",
            fix=f"shorten the {what}, or write it to a file and pass the path",
            code="limit_exceeded",
            details={"limit": what},
        )
