"""What the tools of agents answer, as text. An agent believes what it reads, so this says only what is so.

    outcome_text(document)         how a run stands; `completed` is said of a completed run and of nothing else
    step_text(run_id, …)           one step of it, its evidence, the end of its output
    plan_text(document)            what a dry run found
    resumption_text(document)      what a resume would do
    refusal_text(document)         why nothing was done, every problem and warning with its place and its fix
    truncate_document(document)    a document cut down to what fits, which says what was cut

Whatever came out of a run is quoted as data. Where a run is not completed, what its steps say of themselves is left out of the
overview as far as it speaks of completion: there it would be read as being about the run. Source: contract.md §4, §7.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pixirnb.planning.prompts.quoting import quote
from pixirnb.views.basics.durations import span
from pixirnb.views.basics.phrases import held_phrase, reason_phrase, resume_phrase
from pixirnb.views.basics.sanitize import line, plain, plural
from pixirnb.views.basics.show_value import shown
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
"""Steps that are listed; the rest are counted."""
_QUOTED: Final = 12
_SAID: Final = 300
_OUTPUT: Final = 4_000
_LISTED: Final = 100
_TEXT: Final = 2_000
_CLAIM: Final = re.compile(r"complet", re.IGNORECASE)
_LEFT_OUT: Final = "(left out: it claims to be finished; inspect_run shows it)"


def outcome_text(document: Mapping[str, Any], *, may_decide: bool = True) -> str:
    """How a run stands or ended: status, steps, what they said (quoted), what can be done next.

    `may_decide`: its steps are for the reader to decide, not for a person alone.
    """
    is_ok = document.get("ok") is True and document.get("status") == "completed"
    parts = [_headline(document, is_ok=is_ok), _steps(document), _words(document, is_ok=is_ok)]
    if not is_ok and document.get("status") != "running":
        parts += [_reasons(document), _usable(document), _next(document, may_decide)]
    return "\n\n".join(part for part in parts if part)


def step_text(
    run_id: str, status: str, step: Mapping[str, Any], explained: Sequence[str], output: str
) -> str:
    """One step of a run: how it stands, and, as data, why, its checks, its value and the end of its output."""
    name = line(step.get("step_id"), 80)
    found = [f"Step `{name}` of {line(run_id, 60)}, which {_STANDS.get(status, 'stands unclear')}:"]
    found[0] += f" {_standing(step)}."
    checkpoint = step.get("checkpoint") or {}
    said = [*explained]
    error = step.get("error") or {}
    if error:
        said.append(f"error {error.get('kind', '')}: {error.get('message', '')}")
    said += [f"check {_check(check)}" for check in checkpoint.get("verification") or []]
    said += [f"limitation: {text}" for text in checkpoint.get("known_limitations") or []]
    if step.get("summary"):
        said.append(f"summary: {step['summary']}")
    produced = checkpoint.get("produced") or {}
    if produced.get("value") is not None:
        said.append(f"value: {shown(produced['value'], limit=_TEXT)}")
    if said:
        found.append(quote(f"step {name}", plain("\n".join(said), 4 * _TEXT)))
    if output:
        is_cut = len(output) > _OUTPUT
        head = f"the end of the output of step {name}" if is_cut else f"the output of step {name}"
        found.append(quote(head, plain(output[-_OUTPUT:], _OUTPUT)))
    return "\n\n".join(found)


def plan_text(document: Mapping[str, Any]) -> str:
    """A dry run: what would happen. Nothing was started, and it says so first."""
    waves = document.get("waves") or []
    name = line(document.get("workflow"), 80)
    count = sum(len(wave) for wave in waves)
    parts = [
        f"Nothing was started. Workflow `{name}` is valid: {plural(count, 'step')} in {plural(len(waves), 'wave')}, "
        f"at most {document.get('peak_concurrency')} at once."
    ]
    rows = [f"wave {n}: {_listed(wave)}" for n, wave in enumerate(waves[:_STEPS], 1)]
    if len(waves) > _STEPS:
        rows.append(f"and {len(waves) - _STEPS:,} more waves")
    parts.append("\n".join(rows))
    agents = document.get("agents") or {}
    told = [f"agent `{line(who, 80)}`: {_listed(steps)}" for who, steps in agents.items() if steps]
    parts.append("\n".join(told[:_STEPS]))
    serialized = document.get("serialized") or []
    told = [
        f"`{line(each.get('step'), 80)}` waits for `{line(each.get('after'), 80)}`: they conflict"
        for each in serialized[:_STEPS]
    ]
    parts.append("\n".join(told))
    warnings = document.get("warnings") or []
    parts.append("\n".join(f"warning: {_problem(problem)}" for problem in warnings[:_STEPS]))
    return "\n\n".join(part for part in parts if part)


def resumption_text(document: Mapping[str, Any]) -> str:
    """A resume's dry run: each step with what would become of it, and why."""
    steps = document.get("steps") or []
    rows = [f"Nothing was started. A resume of {line(document.get('run_id'), 60)} would:"]
    for step in steps[:_STEPS]:
        because = step.get("because") or []
        why = resume_phrase(step.get("reason")) + (f" ({_listed(because)})" if because else "")
        asks = "; a person is asked first" if step.get("asks") else ""
        rows.append(
            f"- {line(step.get('action'), 20)} `{line(step.get('step_id'), 80)}`: {why}{asks}"
        )
    if len(steps) > _STEPS:
        rows.append(f"and {len(steps) - _STEPS:,} more steps")
    return "\n".join(rows)


