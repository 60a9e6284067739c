"""Results of agents' tools as text. An agent believes its input, so every sentence must be true.

    outcome_text(document)         state of a run; only a completed run is called `completed`
    step_text(run_id, …)           one step of it, its evidence, the end of its output
    truncate_document(document)    a document shortened to fit, with a list of the cuts

Plans, dry runs of a resume and refusals are drawn as for people: nothing in them is the
work of a run. All output of a run is quoted as data. In the overview of an incomplete run, summaries of steps that mention
completion are left out: a reader would apply them to the run. Source: contract.md §4, §7.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pixirnb.history.bundles import CheckpointBundle
from pixirnb.history.events import CheckResult
from pixirnb.json_types import JsonObject
from pixirnb.machine.outcome_documents import NextAction, RunDocument, StepDocument
from pixirnb.planning.prompts.quoting import quote
from pixirnb.views.basics.phrases import held_phrase, needs_edit, reason_phrase
from pixirnb.views.basics.sanitize import line, plain
from pixirnb.views.basics.show_value import shown
from pixirnb.views.basics.times import span
from pixirnb.wording import join_names

_STANDS: Final = {
    "completed": "completed",
    "running": "is still running",
    "partial": "ended partial",
    "failed": "failed",
    "timed_out": "timed out",
    "interrupted": "was interrupted",
    "needs_orchestrator": "waits for a decision",
}
_STEPS: Final = 40
"""Maximum number of listed steps; the others are counted."""
_QUOTED: Final = 12
_SUMMARY_LIMIT: Final = 300
_OUTPUT: Final = 4_000
_LISTED: Final = 100
_TEXT: Final = 2_000
_CLAIM: Final = re.compile(r"complet", re.IGNORECASE)
_LEFT_OUT: Final = "(left out: it claims to be finished; inspect_run shows it)"


def outcome_text(document: RunDocument, *, may_decide: bool = True) -> str:
    """Return the state of a run: status, steps, their summaries (quoted), next actions.

    `may_decide`: the reader may decide its steps, not a person alone.
    """
    is_ok = document.get("ok") is True and document.get("status") == "completed"
    parts = [_headline(document, is_ok=is_ok), _steps(document), _words(document, is_ok=is_ok)]
    if not is_ok and document.get("status") != "running":
        parts += [_reasons(document), _usable(document), _next(document, may_decide)]
    return "\n\n".join(part for part in parts if part)


def step_text(
    run_id: str, status: str, step: StepDocument, explained: Sequence[str], output: str
) -> str:
    """Return one step of a run: its state, and, as data, the reasons, its checks, its value and the end of its output."""
    name = line(step.get("step_id"), 80)
    lines = [
        f"Step `{name}` of {line(run_id, 60)}, which {_STANDS.get(status, 'has an unclear status')}:"
    ]
    lines[0] += f" {_standing(step)}."
    checkpoint = step.get("checkpoint") or CheckpointBundle()
    quoted = [*explained]
    if error := step.get("error"):
        quoted.append(f"error {error['kind']}: {error['message']}")
    quoted += [f"check {_check(check)}" for check in checkpoint.get("verification") or []]
    quoted += [f"limitation: {text}" for text in checkpoint.get("known_limitations") or []]
    if step.get("summary"):
        quoted.append(f"summary: {step['summary']}")
    produced = checkpoint.get("produced") or {}
    if produced.get("value") is not None:
        quoted.append(f"value: {shown(produced['value'], limit=_TEXT)}")
    if quoted:
        lines.append(quote(f"step {name}", plain("\n".join(quoted), 4 * _TEXT)))
    if output:
        is_cut = len(output) > _OUTPUT
        head = f"the end of the output of step {name}" if is_cut else f"the output of step {name}"
        lines.append(quote(head, plain(output[-_OUTPUT:], _OUTPUT)))
    return "\n\n".join(lines)


def truncate_document(document: Mapping[str, object]) -> JsonObject:
    """Return the document with long lists and texts cut; `cut` then names the cuts, as `path: length`."""
    cut: list[str] = []
    truncated: JsonObject = _cut(dict(document), "", cut)
    return {**truncated, "cut": cut} if cut else truncated


def _headline(document: RunDocument, *, is_ok: bool) -> str:
    status = str(document.get("status"))
    stands = "completed" if is_ok else _STANDS.get(status, "has an unclear status")
    if not is_ok and status == "completed":
        stands = "has an unclear status"
    name, run_id = line(document.get("workflow"), 80), line(document.get("run_id"), 60)
    counts = line(document.get("summary"), 400)
    if not is_ok and _CLAIM.search(counts):
        counts = ""
    took = f" after {span(document['elapsed_ms'])}" if document.get("elapsed_ms") else ""
    head = f"Workflow `{name}` ({run_id}) {stands}{took}."
    tail = "" if is_ok or status == "running" else " It is not done: do not report it as done."
    return f"{head} {counts}{tail}".strip()


def _steps(document: RunDocument) -> str:
    steps = document.get("steps") or []
    rows = [f"- `{line(step.get('step_id'), 80)}`: {_standing(step)}" for step in steps[:_STEPS]]
    if len(steps) > _STEPS:
        rows.append(f"- and {len(steps) - _STEPS:,} more steps")
    return "\n".join(rows)


def _standing(step: StepDocument) -> str:
    """Return the status of a step for others, with the raw end only if it gives the reason."""
    status = step.get("checkpoint_status")
    if status is None:
        raw = step.get("subagent_status")
        return "running" if raw == "running" else "not settled"
    lines = line(status, 40)
    if status == "held":
        is_skipped = step.get("skipped") is True
        lines = "skipped" if is_skipped else lines
        why = held_phrase(
            step.get("held_by"),
            attempt=step.get("attempt"),
            is_skipped=is_skipped,
            has_failed=step.get("error") is not None,
        )
        return f"{lines}, {why}" if why else lines
    raw = step.get("subagent_status")
    if status in {"failed", "partial"} and raw in {"timed_out", "interrupted", "cancelled"}:
        limit = span(step["timeout_ms"]) if raw == "timed_out" and step.get("timeout_ms") else ""
        lines += f" ({line(raw, 40)}{f', limit {limit}' if limit else ''})"
    return lines


def _words(document: RunDocument, *, is_ok: bool) -> str:
    """Return the steps' summaries and errors, as data."""
    rows: list[str] = []
    left = 0
    for step in document.get("steps") or []:
        error = step.get("error")
        summary = f"{error['kind']}: {error['message']}" if error else ""
        summary = summary or str(step.get("summary") or "")
        if not summary.strip():
            continue
        if len(rows) >= _QUOTED:
            left += 1
            continue
        lines = line(summary, _SUMMARY_LIMIT)
        if not is_ok and _CLAIM.search(lines):
            lines = _LEFT_OUT
        name = line(step.get("step_id"), 80)
        rows.append(f"{name}: {lines}")
        for text in ((step.get("checkpoint") or CheckpointBundle()).get("known_limitations") or [])[
            :3
        ]:
            limitation = line(text, _SUMMARY_LIMIT)
            if is_ok or not _CLAIM.search(limitation):
                rows.append(f"{name}: limitation: {limitation}")
    if left:
        rows.append(f"and {left:,} more steps; inspect_run shows each")
    return quote("the steps of the run", "\n".join(rows)) if rows else ""


