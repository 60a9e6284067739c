"""The tape a browser replays says of every step, at every event, what the fold of that history says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pixirnb.history.codec import decode_lines
from pixirnb.history.events import Event
from pixirnb.history.run_state import RunState, fold
from pixirnb.machine.outcome import outcome
from pixirnb.machine.resume import Selection
from pixirnb.planning.environment import Environment
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import compile_plan, require
from pixirnb.spec.loader import load_mapping
from pixirnb.testing.generators.histories import Rehearsal, plan_of
from pixirnb.testing.generators.strategies import ends, json_values, workflows
from pixirnb.views.basics.status_marks import STEP_MARKS, state_mark
from pixirnb.views.live.tape import KINDS, STRIDE, UNVERIFIED, Entry, Tape
from tests.sweeps import examples

GOLDEN = Path(__file__).parents[2] / "golden"
SPEC = """
name: story
steps:
  - {id: make, run: make}
  - {id: test, run: test, depends_on: [make], retry: {max_attempts: 2, delay: 10s, jitter: 0}}
  - {id: gate, ask: {question: "Ship?"}, depends_on: [make]}
  - {id: ship, run: ship, depends_on: [test, gate]}
"""
QUEUED = next(n for n, mark in enumerate(STEP_MARKS) if mark.key == "queued")

bounded = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=examples(80),
)


def looks(plan: Plan, entries: list[Entry]) -> dict[str, tuple[str, int, int, str | None]]:
    """Step to mark, attempt, elapsed and holder after `entries`, found as the browser finds it."""
    shown = {step.id: [QUEUED, 0, -1, -1] for step in plan.steps}
    for entry in entries:
        changes = entry[4]
        for n in range(0, len(changes), STRIDE):
            shown[plan.steps[changes[n]].id] = changes[n + 1 : n + STRIDE]
    return {
        name: (
            STEP_MARKS[look[0]].key,
            look[1],
            look[2],
            None if look[3] < 0 else plan.steps[look[3]].id,
        )
        for name, look in shown.items()
    }


def folded(plan: Plan, run: RunState) -> dict[str, tuple[str, int, int, str | None]]:
    """The same, of the fold and its outcome."""
    found = {}
    for step in outcome(plan, run, is_live=True).steps:
        state = run.step(step.step_id)
        elapsed = step.elapsed_ms if state.stage in {"ended", "settled"} else None
        holder = state.held_by and state.held_by["step"]
        mark = state_mark(state, is_skipped=step.skipped).key
        found[step.step_id] = (mark, state.attempt, -1 if elapsed is None else elapsed, holder)
    return found


def status_at(entries: list[Entry]) -> str:
    """The run's status after `entries`, found as the browser finds it."""
    return next((entry[5] for entry in reversed(entries) if entry[5]), "running")


def assert_true_everywhere(plan: Plan, events: list[Event]) -> None:
    tape = Tape(plan)
    tape.extend(events)
    assert [entry[0] for entry in tape.entries] == [event.seq for event in events]
    for upto in range(len(events) + 1):
        run, entries = fold(events[:upto]), tape.entries[:upto]
        assert looks(plan, entries) == folded(plan, run)
        expected = "running" if run.finished is None else run.finished["status"]
        assert status_at(entries) == expected


@bounded
@given(workflows(most=5), st.data())
def test_at_every_event_of_any_history_the_tape_shows_what_the_fold_says(
    workflow: dict[str, Any], data: st.DataObject
) -> None:
    play = Rehearsal(plan_of(workflow)).begin()
    for _ in range(data.draw(st.integers(1, 3))):
        for _ in range(data.draw(st.integers(0, 12))):
            if not play.is_over:
                move(play, data)
        chosen = data.draw(st.sampled_from([None, *(step.id for step in play.plan.steps)]))
        upto = data.draw(st.integers(1, len(play.events)))
        play = play.resume(Selection(from_step=chosen), upto=upto)
    assert_true_everywhere(play.plan, play.events)


