"""What a person's word does to a step, when, and how often."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from pixirnb.errors import InvalidArguments
from pixirnb.machine.diagnosis import DiagnosisInput, findings
from pixirnb.machine.requests import Request, grant
from pixirnb.machine.resume import Selection
from pixirnb.testing.generators.histories import Rehearsal, plan_of
from pixirnb.views.basics.phrases import action_phrase, why
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.ci_reports import junit
from pixirnb.views.run.explain import explain
from pixirnb.views.run.outcome_view import outcome_blocks

FILES = [{"path": "a", "blob": "b2:x", "bytes": 1}]
DECIDED = Selection(is_decision=True)


def begun(*steps: dict[str, Any], **keys: Any) -> Rehearsal:
    return Rehearsal(
        plan_of({"name": "t", "agents": {"w": {}}, "steps": list(steps), **keys})
    ).begin()


ASK = {"id": "q", "ask": {"question": "Ship?", "choices": ["now", "later"]}}
SHIP = {"id": "ship", "run": "x", "depends_on": ["q"]}


def test_a_question_parks_the_run_and_says_what_it_asks() -> None:
    play = begun(ASK, SHIP)
    asked = play.data_of("decision_requested")[0]
    assert (asked["reason"], asked["question"], asked["choices"]) == (
        "ask",
        "Ship?",
        ["now", "later"],
    )
    assert asked["timeout_ms"] is None
    assert play.data_of("run_finished")[0]["status"] == "needs_orchestrator"
    assert play.statuses() == {"q": "needs_orchestrator", "ship": "held"}


@pytest.mark.parametrize(
    ("choices", "answer", "is_one"),
    [
        ([1, 2], True, False),
        ([0, 1], False, False),
        ([True], 1, False),
        ([[1]], [True], False),
        ([{"n": 0}], {"n": False}, False),
        (["1"], 1, False),
        ([1, 2], 1.0, True),
        ([True, False], False, True),
        ([{"n": [1]}], {"n": [1]}, True),
        (["a", None], None, True),
    ],
)
def test_an_answer_is_a_choice_as_json_compares(
    choices: list[Any], answer: object, is_one: bool
) -> None:
    play = begun({"id": "q", "ask": {"question": "Which?", "choices": choices}}, SHIP)
    if is_one:
        play.decide("q", "accept", answer)
        assert play.data_of("decision_recorded")[0]["value"] == answer
    else:
        said = {"step": "q", "verdict": "accept", "value": answer}
        assert refused(play, "decide", **said) == "not_a_choice"


def test_a_question_waits_for_what_still_runs_and_an_answer_meanwhile_goes_on_at_once() -> None:
    play = begun(ASK, SHIP, {"id": "other", "run": "x"})
    assert not play.is_over
    play.decide("q", "accept", "now")
    assert play.running == ["other", "ship"]
    assert play.outcome(is_live=True).step("q").checkpoint["produced"]["value"] == "now"  # type: ignore[index] # it is ready


def test_a_timed_question_keeps_the_run_open_and_fails_when_nobody_answers() -> None:
    play = begun({**ASK, "timeout": "60s"}, SHIP)
    assert (play.is_over, play.wake_at) == (False, play.now + 60)
    play.turn(60)
    assert play.is_over
    told = play.outcome()
    assert told.status == "timed_out"
    assert told.step("q").subagent_status == "timed_out"
    assert told.step("q").error["kind"] == "timeout"  # type: ignore[index] # it failed


def test_an_answer_that_comes_with_the_time_out_stands() -> None:
    play = begun({**ASK, "timeout": "60s"}, SHIP)
    play.now += 60
    play.decide("q")
    assert play.running == ["ship"]
    assert "attempt_ended" not in play.kinds()


def test_an_answer_that_comes_with_a_cancel_stands() -> None:
    play = begun({**ASK, "timeout": "60s"}, SHIP)
    play.board.cancelled.add(0)
    play.decide("q")
    assert play.statuses()["q"] == "checkpoint_ready"


@pytest.mark.parametrize("each", [{}, {"for_each": ["x", "y"]}])
def test_what_is_never_reused_stands_while_answers_go_on_with_the_run(each: Any) -> None:
    play = begun(
        {"id": "fetch", "run": "x", "reuse": "never", **each},
        {**ASK, "depends_on": ["fetch"]},
        SHIP,
    )
    while play.running:
        play.end(play.running[0])
    play = play.resume(DECIDED, facts=[play.decision("q", "accept", "now")])
    assert play.running == ["ship"]
    assert play.entries()["fetch"] == ("rerun", "never")


def test_a_list_of_questions_that_is_never_reused_is_answered_one_by_one() -> None:
    play = begun({**ASK, "for_each": ["x", "y"], "reuse": "never"}, SHIP)
    for item in ("q@0", "q@1"):
        play = play.resume(DECIDED, facts=[play.decision(item, "accept", "now")])
    assert play.end("q").running == ["ship"]


def test_the_same_word_twice_changes_nothing() -> None:
    play = begun(ASK, SHIP, {"id": "other", "run": "x"})
    play.record(play.decision("q"), play.decision("q", "reject"))
    assert play.kinds("q").count("checkpoint_decided") == 1
    assert play.statuses()["q"] == "checkpoint_ready"
    play.decide("q", "reject")
    assert play.kinds() == ["decision_recorded"]
    assert play.statuses()["q"] == "checkpoint_ready"


def test_a_rejected_question_fails_and_stays_rejected_over_resumes() -> None:
    play = begun(ASK, SHIP)
    again = play.resume(DECIDED, facts=[play.decision("q", "reject")])
    assert again.state("q").error["kind"] == "rejected"  # type: ignore[index] # it failed
    assert again.outcome().status == "failed"
    assert again.entries()["q"] == ("reuse", "decided")
    assert again.entries(Selection(from_step="q"))["q"] == ("rerun", "selected")


def test_asked_again_by_name_an_answered_question_takes_a_new_answer() -> None:
    play = begun(ASK, SHIP)
    play = play.resume(DECIDED, facts=[play.decision("q", "accept", "now")]).end("ship")
    assert play.outcome().ok
    again = play.resume(Selection(from_step="q"))
    assert again.data_of("decision_requested")[0]["attempt"] == 2
    assert again.state("q").awaits_human
    last = again.resume(DECIDED, facts=[again.decision("q", "accept", "later")])
    assert last.running == ["ship"]


def test_a_partial_step_is_accepted_as_it_is_and_who_did_is_said() -> None:
    play = begun({"id": "a", "run": "x"}, {"id": "b", "run": "x", "depends_on": ["a"]})
    play.end("a", "failed", error="exit", artifacts=FILES, value=1)
    again = play.resume(DECIDED, facts=[play.decision("a", value=2)])
    assert again.running == ["b"]
    bundle = again.end("b").outcome().step("a").checkpoint
    assert bundle is not None
    assert bundle["known_limitations"] == ["accepted_by_human (ada)"]
    assert (bundle["produced"]["value"], bundle["dependent_safe"]) == (1, True)


def test_a_step_accepted_before_its_checks_ran_says_so_wherever_it_stands() -> None:
    verify = [{"command": "make test"}, {"file_exists": "a.txt"}]
    play = begun({"id": "a", "task": "x", "agent": "w", "verify": verify})
    play.end("a", "failed", error="permission_required")
    told = play.resume(DECIDED, facts=[play.decision("a")]).outcome()
    unchecked = "its checks have not run: `command make test`, `file_exists a.txt`"
    step = told.step("a")
    assert step.checkpoint is not None
    assert f"checks_not_run: {unchecked}" in step.checkpoint["known_limitations"]
    assert why(step.document()) == f"accepted by ada · {unchecked} · a failed"
    assert told.warnings == [{"code": "checks_not_run", "message": unchecked, "step": "a"}]
    skipped = ElementTree.fromstring(junit(told.document())).find("testsuite/testcase/skipped")
    assert skipped is not None, "CI shows no case that passed"
    assert skipped.get("message", "").startswith(f"accepted by ada · {unchecked}")


def test_an_agent_s_question_can_be_answered_in_its_task() -> None:
    steps = {"id": "a", "task": "Indent.", "agent": "w"}, {"id": "b", "run": "x"}
    play = begun(*steps)
    report = {"checkpoint_status": "needs_orchestrator", "summary": "Tabs or spaces?"}
    play.end("a", report=report).end("b")
    answer, accept = play.outcome().next_actions
    assert answer["cell"] == f"%pixir resume {play.board.run.run_id} --spec FILE"
    assert action_phrase(answer) == "answer the agent in the task of a in <FILE>, then resume"
    assert accept["action"] == "decide_step"
    edited = begun({**steps[0], "task": "Indent by tabs."}, steps[1]).plan
    assert play.entries(plan=edited) == {"a": ("rerun", "partial"), "b": ("reuse", "ready")}


def test_what_an_agent_cannot_settle_is_asked_and_can_be_rejected() -> None:
    play = begun({"id": "a", "task": "x", "agent": "w"})
    report = {"checkpoint_status": "needs_orchestrator", "summary": "Keep the old key?"}
    play.end("a", report=report)
    asked = play.data_of("decision_requested")[0]
    assert asked["reason"] == "agent_undecided"
    assert asked["question"] == "the agent needs a decision: “Keep the old key?”"
    assert play.outcome().status == "needs_orchestrator"
    again = play.resume(DECIDED, facts=[play.decision("a", "reject")])
    assert again.outcome().status == "failed"


def test_a_decision_leaves_what_failed_and_what_is_still_asked_as_it_is() -> None:
    play = begun(ASK, {"id": "p", "ask": {"question": "?"}}, {"id": "f", "run": "x"})
    play.end("f", "failed", error="exit")
    again = play.resume(DECIDED, facts=[play.decision("q")])
    assert again.starts == []
    assert again.statuses() == {"q": "checkpoint_ready", "p": "needs_orchestrator", "f": "failed"}


def test_a_decision_tries_again_what_a_death_left_waiting_for_a_retry() -> None:
    play = begun(ASK, {"id": "f", "run": "x", "retry": {"max_attempts": 2}})
    play.end("f", "failed", error="exit")
    assert play.state("f").stage == "retrying"
    again = play.resume(DECIDED, facts=[play.decision("q")])
    assert again.running == ["f"]


def test_a_decision_does_not_run_what_the_person_left_out() -> None:
    play = begun(ASK, SHIP, {"id": "other", "run": "x"})
    play = play.end("other", "failed", error="exit").resume(Selection(only="q"))
    assert play.statuses()["other"] == "held"
    again = play.resume(DECIDED, facts=[play.decision("q")])
    assert again.starts == []
    assert again.outcome().step("other").held_by == {"kind": "not_selected", "step": None}


def test_recorded_and_not_resumed_is_told() -> None:
    play = begun(ASK, SHIP)
    parked = Rehearsal(play.plan, play.events).record(play.decision("q"))
    told = parked.outcome()
    assert told.status == "needs_orchestrator"
    assert told.reasons[0] == {"code": "decided_not_resumed", "step": None}
    assert parked.entries()["q"] == ("reuse", "decided")
    assert parked.resume().running == ["ship"]


def test_a_timed_question_gets_its_time_anew_in_a_new_process() -> None:
    play = begun({**ASK, "timeout": "60s"}, {"id": "p", "ask": {"question": "?"}})
    again = play.resume(DECIDED, facts=[play.decision("p")])
    assert again.wake_at == again.now + 60


def test_a_question_about_something_that_changed_is_asked_again() -> None:
    make = {"id": "make", "run": "x"}
    gate = {**ASK, "depends_on": ["make"]}
    play = begun(make, gate, SHIP).end("make", value=1)
    play = play.resume(DECIDED, facts=[play.decision("q")]).end("ship")
    assert play.outcome().ok
    edited = plan_of({"name": "t", "steps": [{**make, "run": "y"}, gate, SHIP]})
    assert play.entries(plan=edited)["q"] == ("rerun", "upstream_changed")
    same = play.resume(plan=edited).end("make", value=1)
    assert same.outcome().ok
    other = play.resume(plan=edited).end("make", value=2)
    assert other.statuses()["q"] == "needs_orchestrator"
    assert other.state("q").awaits_human


def test_what_has_been_answered_is_not_asked_again_but_to_be_resumed() -> None:
    play = begun(ASK, SHIP)
    answered = Rehearsal(play.plan, [*play.events]).record(play.decision("q", "accept", "now"))
    told = answered.outcome()
    assert [action["action"] for action in told.next_actions] == ["resume_run"]
    assert [action["action"] for action in told.step("q").next_actions] == ["resume_run"]


def test_a_partial_step_that_was_decided_is_not_to_be_run_again_but_the_run_resumed() -> None:
    play = begun({"id": "a", "task": "x", "agent": "w"})
    play.end("a", report={"checkpoint_status": "partial"})
    play = Rehearsal(play.plan, [*play.events]).record(play.decision("a"))
    told = play.outcome()
    assert [action["action"] for action in told.step("a").next_actions] == ["resume_run"]
    shown = draw_text(outcome_blocks(told.document()))
    assert "decision recorded; resume the run to apply it" in shown
    assert "resume the run\n" in shown
    assert " again" not in shown
    found = findings(play.plan, play.board.run, told, DiagnosisInput())
    offered = [each.next_action for each in found if each.next_action]
    assert {each["action"] for each in offered} == {"resume_run"}
    first, *_ = explain(play.plan, play.board.run, "a")
    assert first == "The decision is recorded for `a`. Resume the run to apply it."


def test_a_word_that_would_be_dropped_or_changes_nothing_is_refused() -> None:
    play = begun({"id": "a", "task": "x", "agent": "w"}, {"id": "b", "run": "x"})
    play.end("a", value=3, report={"checkpoint_status": "partial"})
    said = {"step": "a", "verdict": "accept", "value": 4}
    with pytest.raises(InvalidArguments, match="`a` is an agent's result: accept or reject it as"):
        grant(Request("r", "decide", said, "ada"), play.plan, play.board.run)
    assert refused(play, "decide", **said) == "value_not_taken"
    assert grant(
        Request("1" * 16, "decide", {**said, "value": None}), play.plan, play.board.run
    ).drafts
    assert refused(play, "cancel", step="a") == "nothing_to_cancel"
    assert (
        grant(Request("2" * 16, "cancel", {"step": "b"}), play.plan, play.board.run).cancelled
        == "b"
    )


def refused(play: Rehearsal, verb: str, **arguments: Any) -> str:
    with pytest.raises(InvalidArguments) as caught:
        grant(Request("0" * 16, verb, arguments), play.plan, play.board.run)
    return caught.value.code
