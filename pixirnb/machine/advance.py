"""What happens next: the one pure decision of the engine.

`advance(plan, board, now)` returns the next layer of facts and what to do about them. The caller records the facts, applies
them to the board, and asks again until no fact is left; then it makes them durable, and only then carries the instructions
out. `advance` changes nothing, never raises for anything a log can hold, and answers the same question the same way.

The order of its questions: verdicts on what ended → the human's decisions → seams → what must stop → phases that are
complete → what can start → whether the run has come to rest. Source: contract.md §2 (scheduling), §4, §5, §6.
"""

from __future__ import annotations

from typing import Literal

from pixirnb.history.event_draft import EventDraft
from pixirnb.machine.admission import settle_without_running, start
from pixirnb.machine.board import Board
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
    held,
    settle_step,
)
from pixirnb.planning.plan import Plan, PlannedStep


def advance(plan: Plan, board: Board, now: float) -> Advance:
    """The next facts and instructions of a run. Returns no events when nothing more follows from what is known."""
    if board.run.started_at is None or board.run.finished is not None:
        return Advance()
    moment = Snapshot(plan, board, now)
    facts = [draft for index in board.ended for draft in after_attempt(moment, index)]
    facts += [draft for index in board.to_decide for draft in after_decision(moment, index)]
    facts += [
        draft for index in sorted(board.permitted) for draft in after_permission(moment, index)
    ]
    # A layer at a time: what a verdict or a person's word settles can no longer expire or be given up.
    facts = facts or _seams(moment)
    facts = facts or _given_up(moment)
    facts = facts or [
        _checkpoint(moment, plan.phases[phase][0], "phase") for phase in board.phases_done
    ]
    facts = facts or settle_without_running(moment)
    if facts:
        return Advance(tuple(facts))
    stops = _stops(moment)
    scheduled, starts = start(moment)
    if scheduled:
        return Advance(tuple(scheduled), (*stops, *starts))
    rest = _rest(moment)
    return Advance(tuple(rest), stops, None if rest else _wake_at(moment))


def _seams(moment: Snapshot) -> list[EventDraft]:
    """What the steps that have settled mean for seams: one step at a time, so that no two find the same seam."""
    unseamed = moment.board.unseamed
    while unseamed:
        index = min(unseamed)
        unseamed.remove(index)
        if facts := after_settling(moment, index):
            return facts
    return []


def _given_up(moment: Snapshot) -> list[EventDraft]:
    """Facts that follow from the operator's or the clock's wish: questions that expired, steps that will not start."""
    plan, board = moment.plan, moment.board
    facts: list[EventDraft] = []
    for index in sorted(board.cancelled):
        if board.is_waiting(index):
            facts.append(held(plan.steps[index], "cancelled"))
        elif index in board.retrying or index in board.asking:
            facts.append(cancelled_event(plan.steps[index], board.state(index)))
    facts += [
        expired_event(plan.steps[index], board.state(index))
        for index, deadline in board.asking.items()
        if deadline is not None and moment.now >= deadline and index not in board.cancelled
    ]
    if moment.is_stopping:
        for index in [index for index in board.retrying if index not in board.cancelled]:
            step, state = plan.steps[index], board.state(index)
            facts += settle_step(step, state, judge(step, state, is_lenient=False))
    return facts


def _stops(moment: Snapshot) -> tuple[StopAttempt, ...]:
    """Attempts that must end now. Asked anew each time: the engine stops an attempt once."""
    stops: list[StopAttempt] = []
    for index, running in moment.board.running.items():
        reason = _stop_reason(moment, index, running.deadline)
        if reason is not None:
            stops.append(StopAttempt(moment.plan.steps[index].id, running.attempt, reason))
    return tuple(stops)


def _stop_reason(
    moment: Snapshot, index: int, deadline: float | None
) -> Literal["timed_out", "cancelled", "interrupted"] | None:
    if moment.board.stop == "interrupt":
        return "interrupted"
    if moment.board.stop == "cancel" or index in moment.board.cancelled:
        return "cancelled"
    if moment.is_timed_out or (deadline is not None and moment.now >= deadline):
        return "timed_out"
    return None


def _checkpoint(moment: Snapshot, name: str, reason: Literal["phase", "end"]) -> EventDraft:
    ready = [step.id for step in moment.plan.steps if moment.board.is_ready(step.index)]
    return EventDraft(
        "checkpoint_saved", {"name": name, "reason": reason, "ready": ready, "note": ""}
    )


def _rest(moment: Snapshot) -> list[EventDraft]:
    """The last facts of a course, once nothing runs, nothing waits and nothing can start but for decisions."""
    plan, board = moment.plan, moment.board
    if board.running or board.retrying or board.is_merging:
        return []
    if not moment.is_stopping and any(at is not None for at in board.asking.values()):
        return []
    if moment.may_start and board.ready:
        return []  # what is ready and did not start waits for the claim of a detached thread
    if board.idle:
        return [_held_at_rest(moment, plan.steps[index]) for index in board.waiting()]
    ending = conclude(
        plan,
        board.run,
        stop=board.stop,
        is_timed_out=moment.is_timed_out,
        elapsed_ms=round((moment.now - board.course_started) * 1000),
    )
    return [
        _checkpoint(moment, "end", "end"),
        EventDraft("run_finished", ending),
    ]


def _held_at_rest(moment: Snapshot, step: PlannedStep) -> EventDraft:
    if not moment.board.state(step.index).is_selected:
        return held(step, "not_selected")
    for dependency in step.depends_on:
        if not moment.board.is_ready(dependency):
            return held(step, "dependency", moment.plan.steps[dependency].id)
    if moment.is_timed_out:
        return held(step, "run_timeout")
    if moment.board.stop in {"cancel", "drain"}:
        return held(step, "cancelled")
    return held(step, "run_stopped")


def _wake_at(moment: Snapshot) -> float | None:
    """The next time at which the answer changes by itself. What is past is being dealt with."""
    board = moment.board
    times = [running.deadline for running in board.running.values()]
    times += [*board.asking.values(), *board.retrying.values(), board.deadline]
    return min((at for at in times if at is not None and at > moment.now), default=None)
