"""Why a step ran, waits, was held, kept or run again, in sentences: what `show RUN STEP` answers.

Reads the plan for what should have happened and the fold for what did; decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pixirnb.history.agent_events import PERMISSION_REQUIRED
from pixirnb.history.events import NO_ITEM, DecisionRecorded, HeldBy
from pixirnb.history.file_events import CONFLICT, OUTSIDE
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import PastError, StepState
from pixirnb.machine.failure_evidence import check_phrase
from pixirnb.machine.held_steps import hold_of
from pixirnb.machine.items import tally
from pixirnb.machine.next_actions import UNDECIDED
from pixirnb.machine.outcome_summary import has_begun
from pixirnb.machine.readiness import BEFORE_QUESTION
from pixirnb.machine.required_steps import skipped_steps
from pixirnb.machine.step_claims import claim_of
from pixirnb.planning.claims import ClaimIndex
from pixirnb.planning.plan import Plan, PlannedStep
from pixirnb.views.basics.phrases import error_phrase, held_phrase, resume_phrase
from pixirnb.views.basics.sanitize import line, plural, quote_names
from pixirnb.views.basics.times import span
from pixirnb.views.basics.tool_call import tool_use
from pixirnb.views.files.explain_files import file_sentences, to_do_again, waits_for_files
from pixirnb.views.run.permission_calls import use_phrase
from pixirnb.wording import join_names

_LISTED: Final = 6
_ENDED: Final = ("..", "?.", "!.", "….", ".”.", "?”.", "!”.", "…”.")
_STATUS_ALONE: Final = re.compile(
    r"`[^`]+` (?:is ready(?: \(.*\))?; dependents can use its output|waits for a decision|is running: attempt \d+)\."
)
SOURCES: Final = {
    "step": "set on the step",
    "agent": "from the agent",
    "defaults": "from the workflow's defaults",
    "standard": "default",
}


def explain(
    plan: Plan, run: RunState, step_id: str, *, is_live: bool = True, is_whole: bool = True
) -> list[str]:
    """Return sentences about one step, most telling first. `is_live`: whether a process drives the run, if it is not finished;
    `is_whole`: add what the live panel shows in other ways: checks, question, files, dependencies, timeout.

    Raises KeyError for a step that the plan does not have.
    """
    step = plan.steps[plan.index[step_id]]
    state = run.steps.get(step_id) or StepState()
    return [
        # A message that is a sentence itself brought its own end.
        sentence[:-1] if sentence.endswith(_ENDED) else sentence
        for sentence in (
            _standing(plan, run, step, state, is_over=run.finished is not None or not is_live),
            "Unverified: no check and no output schema confirms the agent's report."
            if is_unverified(step, state)
            else "",
            _lost(state),
            _again(step, run, state),
            *_tries(step_id, run, state),
            *(_facts(plan, run, step, state) if is_whole else ()),
        )
        if sentence
    ]


def below_heading(sentences: Sequence[str]) -> Sequence[str]:
    """Return the sentences of `explain` without a first one that says no more than the heading of the step above them."""
    return sentences[1:] if sentences and _STATUS_ALONE.fullmatch(sentences[0]) else sentences


def _facts(plan: Plan, run: RunState, step: PlannedStep, state: StepState) -> list[str]:
    """Return what a reader of the sentences alone needs as well."""
    return [
        *_checks(state),
        _question(state),
        *file_sentences(step, run, state),
        _dependencies(plan, run, step),
        _dependents(plan, run, step),
        _timeout(step, state),
    ]


def _standing(
    plan: Plan, run: RunState, step: PlannedStep, state: StepState, *, is_over: bool
) -> str:
    """Return the first sentence: where the step stands and the one reason for it."""
    name, status = f"`{step.id}`", state.checkpoint_status
    if state.stage == "idle" and state.recheck:
        return f"{name} was ready before; it is kept if its dependencies produce the same results."
    if status == "held":
        skipped = skipped_steps(plan, run)
        by = hold_of(plan, run, step, skipped)
        if step.index in skipped:
            return f"{name} was skipped: {_skipped(step, by)}."
        has_failed = state.failed_before is not None
        why = held_phrase(by, attempt=state.attempt, has_failed=has_failed)
        return f"{name} was held: {why}."
    if (merge := to_do_again(step, run, state)) is not None:
        return f"{name} must run again: its merge {line(merge, 20)} was undone."
    if state.open_requests and status in {None, "needs_orchestrator"}:
        return _asking(run, step, state, is_over=is_over)
    if status in {"needs_orchestrator", "partial"} and not state.awaits_human:
        what = "The permission is given" if state.is_permitted else "The decision is recorded"
        return f"{what} for {name}. Resume the run to apply it."
    if status == "needs_orchestrator":
        return f"{name} waits for {waits_for_files(step, run, state) or 'a decision'}."
    if status == "checkpoint_ready" and step.index in plan.items:
        return f"{name} is ready: {tally(plan, run, step.index)}; dependents can use its output."
    if status == "checkpoint_ready":
        took = span(None if state.ended is None else state.ended["elapsed_ms"])
        how = f" (attempt {state.attempt}{f', {took}' if took else ''})" if state.ended else ""
        return f"{name} is ready{how}; dependents can use its output."
    if status is not None:
        why = error_phrase(state.error) or "evidence of its readiness is missing"
        word = "failed" if status == "failed" else line(status, 40)
        return f"{name} is {word}: {why}." if word != "failed" else f"{name} failed: {why}."
    if state.stage == "retrying" and state.retry is not None:
        retry = state.retry
        delay, kind = span(retry.get("delay_ms")), line(retry.get("retry_class"), 40)
        waits = "was to wait" if is_over else "waits"
        return f"{name} {waits} {delay} for attempt {retry.get('attempt')} (retry class {kind})."
    if state.stage in {"running", "scheduled"}:
        if not is_over:
            return f"{name} is running: attempt {state.attempt}."
        return f"Attempt {state.attempt} of {name} was running when the run ended."
    if state.stage == "ended":
        return f"Attempt {state.attempt} of {name} ended; its verification is pending."
    if step.index in plan.items and has_begun(plan, run, step):
        when = " when the run ended" if is_over else ""
        return f"{name} {'had' if is_over else 'has'} {tally(plan, run, step.index)}{when}."
    if is_over and run.started_at is not None:
        return f"{name} had not started when the run ended."
    return _waiting(plan, run, step)


def _asking(run: RunState, step: PlannedStep, state: StepState, *, is_over: bool) -> str:
    """Return what a step's agent asks to be allowed."""
    request = run.permissions[state.open_requests[0]]
    used = tool_use(request.get("tool"), request.get("args"))
    more = len(state.open_requests) - 1
    what = " ".join(part for part in (f"`{used['name']}`", used["about"]) if part)
    also = f" and {plural(more, 'thing')} more" if more else ""
    if state.checkpoint_status is None and is_over:
        return f"Attempt {state.attempt} of `{step.id}` asked to use {what}{also} when its process died."
    sentence = f"`{step.id}` asks for permission to use {what}{also}."
    return f"{sentence} Use `approve {line(state.open_requests[0], 200)}` or `deny`."


