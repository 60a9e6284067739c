"""A run that keeps its promises has no breach, whatever was asked of it and wherever it was cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from taped_runs import Tape, begun

from pixirnb.machine.resume import Selection
from pixirnb.planning.plan import Plan
from pixirnb.testing.auditor.audit import audit
from pixirnb.testing.histories import plan_of
from pixirnb.testing.strategies import ends, workflows

GOLDEN = Path(__file__).parents[1] / "golden"

bounded = settings(
    deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], max_examples=150
)


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.jsonl")))
def test_the_logs_that_closed_issues_left_are_sound(name: str) -> None:
    log = (GOLDEN / f"{name}.jsonl").read_bytes()
    shown = json.loads((GOLDEN / f"{name}.outcome.json").read_text(encoding="utf-8"))
    assert audit(log, outcome=shown) == []


@bounded
@given(workflows(), st.data())
def test_a_run_played_to_its_rest_breaks_no_promise(
    workflow: dict[str, Any], data: st.DataObject
) -> None:
    tape = begun(workflow)
    live(tape, data)
    assert tape.breaches() == []
    come_to_rest(tape, data)
    assert tape.breaches() == []
    assert audit(tape.log) == []


@bounded
@given(workflows(), st.data())
def test_a_run_cut_anywhere_and_resumed_anyhow_breaks_no_promise(
    workflow: dict[str, Any], data: st.DataObject
) -> None:
    tape = begun(workflow)
    for _ in range(3):
        live(tape, data)
        upto = data.draw(st.integers(1, len(tape.events)))
        tape = tape.resume(data.draw(selections(tape.plan)), upto=upto)
    come_to_rest(tape, data)
    assert tape.breaches() == []
    assert audit(tape.log) == []


@bounded
@given(workflows(), st.data())
def test_a_run_edited_between_its_courses_breaks_no_promise(
    workflow: dict[str, Any], data: st.DataObject
) -> None:
    tape = begun(workflow)
    for _ in range(2):
        come_to_rest(tape, data)
        workflow = data.draw(edits(workflow))
        plan = plan_of(workflow)
        inputs = {"n": data.draw(st.integers(0, 3))}
        tape = tape.resume(data.draw(selections(plan)), plan=plan, inputs=inputs)
    come_to_rest(tape, data)
    assert tape.breaches() == []


# --- how a run is played -----------------------------------------------------------------------------------------


def live(tape: Tape, data: st.DataObject) -> None:
    """Some moves of the world."""
    for _ in range(data.draw(st.integers(0, 40))):
        if tape.is_over:
            return
        _move(tape, data)


def come_to_rest(tape: Tape, data: st.DataObject) -> None:
    """Whatever runs ends, what is due falls due, threads return."""
    for _ in range(400):
        if tape.is_over:
            return
        if tape.running:
            _end(tape, tape.running[0], data.draw(ends()))
        elif tape.board.detached:
            tape.release(tape.plan.steps[next(iter(tape.board.detached))].id)
        else:
            assert tape.wake_at is not None
            tape.turn(tape.wake_at - tape.now)
    raise AssertionError("it does not come to rest")


def _move(tape: Tape, data: st.DataObject) -> None:
    names = [step.id for step in tape.plan.steps]
    asked = [n for n in names if tape.state(n).awaits_human]
    left = [names[i] for i in tape.board.detached]
    moves = ["turn"] + ["end"] * 8 * bool(tape.running) + ["decide"] * 3 * bool(asked)
    moves += ["release"] * bool(left) + ["cancel", "both"]
    match data.draw(st.sampled_from(moves)):
        case "turn":
            tape.turn(data.draw(st.sampled_from([1, 5, 20, 45])))
            _obey(tape)
        case "end":
            _end(tape, data.draw(st.sampled_from(tape.running)), data.draw(ends()))
        case "decide":
            tape.decide(data.draw(st.sampled_from(asked)), data.draw(_verdicts))
        case "release":
            tape.release(data.draw(st.sampled_from(left)))
        case "cancel":
            if data.draw(st.integers(0, 3)) == 0:
                tape.stop(data.draw(st.sampled_from(["cancel", "drain", "interrupt"])))
            else:
                tape.cancel_step(data.draw(st.sampled_from(names)))
        case _:
            drawn = [(name, data.draw(ends())) for name in tape.running]
            told = [(n, how) for n, how in drawn if how.get("status") != "timed_out"]
            facts = [draft for name, how in told for draft in tape.ending(name, **how)]
            facts += [tape.decision(name, data.draw(_verdicts)) for name in asked]
            tape.record(*facts)


def _obey(tape: Tape) -> None:
    """Attempts that were asked to end do."""
    while tape.stops:
        for asked in list(tape.stops):
            if asked.step in tape.running:
                tape.end(asked.step, asked.reason, elapsed_ms=60_000)
                break
        else:
            return


def _end(tape: Tape, step: str, how: dict[str, Any]) -> None:
    """The attempt ends as drawn; one that times out does so when it is time."""
    if how.get("status") == "timed_out":
        deadline = tape.board.running[tape.plan.index[step]].deadline
        tape.turn(max(0.0, (deadline or tape.now) - tape.now))
        _obey(tape)
    else:
        tape.end(step, **how)


_verdicts = st.sampled_from(["accept", "accept", "reject"])


@st.composite
def edits(draw: st.DrawFn, workflow: dict[str, Any]) -> dict[str, Any]:
    """The workflow with other commands, other edges, and steps taken out or put in."""
    edited: dict[str, Any] = json.loads(json.dumps(workflow))
    for step in edited["steps"]:
        match draw(st.integers(0, 7)):
            case 0 if "run" in step:
                step["run"] = draw(st.sampled_from(["true", "echo other", "echo {{ inputs.n }}"]))
            case 1 if step.get("depends_on"):
                step["depends_on"] = step["depends_on"][1:]
            case 2:
                step["description"] = "says nothing of what it does"
            case 3 if "timeout" in step:
                step["timeout"] = "30s"
            case _:
                pass
    needed = {name for step in edited["steps"] for name in step.get("depends_on", ())}
    free = [step for step in edited["steps"] if step["id"] not in needed]
    if len(edited["steps"]) > 1 and draw(st.integers(0, 3)) == 0:
        edited["steps"].remove(draw(st.sampled_from(free)))
    if draw(st.integers(0, 3)) == 0 and all(s["id"] != "new" for s in edited["steps"]):
        edited["steps"].append({"id": "new", "run": "true", "timeout": "30s"})
    return edited


@st.composite
def selections(draw: st.DrawFn, plan: Plan) -> Selection:
    """What a resume is asked for."""
    names = st.none() | st.sampled_from([step.id for step in plan.steps])
    if draw(st.integers(0, 3)) == 0:
        return Selection(only=draw(names))
    if draw(st.integers(0, 3)) == 0:
        return Selection(is_decision=True)
    return Selection(from_=draw(names), until=draw(names))
