"""Content of the panel of one step, as plain JSON: its status and the reason, its input, attempts, result and actions.

    panel(plan, fold(events[:n]), attempts of events[:n], step_id, …) -> dict

The same function for a run that is live and for any moment of its past. The keys stand in docs/internals/live-view.md.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from pixirnb.history.bundles import bundle, stored_output
from pixirnb.history.events import CheckResult, HeldBy
from pixirnb.history.file_events import CONFLICT, OUTSIDE
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.json_types import PageObject
from pixirnb.machine.failure_evidence import check_phrase, error_with_evidence, finding
from pixirnb.machine.held_steps import hold_of
from pixirnb.machine.next_actions import step_actions, with_spec
from pixirnb.machine.required_steps import skipped_steps
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.runners.output.mask import Mask
from pixirnb.views.basics.ansi import render_ansi
from pixirnb.views.basics.phrases import error_phrase, held_phrase
from pixirnb.views.basics.sanitize import line, plain, plural
from pixirnb.views.basics.show_value import shown
from pixirnb.views.basics.status_marks import Mark, state_mark
from pixirnb.views.files.conflicts import is_clashing
from pixirnb.views.files.seams import seam_documents
from pixirnb.views.live.attempt_history import AttemptHistory
from pixirnb.views.live.attempt_rows import attempt_documents, count_of, error_document
from pixirnb.views.live.controls import action_documents, resume_request
from pixirnb.views.live.items import item_document
from pixirnb.views.live.panel_files import clash_document, files_document
from pixirnb.views.live.step_inputs import agent_of, environment, list_inputs, mask_of, says
from pixirnb.views.live.value_preview import stored_preview
from pixirnb.views.run.explain import SOURCES, explain
from pixirnb.views.session.permissions import permission_documents

_GLOBS: Final = 40
_NEIGHBOURS: Final = 100
_ARTIFACTS: Final = 100
_FRAMES: Final = 6
_CHECKS: Final = 40
_CHOICES: Final = 40
_LIMITATIONS: Final = 20
_COPIED_LINES: Final = 20
_ENOUGH: Final = "Accept this result as it is?"
_UNASKED: Final = {
    CONFLICT: "Which version of the conflicting files do you want to keep?",
    OUTSIDE: "The step changed files outside its write_set. Accept the result anyway?",
}
"""Question to a person about a step that asks nothing itself, by the kind of its error."""


def panel(
    plan: Plan,
    run: RunState,
    attempts: AttemptHistory,
    step_id: str,
    *,
    is_live: bool,
    is_past: bool = False,
    damage: str = "",
    printed: str = "",
    secrets: Sequence[str] = (),
    spec: str | None = None,
) -> PageObject:
    """Return the panel of a step. `is_live`: whether the run was driven then; `is_past`: whether the history goes past `run`;
    `damage`: what is wrong with the log, where something is; `printed`: the last its last attempt printed, where that is known;
    `spec`: the name of the workflow, where cells define it.

    Raises KeyError for a step that the plan does not have.
    """
    step = plan.steps[plan.index[step_id]]
    state = run.steps.get(step_id) or StepState()
    mask = mask_of(step, run, secrets)
    skipped = skipped_steps(plan, run)
    mark = state_mark(state, is_live=is_live, is_skipped=step.index in skipped)
    headline, *why = explain(plan, run, step_id, is_live=is_live, is_whole=False)
    headline = _short_headline(step, state, is_live=is_live) or headline
    if damage:
        why.insert(0, f"The log is damaged; only the part before the damage is shown: {damage}")
    needs, is_item = plan.awaited(step), step.parent is not None
    holds = [each for each in step.dependents if is_item or plan.steps[each].parent is None]
    artifacts = [] if state.ended is None else list(state.ended.get("artifacts") or [])
    offered = step_actions(run.run_id, step, state)
    if spec is not None:
        offered = with_spec(offered, spec)
    # A rerun would ask the open question again, or be skipped again.
    is_same_again = step.index in skipped or (step.kind == "decision" and state.awaits_human)
    can = {
        "rerun": not (is_live or is_past or damage)
        and run.started_at is not None
        and not is_same_again,
        "decide": not (is_past or damage) and state.awaits_human,
        "cancel": not is_past and is_live and state.stage != "settled",
    }
    return {
        "step": step.id,
        "kind": step.spec.kind,
        "item": item_document(plan, run, step, mask),
        "seq": run.seq,
        "is_past": is_past,
        "mark": mark.document(),
        "headline": line(headline, 600),
        "why": [line(sentence, 600) for sentence in why],
        "description": line(step.spec.description, 600),
        "phase": line(step.phase, 80),
        "attempt": state.attempt,
        "max_attempts": step.retry.max_attempts,
        "wave": step.wave if state.wave is None else state.wave,
        "timeout": _timeout(step, state),
        "agent": agent_of(step, mask),
        "posture": step.posture,
        "workspace": step.workspace,
        "cwd": line(step.spec.cwd or (step.agent.cwd if step.agent else None) or "", 300),
        "read_set": [line(glob, 200) for glob in step.read_set[:_GLOBS]],
        "write_set": [line(glob, 200) for glob in step.write_set[:_GLOBS]],
        "says": says(plan, step, mask),
        "needs": _neighbours(plan, run, needs, skipped, is_live=is_live),
        "needs_count": len(needs),
        "holds": _neighbours(plan, run, holds, skipped, is_live=is_live),
        "holds_count": len(holds),
        "inputs": list_inputs(run, step.references, mask),
        "env": environment(step, mask),
        "attempts": attempt_documents(attempts.of(step.id), is_live=is_live),
        "attempts_count": len(attempts.of(step.id)),
        "error": _error(run, step, state, mark, printed),
        "left": _left(state, attempts, step.id),
        "checks": [_check(check) for check in state.checks[:_CHECKS]],
        "limitations": [line(each, 600) for each in state.limitations[:_LIMITATIONS]],
        "bundle": _bundle(step, state),
        "artifacts": [
            {"path": line(entry.get("path"), 300), "bytes": count_of(entry.get("bytes"))}
            for entry in artifacts[:_ARTIFACTS]
        ],
        "artifacts_count": len(artifacts),
        "value": stored_preview(stored_output(state)),
        "files": files_document(plan, run, step_id, can_act=not (is_past or damage)),
        "clash": clash_document(state, step_id=step_id, can_act=not (is_past or damage)),
        "seams": seam_documents(
            list(run.seams.values()), step=step_id, can_resolve=not (is_past or damage)
        ),
        "held_by": _holder(
            state, hold_of(plan, run, step, skipped), is_skipped=step.index in skipped
        ),
        "question": _question(state, mask),
        "permissions": permission_documents(run, step_id, is_past=is_past or bool(damage)),
        "retry": _retry(state, attempts, step.id),
        "actions": action_documents(
            offered,
            is_live=is_live,
            is_past=is_past or bool(damage),
            clashing={step.id} if is_clashing(state) else (),
        ),
        "can": can,
        "wishes": {
            "rerun": resume_request(from_step=step.id) if can["rerun"] else None,
            "cancel": {"do": "cancel", "step": step.id} if can["cancel"] else None,
            "accept": _word(step.id, "accept") if can["decide"] else None,
            "reject": _word(step.id, "reject") if can["decide"] else None,
        },
    }


def _short_headline(step: PlannedStep, state: StepState, *, is_live: bool) -> str:
    """Return the headline of a step whose request, failed checks or items are shown below it; else empty."""
    status = state.checkpoint_status
    if step.kind == "for_each" and is_live and status is None:
        return f"`{step.id}` is ready once enough of its items are."  # their counts go on below it
    if state.open_requests and (status == "needs_orchestrator" or (is_live and status is None)):
        return f"`{step.id}` waits for permission."
    failed = sum(not check["passed"] for check in state.checks)
    if not failed or state.error_kind != "verification":
        return ""
    verdict = {"failed": "failed", "partial": "is partial"}.get(status or "")
    of = plural(len(state.checks), "check")
    return f"`{step.id}` {verdict}: {failed} of {of} failed." if verdict else ""


def _word(step_id: str, verdict: str) -> dict[str, str]:
    return {"do": "decide", "step": step_id, "verdict": verdict}


def _timeout(step: PlannedStep, state: StepState) -> PageObject:
    limit = state.timeout_ms if state.timeout_ms is not None else step.timeout_ms
    return {"ms": limit, "source": "" if limit is None else SOURCES.get(step.timeout_source, "")}


def _neighbours(
    plan: Plan, run: RunState, indices: Sequence[int], skipped: Collection[int], *, is_live: bool
) -> list[PageObject]:
    documents = []
    for index in indices[:_NEIGHBOURS]:
        name = plan.steps[index].id
        state = run.steps.get(name) or StepState()
        mark = state_mark(state, is_live=is_live, is_skipped=index in skipped)
        documents.append({"step": name, "mark": mark.document()})
    return documents


def _error(
    run: RunState, step: PlannedStep, state: StepState, mark: Mark, printed: str
) -> PageObject | None:
    """Return the reason why the last attempt is not ready; the result that a hold covers is in `left`."""
    error = state.error
    if state.stage == "retrying":
        error = None if state.retry is None else state.retry["error"]
    if error is None or state.checkpoint_status in {"held", "checkpoint_ready"}:
        return None
    if error["kind"] in {CONFLICT, OUTSIDE} and state.awaits_human:
        return None  # the question says it, and the list of files
    tail = render_ansi(printed or ("" if state.ended is None else state.ended.get("tail", "")))
    text = plain(error["message"], 2_000)
    head = f"{run.run_id} · {step.id} · attempt {state.attempt} · {mark.word}"
    last = tail.text.rstrip("\n").split("\n")[-_COPIED_LINES:] if tail.text.strip() else []
    words = [f"{head} [{line(error['kind'], 60)}]", *text.split("\n"), *last]
    copied = [f"# {line(each, 400)}".rstrip() for each in words]
    evidence = (error_with_evidence(step, state) or error)["details"]
    return {
        **error_document(error),
        "frames": _frames(evidence.get("frames")),
        "hint": line(evidence.get("hint") or "", 400),
        "tail": [list(segment) for segment in tail.segments],
        "copy": "\n".join([*copied, f"%pixir show {run.run_id} {step.id}"]),
    }


def _left(state: StepState, attempts: AttemptHistory, step_id: str) -> PageObject | None:
    """Return the result of the last attempt of a step that is held, or is to be done again."""
    made = attempts.of(step_id)
    if not made or not (state.checkpoint_status == "held" or state.stage == "idle"):
        return None
    last = made[-1]
    status = "lost" if last.ended is None else last.ended["status"]
    return {
        "attempt": last.attempt,
        "status": line(status, 40),
        "summary": line("" if last.ended is None else last.ended["summary"], 2_000),
        "error": None if last.error is None else error_document(last.error),
    }


def _check(check: CheckResult) -> PageObject:
    name, _, argument = check_phrase(check["check"]).partition(" ")
    result = finding(check)
    return {
        "name": line(name, 40),
        "argument": line(argument, 600),
        "passed": result["passed"],
        "expected": line(result["expected"], 200),
        "seen": line(result["seen"], 1_000),
    }


def _frames(frames: Any) -> list[PageObject]:
    """Return the author's frames, the last call first."""
    return [
        {
            "place": line(f"{frame.get('file')}:{frame.get('line')}", 300),
            "function": line(frame.get("function"), 80),
            "code": line(frame.get("code"), 300),
        }
        for frame in (frames if isinstance(frames, list) else [])[:_FRAMES]
        if isinstance(frame, dict)
    ]