def _waiting(plan: Plan, run: RunState, step: PlannedStep) -> str:
    """Return why a step that has not spoken has not: dependencies, slots, or claims."""
    name = f"`{step.id}`"
    open_ones = [plan.steps[i].id for i in step.depends_on if not _is_ready(run, plan.steps[i].id)]
    if open_ones:
        return f"{name} waits for {quote_names(open_ones)}."
    if run.started_at is None:
        return f"{name} has not started: the run has not started."
    active = [s.id for s in plan.steps if _is_active(run, s.id)]
    limit = _item_limit(plan, step)
    if (
        limit is not None
        and len(set(active) & set(plan.carriers(plan.steps[step.parent or 0].id))) >= limit
    ):
        return f"{name} waits for other items: `max_parallel` is {limit}."
    if len(active) >= plan.max_concurrency:
        running = plural(len(active), "step")
        return f"{name} waits for a free slot: {running} running, `max_concurrency` is {plan.max_concurrency}."
    rivals = _rivals(plan, run, step)
    if rivals:
        return f"{name} waits because it conflicts on files with {quote_names(rivals)}."
    return f"{name} has not started, although its dependencies are ready."


def _item_limit(plan: Plan, step: PlannedStep) -> int | None:
    """Return how many items of the step that an item is of may run at once."""
    written = None if step.parent is None else plan.steps[step.parent].spec.for_each
    return None if written is None else written.max_parallel


