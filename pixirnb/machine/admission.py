"""Which ready steps start now: in spec order, as many as slots allow, never two that conflict. Source: contract.md §2.

A step that must wait for a conflict keeps later steps that conflict with it waiting too, so that none starves. A step that
needs no slot (a false `when`, a question, a result that still holds) is settled before any step is started.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import ErrorData
from pixirnb.history.step_state import Doubt, StepState
from pixirnb.machine import fingerprint, retry
from pixirnb.machine.board import Board, asks_of_death, is_failure
from pixirnb.machine.held_steps import held
from pixirnb.machine.instructions import DigestReads, Snapshot, StartAttempt
from pixirnb.machine.readiness import Verdict
from pixirnb.machine.reference_values import ValueNotLoaded, ValueNotOffered
from pixirnb.machine.settlement import after_decision, checkpoint_event
from pixirnb.planning.claims import ClaimIndex
from pixirnb.planning.environment import shown_input
from pixirnb.planning.plan import PlannedStep
from pixirnb.spec.expressions.conditions import Condition
from pixirnb.spec.expressions.references import (
    Reference,
    as_text,
    parse_references,
    render_value,
)
from pixirnb.spec.steps import DecisionStep
from pixirnb.wording import cut, on_one_line

_SEEN: Final = 300
"""Characters of a false `when` that the log keeps with its values."""
_QUESTION: Final = 64 * 1024
"""Characters of a question with its values."""
_DOUBTS: Final[dict[Doubt, str]] = {
    "in_flight": "`{step}` was running when its process died; its side effects may be incomplete.",
    "unrecorded": "The log was damaged: `{step}` may have run in the part that is lost.",
}


def settle_without_running(snapshot: Snapshot) -> list[EventDraft]:
    """Return the events of ready steps that need no attempt."""
    if not snapshot.may_start:
        return []
    drafts: list[EventDraft] = []
    slotless = snapshot.board.slotless
    for index in sorted(slotless - snapshot.board.unread):
        settled = _without_a_slot(snapshot, index)
        if not settled:
            # What a ready step was given no longer changes, so neither does this answer: it is not asked for again.
            slotless.discard(index)
        drafts += settled
        if snapshot.fails_fast and any(
            draft.kind == "checkpoint_decided" and is_failure(draft.data) for draft in settled
        ):
            break  # nothing begins any more, and no question is asked
    return drafts


def start(snapshot: Snapshot) -> tuple[list[EventDraft], list[StartAttempt | DigestReads]]:
    """Return the intents and instructions of all steps that can start now."""
    board = snapshot.board
    drafts: list[EventDraft] = []
    starts: list[StartAttempt | DigestReads] = []
    slots = snapshot.plan.max_concurrency - len(board.running)
    if slots <= 0 or snapshot.is_stopping:
        return drafts, starts
    earlier = ClaimIndex()
    blocked: set[int] = set()
    """Claims (by identity) that are blocked: as claims are only added here, they stay blocked."""
    for index in _candidates(snapshot):
        step, state = snapshot.plan.steps[index], board.state(index)
        if index in board.detached:
            continue
        claim = board.claim(index)
        if claim is not None:
            if id(claim) in blocked:
                continue
            is_blocked = board.claims.conflicts(claim) or earlier.conflicts(claim)
            earlier.add(index, claim)
            if is_blocked and index not in board.reads:
                blocked.add(id(claim))
                continue
        if board.is_merging and step.kind == "merge":
            continue
        if step.spec.reuse == "reads" and digest_of_reads(board, index) is None:
            if index not in board.reads:
                starts.append(DigestReads(step.id))
        elif index in board.unread:
            continue
        else:
            scheduled = _scheduled(snapshot, step, state)
            drafts.append(scheduled)
            data = scheduled.data
            starts.append(StartAttempt(step.id, data["attempt"], data["timeout_ms"]))
        slots -= 1
        if slots == 0:
            break
    return drafts, starts


def _candidates(snapshot: Snapshot) -> list[int]:
    board = snapshot.board
    due = [index for index, at in board.retrying.items() if snapshot.now >= at]
    if snapshot.may_start and not due and not board.reads:
        return board.ready
    known = sorted([*board.ready, *due] if snapshot.may_start else due)
    # A step whose files are being digested has its slot and its claims already.
    return sorted(known, key=lambda index: index not in board.reads) if board.reads else known


def digest_of_reads(board: Board, index: int) -> str | None:
    """Return the digest of the files that a step is about to read; None where it has none, or none yet."""
    digest = board.reads.get(index)
    return digest if isinstance(digest, str) else None


def _without_a_slot(snapshot: Snapshot, index: int) -> list[EventDraft]:
    board = snapshot.board
    step, state = snapshot.plan.steps[index], board.state(index)
    is_same = state.kept is not None and state.fingerprint == _fingerprints(snapshot, step)
    if is_same and not fingerprint.has_moved(step, state, board.run.repos):
        if state.decision is not None and not state.decided:
            return after_decision(snapshot, index)
        assert state.kept is not None
        verdict = Verdict(state.kept, state.error, state.limitations)
        return [checkpoint_event(step, state, verdict, state.digest, reused=True)]
    if step.when is not None:
        missing = _missing(snapshot, step, "`when`", step.when.references)
        if missing is not None:
            return [missing]
        if not _holds(snapshot, step):
            return [held(step, "when", seen=_seen(snapshot, step.when))]
    if not state.is_selected:
        return [held(step, "not_selected")]
    if isinstance(step.spec, DecisionStep):
        missing = _missing(snapshot, step, "the question", parse_references(step.spec.ask.question))
        if missing is not None:
            return [missing]
        ask = step.spec.ask
        attempt = state.attempt + 1
        question = cut(as_text(render_value(ask.question, board.lookup)), _QUESTION)
        return [_request(snapshot, step, attempt, "ask", question, list(ask.choices))]
    if asks_of_death(step, state):
        happened = _DOUBTS[state.doubt or "in_flight"].format(step=step.id)
        question = f"{happened} Accept it as done? To run it again, use `resume --from`."
        return [_request(snapshot, step, state.attempt, "in_flight", question, [])]
    return []


def _request(  # noqa: PLR0917 - the fact has as many parts
    snapshot: Snapshot,
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
            "fingerprint": _fingerprints(snapshot, step),
        },
    )


def _missing(
    snapshot: Snapshot, step: PlannedStep, where: str, references: Iterable[Reference]
) -> EventDraft | None:
    """Return the failure of a step that refers to a missing value: a misspelt word must not skip work, or be answered."""
    for reference in references:
        try:
            snapshot.board.lookup(reference)
        except LookupError as error:
            kind, reason = "reference_missing", str(error)
            if isinstance(error, ValueNotOffered):
                kind = "output_too_large"
            elif isinstance(error, ValueNotLoaded):
                # The engine loads what these name before it asks: this one is lost, or not trusted here.
                kind = "value_unreadable"
                reason = f"the value of `{reference.name}` cannot be loaded"
            problem: ErrorData = {"kind": kind, "message": f"{where}: {reason}", "details": {}}
            state = snapshot.board.state(step.index)
            verdict = Verdict("failed", problem)
            return checkpoint_event(step, state, verdict, None, subagent_status="not_applicable")
    return None


def _holds(snapshot: Snapshot, step: PlannedStep) -> bool:
    assert step.when is not None
    return step.when.evaluate(snapshot.board.lookup)


def _seen(snapshot: Snapshot, when: Condition) -> str:
    """Return a false `when` with the values that made it so, secrets masked: the log is where views read them."""

    def value(reference: Reference) -> object:
        result = snapshot.board.lookup(reference)
        return shown_input(reference.name, result) if reference.source == "input" else result

    return cut(on_one_line(when.seen(value)), _SEEN)


def _scheduled(snapshot: Snapshot, step: PlannedStep, state: StepState) -> EventDraft:
    attempts = state.attempt - state.tried_before
    return EventDraft(
        "step_scheduled",
        {
            "step": step.id,
            "attempt": state.attempt + 1,
            "wave": step.wave,
            "timeout_ms": retry.timeout_ms(step, retries=attempts),
            "workspace": step.workspace,
            "fingerprint": _fingerprints(snapshot, step),
        },
    )


def _fingerprints(snapshot: Snapshot, step: PlannedStep) -> dict[str, str]:
    known = snapshot.board.fingerprints.get(step.index)
    if known is None:
        known = {
            "static": fingerprint.static(step, snapshot.plan.sources),
            "dynamic": fingerprint.dynamic(snapshot.plan, snapshot.board.run, step.index),
        }
        if (digest := digest_of_reads(snapshot.board, step.index)) is not None:
            known["reads"] = digest
        snapshot.board.fingerprints[step.index] = known
    return known