def _reasons(document: RunDocument) -> str:
    lines = [reason_phrase(reason) for reason in (document.get("reasons") or [])[:_STEPS]]
    return f"Why: {'; '.join(lines)}." if lines else ""


def _usable(document: RunDocument) -> str:
    usable = document.get("usable_checkpoints") or []
    return f"Ready to use: {_listed(usable)}." if usable else "No step is ready to use."


def _next(document: RunDocument, may_decide: bool) -> str:
    actions = (document.get("next_actions") or [])[:_STEPS]
    rows = [_action(action, document, may_decide) for action in actions]
    return "Next, one of:\n" + "\n".join(f"- {row}" for row in rows) if rows else ""


def _action(action: NextAction, document: RunDocument, may_decide: bool) -> str:
    """Return an action as the tool for it; an action for a person only is marked so."""
    run, step = document.get("run_id"), action.get("step")
    match action.get("action"):
        case "decide_step" if may_decide:
            words = shlex.split(str(action.get("cell") or ""))
            value = {"value": words[-1]} if "--value" in words else {}
            call = json.dumps({"run_id": run, "step": step, "verdict": "accept", **value})
            return f"decide_step {call}, or reject"
        case "retry_failed_steps" | "resume_run":
            return f"resume_workflow {json.dumps({'run_id': run})}"
        case "rerun_step" if not needs_edit(action):
            return f"resume_workflow {json.dumps({'run_id': run, 'from': step})}"
        case "inspect_session":
            return f"inspect_run {json.dumps({'run_id': run, 'step': step})}"
        case "synthesize_from_partial":
            return "use the ready steps, and report that the result is partial"
        case "abort":
            return "stop here, and report that it is not done"
        case _:
            cell = line(str(action.get("cell") or "").replace("%pixir", "pixirnb", 1), 200)
            return f"a person: {line(action.get('action'), 40).replace('_', ' ')}, `{cell}`"


def _check(check: CheckResult) -> str:
    verdict = "passed" if check.get("passed") is True else "did not pass"
    return f"{line(check.get('check'), 80)} {verdict}: {shown(check.get('evidence'), limit=_SUMMARY_LIMIT)}"


def _listed(names: Sequence[Any]) -> str:
    return join_names(names, _STEPS, lambda name: f"`{line(name, 80)}`", group=",")


def _cut(value: Any, path: str, cut: list[str]) -> Any:
    if isinstance(value, Mapping):
        return {
            key: _cut(item, f"{path}.{key}" if path else str(key), cut)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        if len(value) > _LISTED:
            cut.append(f"{path}: {len(value)}")
        return [_cut(item, f"{path}[]", cut) for item in value[:_LISTED]]
    if isinstance(value, str) and len(value) > _TEXT:
        cut.append(f"{path}: {len(value)}")
        return value[:_TEXT]
    return value