def move(play: Rehearsal, data: st.DataObject) -> None:
    """Something happens: an attempt ends, a person decides, time passes, a step or the run is given up."""
    names = [step.id for step in play.plan.steps]
    asked = [name for name in names if play.state(name).awaits_human]
    moves = ["turn", "cancel", *["end"] * 6 * bool(play.running), *["decide"] * 3 * bool(asked)]
    match data.draw(st.sampled_from(moves)):
        case "end":
            play.end(data.draw(st.sampled_from(play.running)), **data.draw(ends()))
        case "decide":
            verdict = data.draw(st.sampled_from(["accept", "reject"]))
            play.decide(data.draw(st.sampled_from(asked)), verdict)
        case "cancel" if data.draw(st.integers(0, 3)) == 0:
            play.stop(data.draw(st.sampled_from(["cancel", "drain", "interrupt"])))
        case "cancel":
            play.cancel_step(data.draw(st.sampled_from(names)))
        case _:
            play.turn(data.draw(st.sampled_from([1, 20, 45])))


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.jsonl")))
def test_at_every_event_of_an_old_log_the_tape_shows_what_the_fold_says(name: str) -> None:
    events = list(decode_lines((GOLDEN / f"{name}.jsonl").read_bytes()).events)
    run = fold(events)
    plan = compile_plan(require(load_mapping(run.spec)), Environment(), run.sources)
    assert_true_everywhere(plan, events)


def test_an_edited_workflow_shows_its_own_steps_and_passes_over_those_that_are_gone() -> None:
    play = Rehearsal(plan_of(SPEC)).begin().end("make").end("test", "failed", error="exit")
    edited = plan_of(
        "name: story\nsteps:\n"
        "  - {id: lint, run: lint}\n"
        "  - {id: make, run: make}\n"
        "  - {id: ship, run: ship, depends_on: [make]}\n"
    )
    later = play.resume(plan=edited)
    tape = Tape(edited)
    tape.extend(later.events)
    assert looks(edited, tape.entries) == folded(edited, fold(later.events))
    assert {entry[3] for entry in tape.entries} == {-1, 0, 1, 2}
    (resumed,) = [entry for entry in tape.entries if entry[2] == KINDS.index("run_resumed")]
    assert resumed[6][3] == 1  # a replay says that what came before is drawn with later steps


def told(play: Rehearsal, kind: str, step: str) -> list[list[Any]]:
    """What the tape tells of each event of a kind of a step."""
    tape = Tape(play.plan)
    tape.extend(play.events)
    place = play.plan.index[step]
    return [
        entry[6] for entry in tape.entries if (entry[2], entry[3]) == (KINDS.index(kind), place)
    ]


def test_it_tells_what_the_attempts_of_a_timeline_came_to() -> None:
    play = Rehearsal(plan_of(SPEC)).begin().end("make")
    play.end("test", "timed_out").turn(11)
    play.end("test", elapsed_ms=1_250).decide("gate").end("ship", "failed", error="exit")
    marks = [mark.key for mark in STEP_MARKS]

    assert told(play, "step_scheduled", "test") == [[1], [2]]
    ended = told(play, "attempt_ended", "test")
    assert [[n, marks[mark], ms] for n, mark, ms in ended] == [
        [1, "timed_out", 5],
        [2, "ended", 1_250],
    ]
    assert told(play, "retry_planned", "test") == [[2, 10_000]]
    ((attempt, mark, reused),) = told(play, "checkpoint_decided", "test")
    assert (attempt, marks[mark], reused) == (2, "checkpoint_ready", 0)
    assert [verdict for _, verdict in told(play, "decision_recorded", "gate")] == [1]
    assert [marks[mark] for _, mark, _ in told(play, "attempt_ended", "ship")] == ["failed"]


def test_an_attempt_that_met_a_conflict_asks_and_did_not_fail() -> None:
    play = Rehearsal(plan_of(SPEC)).begin().end("make", "failed", error="merge_conflict")
    ((_, mark, _),) = told(play, "attempt_ended", "make")

    assert STEP_MARKS[mark].key == "needs_orchestrator"


def test_a_resume_tells_how_much_it_reuses_and_each_step_it_reused() -> None:
    play = Rehearsal(plan_of(SPEC)).begin().end("make").resume()
    tape = Tape(play.plan)
    tape.extend(play.events)
    (resumed,) = [entry for entry in tape.entries if entry[2] == KINDS.index("run_resumed")]
    assert resumed[5:] == ["running", [1, 3, 0, 0]]


