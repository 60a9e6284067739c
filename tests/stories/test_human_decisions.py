"""What a person decides, from the process that runs it or from another, and the places they mark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pixirnb import api
from pixirnb.errors import InvalidArguments
from pixirnb.operations.run import Run
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.live.attempt_history import AttemptHistory
from pixirnb.views.live.panel import panel
from pixirnb.views.run.outcome_view import outcome_blocks
from tests.stories.storyline import (
    effects,
    ended,
    facts,
    kinds,
    mark,
    python,
    shell,
    spec,
    started,
    statuses,
    until,
)

pytestmark = pytest.mark.story

GATE: dict[str, Any] = {"id": "gate", "ask": {"question": "Ship it?", "choices": ["now", "later"]}}


def parked(workspace: Path) -> Run:
    """A run that waits for a person."""
    run, outcome = ended(
        workspace,
        shell("make", mark("make")),
        {**GATE, "depends_on": ["make"]},
        shell("ship", mark("ship", "echo {{ steps.gate.output }}"), "gate"),
    )
    assert outcome.status == "needs_orchestrator"
    return run


def test_a_run_that_waits_only_for_a_person_parks(tmp_path: Path) -> None:
    run = parked(tmp_path)
    assert kinds(run)[-1] == "run_finished"
    assert run.store.read(run.id).owner is None
    step = run.outcome.step("gate")
    assert step.summary == "Ship it?"
    assert step.next_actions[0]["action"] == "decide_step"
    assert run.outcome.step("ship").held_by == {"kind": "dependency", "step": "gate"}


def test_a_step_that_two_others_hold_names_both_and_the_log_the_first(tmp_path: Path) -> None:
    run, outcome = ended(
        tmp_path,
        GATE,
        shell("bad", "false"),
        shell("ship", "true", "gate", "bad"),
        shell("tell", "true", "ship", "bad"),
    )
    assert "blocked by gate, bad" in draw_text(outcome_blocks(outcome.document()))
    assert run.explain("ship")[0] == "`ship` was held: blocked by gate, bad."
    events = run.history()
    attempts = AttemptHistory()
    attempts.extend(events)
    told = panel(run.compiled(), run.state, attempts, "ship", is_live=False)
    assert told["held_by"]["sentence"] == "blocked by gate, bad"
    held = {fact["step"]: fact["held_by"] for fact in facts(run, "step_held")}
    assert held["ship"] == {"kind": "dependency", "step": "gate"}
    assert outcome.step("ship").held_by == {**held["ship"], "also": ["bad"]}


def test_an_accepted_question_goes_on_and_its_answer_is_its_output(tmp_path: Path) -> None:
    run = parked(tmp_path)
    run.decide("gate", "accept", value="now", note="checked")
    assert run.wait().status == "completed"
    assert run.value("ship") == "now"
    assert effects(tmp_path) == ["make", "ship"]
    said = facts(run, "decision_recorded")[0]
    assert (said["verdict"], said["value"], said["note"]) == ("accept", "now", "checked")
    assert said["by"]


def test_a_rejected_question_is_a_failed_step(tmp_path: Path) -> None:
    run = parked(tmp_path)
    outcome = run.decide("gate", "reject").wait()
    error = outcome.step("gate").error
    assert error is not None
    assert (outcome.step("gate").checkpoint_status, error["kind"]) == ("failed", "rejected")
    assert outcome.step("ship").checkpoint_status == "held"
    assert outcome.status == "partial"
    resumed = api.resume(run.id, workspace=tmp_path)
    assert resumed.wait().step("gate").checkpoint_status == "failed"
    asked_again = api.resume(run.id, from_step="gate", workspace=tmp_path).wait()
    assert asked_again.status == "needs_orchestrator"


def test_another_process_may_decide_and_leave_the_resume_to_somebody(tmp_path: Path) -> None:
    run = parked(tmp_path)
    told = python(
        "-m", "pixirnb", "decide", run.id, "gate", "accept", "--value", '"later"',
        "--no-resume", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert told.wait() == 4, told.communicate()
    told.communicate()
    found = api.open_run(run.id, workspace=tmp_path).outcome
    assert found.status == "needs_orchestrator"
    assert {"code": "decided_not_resumed", "step": None} in found.reasons
    assert "1 decided, not applied" in found.summary
    assert "decision" not in found.summary
    assert "◈ gate" in repr(api.open_run(run.id, workspace=tmp_path).steps)
    assert effects(tmp_path) == ["make"]
    with pytest.raises(InvalidArguments, match="decided_already"):
        api.open_run(run.id, workspace=tmp_path).decide("gate", "accept", value="now")
    assert api.resume(run.id, workspace=tmp_path).wait().status == "completed"
    assert effects(tmp_path) == ["make", "ship"]


def test_a_decision_of_a_live_run_is_taken_at_once(tmp_path: Path) -> None:
    run = started(
        tmp_path, GATE, shell("work", "until test -e go; do sleep 0.02; done"), shell("ship", mark("ship"), "gate")
    )  # fmt: skip
    until(lambda: "decision_requested" in kinds(run))
    run.decide("gate", "accept", value="now")
    until(lambda: effects(tmp_path) == ["ship"])
    assert run.status == "running"
    (tmp_path / "go").touch()
    assert run.wait().status == "completed"


@pytest.mark.parametrize(
    ("step", "verdict", "value", "code"),
    [
        ("gate", "accept", "never", "not_a_choice"),
        ("gate", "perhaps", "now", "unknown_verdict"),
        ("make", "accept", None, "nothing_to_decide"),
        ("nobody", "accept", None, "unknown_step"),
        ("gate", "accept", "x" * 20_000, "not_a_choice"),
    ],
)
def test_a_decision_that_makes_no_sense_changes_nothing(
    tmp_path: Path, step: str, verdict: str, value: object, code: str
) -> None:
    run = parked(tmp_path)
    before = (run.folder / "log.jsonl").read_bytes()
    with pytest.raises(InvalidArguments) as caught:
        run.decide(step, verdict, value=value)
    assert caught.value.code == code
    assert caught.value.fix
    assert (run.folder / "log.jsonl").read_bytes() == before


def test_a_note_and_a_value_have_limits(tmp_path: Path) -> None:
    run, _ = ended(tmp_path, {"id": "q", "ask": {"question": "What?"}})
    excesses: tuple[dict[str, Any], ...] = ({"note": "n" * 4097}, {"value": "v" * 16_400})
    for options in excesses:
        with pytest.raises(InvalidArguments) as caught:
            run.decide("q", "accept", **options)
        assert caught.value.code == "limit_exceeded"
    assert run.decide("q", "accept", note="n" * 4096, value="v" * 1000).wait().ok


def test_a_partial_step_may_be_accepted_as_it_is_and_says_who_did(tmp_path: Path) -> None:
    run, outcome = ended(
        tmp_path,
        {"id": "a", "task": "Work.", "agent": "w"},
        {"id": "b", "run": "true", "depends_on": ["a"]},
        agents={"w": {"runner": "scripted"}},
    )
    assert statuses(outcome) == {"a": "partial", "b": "held"}
    outcome = run.decide("a", "accept", note="read it").wait()
    assert outcome.status == "completed"
    checkpoint = outcome.step("a").checkpoint
    assert checkpoint is not None
    assert any("accepted_by_human" in line for line in checkpoint["known_limitations"])


def test_phases_and_the_end_leave_checkpoints_and_a_person_may_add_one(tmp_path: Path) -> None:
    run, _ = ended(
        tmp_path,
        shell("a", "true", phase="build"),
        shell("b", "true", "a", phase="ship"),
    )
    run.checkpoint("friday", note="before the weekend")
    saved = [(c["name"], c["reason"], c["ready"]) for c in facts(run, "checkpoint_saved")]
    assert saved[0] == ("build", "phase", ["a"])
    assert ("ship", "phase", ["a", "b"]) in saved
    assert saved[-2:] == [("end", "end", ["a", "b"]), ("friday", "manual", ["a", "b"])]
    with pytest.raises(InvalidArguments) as caught:
        run.checkpoint("no/slashes")
    assert caught.value.code == "bad_name"
    assert run.outcome.status == "completed"


def test_a_question_may_come_first_in_a_script(tmp_path: Path) -> None:
    """The same through the interpreter, as a script would: `run` blocks, and a parked run lets go."""
    code = (
        "import pixirnb\n"
        f"o = pixirnb.run({spec(GATE)!r})\n"
        "print(o.status, o.run_id)\n"
        "print(pixirnb.open_run(o.run_id).decide('gate', 'accept', value='now').wait().status)\n"
    )
    told = python("-c", code, cwd=tmp_path)
    out, err = told.communicate()
    assert told.returncode == 0, err
    assert out.split()[0] == "needs_orchestrator"
    assert out.split()[-1] == "completed"


@pytest.mark.parametrize("is_driven", [True, False], ids=["live", "parked"])
def test_a_secret_in_what_a_person_or_an_agent_says_is_masked_in_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_driven: bool
) -> None:
    monkeypatch.setenv("STORY_API_TOKEN", "hunter2-hunter2")
    waiting = [shell("long", "sleep 60")] if is_driven else []
    ask = {"id": "gate", "ask": {"question": "The key?"}}
    run = api.start(spec(*waiting, ask), workspace=tmp_path)
    if is_driven:
        until(lambda: run.outcome.step("gate").checkpoint_status == "needs_orchestrator")
        run.checkpoint("hunter2-hunter2", note="it is hunter2-hunter2")
    else:
        run.wait()
    run.decide("gate", "accept", value=["hunter2-hunter2"], note="use hunter2-hunter2")
    until(lambda: bool(facts(run, "decision_recorded")))
    if is_driven:
        run.cancel()
        saved = facts(run, "checkpoint_saved")
        assert {"name": "***", "note": "it is ***"}.items() <= saved[0].items()
    run.wait()
    said = facts(run, "decision_recorded")[0]
    assert (said["value"], said["note"]) == (["***"], "use ***")
    for path in run.folder.rglob("*"):
        assert not path.is_file() or b"hunter2" not in path.read_bytes(), path


@pytest.mark.parametrize("is_driven", [True, False], ids=["live", "parked"])
def test_a_choice_of_the_workflow_that_is_a_secret_elsewhere_is_recorded_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_driven: bool
) -> None:
    monkeypatch.setenv("STORY_API_TOKEN", "production")
    waiting = [shell("long", "sleep 60")] if is_driven else []
    ask = {"id": "gate", "ask": {"question": "Where?", "choices": ["production", "staging"]}}
    branch = shell("ship", "true", "gate", when="{{ steps.gate.output }} == 'production'")
    run = api.start(spec(*waiting, ask, branch), workspace=tmp_path)
    if is_driven:
        until(lambda: run.outcome.step("gate").checkpoint_status == "needs_orchestrator")
    else:
        run.wait()
    run.accept("gate", "production", note="to production")
    if is_driven:
        until(lambda: run.outcome.step("ship").checkpoint_status == "checkpoint_ready")
        run.cancel()
    run.wait()
    assert run.outcome.step("ship").checkpoint_status == "checkpoint_ready"
    recorded = facts(run, "decision_recorded")[0]
    assert (recorded["value"], recorded["note"]) == ("production", "to ***")
