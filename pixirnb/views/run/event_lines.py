"""One readable line an event, for `log`, `run --tail` and `history()`. Total: an event of any kind and any data has a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from pixirnb.history.agent_events import PERMISSION_DECIDED, PERMISSION_REQUESTED
from pixirnb.history.events import (
    AttemptEnded,
    AttemptStarted,
    CheckpointDecided,
    CheckpointSaved,
    DecisionRecorded,
    DecisionRequested,
    Event,
    RetryPlanned,
    RunFinished,
    RunForked,
    RunResumed,
    RunStarted,
    StepExpanded,
    StepHeld,
    StepScheduled,
    SubagentEvent,
    VerificationRecorded,
    WarningRaised,
)
from pixirnb.history.file_events import (
    MergeApplied,
    MergeConflicted,
    SeamOpened,
    SeamResolved,
    WorkspaceCaptured,
)
from pixirnb.machine.outcome_documents import StepDocument
from pixirnb.views.basics.phrases import error_phrase, held_phrase, reason_phrase
from pixirnb.views.basics.sanitize import line, plural
from pixirnb.views.basics.show_value import shown
from pixirnb.views.basics.status_marks import Mark, run_mark, step_mark
from pixirnb.views.basics.times import span, time_of_day
from pixirnb.views.basics.tool_call import tool_use
from pixirnb.views.files.changes import changes_phrase
from pixirnb.views.files.conflicts import side_name
from pixirnb.views.files.seams import seam_phrase
from pixirnb.wording import join_names


def event_line(event: Event) -> str:
    """Return `   4 22:03:44 UTC ▸ make: attempt 1 scheduled, timeout 45 m 00 s`."""
    return f"{event.seq:>5} {line(time_of_day(event.at), 20)} {event_sentence(event)}"


def event_sentence(event: Event) -> str:
    """Return a sentence about an event, without number and time."""
    teller = _TELLERS.get(event.kind)
    sentence = None
    if teller is not None:
        try:
            sentence = teller(event.data)
        except (AttributeError, KeyError, TypeError, ValueError):
            sentence = None  # a log of another version, or damaged data: show it as it is
    if sentence is None:
        sentence = f"  {line(event.kind, 40)} {line(shown(event.data), 200)}"
    return line(sentence, 400)


def _started(data: RunStarted) -> str:
    return f"▸ run {data['run_id']} of {data['workflow']} started in {data['workspace']}"


def _resumed(data: RunResumed) -> str:
    actions = [entry["action"] for entry in data["steps"]]
    counts = ", ".join(
        f"{actions.count(name):,} to {name}"
        for name in ("reuse", "rerun", "hold")
        if name in actions
    )
    return f"▸ run resumed: {counts or 'nothing to do'}"


def _forked(data: RunForked) -> str:
    return f"▸ forked from {data['run_id']} at checkpoint {data['checkpoint']}; the events above belong to that run"


def _expanded(data: StepExpanded) -> str:
    if leader := data.get("same_as"):
        return f"▸ {data['step']}: the items of {leader}"
    reused = f", {len(data['reused']):,} reused" if data["reused"] else ""
    return f"▸ {data['step']}: {plural(len(data['items']), 'item')}{reused}"


def _scheduled(data: StepScheduled) -> str:
    limit = span(data.get("timeout_ms"))
    return f"○ {data['step']}: attempt {data['attempt']} scheduled" + (
        f", timeout {limit}" if limit else ""
    )


def _attempt_started(data: AttemptStarted) -> str:
    where = f" on {data['worker']}" if "worker" in data else ""
    return f"▸ {data['step']}: attempt {data['attempt']} started{where}"


def _attempt_ended(data: AttemptEnded) -> str:
    why = error_phrase(data.get("error")) or line(data.get("summary") or "", 200)
    status = "ended" if data["status"] == "completed" else str(data["status"]).replace("_", " ")
    sentence = (
        f"· {data['step']}: attempt {data['attempt']} {status} after {span(data['elapsed_ms'])}"
    )
    return f"{sentence}: {why}" if why else sentence


def _verified(data: VerificationRecorded) -> str:
    passed = sum(check["passed"] is True for check in data["checks"])
    return f"· {data['step']}: {passed} of {plural(len(data['checks']), 'check')} passed"


def _retry(data: RetryPlanned) -> str:
    why = error_phrase(data.get("error")) or f"retry class {data['retry_class']}"
    return f"↻ {data['step']}: attempt {data['attempt']} in {span(data['delay_ms'])}, after {why}"


def _decided(data: CheckpointDecided) -> str:
    look: StepDocument = {
        "checkpoint_status": data["status"],
        "subagent_status": data["subagent_status"],
        "attempt": data["attempt"],
    }
    mark = step_mark(look)
    how = ", reused" if data.get("reused") else ""
    why = error_phrase(data.get("error"))
    return f"{mark.symbol} {data['step']}: {mark.word}{how}" + (f": {why}" if why else "")


def _held(data: StepHeld) -> str:
    kind, by = data["held_by"]["kind"], data["held_by"]["step"]
    if kind == "when":
        return f"» {data['step']}: skipped ({held_phrase(data['held_by'])})"
    if kind == "dependency":
        # Whether that step failed or was skipped is said by its own event.
        return f"‖ {data['step']}: not started, it depends on {by}"
    return f"‖ {data['step']}: held, {held_phrase(data['held_by'])}"


def _decision_requested(data: DecisionRequested) -> str:
    return f"◆ {data['step']}: needs a decision: {data['question']}"


def _answered(data: DecisionRecorded) -> str:
    note = f": {data['note']}" if data.get("note") else ""
    return f"◆ {data['step']}: {data['verdict']}ed by {data['by']}{note}"


def _saved(data: CheckpointSaved) -> str:
    return f"⚑ checkpoint {data['name']} saved ({data['reason']}), {len(data['ready']):,} ready"


def _subagent(data: SubagentEvent) -> str:
    step = data["step"]
    if data["event"] == PERMISSION_REQUESTED:
        used = tool_use(data["tool"], data.get("args"))
        about = f" {used['about']}" if used["about"] else ""
        return f"◇ {step}: asks to use {used['name']}{about}: {data['request_id']}"
    if data["event"] == PERMISSION_DECIDED:
        word = {"allow": "allowed", "deny": "denied"}.get(data["verdict"], data["verdict"])
        note = f": {data['note']}" if data.get("note") else ""
        return f"◇ {step}: {word} by {data['by']}{note}"
    sentence = f"· {step}: session {data['session_id']} {str(data['event']).replace('_', ' ')}"
    if not data.get("turn"):
        return sentence
    # A turn that came to its end says nothing of its step: the verdict on that is a line of its own.
    turn = "ended" if data["turn"] == "completed" else str(data["turn"]).replace("_", " ")
    return f"{sentence}: turn {turn}"


def _warned(data: WarningRaised) -> str:
    step = f"{data['step']}: " if data.get("step") else ""
    return f"! {step}{data['message']} [{data['code']}]"


def _finished(data: RunFinished) -> str:
    mark: Mark = run_mark(data["status"])
    reasons = "; ".join(reason_phrase(reason) for reason in data["reasons"][:6])
    sentence = f"{mark.symbol} run {mark.word} after {span(data['elapsed_ms'])}"
    return f"{sentence}: {reasons}" if reasons else sentence


def _captured(data: WorkspaceCaptured) -> str:
    sentence = f"± {data['step']}: attempt {data['attempt']} left {changes_phrase(data['changes'])}"
    outside = data.get("outside")
    return (
        f"{sentence}; {plural(outside['count'], 'file')} outside its write_set"
        if outside
        else sentence
    )


def _merged(data: MergeApplied) -> str:
    who = data["step"] or data["by"]
    brought = f"merged changes of {_listed(data['steps'])}"
    what = f"undid {data['undoes']}" if data.get("undoes") else brought
    solved = data.get("solved") or []
    how = f", {plural(len(solved), 'file')} with resolved conflicts" if solved else ""
    return f"⊕ {data['merge']} by {who}: {what}: {changes_phrase(data['changes'])}{how}"


def _conflicted(data: MergeConflicted) -> str:
    who = f"{data['step']}: " if data["step"] else ""
    between = " and ".join(side_name(side) for side in data["between"])
    files = _listed([file["path"] for file in data["files"]], data["count"])
    return f"◆ {who}not merged: {between} changed {files} in different ways"


def _seam_opened(data: SeamOpened) -> str:
    return f"◇ seam {data['id']} opened: {seam_phrase(data)}"


def _seam_resolved(data: SeamResolved) -> str:
    who = data.get("step") or data.get("merge") or data["by"]
    return f"◇ seam {data['id']} resolved by {who}: {data['note']}"


def _listed(names: Sequence[object], count: int | None = None) -> str:
    return join_names(names, 4, lambda name: line(name, 80), count=count, group=",")


_TELLERS: Final[dict[str, Callable[[Any], str]]] = {
    "run_started": _started,
    "run_resumed": _resumed,
    "run_forked": _forked,
    "step_expanded": _expanded,
    "step_scheduled": _scheduled,
    "attempt_started": _attempt_started,
    "attempt_ended": _attempt_ended,
    "verification_recorded": _verified,
    "retry_planned": _retry,
    "checkpoint_decided": _decided,
    "step_held": _held,
    "decision_requested": _decision_requested,
    "decision_recorded": _answered,
    "checkpoint_saved": _saved,
    "subagent_event": _subagent,
    "workspace_captured": _captured,
    "merge_applied": _merged,
    "merge_conflicted": _conflicted,
    "seam_opened": _seam_opened,
    "seam_resolved": _seam_resolved,
    "warning_raised": _warned,
    "run_finished": _finished,
}