def _rivals(plan: Plan, run: RunState, step: PlannedStep) -> list[str]:
    """Return steps that run now, or come earlier and could, whose claims meet this one's."""
    claim = claim_of(step, plan.roots)
    if claim is None:
        return []
    rivals = []
    for other in plan.steps:
        if other.index == step.index or not (
            _is_active(run, other.id)
            or (other.index < step.index and _could_start(plan, run, other))
        ):
            continue
        theirs = claim_of(other, plan.roots)
        if theirs is not None:
            index = ClaimIndex()
            index.add(other.index, theirs)
            if index.conflicts(claim):
                rivals.append(other.id)
    return rivals


def _could_start(plan: Plan, run: RunState, step: PlannedStep) -> bool:
    state = run.steps.get(step.id)
    return (state is None or state.stage == "idle") and all(
        _is_ready(run, plan.steps[i].id) for i in step.depends_on
    )


def _skipped(step: PlannedStep, by: HeldBy | None) -> str:
    written = getattr(step.spec, "when", None)
    if written and by is not None and by["kind"] == "when" and by.get("seen") != NO_ITEM:
        # A log of an older version does not say what the condition has seen.
        seen = line(by.get("seen") or "", 300)
        return f"`when` is false: {f'{seen}, from ' if seen else ''}{line(written, 200)}"
    return held_phrase(by, is_skipped=True)


def is_unverified(step: PlannedStep, state: StepState) -> bool:
    """Return whether an agent's report is all there is, on a ready step that no check, schema or person has verified."""
    if step.kind != "agent" or state.checkpoint_status != "checkpoint_ready":
        return False
    is_shaped = state.ended is not None and state.ended.get("payload") is not None
    return not (is_shaped or state.checks or state.decision is not None)


def _lost(state: StepState) -> str:
    """Return the state of an attempt that a death cut short, if nothing followed it and no open question says so."""
    request = state.request if state.awaits_human else None
    if not state.is_lost or (request is not None and request["reason"] == "in_flight"):
        return ""
    return f"Attempt {state.attempt} was running when its process died; its side effects may be incomplete or duplicated."


def _again(step: PlannedStep, run: RunState, state: StepState) -> str:
    """Return what the last resume did with a step; empty of one that it did not come to, held, or asks about."""
    if state.reason is None or to_do_again(step, run, state) is not None:
        return ""
    if state.recheck:
        return "The resume keeps it if its dependencies produce the same results."
    by = "the fork" if run.forked is not None and run.courses == 1 else "the last resume"
    if state.tried_before < state.attempt:
        if not state.tried_before:
            return f"Run for the first time by {by}."
        return f"Rerun by {by} ({_taken_up(state)})."
    if state.checkpoint_status == "checkpoint_ready" and state.confirmed_seq > state.settled_seq:
        return f"Kept by {by} ({_taken_up(state)}): its fingerprint is unchanged."
    return ""


def _taken_up(state: StepState) -> str:
    by = None if state.decision is None else state.decision["by"]
    if state.reason == "decided" and by:
        return f"decided by {line(by, 80)}"
    return resume_phrase(state.reason)


def _tries(step_id: str, run: RunState, state: StepState) -> list[str]:
    """Return earlier attempts that were not ready, and who allowed or denied what the last one asked for."""
    earlier = [
        entry
        for entry in state.errors
        if entry["attempt"] != state.attempt or state.failed_before is not None
    ]
    sentences = [_try(step_id, run, state, entry) for entry in earlier[-_LISTED:]]
    hidden = len(earlier) - len(sentences)
    if hidden > 0:
        sentences.insert(0, f"Not listed: {plural(hidden, 'earlier attempt')}.")
    is_answer = state.decision is not None and "permission" in state.decision
    answers = "" if is_answer else _answers(step_id, run, state.attempt)
    return [*sentences, f"Permissions: {answers}."] if answers else sentences