def _bundle(step: PlannedStep, state: StepState) -> PageObject | None:
    made = bundle(step.id, state)
    if made is None:
        return None
    payload = made["payload"]
    validation = None if payload is None else payload["validation"]
    return {
        "dependent_safe": made["dependent_safe"],
        "produced": made["produced"]["kind"],
        "validation": None
        if validation is None
        else {
            "passed": validation["passed"],
            "errors": [line(each, 300) for each in (validation.get("errors") or [])[:_CHECKS]],
        },
        "schema_id": line("" if payload is None else payload["schema_id"] or "", 120),
        "provenance": line("" if payload is None else payload["provenance"], 40),
        "files": len(made["changes"]["files"]),
    }


def _holder(state: StepState, by: HeldBy | None, *, is_skipped: bool) -> PageObject | None:
    if by is None:
        return None
    return {
        "kind": line(by["kind"], 40),
        "step": line(by["step"], 80) if by["step"] else None,
        "sentence": held_phrase(
            by,
            attempt=state.attempt,
            is_skipped=is_skipped,
            has_failed=state.failed_before is not None,
        ),
    }


def _question(state: StepState, mask: Mask) -> PageObject | None:
    """Return the question to a person, open or answered, or the choice whether a partial result will do."""
    if state.request is None and state.decision is None and not state.awaits_human:
        return None
    decision = state.decision
    if decision is None and is_clashing(state):
        return None  # the conflict itself is shown, with the words that solve it
    question = "" if state.request is None else state.request["question"]
    text = question or _UNASKED.get(state.error_kind or "", _ENOUGH)
    return {
        "text": plain(mask.text(text), 4_000),
        "choices": [
            {"text": line(shown(choice), 200), "value": choice}
            for choice in state.choices[:_CHOICES]
        ],
        "is_open": state.awaits_human,
        "takes_value": state.ended is None or not state.ended.get("output"),
        "said": None
        if decision is None
        else {
            "verdict": line(decision.get("verdict"), 20),
            "value": ""
            if decision.get("value") is None
            else plain(shown(decision["value"]), 2_000),
            "note": plain(decision.get("note") or "", 4_096),
            "by": line(decision.get("by") or "", 80),
            "is_acted_on": state.decided,
        },
    }


def _retry(state: StepState, attempts: AttemptHistory, step_id: str) -> PageObject | None:
    if state.stage != "retrying" or state.retry is None:
        return None
    made = attempts.of(step_id)
    return {
        "attempt": state.retry.get("attempt"),
        "class": line(state.retry.get("retry_class"), 40),
        "delay_ms": state.retry.get("delay_ms"),
        "planned_at": made[-1].retry["at"] if made and made[-1].retry is not None else None,
        "sentence": error_phrase(state.retry.get("error")),
    }
