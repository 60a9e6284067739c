"""Whatever the workflow, however its attempts end, whoever interferes and wherever it is cut: what no history may break."""

from __future__ import annotations

import json
from typing import Any, cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Event
from pixirnb.history.run_state import fold
from pixirnb.machine.board import Board
from pixirnb.machine.resume import Selection
from pixirnb.testing.generators.histories import Rehearsal, events_of, plan_of
from pixirnb.testing.generators.strategies import CLEAN, ends, json_values, workflows
from tests.sweeps import examples

PATIENCE = 400
"""More moves than any drawn run needs to come to rest once all its attempts end."""

bounded = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=examples(120),
)


@bounded
@given(workflows(), st.data())
def test_any_run_is_sound_at_every_moment_and_comes_to_rest(
    workflow: dict[str, Any], data: st.DataObject
) -> None:
    play = Rehearsal(plan_of(workflow)).begin()
    _live(play, data)
    _come_to_rest(play, data)
    assert play.faults == []
    _check_story(play)
    _check_success(play)


@bounded
@given(workflows(), st.data())
def test_a_run_cut_anywhere_goes_on_soundly_as_often_as_it_is_cut(
    workflow: dict[str, Any], data: st.DataObject
) -> None:
    play = Rehearsal(plan_of(workflow)).begin()
    for _ in range(3):
        _live(play, data)
        upto = data.draw(st.integers(1, len(play.events)))
        play = play.resume(data.draw(_selections(play)), upto=upto)
        _check_board(play)
        assert play.faults == []
    _come_to_rest(play, data)
    assert play.faults == []
    _check_story(play)
    _check_success(play)


@bounded
@given(workflows(), st.data())
def test_resumed_after_any_prefix_it_ends_as_the_uninterrupted_run(
    workflow: dict[str, Any], data: st.DataObject
) -> None:
    workflow.pop("timeout", None)
    whole = Rehearsal(plan_of(workflow)).begin()
    _finish_cleanly(whole)
    upto = data.draw(st.integers(1, len(whole.events)))
    again = whole.resume(upto=upto)
    _finish_cleanly(again)
    assert again.faults == []
    assert again.outcome().status == whole.outcome().status == "completed"
    assert again.statuses() == whole.statuses()
    finished = fold(whole.events[:upto])
    done = {name for name, s in finished.steps.items() if s.checkpoint_status == "checkpoint_ready"}
    assert done.isdisjoint(again.started())


@bounded
@given(workflows(), st.data())
def test_a_damaged_history_is_folded_resumed_and_concluded_without_an_exception(
    workflow: dict[str, Any], data: st.DataObject
) -> None:
    play = Rehearsal(plan_of(workflow)).begin()
    _live(play, data)
    events = [_mutated(event, data) for event in play.events]
    order = data.draw(st.lists(st.integers(1, len(events) - 1), max_size=8))
    for place in order:
        events.insert(place, events[data.draw(st.integers(0, len(events) - 1))])
        del events[data.draw(st.integers(1, len(events) - 1))]
    events = [Event(n, e.at, e.kind, e.data) for n, e in enumerate(events, start=1)]
    damaged = Rehearsal(play.plan, events)
    damaged.outcome()
    later = damaged.resume(data.draw(_selections(play)))
    later.outcome(is_live=True)
    if later.board.run.started_at is not None:
        _come_to_rest(later, data)
    later.outcome()


@bounded
@given(st.lists(st.tuples(st.sampled_from(["attempt_ended", "step_held", "x"]), json_values)))
def test_the_fold_is_total(noise: list[tuple[str, Any]]) -> None:
    kinds: list[Any] = [kind for kind, _ in noise]
    events = [
        Event(n, "", kind, value if isinstance(value, dict) else {"step": value})
        for n, (kind, (_, value)) in enumerate(zip(kinds, noise, strict=True), start=1)
    ]
    run = fold(events)
    assert run.steps == {}
    assert run.unread == [event.seq for event in events if event.kind != "x"]


