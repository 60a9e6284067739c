"""The one pure decision of the engine: what happens next.

`advance(plan, board, now)` returns the next layer of events and the instructions that follow from them. The caller records the
events, applies them to the board, and calls again until no event is left; then it makes them durable, and only then carries the
instructions out. `advance` changes nothing, never raises for anything a log can hold, and is deterministic.

The order of its questions: verdicts on what ended → the human's decisions → seams → what must stop → phases that are
complete → what can start → whether the run has come to rest. Source: contract.md §2 (scheduling), §4, §5, §6.
"""

from __future__ import annotations

from typing import Literal

from pixirnb.history.event_draft import EventDraft
from pixirnb.machine.admission import settle_without_running, start
from pixirnb.machine.board import Board
from pixirnb.machine.held_steps import held, held_at_rest
from pixirnb.machine.instructions import Advance, Snapshot, StopAttempt
from pixirnb.machine.outcome import conclude
from pixirnb.machine.readiness import judge
from pixirnb.machine.seams import after_settling
from pixirnb.machine.settlement import (
    after_attempt,
    after_decision,
    after_permission,
    cancelled_event,
    expired_event,
    settle_step,
)
from pixirnb.planning.plan import Plan, reach


def advance(plan: Plan, board: Board, now: float) -> Advance:
    """Return the next events and instructions of a run; no events where nothing more follows from the present state."""
    if board.run.started_at is None or board.run.finished is not None:
        return Advance()
    snapshot = Snapshot(plan, board, now)
    drafts = [draft for index in board.ended for draft in after_attempt(snapshot, index)]
    drafts += [draft for index in board.to_decide for draft in after_decision(snapshot, index)]
    drafts += [
        draft for index in sorted(board.permitted) for draft in after_permission(snapshot, index)
    ]
    # A layer at a time: what a verdict or a person's word settles can no longer expire or be given up.
    drafts = drafts or _seams(snapshot)
    drafts = drafts or _given_up(snapshot)
    drafts = drafts or [
        _checkpoint(snapshot, plan.phases[phase][0], "phase") for phase in board.phases.done
    ]
    drafts = drafts or settle_without_running(snapshot)
    if drafts:
        return Advance(tuple(drafts))
    stops = _stops(snapshot)
    scheduled, starts = start(snapshot)
    if scheduled:
        return Advance(tuple(scheduled), (*stops, *starts))
    rest = _rest(snapshot)
    return Advance(tuple(rest), (*stops, *starts), None if rest else _wake_at(snapshot))


def _seams(snapshot: Snapshot) -> list[EventDraft]:
    """Return the seams of the steps that have settled: one step at a time, so that no two open one seam."""
    unseamed = snapshot.board.unseamed
    while unseamed:
        index = min(unseamed)
        unseamed.remove(index)
        if drafts := after_settling(snapshot, index):
            return drafts
    return []


def _given_up(snapshot: Snapshot) -> list[EventDraft]:
    """Return the events that follow from the operator's or the clock's stop: expired questions, steps that will not start."""
    plan, board = snapshot.plan, snapshot.board
    drafts: list[EventDraft] = []
    for index in sorted(board.cancelled):
        if board.is_waiting(index):
            drafts.append(held(plan.steps[index], "cancelled"))
        elif index in board.retrying or index in board.asking:
            drafts.append(cancelled_event(plan.steps[index], board.state(index)))
    drafts += [
        held(plan.steps[index], "dependency", plan.steps[by].id)
        for index, by in board.blocked.items()
        if index not in board.cancelled
    ]
    drafts += [
        expired_event(plan.steps[index], board.state(index))
        for index, deadline in board.asking.items()
        if deadline is not None and snapshot.now >= deadline and index not in board.cancelled
    ]
    for index in [index for index in board.retrying if index not in board.cancelled]:
        if snapshot.is_stopping or board.has_lost(index):
            step, state = plan.steps[index], board.state(index)
            drafts += settle_step(step, state, judge(step, state, is_lenient=False))
    return drafts


def _stops(snapshot: Snapshot) -> tuple[StopAttempt, ...]:
    """Return the attempts that must end now, computed on each call: the engine stops an attempt once."""
    stops: list[StopAttempt] = []
    for index, running in snapshot.board.running.items():
        reason = _stop_reason(snapshot, index, running.deadline)
        if reason is not None:
            stops.append(StopAttempt(snapshot.plan.steps[index].id, running.attempt, reason))
    return tuple(stops)


def _stop_reason(
    snapshot: Snapshot, index: int, deadline: float | None
) -> Literal["timed_out", "cancelled", "interrupted"] | None:
    if snapshot.board.stop == "interrupt":
        return "interrupted"
    if snapshot.board.stop == "cancel" or index in snapshot.board.cancelled:
        return "cancelled"
    if snapshot.is_timed_out or (deadline is not None and snapshot.now >= deadline):
        return "timed_out"
    return None


def _checkpoint(snapshot: Snapshot, name: str, reason: Literal["phase", "end"]) -> EventDraft:
    ready = [step.id for step in snapshot.plan.steps if snapshot.board.is_ready(step.index)]
    return EventDraft(
        "checkpoint_saved", {"name": name, "reason": reason, "ready": ready, "note": ""}
    )


def _rest(snapshot: Snapshot) -> list[EventDraft]:
    """Return the last events of a course, once nothing runs, nothing waits and nothing can start but for decisions."""
    plan, board = snapshot.plan, snapshot.board
    if board.running or board.retrying or board.is_merging:
        return []
    if not snapshot.is_stopping and any(at is not None for at in board.asking.values()):
        return []
    if snapshot.may_start and board.ready:
        return []  # what is ready and did not start waits for the claim of a detached thread
    if board.idle:
        waiting = [plan.steps[index] for index in board.waiting()]
        # Once its items are held, and what holds them, a step may still collect what they left.
        lists = [
            step.index
            for step in waiting
            if any(board.is_waiting(item) for item in plan.items.get(step.index, ()))
        ]
        later = reach(plan, lists, lambda step: step.dependents)
        return [held_at_rest(snapshot, step) for step in waiting if step.index not in later]
    ending = conclude(
        plan,
        board.run,
        stop=board.stop,
        is_timed_out=snapshot.is_timed_out,
        elapsed_ms=round((snapshot.now - board.driven_since) * 1000),
    )
    return [
        _checkpoint(snapshot, "end", "end"),
        EventDraft("run_finished", ending),
    ]


def _wake_at(snapshot: Snapshot) -> float | None:
    """Return the next time at which the result changes by itself; times that are past are handled already."""
    board = snapshot.board
    times = [running.deadline for running in board.running.values()]
    times += [*board.asking.values(), *board.retrying.values(), board.deadline]
    return min((at for at in times if at is not None and at > snapshot.now), default=None)
