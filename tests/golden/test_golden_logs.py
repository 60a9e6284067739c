"""Old logs open for ever: the log each closed issue left, read by the code of today.

`engine-1.jsonl` was written by a real run (a retry, a failure, holds, a false `when`, a time-out, two decisions, a resume,
phases, a checkpoint by hand); `resume-1.jsonl` is a fork of a run whose owner was killed: edited, parked, decided, completed;
`notebook-1.jsonl` is of a notebook: steps from cells with their pinned sources and recorded values, a check that failed,
its cell replaced, a question answered with a button;
`agents-1.jsonl` is of agents, each attempt with its session in `agents-1.sessions`: a report, a failure that was tried again,
one whose kernel was killed, one that asked where nobody was and was allowed later, one that declared nothing and was accepted;
`files-1.jsonl` is of isolated steps in two repositories: changes with modes and what is no text, a death in a copy, a path
outside a set, a start and a merge that conflicted, a side, a file settled by hand, a merge taken back and made again, seams.
Places and names were made neutral, and the lines chained again.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.auditor.audit import audit
from pixirnb.history.codec import GENESIS, decode_lines, encode
from pixirnb.history.run_state import RunState, fold
from pixirnb.machine.outcome import outcome
from pixirnb.machine.resume import Selection, plan_resume
from pixirnb.planning.environment import Environment
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import compile_plan, require
from pixirnb.sessions.provider_input import replay
from pixirnb.sessions.state import fold_session
from pixirnb.spec.loader import load_mapping

HERE = Path(__file__).parent
LOGS = sorted(path.stem for path in HERE.glob("*.jsonl"))
SESSIONS = sorted((HERE / "agents-1.sessions").glob("*.jsonl"))
TURNS = {
    "edit.1": "partial_failed",
    "edit.2": "completed",
    "look.1": "completed",
    "shaky.1": "partial_failed",
    "shaky.2": "completed",
    "slow.1": "interrupted",
    "slow.2": "completed",
    "vague.1": "completed",
    "vague.2": "completed",
}


def opened(name: str) -> tuple[RunState, Plan]:
    decoded = decode_lines((HERE / f"{name}.jsonl").read_bytes())
    assert decoded.damage is None
    run = fold(decoded.events)
    return run, compile_plan(require(load_mapping(run.spec)), Environment(), run.sources)


def test_there_is_a_log_of_each_closed_issue() -> None:
    assert {"engine-1", "resume-1", "notebook-1", "agents-1", "files-1"} <= set(LOGS)


@pytest.mark.parametrize("name", LOGS)
def test_every_line_is_read_and_written_back_byte_by_byte(name: str) -> None:
    data = (HERE / f"{name}.jsonl").read_bytes()
    decoded = decode_lines(data)
    assert decoded.damage is None
    chain, lines = GENESIS, []
    for event in decoded.events:
        line, chain = encode(event, chain)
        lines.append(line)
    assert b"".join(lines) == data


@pytest.mark.parametrize("name", LOGS)
def test_it_folds_to_the_outcome_it_had(name: str) -> None:
    run, plan = opened(name)
    assert run.unread == []
    expected = json.loads((HERE / f"{name}.outcome.json").read_text(encoding="utf-8"))
    assert outcome(plan, run, is_live=False).document() == expected


def test_the_first_log_holds_what_the_first_issue_could_write() -> None:
    decoded = decode_lines((HERE / "engine-1.jsonl").read_bytes())
    kinds = {event.kind for event in decoded.events}
    assert kinds >= {
        "run_started",
        "run_resumed",
        "step_scheduled",
        "attempt_started",
        "attempt_ended",
        "retry_planned",
        "verification_recorded",
        "checkpoint_decided",
        "step_held",
        "decision_requested",
        "decision_recorded",
        "checkpoint_saved",
        "run_finished",
    }


def test_the_first_log_can_still_be_resumed_and_keeps_what_was_ready() -> None:
    run, plan = opened("engine-1")
    planned = {
        e["step_id"]: (e["action"], e["reason"]) for e in plan_resume(plan, run, Selection())
    }
    kept = {name for name, (action, _) in planned.items() if action == "reuse"}
    ready = {n for n, state in run.steps.items() if state.checkpoint_status == "checkpoint_ready"}
    assert kept == ready
    assert planned["gate"] == ("reuse", "decided")
    assert planned["late"] == ("rerun", "failed")


def test_the_second_log_is_a_fork_that_stands_alone() -> None:
    run, plan = opened("resume-1")
    assert run.forked is not None
    assert run.forked["checkpoint"] == "build"
    assert run.run_id != run.forked["run_id"]
    assert run.step("slow").attempt == 2
    assert {e["action"] for e in plan_resume(plan, run, Selection())} == {"reuse"}


def test_the_third_log_holds_the_source_of_its_cells_and_only_the_replaced_one_ran_again() -> None:
    run, plan = opened("notebook-1")
    assert {step: run.step(step).attempt for step in ("fetch", "tidy", "count")} == {
        "fetch": 1,
        "tidy": 1,
        "count": 2,
    }
    assert 'print("counted")' in run.sources[":step_count"]
    assert "# the words, as they were when this cell ran" in plan.sources[":step_fetch"]
    recorded = [step.get("with") for step in run.spec["steps"]]
    assert {"words": ["wave", "step", "run", "log"]} in recorded
    assert {e["action"] for e in plan_resume(plan, run, Selection())} == {"reuse"}


def test_the_fourth_log_has_a_session_for_each_attempt_and_they_say_the_same() -> None:
    run, plan = opened("agents-1")
    assert {e["action"] for e in plan_resume(plan, run, Selection())} == {"reuse"}
    asked = {request.partition("/")[2]: known for request, known in run.permissions.items()}
    assert {name: known["verdict"] for name, known in asked.items()} == {"edit.1.1": "allow"}
    bodies = {path.stem: path.read_bytes() for path in SESSIONS}
    assert audit((HERE / "agents-1.jsonl").read_bytes(), sessions=bodies) == []


def test_the_fifth_log_says_which_changes_came_back_and_which_seams_are_resolved() -> None:
    run, plan = opened("files-1")
    assert {e["action"] for e in plan_resume(plan, run, Selection())} == {"reuse"}
    merges = [(merge["merge"], merge["undoes"]) for merge in run.merges]
    assert merges == [("land.2", None), ("m2", "land.2"), ("land.4", None)]
    assert {root["root"] for merge in run.merges for root in merge["roots"]} == {".", "repos.cloud"}
    assert {name: run.step(name).merged_by for name in ("loud", "adopt", "both")} == {
        "loud": "land.4",
        "adopt": "land.4",
        "both": None,
    }
    assert {seam["reason"] for seam in run.seams.values()} == {
        "met",
        "conflict",
        "declared",
        "reported",
    }
    assert {seam["state"] for seam in run.seams.values()} == {"resolved"}
    assert run.step("stray").attempt == 2
    captured = run.step("stray").captured
    assert captured is not None
    assert captured["outside"]["paths"] == ["elsewhere.txt"]
    assert audit((HERE / "files-1.jsonl").read_bytes()) == []


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_a_session_is_read_and_folds_to_the_turn_it_had(path: Path) -> None:
    decoded = decode_lines(path.read_bytes())
    assert decoded.damage is None
    state = fold_session(decoded.events)
    assert (state.turn, state.is_closed) == (TURNS[path.stem], True)
    assert state.started is not None
    assert state.started["session_id"] == path.stem
    said = [item["text"] for item in replay(decoded.events) if item["role"] == "user"]
    assert said
    assert not any("Half of it" in str(item) for item in replay(decoded.events))
