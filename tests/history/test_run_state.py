"""The fold: what each event means for a step and its run, and that no line can break it."""

from __future__ import annotations

from typing import Any, cast, get_args

import pytest

from pixirnb.history import events
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Event, Kind
from pixirnb.history.run_state import RunState, fold
from pixirnb.history.validation import fits
from pixirnb.testing.generators.histories import Rehearsal, events_of, plan_of

ONE = {"name": "t", "steps": [{"id": "a", "run": "x", "retry": {"max_attempts": 2}}]}


def begun() -> Rehearsal:
    return Rehearsal(plan_of(ONE)).begin()


def test_a_step_walks_through_its_stages() -> None:
    play = begun()
    stages = [play.state("a").stage]
    play.record(EventDraft("attempt_started", {"step": "a", "attempt": 1, "pid": 7}))
    stages.append(play.state("a").stage)
    assert play.state("a").pid == 7
    play.end("a", "failed", error="exit")
    stages.append(play.state("a").stage)
    play.turn(12)
    play.end("a")
    stages.append(play.state("a").stage)
    assert stages == ["scheduled", "running", "retrying", "settled"]
    assert play.state("a").errors == [{"attempt": 1, "kind": "exit", "message": "exit", "tail": ""}]


def test_a_start_that_is_told_late_is_of_its_own_attempt_only() -> None:
    play = begun().end("a", "failed", error="exit").turn(12)
    play.record(EventDraft("attempt_started", {"step": "a", "attempt": 1, "pid": 7}))
    assert (play.state("a").stage, play.state("a").pid) == ("scheduled", None)


def test_the_fold_is_the_same_at_once_and_one_event_at_a_time() -> None:
    play = begun().end("a")
    slow = RunState()
    for event in play.events:
        assert slow.apply(event)
    whole = fold(play.events)
    assert slow.steps["a"].checkpoint_status == whole.steps["a"].checkpoint_status
    assert (slow.seq, slow.finished) == (whole.seq, whole.finished)


def test_a_resume_opens_a_new_course_and_keeps_count_of_attempts() -> None:
    play = begun().end("a", "failed", error="function_missing")
    assert (play.board.run.courses, play.is_over) == (1, True)
    again = play.resume()
    run = again.board.run
    assert (run.courses, run.finished, run.steps["a"].tried_before) == (2, None, 1)
    assert run.steps["a"].attempt == 2


def test_an_event_without_its_shape_is_named_and_changes_nothing_else() -> None:
    play = begun()
    before = len(play.events)
    torn = EventDraft(
        "attempt_ended", cast("Any", {"step": "a", "attempt": "one", "status": "completed"})
    )
    run = fold([*play.events, *events_of([torn], after=before)])
    assert run.unread == [before + 1]
    assert run.steps["a"].stage == "scheduled"


def test_what_a_newer_version_writes_is_read_as_far_as_it_is_known() -> None:
    play = begun()
    news = {**play.ending("a")[0].data, "status": "paused", "colour": "blue"}
    run = fold([*play.events, Event(3, "", "attempt_ended", news), Event(4, "", "star_born", {})])
    assert run.unread == []
    assert str(run.steps["a"].subagent_status) == "paused"


@pytest.mark.parametrize("kind", sorted(get_args(Kind)))
@pytest.mark.parametrize("data", [{}, {"step": []}, {"step": "a"}, {"steps": [1]}, {"spec": 1}])
def test_no_data_of_any_kind_raises(kind: str, data: dict[str, Any]) -> None:
    run = fold([Event(1, "", kind, data)])
    assert run.seq == 1
    assert run.steps == {}


def test_every_event_the_machine_writes_has_its_shape() -> None:
    play = begun().end("a", "failed", error="exit").turn(12)
    play.end("a", checks=[True], value=1)
    assert all(fits(event.kind, event.data) for event in play.events)


@pytest.mark.parametrize(
    ("data", "is_read"),
    [
        ({"kind": "when", "step": None}, True),
        ({"kind": "dependency", "step": "b"}, True),
        ({"kind": 1, "step": None}, False),
        ({"kind": "when"}, False),
        ("when", False),
    ],
)
def test_shapes_look_inside(data: Any, is_read: bool) -> None:
    assert fits("step_held", {"step": "a", "held_by": data}) == is_read
    assert set(events.HeldBy.__annotations__) == {"kind", "step", "seen", "also"}


def test_no_path_of_a_run_holds_a_nul() -> None:
    begin = begun().events[0].data
    assert fits("run_started", {**begin, "workspace": "/é", "repos": {"x": "../x"}})
    for bad in ({"workspace": "/w\0"}, {"source": "\0"}, {"repos": {"x": "\0"}}):
        assert not fits("run_started", {**begin, **bad})


def test_decisions_are_taken_where_they_are_asked_for() -> None:
    play = begun()
    play.decide("a")
    assert play.state("a").decision is None
    play.end("a", "failed", error="function_missing", artifacts=[{"path": "p"}])
    parked = fold([*play.events, *events_of([play.decision("a")], after=len(play.events))])
    assert parked.decided_after_end
    assert parked.steps["a"].decision is not None
    assert not parked.steps["a"].awaits_human
