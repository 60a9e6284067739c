"""The sentences every view shares: why a step is held, what a reason means, what an action does."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pixirnb.history.agent_events import PERMISSION_REQUIRED
from pixirnb.history.events import NO_ITEM
from pixirnb.history.file_events import CONFLICT, OUTSIDE, UNPROVEN
from pixirnb.views.basics.sanitize import line, plural
from pixirnb.views.basics.show_value import glance, shown
from pixirnb.views.basics.status_marks import is_decided
from pixirnb.views.basics.times import span
from pixirnb.wording import join_names

if TYPE_CHECKING:
    from pixirnb.machine.outcome_documents import RunDocument, StepDocument

_ACCEPTED: Final = re.compile(r"accepted_by_(?P<who>human|agent) \((?P<by>.*)\)", re.DOTALL)
STOOD: Final = "Snapshot; follow it with:"
"""A note next to a run that was live: a saved picture does not move, and must not look as if it knew the end."""

_REASONS: Final = {
    "step_failed": "{step} failed",
    "step_timed_out": "{step} timed out",
    "step_partial": "{step} is partial",
    "step_needs_decision": "{step} needs a decision",
    "step_not_selected": "{step} was not selected",
    "step_cancelled": "{step} was canceled",
    "step_run_stopped": "{step} was not started because the run stopped",
    "run_timed_out": "the run's timeout passed",
    "owner_died": "the process that ran it died",
    "cancelled": "canceled by the operator",
    "drained": "drained by the operator",
    "interrupted": "interrupted by the operator",
    "decided_not_resumed": "a decision is recorded, the run is not resumed yet",
    "seam_open": "seam {seam} of {step} is open",
    "merge_undone": "the merge of {step} was undone",
}
IN_TABLE: Final = frozenset(
    {
        "step_failed",
        "step_timed_out",
        "step_partial",
        "step_needs_decision",
        "step_cancelled",
        "step_not_selected",
    }
)
"""Reasons that a row of the step in a table says as well."""
_ACTIONS: Final = {
    "rerun_step": "rerun {step} and its dependents",
    "resume_run": "resume the run",
    "raise_timeout": "raise the timeout of {step} in <FILE>, then resume",
    "decide_step": "accept {step}, or reject it",
    "approve_request": "approve the request of {step}, or `deny` it",
    "merge_changes": "merge isolated changes into your files",
    "resolve_seam": "confirm that the changes of {step} are compatible",
    "inspect_session": "show the session of {step}",
    "synthesize_from_partial": "look at the partial results",
    "abort": "stop the run",
}
_IN_CELL: Final = {"raise_timeout": "raise the timeout of {step} in its cell, then resume"}
"""Phrases of actions on a workflow that cells define."""
_ANSWER: Final = "answer the agent in the task of {step} in <FILE>, then resume"
_CLASHING: Final = {
    "decide_step": "retry {step} after resolving the conflict in your files (`merge {run_id} --preview` shows it),"
    " or choose a version with `--value <VERSION>`",
}
"""Phrases of actions on a step that waits for a conflict to be solved."""
_PARTIAL: Final = {"decide_step": "accept {step} as it is, or reject it"}
_HELD: Final = {
    "dependency": "blocked by {step}",
    "when": "`when` is false{seen}",
    "run_stopped": "the run stopped before it could start",
    "run_timeout": "the run timed out before it could start",
    "cancelled": "canceled before it started",
    "not_selected": "not selected",
}
_SKIPPED: Final = {
    "when": "`when` is false{seen}",
    "dependency": "upstream `{step}` was skipped",
}
"""Reasons for skipping a step."""
_HELD_AGAIN: Final = {
    "run_stopped": "the run stopped before it could run again",
    "run_timeout": "the run timed out before it could run again",
    "cancelled": "canceled before it could run again",
}
"""Reasons for holding a step that has run before: it did start once."""
_RESUME: Final = {
    "ready": "ready and unchanged",
    "failed": "failed before",
    "partial": "not ready",
    "held": "held before",
    "waiting": "no decision yet: asks again",
    "in_flight": "was running when the run ended; side effects may be incomplete",
    "spec_changed": "definition changed",
    "new": "new",
    "input_changed": "input changed",
    "never": "never reused",
    "upstream_changed": "dependency changed",
    "value_not_trusted": "value not signed by this user",
    "blob_missing": "stored value missing",
    "blob_damaged": "stored value damaged",
    "not_selected": "not selected",
    "gone": "no longer in the list",
}
_WAS: Final = {
    "interrupted": "interrupted before",
    "cancelled": "canceled before",
    "timed_out": "timed out before",
    "not_selected": "not selected before",
}

_OF_RUN: Final = {"raise_timeout": "raise the workflow's `timeout` in <FILE>, then resume"}
"""Actions for a whole run whose phrases otherwise name a step."""
_SELF_EVIDENT: Final = frozenset(
    {"cancelled", "exception", "exit", "interrupted", "output_invalid", "timeout", "verification"}
)
"""Kinds of errors that their messages name."""


def held_phrase(
    held_by: Any, *, attempt: Any = 0, is_skipped: bool = False, has_failed: bool = False
) -> str:
    """Return why a step did not start, or not again after `attempt` attempts; empty where nothing holds it."""
    if is_skipped:
        return _phrase(_SKIPPED, held_by, "kind")
    has_run = isinstance(attempt, int) and attempt > 0
    phrase = _phrase({**_HELD, **_HELD_AGAIN} if has_run else _HELD, held_by, "kind")
    return f"{phrase}; failed before" if has_failed else phrase


def retry_phrase(retry: Any) -> str:
    """Return the next attempt that a step waits for, and the reason; empty if none is due."""
    if not isinstance(retry, Mapping):
        return ""
    phrase = f"waits {span(retry.get('delay_ms'))} for attempt {line(retry.get('attempt'), 12)}"
    why = error_phrase(retry.get("error"))
    return f"{phrase}: {why}" if why else phrase


def reason_phrase(reason: Any) -> str:
    """Return one entry of an outcome's `reasons`."""
    return _phrase(_REASONS, reason, "code")