def refusal_text(document: Mapping[str, Any]) -> str:
    """Why nothing was done: code, sentence, fix, and each problem and warning of a workflow with its place."""
    error = document.get("error") or {}
    details = error.get("details") or {}
    reason = details.get("reason")
    code = line(error.get("code"), 60) + (
        f" ({line(reason, 60)})" if reason and reason != error.get("code") else ""
    )
    rows = [f"{code}: {line(error.get('message'), _TEXT)}"]
    if error.get("fix"):
        rows.append(f"→ {line(error['fix'], _TEXT)}")
    for found, mark in ((details.get("errors"), ""), (details.get("warnings"), "warning: ")):
        told = [each for each in found or [] if isinstance(each, Mapping)]
        rows += [f"- {mark}{_problem(each)}" for each in told[:_STEPS]]
        if len(told) > _STEPS:
            rows.append(
                f"and {plural(len(told) - _STEPS, 'more warning' if mark else 'more problem')}"
            )
    return "\n".join(rows)


def truncate_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with long lists and texts cut; `cut` then names what was, as `path: length`."""
    cut: list[str] = []
    found: dict[str, Any] = _cut(dict(document), "", cut)
    return {**found, "cut": cut} if cut else found


def _headline(document: Mapping[str, Any], *, is_ok: bool) -> str:
    status = str(document.get("status"))
    stands = "completed" if is_ok else _STANDS.get(status, "stands unclear")
    if not is_ok and status == "completed":
        stands = "stands unclear"
    name, run_id = line(document.get("workflow"), 80), line(document.get("run_id"), 60)
    counts = line(document.get("summary"), 400)
    if not is_ok and _CLAIM.search(counts):
        counts = ""
    took = f" after {span(document['elapsed_ms'])}" if document.get("elapsed_ms") else ""
    head = f"Workflow `{name}` ({run_id}) {stands}{took}."
    tail = "" if is_ok or status == "running" else " It is not done: do not report it as done."
    return f"{head} {counts}{tail}".strip()


def _steps(document: Mapping[str, Any]) -> str:
    steps = document.get("steps") or []
    rows = [f"- `{line(step.get('step_id'), 80)}`: {_standing(step)}" for step in steps[:_STEPS]]
    if len(steps) > _STEPS:
        rows.append(f"- and {len(steps) - _STEPS:,} more steps")
    return "\n".join(rows)


def _standing(step: Mapping[str, Any]) -> str:
    """The one word others may go by, and the raw end only where it says why."""
    status = step.get("checkpoint_status")
    if status is None:
        raw = step.get("subagent_status")
        return "running" if raw == "running" else "not settled"
    told = line(status, 40)
    if status == "held":
        why = held_phrase(step.get("held_by"), attempt=step.get("attempt"))
        return f"{told}, {why}" if why else told
    raw = step.get("subagent_status")
    if status in {"failed", "partial"} and raw in {"timed_out", "interrupted", "cancelled"}:
        limit = span(step["timeout_ms"]) if raw == "timed_out" and step.get("timeout_ms") else ""
        told += f" ({line(raw, 40)}{f', limit {limit}' if limit else ''})"
    return told


def _words(document: Mapping[str, Any], *, is_ok: bool) -> str:
    """What steps say of themselves and why they ended, as data."""
    rows: list[str] = []
    left = 0
    for step in document.get("steps") or []:
        error = step.get("error") or {}
        said = f"{error.get('kind', '')}: {error.get('message', '')}" if error else ""
        said = said or str(step.get("summary") or "")
        if not said.strip():
            continue
        if len(rows) >= _QUOTED:
            left += 1
            continue
        told = line(said, _SAID)
        if not is_ok and _CLAIM.search(told):
            told = _LEFT_OUT
        name = line(step.get("step_id"), 80)
        rows.append(f"{name}: {told}")
        for text in ((step.get("checkpoint") or {}).get("known_limitations") or [])[:3]:
            limitation = line(text, _SAID)
            if is_ok or not _CLAIM.search(limitation):
                rows.append(f"{name}: limitation: {limitation}")
    if left:
        rows.append(f"and {left:,} more steps; inspect_run shows each")
    return quote("the steps of the run", "\n".join(rows)) if rows else ""


def _reasons(document: Mapping[str, Any]) -> str:
    told = [reason_phrase(reason) for reason in (document.get("reasons") or [])[:_STEPS]]
    return f"Why: {'; '.join(told)}." if told else ""


def _usable(document: Mapping[str, Any]) -> str:
    usable = document.get("usable_checkpoints") or []
    return (
        f"Ready to be used: {_listed(usable)}." if usable else "Nothing of it is ready to be used."
    )


def _next(document: Mapping[str, Any], may_decide: bool) -> str:
    actions = (document.get("next_actions") or [])[:_STEPS]
    rows = [_action(action, document, may_decide) for action in actions]
    return "Next, one of:\n" + "\n".join(f"- {row}" for row in rows) if rows else ""


def _action(action: Mapping[str, Any], document: Mapping[str, Any], may_decide: bool) -> str:
    """An action as the tool that does it; what only a person can do says so."""
    run, step = document.get("run_id"), action.get("step")
    match action.get("action"):
        case "decide_step" if may_decide:
            call = json.dumps({"run_id": run, "step": step, "verdict": "accept"})
            return f"decide_step {call}, or reject"
        case "retry_failed_steps" | "resume_run":
            return f"resume_workflow {json.dumps({'run_id': run})}"
        case "rerun_step":
            return f"resume_workflow {json.dumps({'run_id': run, 'from': step})}"
        case "inspect_session":
            return f"inspect_run {json.dumps({'run_id': run, 'step': step})}"
        case "synthesize_from_partial":
            return "use what is ready, and say that it is partial"
        case "abort":
            return "leave it, and say that it is not done"
        case _:
            cell = line(str(action.get("cell") or "").replace("%pixir", "pixirnb", 1), 200)
            return f"a person: {line(action.get('action'), 40).replace('_', ' ')}, `{cell}`"


def _problem(problem: Mapping[str, Any]) -> str:
    place = line(problem.get("path") or "", 120)
    fix = f" → {line(problem['fix'], 400)}" if problem.get("fix") else ""
    at = f"{place}: " if place else ""
    return f"{at}{line(problem.get('code'), 60)}: {line(problem.get('message'), 400)}{fix}"


def _check(check: Mapping[str, Any]) -> str:
    verdict = "passed" if check.get("passed") is True else "did not pass"
    return f"{line(check.get('check'), 80)} {verdict}: {shown(check.get('evidence'), limit=_SAID)}"


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
