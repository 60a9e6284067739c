"""A run that keeps its promises has no breach, whatever was asked of it and wherever it was cut."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.auditor.audit import audit
from pixirnb.machine.board import RunStop
from pixirnb.machine.resume import Selection
from pixirnb.planning.plan import Plan
from pixirnb.testing.generators.histories import plan_of
from pixirnb.testing.generators.strategies import CLEAN, ENDS, workflows
from tests.harness.auditor.taped_runs import Tape, begun
from tests.sweeps import examples

GOLDEN = Path(__file__).parents[2] / "golden"

VERDICTS: Final = ("accept", "accept", "reject")
seeds = st.integers(0, 2**32)
"""Of the chance that plays a run: drawn moves would be few and small."""
bounded = settings(
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=examples(150),
)


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.jsonl")))
def test_the_logs_that_closed_issues_left_are_sound(name: str) -> None:
    log = (GOLDEN / f"{name}.jsonl").read_bytes()
    shown = json.loads((GOLDEN / f"{name}.outcome.json").read_text(encoding="utf-8"))
    assert audit(log, outcome=shown) == []


@bounded
@given(workflows(), seeds)
def test_a_run_played_to_its_rest_breaks_no_promise(workflow: dict[str, Any], seed: int) -> None:
    chance, tape = Random(seed), begun(workflow)
    live(tape, chance)
    assert tape.breaches() == []
    come_to_rest(tape, chance)
    assert tape.breaches() == []
    assert audit(tape.log) == []


@bounded
@given(workflows(), seeds)
def test_a_run_cut_anywhere_and_resumed_anyhow_breaks_no_promise(
    workflow: dict[str, Any], seed: int
) -> None:
    chance, tape = Random(seed), begun(workflow)
    for _ in range(3):
        live(tape, chance)
        upto = chance.randint(1, len(tape.events))
        tape = tape.resume(selection(tape.plan, chance), upto=upto)
    come_to_rest(tape, chance)
    assert tape.breaches() == []
    assert audit(tape.log) == []


@bounded
@given(workflows(), seeds)
def test_a_run_edited_between_its_courses_breaks_no_promise(
    workflow: dict[str, Any], seed: int
) -> None:
    chance, tape = Random(seed), begun(workflow)
    for _ in range(3):
        come_to_rest(tape, chance)
        workflow = edited(workflow, chance)
        plan = plan_of(workflow)
        inputs = {"n": chance.choice([2, 2, 2, 0, 1, 3])}
        tape = tape.resume(selection(plan, chance), plan=plan, inputs=inputs)
    come_to_rest(tape, chance)
    assert tape.breaches() == []


# --- how a run is played -----------------------------------------------------------------------------------------


def live(tape: Tape, chance: Random) -> None:
    """Some moves of the world."""
    for _ in range(chance.randint(0, 25)):
        if tape.is_over:
            return
        _move(tape, chance)


def come_to_rest(tape: Tape, chance: Random) -> None:
    """Whatever runs ends, what is due falls due, threads return."""
    for _ in range(400):
        if tape.is_over:
            return
        if tape.running:
            _end(tape, chance.choice(tape.running), _how(chance))
        elif tape.board.detached:
            tape.release(tape.plan.steps[next(iter(tape.board.detached))].id)
        else:
            assert tape.wake_at is not None
            tape.turn(tape.wake_at - tape.now)
    raise AssertionError("it does not come to rest")


def _move(tape: Tape, chance: Random) -> None:
    names = [step.id for step in tape.plan.steps]
    asked = [n for n in names if tape.state(n).awaits_human]
    left = [names[i] for i in tape.board.detached]
    moves = ["turn"] + ["end"] * 8 * bool(tape.running) + ["decide"] * 3 * bool(asked)
    moves += ["release"] * bool(left) + ["cancel", "both"]
    match chance.choice(moves):
        case "turn":
            _obey(tape)  # at once: time does not pass over a wish
            tape.turn(chance.choice([1, 5, 20, 45]))
            _obey(tape)
        case "end":
            _end(tape, chance.choice(tape.running), _how(chance))
        case "decide":
            tape.decide(chance.choice(asked), chance.choice(VERDICTS))
        case "release":
            tape.release(chance.choice(left))
        case "cancel" if chance.random() < 0.3:
            hows: tuple[RunStop, ...] = ("cancel", "drain", "interrupt")
            tape.stop(chance.choice(hows))
        case "cancel":
            tape.cancel_step(chance.choice(names))
        case _:
            drawn = [(name, _how(chance)) for name in tape.running]
            told = [(n, how) for n, how in drawn if how.get("status") != "timed_out"]
            facts = [draft for name, how in told for draft in tape.ending(name, **how)]
            facts += [tape.decision(name, chance.choice(VERDICTS)) for name in asked]
            tape.record(*facts)


def _how(chance: Random) -> dict[str, Any]:
    """How an attempt ends: cleanly, as often as not."""
    return CLEAN if chance.random() < 0.5 else chance.choice(ENDS)


def _obey(tape: Tape) -> None:
    """Attempts that were asked to end do."""
    while asked := [stop for stop in tape.stops if stop.step in tape.running]:
        tape.end(asked[0].step, asked[0].reason, elapsed_ms=60_000)


def _end(tape: Tape, step: str, how: dict[str, Any]) -> None:
    """The attempt ends as drawn; one that times out does so when it is time."""
    if how.get("status") == "timed_out":
        _obey(tape)
        if step not in tape.running:
            return
        deadline = tape.board.running[tape.plan.index[step]].deadline
        tape.turn(max(0.0, (deadline or tape.now) - tape.now))
        _obey(tape)
    else:
        tape.end(step, **how)


def edited(workflow: dict[str, Any], chance: Random) -> dict[str, Any]:
    """The workflow with other commands, other edges, and steps taken out or put in."""
    other: dict[str, Any] = json.loads(json.dumps(workflow))
    for step in other["steps"]:
        match chance.randint(0, 9):
            case 0 | 1 if "run" in step:
                step["run"] = chance.choice(["true", "echo other", "echo {{ inputs.n }}"])
            case 2 if step.get("depends_on"):
                step["depends_on"] = step["depends_on"][1:]
            case 3:
                step["description"] = "says nothing of what it does"
            case 4 if "timeout" in step:
                step["timeout"] = "30s"
            case _:
                pass
    needed = {name for step in other["steps"] for name in step.get("depends_on", ())}
    free = [step for step in other["steps"] if step["id"] not in needed]
    if len(other["steps"]) > 1 and chance.random() < 0.2:
        other["steps"].remove(chance.choice(free))
    if chance.random() < 0.2 and all(step["id"] != "new" for step in other["steps"]):
        other["steps"].append({"id": "new", "run": "true", "timeout": "30s"})
    return other


def followers(plan: Plan, start: str) -> list[str]:
    """A step and all that wait for it, directly or not."""
    found = [start]
    for name in found:
        known = plan.steps[plan.index[name]]
        found += [plan.steps[i].id for i in known.dependents if plan.steps[i].id not in found]
    return found


def selection(plan: Plan, chance: Random) -> Selection:
    """What a resume is asked for: as often as not, nothing."""
    names = [step.id for step in plan.steps]
    match chance.randint(0, 9):
        case 0:
            return Selection(only=chance.choice(names))
        case 1:
            return Selection(is_decision=True)
        case 2:
            return Selection(from_step=chance.choice(names))
        case 3:
            return Selection(until=chance.choice(names))
        case 4:
            start = chance.choice(names)
            return Selection(from_step=start, until=chance.choice(followers(plan, start)))
        case _:
            return Selection()
