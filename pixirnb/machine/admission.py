"""Which ready steps start now: in spec order, as many as slots allow, never two that conflict. Source: contract.md §2.

A step that must wait for a conflict keeps later steps that conflict with it waiting too, so that none starves. A step that
needs no slot (a false `when`, a question, a result that still holds) is settled before any step is started.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pixirnb.history.bundles import stored_output
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import OTHER_LIST, ErrorData, ItemData, StepExpanded
from pixirnb.history.items import ItemList
from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import Doubt, StepState
from pixirnb.ids import item_id
from pixirnb.machine import fingerprint, retry
from pixirnb.machine.board import Board
from pixirnb.machine.expansion import bad_set, item_steps, order
from pixirnb.machine.held_steps import held, skipped_list
from pixirnb.machine.instructions import DigestReads, Snapshot, StartAttempt
from pixirnb.machine.items import BadList, has_more_items, is_same_list, read_list
from pixirnb.machine.readiness import Verdict
from pixirnb.machine.ready_steps import asks_of_death
from pixirnb.machine.reference_values import ValueNotLoaded, ValueNotOffered
from pixirnb.machine.settlement import after_decision, checkpoint_event
from pixirnb.machine.step_progress import is_failure
from pixirnb.planning.claims import ClaimIndex
from pixirnb.planning.environment import shown_input
from pixirnb.planning.items import Lookup, lookup_in
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
    drafts, remaining = list[EventDraft](), list[int]()
    slotless = snapshot.board.slotless
    for index in sorted(slotless - snapshot.board.unread):
        if not (settled := _without_a_slot(snapshot, index)):
            remaining.append(index)
        drafts += settled
        if snapshot.fails_fast and any(
            draft.kind == "checkpoint_decided"
            and is_failure(snapshot.plan, snapshot.plan.steps[index], draft.data)
            for draft in settled
        ):
            break  # nothing begins any more, and no question is asked
    # What a ready step was given no longer changes, so neither does this answer: it is not asked for again. Whether a list is
    # skipped changes with what has just settled.
    slotless -= {i for i in remaining if not drafts or i not in snapshot.plan.items}
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
    beginning: list[int] = []
    blocked: set[int] = set()
    """Claims (by identity) that are blocked: as claims are only added here, they stay blocked."""
    for index in _candidates(snapshot):
        step, state = snapshot.plan.steps[index], board.state(index)
        if index in board.detached:
            continue
        if step.template is not None and index not in snapshot.plan.items:
            continue  # its list is being loaded
        if step.parent is not None and board.items.is_full(
            snapshot.plan, index, beginning, lambda i: snapshot.may_start or i in board.running
        ):
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
            beginning.append(index)
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
    known = sorted(
        [*board.ready, *due] if snapshot.may_start else due,
        key=lambda index: order(snapshot.plan, index),
    )
    # A step whose files are being digested has its slot and its claims already.
    return sorted(known, key=lambda index: index not in board.reads) if board.reads else known


def digest_of_reads(board: Board, index: int) -> str | None:
    """Return the digest of the files that a step is about to read; None where it has none, or none yet."""
    digest = board.reads.get(index)
    return digest if isinstance(digest, str) else None


def _without_a_slot(snapshot: Snapshot, index: int) -> list[EventDraft]:
    step, state = snapshot.plan.steps[index], snapshot.board.state(index)
    is_known = step.template is None or index in snapshot.plan.items
    # An item has no entry of a resume that could say that it is never reused.
    is_never = step.parent is not None and step.spec.reuse == "never" and state.is_selected
    is_never = is_never and not snapshot.board.run.flags.get("decided", False)
    kept = state.kept if is_known and not is_never else None
    is_same = kept is not None and not has_more_items(snapshot.plan, snapshot.board.run, step)
    if kept is not None and is_same and _is_unchanged(snapshot, step, state):
        if state.has_open_decision:
            return after_decision(snapshot, index)
        verdict = Verdict(kept, state.error, state.limitations)
        return [checkpoint_event(step, state, verdict, state.digest, reused=True)]
    if step.template is not None and state.is_selected:
        return _of_list(snapshot, step)
    if step.when is not None:
        missing = _missing(snapshot, step, "`when`", step.when.references)
        if missing is not None:
            return [missing]
        if not _holds(snapshot, step):
            return [held(step, "when", seen=_seen(snapshot, step, step.when))]
    if not state.is_selected:
        known = snapshot.board.run.items.get(step.id) if is_known else None
        is_same = known is None or is_same_list(step, known, snapshot.board.lookup)
        return [held(step, "not_selected", seen="" if is_same else OTHER_LIST)]
    if isinstance(step.spec, DecisionStep):
        missing = _missing(snapshot, step, "the question", parse_references(step.spec.ask.question))
        if missing is not None:
            return [missing]
        ask = step.spec.ask
        question = cut(as_text(render_value(ask.question, _lookup(snapshot, step))), _QUESTION)
        return [_request(snapshot, step, state.attempt + 1, "ask", question, list(ask.choices))]
    if asks_of_death(step, state):
        happened = _DOUBTS[state.doubt or "in_flight"].format(step=step.id)
        question = f"{happened} Accept it as done? To run it again, use `resume --from`."
        return [_request(snapshot, step, state.attempt, "in_flight", question, [])]
    return []


def _is_pickled(run: RunState, reference: Reference) -> bool:
    """Return whether a reference names a value that only Python can load: here it is its text."""
    if reference.source != "step":
        return False
    return stored_output(run.step(reference.name))["format"] == "pickle"


def _of_list(snapshot: Snapshot, step: PlannedStep) -> list[EventDraft]:
    """Return the list of a step, or the end of one whose items are all skipped."""
    plan, run = snapshot.plan, snapshot.board.run
    if step.index in plan.items:
        return skipped_list(snapshot, step)
    leader = None if step.leader is None else run.items[plan.steps[step.leader].id]
    if leader is not None:
        items_of_list = leader.items
    else:
        given = [each for each in step.list_references if each.source != "item"]
        missing = _missing(snapshot, step, "`for_each`", given)
        if missing is not None:
            return [missing]
        try:
            known = run.items.get(step.id) or ItemList()
            items_of_list = read_list(step, known, snapshot.board.lookup)
        except LookupError as error:
            return [_refused(snapshot, step, "reference_missing", f"`for_each`: {error}")]
        except BadList as error:
            pickled = next((each.name for each in given if _is_pickled(run, each)), None)
            message = f"`for_each` needs JSON values; what `{pickled}` returned is not JSON"
            return [_refused(snapshot, step, error.kind, message if pickled else str(error))]
    if (why := bad_set(plan, step, items_of_list)) is not None:
        return [_refused(snapshot, step, "bad_glob", f"invalid path: {why}")]
    data: StepExpanded = {
        "step": step.id,
        "items": [] if leader is not None else items_of_list,
        "reused": _reused(snapshot, step, items_of_list),
    }
    if step.leader is not None:
        data["same_as"] = plan.steps[step.leader].id
    return [EventDraft("step_expanded", data)]


def _reused(snapshot: Snapshot, step: PlannedStep, items: Iterable[ItemData]) -> list[int]:
    """Return the numbers of the items whose results stand: nothing that they are made from has changed."""
    plan, run = snapshot.plan, snapshot.board.run
    reused: list[int] = []
    kept = [each for each in items if run.step(item_id(step.id, each["number"])).recheck]
    if not kept:
        return reused
    for one in item_steps(plan, step, items, plan.index, len(plan.steps)):
        state = run.steps.get(one.id) or StepState()
        if (
            state.recheck
            and not state.has_open_decision
            and one.spec.reuse == "spec"
            and one.when is None  # asked again, one by one
            and all(snapshot.board.is_ready(each) for each in one.depends_on)
            and state.fingerprint == _digests(snapshot, one)
            and not fingerprint.has_moved(one, state, run.repos)
        ):
            reused.append(one.number)
    return reused


def _refused(snapshot: Snapshot, step: PlannedStep, kind: str, message: str) -> EventDraft:
    """Return the failure of a step that could not even begin."""
    problem: ErrorData = {"kind": kind, "message": message, "details": {}}
    state = snapshot.board.state(step.index)
    verdict = Verdict("failed", problem)
    return checkpoint_event(step, state, verdict, None, subagent_status="not_applicable")


def _lookup(snapshot: Snapshot, step: PlannedStep) -> Lookup:
    return lookup_in(snapshot.plan, step, snapshot.board.lookup)


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
    lookup = _lookup(snapshot, step)
    for reference in references:
        try:
            lookup(reference)
        except LookupError as error:
            kind, reason = "reference_missing", str(error)
            if isinstance(error, ValueNotOffered):
                kind = "output_too_large"
            elif isinstance(error, ValueNotLoaded):
                # The engine loads what these name before it asks: this one is lost, not trusted here, or no plain data.
                kind = "value_unreadable"
                reason = f"the value of `{reference.name}` cannot be loaded"
                if _is_pickled(snapshot.board.run, reference):
                    reason += "; return JSON values: text, numbers, lists, mappings"
            return _refused(snapshot, step, kind, f"{where}: {reason}")
    return None


def _holds(snapshot: Snapshot, step: PlannedStep) -> bool:
    assert step.when is not None
    return step.when.evaluate(_lookup(snapshot, step))


def _seen(snapshot: Snapshot, step: PlannedStep, when: Condition) -> str:
    """Return a false `when` with the values that made it so, secrets masked: the log is where views read them."""

    lookup = _lookup(snapshot, step)

    def value(reference: Reference) -> object:
        result = lookup(reference)
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


def _is_unchanged(snapshot: Snapshot, step: PlannedStep, state: StepState) -> bool:
    """Return whether a step is what it was. A decision is of the files as the step left them, which it may read itself."""
    known, present = state.fingerprint or {}, _fingerprints(snapshot, step)
    ignored = "reads" if state.has_open_decision else ""
    is_same = all(known.get(key) == present.get(key) for key in {*known, *present} - {ignored})
    has_moved = fingerprint.has_moved(step, state, snapshot.board.run.repos)
    return is_same and not has_moved and fingerprint.still_holds(step, _lookup(snapshot, step))


def _fingerprints(snapshot: Snapshot, step: PlannedStep) -> dict[str, str]:
    known = snapshot.board.fingerprints.get(step.index)
    if known is None:
        known = _digests(snapshot, step)
        if (digest := digest_of_reads(snapshot.board, step.index)) is not None:
            known["reads"] = digest
        snapshot.board.fingerprints[step.index] = known
    return known


def _digests(snapshot: Snapshot, step: PlannedStep) -> dict[str, str]:
    plan, statics = snapshot.plan, snapshot.board.statics
    parent = step.index if step.parent is None else step.parent
    template = plan.steps[parent].template
    # Items share a definition that neither names their files nor has a script for each.
    is_shared = template is not None and template.spec is step.spec and not _has_script(step)
    static = statics.get(parent) if is_shared else None
    if static is None:
        static = fingerprint.static(step, plan.sources)
        if is_shared:
            statics[parent] = static
    return {"static": static, "dynamic": fingerprint.dynamic(plan, snapshot.board.run, step)}


def _has_script(step: PlannedStep) -> bool:
    return step.agent is not None and step.agent.script is not None