def action_phrase(
    action: Any,
    clashing: Collection[str] = (),
    partial: Sequence[str] = (),
    *,
    has_stopped: bool = False,
) -> str:
    """Return one entry of `next_actions`, its cell apart. `clashing`: steps that wait for a conflict to be solved; `partial`:
    those of `partial_steps`, which a person may accept as they are; `has_stopped`: see `has_stopped_steps`.
    """
    if isinstance(action, Mapping) and action.get("action") == "retry_failed_steps":
        kinds = ["failed", *["interrupted"] * has_stopped, *["partial"] * bool(partial)]
        first = ", ".join(kinds[:-1])
        return f"rerun the {f'{first} and ' if first else ''}{kinds[-1]} steps"
    if isinstance(action, Mapping) and action.get("step") in clashing:
        cell = str(action.get("cell") or "").split()
        run_id = cell[cell.index("decide") + 1] if "decide" in cell[:-1] else "RUN"
        return _phrase({**_ACTIONS, **_CLASHING}, {**action, "run_id": run_id}, "action")
    if isinstance(action, Mapping) and partial:
        if action.get("step") in partial:
            return _phrase({**_ACTIONS, **_PARTIAL}, action, "action")
        if action.get("action") == "resume_run":
            return f"run {join_names(partial, 3, lambda name: line(name, 80))} again"
    if isinstance(action, Mapping) and action.get("step") is None:
        return _phrase({**_ACTIONS, **_OF_RUN}, action, "action")
    if isinstance(action, Mapping) and needs_edit(action):
        return _phrase({**_ACTIONS, "rerun_step": _ANSWER}, action, "action")
    if isinstance(action, Mapping) and not str(action.get("cell")).endswith(" --spec FILE"):
        return _phrase({**_ACTIONS, **_IN_CELL}, action, "action")
    return _phrase(_ACTIONS, action, "action")


def needs_edit(action: Mapping[str, Any]) -> bool:
    """Return whether an action is to resume with an edited workflow, which no button can do."""
    return str(action.get("cell") or "").endswith(" --spec FILE")


