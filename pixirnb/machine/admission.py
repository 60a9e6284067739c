"""Which ready steps start now: in spec order, as many as slots allow, never two that conflict. Source: contract.md §2.

A step that must wait for a conflict keeps later ones that conflict with it waiting too, so that nobody starves. What needs no
slot (a false `when`, a question, a result that still holds) is settled before anything is started.
"""

from __future__ import annotations

from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import ErrorData
from pixirnb.history.step_state import StepState
from pixirnb.machine import fingerprint, retry
from pixirnb.machine.board import asks_of_death
from pixirnb.machine.instructions import Snapshot, StartAttempt
from pixirnb.machine.readiness import Verdict
from pixirnb.machine.reference_values import ValueNotLoaded, ValueNotOffered
from pixirnb.machine.settlement import after_decision, checkpoint_event, held
from pixirnb.planning.claims import ClaimIndex
from pixirnb.planning.plan import PlannedStep
from pixirnb.spec.expressions.references import Reference, as_text, render_value
from pixirnb.spec.steps import DecisionStep


def settle_without_running(moment: Snapshot) -> list[EventDraft]:
    """Facts about ready steps that need no attempt."""
    if not moment.may_start:
        return []
    facts: list[EventDraft] = []
    slotless = moment.board.slotless
    for index in sorted(slotless):
        found = _without_a_slot(moment, index)
        if not found:
            # What a ready step was given no longer changes, so neither does this answer: it is not asked for again.
            slotless.discard(index)
        facts += found
    return facts


def start(moment: Snapshot) -> tuple[list[EventDraft], list[StartAttempt]]:
    """Intents and instructions for everything that can start now."""
    board = moment.board
    facts: list[EventDraft] = []
    starts: list[StartAttempt] = []
    slots = moment.plan.max_concurrency - len(board.running)
    if slots <= 0 or moment.is_stopping:
        return facts, starts
    earlier = ClaimIndex()
    blocked: set[int] = set()
    """Claims (by identity) found blocked: only more is claimed as this goes on, so they stay so."""
    for index in _candidates(moment):
        step, state = moment.plan.steps[index], board.state(index)
        if index in board.detached or (board.is_merging and step.kind == "merge"):
            continue
        claim = board.claim(index)
        if claim is not None:
            if id(claim) in blocked:
                continue
            is_blocked = board.claims.conflicts(claim) or earlier.conflicts(claim)
            earlier.add(index, claim)
            if is_blocked:
                blocked.add(id(claim))
                continue
        scheduled = _scheduled(moment, step, state)
        facts.append(scheduled)
        data = scheduled.data
        starts.append(StartAttempt(step.id, data["attempt"], data["timeout_ms"]))
        slots -= 1
        if slots == 0:
            break
    return facts, starts


def _candidates(moment: Snapshot) -> list[int]:
    board = moment.board
    due = [index for index, at in board.retrying.items() if moment.now >= at]
    if not moment.may_start:
        return sorted(due)
    return sorted([*board.ready, *due]) if due else board.ready


def _without_a_slot(moment: Snapshot, index: int) -> list[EventDraft]:
    board = moment.board
    step, state = moment.plan.steps[index], board.state(index)
    if state.kept is not None and state.fingerprint == _fingerprints(moment, step):
        if state.decision is not None and not state.decided:
            return after_decision(moment, index)
        verdict = Verdict(state.kept, state.error, state.limitations)
        return [checkpoint_event(step, state, verdict, state.digest, reused=True)]
    if step.when is not None:
        missing = _missing(moment, step)
        if missing is not None:
            return [missing]
        if not _holds(moment, step):
            return [held(step, "when")]
    if not state.is_selected:
        return [held(step, "not_selected")]
    if isinstance(step.spec, DecisionStep):
        ask = step.spec.ask
        attempt = state.attempt + 1
        question = _rendered(moment, ask.question)
        return [_request(moment, step, attempt, "ask", question, list(ask.choices))]
    if asks_of_death(step, state):
        question = (
            f"`{step.id}` was running when its process died and may have changed things. "
            "Accept it as done? To run it again, resume with --from."
        )
        return [_request(moment, step, state.attempt, "in_flight", question, [])]
    return []


def _request(  # noqa: PLR0917 - the fact has as many parts
    moment: Snapshot,
    step: PlannedStep,
    attempt: int,
    reason: str,
    question: str,
    choices: list[object],
) -> EventDraft:
    return EventDraft(
        "decision_requested",
        {
            "step": step.id,
            "attempt": attempt,
            "reason": reason,
            "question": question,
            "choices": choices,
            "timeout_ms": step.timeout_ms if reason == "ask" else None,
            "fingerprint": _fingerprints(moment, step),
        },
    )


def _rendered(moment: Snapshot, question: str) -> str:
    """The question with its references filled in; one whose value is not at hand stays as written."""

    def value(reference: Reference) -> object:
        try:
            return moment.board.lookup(reference)
        except LookupError:
            return reference.text

    return as_text(render_value(question, value))


def _missing(moment: Snapshot, step: PlannedStep) -> EventDraft | None:
    """The failure of a step whose `when` asks for what is not there: a misspelt word must not skip work."""
    assert step.when is not None
    for reference in step.when.references:
        try:
            moment.board.lookup(reference)
        except ValueNotLoaded:
            continue
        except LookupError as error:
            kind = "output_too_large" if isinstance(error, ValueNotOffered) else "reference_missing"
            told: ErrorData = {"kind": kind, "message": f"In `when`: {error}", "details": {}}
            state = moment.board.state(step.index)
            verdict = Verdict("failed", told)
            return checkpoint_event(step, state, verdict, None, subagent_status="not_applicable")
    return None


def _holds(moment: Snapshot, step: PlannedStep) -> bool:
    assert step.when is not None
    try:
        return step.when.evaluate(moment.board.lookup)
    except ValueNotLoaded:
        # The engine loads what a `when` names before it asks; a blob that is gone reads as nothing.
        return False


def _scheduled(moment: Snapshot, step: PlannedStep, state: StepState) -> EventDraft:
    tries = state.attempt - state.tried_before
    return EventDraft(
        "step_scheduled",
        {
            "step": step.id,
            "attempt": state.attempt + 1,
            "wave": step.wave,
            "timeout_ms": retry.timeout_ms(step, retries=tries),
            "workspace": step.workspace,
            "fingerprint": _fingerprints(moment, step),
        },
    )


def _fingerprints(moment: Snapshot, step: PlannedStep) -> dict[str, str]:
    known = moment.board.fingerprints.get(step.index)
    if known is None:
        known = {
            "static": fingerprint.static(step, moment.plan.sources),
            "dynamic": fingerprint.dynamic(moment.plan, moment.board.run, step.index),
        }
        if step.index in moment.board.reads:
            known["reads"] = moment.board.reads[step.index]
        moment.board.fingerprints[step.index] = known
    return known