# --- how a run is played -----------------------------------------------------------------------------------------


def _live(play: Rehearsal, data: st.DataObject) -> None:
    """Some moves of the world, the board checked after each."""
    for _ in range(data.draw(st.integers(0, 25))):
        if play.is_over:
            return
        _move(play, data)
        _check_board(play)


def _move(play: Rehearsal, data: st.DataObject) -> None:
    names = [step.id for step in play.plan.steps]
    asked = [n for n in names if play.state(n).awaits_human]
    left = [names[i] for i in play.board.detached]
    moves = ["turn"] + ["end"] * 8 * bool(play.running) + ["decide"] * 3 * bool(asked)
    moves += ["release"] * bool(left) + ["cancel", "both"]
    match data.draw(st.sampled_from(moves)):
        case "turn":
            play.turn(data.draw(st.sampled_from([1, 5, 20, 45])))
        case "end":
            play.end(data.draw(st.sampled_from(play.running)), **data.draw(ends()))
        case "decide":
            play.decide(data.draw(st.sampled_from(asked)), data.draw(_verdicts))
        case "release":
            play.release(data.draw(st.sampled_from(left)))
        case "cancel":
            if data.draw(st.integers(0, 3)) == 0:
                play.stop(data.draw(st.sampled_from(["cancel", "drain", "interrupt"])))
            else:
                play.cancel_step(data.draw(st.sampled_from(names)))
        case _:
            facts = [d for name in play.running for d in play.ending(name, **data.draw(ends()))]
            facts += [play.decision(name, data.draw(_verdicts)) for name in asked]
            play.record(*facts)


_verdicts = st.sampled_from(["accept", "accept", "reject"])


@st.composite
def _selections(draw: st.DrawFn, play: Rehearsal) -> Selection:
    names = st.none() | st.sampled_from([step.id for step in play.plan.steps])
    if draw(st.integers(0, 3)) == 0:
        return Selection(only=draw(names))
    if draw(st.integers(0, 3)) == 0:
        return Selection(is_decision=True)
    start = draw(names)
    if start is None:
        return Selection(until=draw(names))
    following = [start]  # until a step that does not come after it is refused
    for name in following:
        known = play.plan.steps[play.plan.index[name]]
        found = [play.plan.steps[index].id for index in known.dependents]
        following += [each for each in found if each not in following]
    return Selection(from_step=start, until=draw(st.none() | st.sampled_from(following)))


def _come_to_rest(play: Rehearsal, data: st.DataObject) -> None:
    """Whatever runs ends, what is due falls due, threads return: the run must end by itself."""
    for _ in range(PATIENCE):
        if play.is_over:
            return
        if play.running:
            play.end(play.running[0], **data.draw(ends()))
        elif play.board.detached:
            play.release(play.plan.steps[next(iter(play.board.detached))].id)
        else:
            assert play.wake_at is not None, "nothing runs, nothing is due, and it is not over"
            play.turn(play.wake_at - play.now)
    raise AssertionError("it does not come to rest")


def _finish_cleanly(play: Rehearsal) -> None:
    for _ in range(PATIENCE):
        asked = [s.id for s in play.plan.steps if play.state(s.id).awaits_human]
        if play.running:
            play.end(play.running[-1], **CLEAN)
        elif asked and not play.is_over:
            play.decide(asked[0])
        elif asked:
            resumed = play.resume(Selection(is_decision=True), facts=[play.decision(asked[0])])
            play.events, play.board, play.wake_at = resumed.events, resumed.board, resumed.wake_at
            play.starts += resumed.starts
        elif play.is_over:
            return
        else:
            assert play.wake_at is not None
            play.turn(play.wake_at - play.now)
    raise AssertionError("it does not come to rest")