def clashing(outcome: RunDocument) -> frozenset[str]:
    """Return the steps of an outcome document that wait for a conflict to be solved."""
    return frozenset(
        str(step.get("step_id"))
        for step in outcome.get("steps") or ()
        if (error := step.get("error")) is not None and error["kind"] == CONFLICT
    )


def partial_steps(outcome: RunDocument) -> list[str]:
    """Return the partial steps of an outcome document on which no decision is recorded: a resume runs them again."""
    decided = {step.get("step_id") for step in outcome.get("steps") or () if is_decided(step)}
    return [step for step in outcome.get("partial_steps") or () if step not in decided]


def has_stopped_steps(outcome: RunDocument) -> bool:
    """Return whether steps were interrupted or canceled: a resume runs them again with those that failed."""
    return any(
        step.get("checkpoint_status") == "failed"
        and step.get("subagent_status") in {"interrupted", "cancelled"}
        for step in outcome.get("steps") or ()
    )


def resume_phrase(reason: Any, was: Any = None) -> str:
    """Return a reason of a resume's dry run. `was`: what its step was, where the reason is less precise."""
    if isinstance(was, str):
        return _WAS.get(was) or line(was, 60)
    return _RESUME.get(reason) or line(reason, 60) if isinstance(reason, str) else ""


def error_phrase(error: Any, limit: int = 300) -> str:
    """Return `message [kind]` of a step's error, the kind only where its message does not say it; empty where there is none."""
    if not isinstance(error, Mapping):
        return ""
    kind, message = line(error.get("kind", ""), 60), line(error.get("message", ""), limit)
    if not message:
        return kind
    message = message.removesuffix(".")
    return message if not kind or kind in _SELF_EVIDENT else f"{message} [{kind}]"


def why(step: StepDocument, limit: int = 300, *, is_result_below: bool = False) -> str:
    """Return the answer to a reader's first question on a step: its error, what holds it, its question, or its summary.

    `is_result_below`: leave out a summary that is a line of the result, which is shown below.
    """
    if step.get("held_by") is not None:
        return held_phrase(
            step["held_by"],
            attempt=step.get("attempt"),
            is_skipped=step.get("skipped") is True,
            has_failed=step.get("error") is not None,
        )
    if step.get("retry") is not None:
        return retry_phrase(step["retry"])
    if (error := step.get("error")) is not None:
        if settled := _decided_note(step):
            return settled
        # "interrupted: interrupted by the operator" would say one fact twice.
        is_shown = error["kind"] == "interrupted" == step.get("subagent_status")
        return "" if is_shown else error_phrase(error, limit)
    reason = line(step.get("summary") or result_phrase(step), limit)
    if is_result_below and reason in {line(each, limit) for each in _result_lines(step)}:
        reason = ""
    if approval := _approval(step):
        return f"{reason}; allow it with {approval}"
    return " · ".join(filter(None, (accepted_phrase(step), *reservations(step), reason)))


def result_phrase(step: StepDocument) -> str:
    """Return a step's result in a phrase, if it has no summary: a person's answer, or a value in a few words."""
    made = step.get("checkpoint")
    if made is None:
        return ""
    produced = made["produced"]
    if produced.get("blob"):
        return produced.get("glance") or produced.get("type") or ""
    value = produced["value"]
    return "" if value is None else glance(value)


def reservations(step: StepDocument) -> list[str]:
    """Return what a ready step is not proof of: `unverified`, files it had not claimed, the number of other limitations."""
    made = step.get("checkpoint")
    if made is None or step.get("checkpoint_status") != "checkpoint_ready":
        return []
    limits = [each for each in _limitations(step) if _ACCEPTED.fullmatch(each) is None]
    unproven = [limit for limit in limits if limit.partition(":")[0] in UNPROVEN]
    stray = [limit for limit in limits if limit.startswith(f"{OUTSIDE}: ")]
    is_claim = (
        step.get("kind") == "agent"
        and not (made.get("verification") or made.get("payload"))
        and not accepted_phrase(step)
    )
    notes = ["unverified"] if is_claim else []
    notes += [line(limit.removeprefix(f"{OUTSIDE}: "), 200) for limit in stray]
    notes += [line(limit.partition(":")[2], 200).strip() for limit in unproven]
    if rest := len(limits) - len(stray) - len(unproven):
        notes.append(plural(rest, "known limitation"))
    return notes