def stamped(*moments: str) -> list[Event]:
    return [Event(n, at, "unheard_of", {}) for n, at in enumerate(moments, start=1)]


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        (["22:03:44.000Z", "22:03:45.500Z", "22:03:47Z"], [0, 1_500, 3_000]),
        (["22:03:44Z", "21:00:00Z", "22:03:45Z"], [0, 0, 1_000]),  # the clock was set back
        (["22:03:44Z", "not a moment", "22:03:45Z"], [0, 0, 1_000]),
        (["not a moment", "22:03:44Z", "22:03:45Z"], [0, 0, 1_000]),
    ],
)
def test_time_never_runs_back(moments: list[str], expected: list[int]) -> None:
    tape = Tape(plan_of(SPEC))
    tape.extend(stamped(*(f"2026-11-21T{moment}" for moment in moments)))
    assert [entry[1] for entry in tape.entries] == expected


@bounded
@given(
    st.lists(
        st.tuples(
            st.sampled_from([*KINDS, "unheard_of"]),
            st.dictionaries(
                st.sampled_from(["step", "steps", "status", "attempt", "name", "held_by"]),
                json_values | st.sampled_from(["make", [{"step_id": ["make"]}], [{"step_id": {}}]]),
            ),
        )
    )
)
def test_events_that_cannot_be_read_are_told_and_change_nothing(
    noise: list[tuple[str, dict[str, Any]]],
) -> None:
    plan = plan_of(SPEC)
    tape = Tape(plan)
    tape.extend(Event(n, "", kind, data) for n, (kind, data) in enumerate(noise, start=1))
    assert [entry[0] for entry in tape.entries] == [*range(1, len(noise) + 1)]
    assert all(entry[4:] == [[], "", []] for entry in tape.entries)
    json.dumps(tape.entries, allow_nan=False)


@bounded
@given(st.data())
def test_a_damaged_history_shows_what_its_fold_says(data: st.DataObject) -> None:
    play = Rehearsal(plan_of(SPEC)).begin().end("make").end("test", "timed_out").turn(11)
    play = play.end("test").decide("gate").end("ship").resume(Selection(from_step="test"))
    events = []
    for event in play.events:
        copy = json.loads(json.dumps(event.data))
        if data.draw(st.integers(0, 3)) == 0 and copy:
            key = data.draw(st.sampled_from(sorted(copy)))
            copy[key] = data.draw(json_values | st.sampled_from(["make", "odd", 2**70]))
        events.append(Event(event.seq, event.at, event.kind, copy))
    tape = Tape(play.plan)
    tape.extend(events)
    run = fold(events)
    known = {mark.key for mark in STEP_MARKS}
    for name, (key, *_) in looks(play.plan, tape.entries).items():
        expected = state_mark(run.step(name)).key
        assert key == (expected if expected in known else "ended")
    numbers = [n for entry in tape.entries for n in [*entry[4], *entry[6]] if isinstance(n, int)]
    assert all(-1 <= n < 2**53 for n in numbers)


SAID = {"checkpoint_status": "checkpoint_ready", "summary": "done"}


def test_a_ready_agent_step_that_nothing_verified_is_marked() -> None:
    agent: dict[str, Any] = {"agents": {"a": {"script": {}}}}
    steps = [{"id": name, "task": "Do.", "agent": "a"} for name in ("claimed", "checked")]
    play = Rehearsal(plan_of({"name": "t", **agent, "steps": [*steps, {"id": "c", "run": "x"}]}))
    play.begin()
    play.record(
        *play.ending("claimed", report=SAID),
        *play.ending("checked", report=SAID, checks=[True]),
        *play.ending("c"),
    )
    tape = Tape(play.plan)
    tape.extend(play.events)
    holders: dict[int, int] = {}
    for entry in tape.entries:
        holders.update(zip(entry[4][::STRIDE], entry[4][4::STRIDE], strict=True))
    assert holders == {0: UNVERIFIED, 1: -1, 2: -1}