def _mutated(event: Event, data: st.DataObject) -> Event:
    """The event with one part replaced by JSON of any shape, now and then."""
    if data.draw(st.integers(0, 4)):
        return event
    copy = json.loads(json.dumps(event.data))
    place, key = copy, data.draw(st.sampled_from(sorted(copy)))
    while isinstance(place[key], dict) and place[key] and data.draw(st.booleans()):
        place = place[key]
        key = data.draw(st.sampled_from(sorted(place)))
    if data.draw(st.booleans()):
        del place[key]
    else:
        place[key] = data.draw(json_values)
    return Event(event.seq, event.at, event.kind, copy)


# --- what must hold ----------------------------------------------------------------------------------------------


def _check_board(play: Rehearsal) -> None:
    """The board kept event by event is the one a later process would build, but for what is under way."""
    board = play.board
    fresh = Board(play.plan, fold(play.events), play.now)
    under_way = {*board.running, *board.retrying}
    assert fresh.ready == sorted({*board.ready, *under_way})
    assert fresh.waiting() == sorted({*board.waiting(), *under_way})
    assert board.idle == len(board.waiting())
    assert fresh.idle == len(fresh.waiting())
    assert fresh.asking.keys() == board.asking.keys()
    assert (fresh.ended, fresh.to_decide, fresh.phases.done) == ([], [], [])
    assert (board.ended, board.to_decide, board.phases.done) == ([], [], [])
    for step in play.plan.steps:
        is_ready = board.state(step.index).checkpoint_status == "checkpoint_ready"
        assert board.is_ready(step.index) == fresh.is_ready(step.index) == is_ready
        is_under_way = board.state(step.index).stage in {"scheduled", "running"}
        assert is_under_way == (step.index in board.running)


def _check_story(play: Rehearsal) -> None:
    """Starts and ends alternate for each step within a course, and a ready step never starts again in it."""
    open_attempt: dict[str, int] = {}
    ready: set[str] = set()
    attempts: dict[str, int] = {}
    for event in play.events:
        name = event.data.get("step", "")
        match event.kind:
            case "run_resumed":
                open_attempt.clear()
                ready.clear()
            case "step_scheduled":
                assert name not in open_attempt, f"{name} started twice"
                assert name not in ready, f"{name} started after it was ready"
                assert event.data["attempt"] == attempts.get(name, 0) + 1
                open_attempt[name] = attempts[name] = event.data["attempt"]
            case "attempt_ended":
                open_attempt.pop(name, None)
            case "decision_requested":
                attempts[name] = event.data["attempt"]
            case "checkpoint_decided":
                assert name not in ready, f"{name} was ready and decided again"
                if event.data["status"] == "checkpoint_ready":
                    ready.add(name)
            case _:
                pass
    assert fold(play.events).unread == []


def _check_success(play: Rehearsal) -> None:
    """`completed` and `ok` mean that every step is ready but those a false `when` holds, alone."""
    told = play.outcome()
    assert told.ok == (told.status == "completed")
    assert told.document()["ok"] == told.ok
    assert (told.reasons == []) == told.ok
    states = {step.id: play.state(step.id) for step in play.plan.steps}

    def is_excused(name: str) -> bool:
        held = states[name].held_by
        if held is None:
            return False
        if held["kind"] == "when":
            return True
        names = [play.plan.steps[i].id for i in play.plan.steps[play.plan.index[name]].depends_on]
        blockers = [n for n in names if states[n].checkpoint_status != "checkpoint_ready"]
        is_own = held["kind"] not in {"dependency", "not_selected"}
        return not is_own and bool(blockers) and all(map(is_excused, blockers))

    is_whole = all(
        s.checkpoint_status == "checkpoint_ready" or is_excused(n) for n, s in states.items()
    )
    assert told.ok == is_whole
    assert all(state.checkpoint_status is not None for state in states.values())
    assert told.status == fold(play.events).finished["status"]  # type: ignore[index] # it is over


def test_drafts_are_stamped_in_order() -> None:
    stamped = events_of([EventDraft("step_held", cast("Any", {})) for _ in range(2)], after=3)
    assert [event.seq for event in stamped] == [4, 5]