def _try(step_id: str, run: RunState, state: StepState, entry: PastError) -> str:
    """Return how one earlier attempt ended: it failed, or waited for a person, who answered or did not."""
    name, kind = f"Attempt {entry['attempt']}", entry["kind"]
    if kind == PERMISSION_REQUIRED:
        answers = _answers(step_id, run, entry["attempt"])
        return f"{name} waited for an approval{f': {answers}' if answers else ''}."
    if kind in {UNDECIDED, OUTSIDE}:
        return f"{name} waited for a decision: {line(entry['message'].removeprefix(BEFORE_QUESTION), 200)}."
    if kind == CONFLICT:
        by = None if entry is not state.errors[-1] else state.solution
        side = f" of `{line(by['value'], 80)}`" if by is not None and by["value"] else ""
        answer = "" if by is None else f": {_decided(by, side)}"
        return f"{name} waited for a decision on a merge conflict{answer}."
    return f"{name} failed: {error_phrase(entry, 200)}."


def _answers(step_id: str, run: RunState, attempt: int) -> str:
    """Return what people allowed and denied to one attempt: "`shell` allowed by ada"."""
    given = [
        f"`{use_phrase(request)}` {'allowed' if request['verdict'] == 'allow' else 'denied'} by {line(request['by'], 80)}"
        for request in run.permissions.values()
        if request["step"] == step_id and request["attempt"] == attempt and request["verdict"]
    ]
    return join_names(given, _LISTED, str, group=",")


def _checks(state: StepState) -> list[str]:
    if not state.checks:
        return []
    broken = [check for check in state.checks if not check["passed"]]
    if not broken:
        return [f"All checks passed ({len(state.checks)})."]
    if state.error_kind == "verification":
        return []  # the error names them
    names = [check_phrase(check["check"]) for check in broken]
    return [f"{len(broken)} of {plural(len(state.checks), 'check')} failed: {quote_names(names)}."]


def _question(state: StepState) -> str:
    if state.decision is not None:
        decision = state.decision
        if "permission" in decision:
            note = line(decision.get("note") or "", 300)
            by = line(decision.get("by") or "A person", 80)
            return f"{by} denied it{f': {note}' if note else ''}."
        return f"{_decided(decision)}."
    is_open = state.awaits_human and not state.open_requests
    if state.request is not None and state.checkpoint_status == "needs_orchestrator" and is_open:
        return f"Question: {line(state.request.get('question'), 600)}"
    return ""


def _decided(decision: DecisionRecorded, value: str = "") -> str:
    note = f", with the note: {line(decision['note'], 300)}" if decision.get("note") else ""
    by = line(decision.get("by") or "A person", 80)
    return f"{by} decided {line(decision.get('verdict'), 20)}{value}{note}"


def _dependencies(plan: Plan, run: RunState, step: PlannedStep) -> str:
    awaited = plan.awaited(step)
    if not awaited:
        return "It has no dependencies."
    names = [plan.steps[i].id for i in awaited]
    ready = [name for name in names if _is_ready(run, name)]
    if len(ready) == len(names):
        return f"Dependencies: {quote_names(names)} (ready)."
    if not ready:
        return f"Dependencies: {quote_names(names)} (not ready)."
    rest = [name for name in names if name not in ready]
    return f"Dependencies: {quote_names(ready)} (ready), {quote_names(rest)} (not ready)."


def _dependents(plan: Plan, run: RunState, step: PlannedStep) -> str:
    held = [
        plan.steps[i].id
        for i in step.dependents
        if (plan.steps[i].parent is None or step.parent is not None)
        and (run.steps.get(plan.steps[i].id) or StepState()).holder == step.id
    ]
    return f"Blocks: {quote_names(held)}." if held else ""


def _timeout(step: PlannedStep, state: StepState) -> str:
    limit = state.timeout_ms if state.timeout_ms is not None else step.timeout_ms
    if limit is None:
        return ""
    source = SOURCES.get(step.timeout_source)
    where = "" if state.worker is None else f" Worker: {state.worker}."
    return f"Timeout: {span(limit)}" + (f" ({source})." if source else ".") + where


def _is_ready(run: RunState, step_id: str) -> bool:
    state = run.steps.get(step_id)
    return state is not None and state.checkpoint_status == "checkpoint_ready" and not state.recheck


def _is_active(run: RunState, step_id: str) -> bool:
    state = run.steps.get(step_id)
    return state is not None and state.stage in {"scheduled", "running"}