def accepted_phrase(step: StepDocument) -> str:
    """Return `accepted by ada`, of a step outcome that is ready by somebody's word on what it left; else empty."""
    for limit in _limitations(step):
        match = _ACCEPTED.fullmatch(limit)
        if match is not None:
            who = line(match["by"], 80)
            is_agent = match["who"] == "agent" and not who.startswith("agent")
            return f"accepted by {'agent ' if is_agent else ''}{who}"
    return ""


def _limitations(step: StepDocument) -> list[str]:
    made = step.get("checkpoint")
    limits: object = None if made is None else made.get("known_limitations")
    return [each for each in limits if isinstance(each, str)] if isinstance(limits, list) else []


def position_phrase(problem: Mapping[str, object]) -> str:
    """Return `line 17, steps[0].timeout` of a problem; empty for the whole document."""
    at = problem.get("line")
    parts = [f"line {at}"] if isinstance(at, int) else []
    if problem.get("path"):
        parts.append(line(problem["path"], 120))
    elif problem.get("step"):
        parts.append(line(problem["step"], 80))
    return ", ".join(parts)


def _approval(step: StepDocument) -> str:
    """Return `approve REQUEST`, of a step that runs and whose agent waits for a person."""
    offered = step.get("next_actions") if step.get("checkpoint_status") is None else None
    for each in offered or ():
        if each["action"] == "approve_request":
            return line(each["cell"].removeprefix("%pixir "), 200)
    return ""


def _decided_note(step: StepDocument) -> str:
    """Return that a decision on a step is recorded, if nothing is left to do but to go on."""
    if not is_decided(step):
        return ""
    error = step.get("error")
    is_leave = error is not None and error["kind"] == PERMISSION_REQUIRED
    return f"{'permission given' if is_leave else 'decision recorded'}; resume the run to apply it"


def _result_lines(step: StepDocument) -> list[str]:
    """Return the lines that a view of a step's result shows, and its phrase where that stands for it."""
    made = step.get("checkpoint")
    if made is None:
        return []
    produced = made["produced"]
    return [
        result_phrase(step),
        *([] if produced.get("blob") else shown(produced["value"]).splitlines()),
    ]


def _phrase(table: Mapping[str, str], entry: Any, key: str) -> str:
    if not isinstance(entry, Mapping):
        return ""
    code = entry.get(key)
    names = [entry["step"], *(entry.get("also") or ())] if entry.get("step") else []
    step = join_names(names, 6, lambda name: line(name, 80))
    phrase = table.get(code) if isinstance(code, str) else None
    if phrase is None:
        return " ".join(part for part in (line(code, 60).replace("_", " "), step) if part)
    seam = line(entry.get("seam") or "", 40)
    phrase = phrase.replace("{run_id}", line(entry.get("run_id") or "", 60))
    if "{seen}" in phrase:
        seen = line(entry.get("seen") or "", 200)
        phrase = "all its items are skipped" if seen == NO_ITEM else phrase
        return phrase.replace("{seen}", f": {seen}" if seen else "")
    return phrase.replace("{seam}", seam).replace("{step}", step or "a step")


# --- commands ---------------------------------------------------------------------------------------------------------

_PLACEHOLDERS: Final = (" --spec FILE", " --note WHY", " --value ANSWER")


def mark_placeholders(command: str) -> str:
    """Return the cell or the command of a next action with its placeholder in angle brackets. JSON has it without.

    `--spec <FILE>`, `--value <now|later>`: a shell refuses them as they are.
    """
    if command.endswith(_PLACEHOLDERS):
        head, _, name = command.rpartition(" ")
        return f"{head} <{name}>"
    head, option, given = command.partition(" --value ")
    value = shlex.split(given)[0] if "|" in given else ""
    return f"{head}{option}<{value}>" if value and not _is_json(value) else command


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
