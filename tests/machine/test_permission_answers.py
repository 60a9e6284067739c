"""What a person's word on an agent's request does to its step: while the attempt waits, and once the step is parked."""

from __future__ import annotations

from typing import Any, cast

import pytest

from pixirnb.errors import InvalidArguments
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.permission_state import prior_approvals
from pixirnb.history.run_state import RunState, fold
from pixirnb.machine.requests import Request, grant
from pixirnb.machine.resume import Selection
from pixirnb.testing.generators.histories import RUN_ID, Rehearsal, plan_of
from pixirnb.views.run.explain import explain

DECIDED = Selection(is_decision=True)
FLOW: dict[str, Any] = {
    "name": "t",
    "agents": {"w": {}},
    "steps": [
        {
            "id": "a",
            "task": "Do.",
            "agent": "w",
            "retry": {"max_attempts": 3, "classes": ["crash"]},
        },
        {"id": "b", "run": "x", "depends_on": ["a"]},
        {"id": "c", "run": "x"},
    ],
}
ONE = f"{RUN_ID}/a.1.1"


def asked(attempt: int = 1, number: int = 1) -> EventDraft:
    said = {
        "request_id": f"{RUN_ID}/a.{attempt}.{number}",
        "tool": "shell",
        "args": {"command": "x"},
    }
    whose: Any = {"step": "a", "attempt": attempt, "session_id": f"a.{attempt}", "agent": "w"}
    data: Any = {"event": "permission_requested", **whose, **said, "digest": "b2:d", "why": ""}
    return EventDraft("subagent_event", data)


def begun() -> Rehearsal:
    return Rehearsal(plan_of(FLOW)).begin().record(asked())


def parked() -> Rehearsal:
    return begun().end("a", "failed", error="permission_required").end("c")


def answer(verb: str, request_id: str = ONE, *, who: str = "r1") -> Request:
    return Request(who, verb, {"request_id": request_id, "note": "fine"}, "ada")


def say(play: Rehearsal, verb: str, **fields: Any) -> Rehearsal:
    facts = grant(answer(verb, **fields), play.plan, play.board.run).drafts
    return play.record(*facts)


def refused(play: Rehearsal, verb: str = "approve", request_id: str = ONE, **fields: Any) -> str:
    with pytest.raises(InvalidArguments) as error:
        grant(answer(verb, request_id, **fields), play.plan, play.board.run)
    return error.value.code


def test_a_request_is_open_until_its_answer_and_the_attempt_goes_on() -> None:
    play = begun()
    assert [asked["request_id"] for asked in play.board.run.open_permissions()] == [ONE]
    actions = play.outcome(is_live=True).next_actions
    assert actions[0] == {
        "action": "approve_request",
        "step": "a",
        "cell": f"%pixir approve {ONE}",
        "command": f"pixirnb approve {ONE}",
    }
    say(play, "approve")
    known = play.board.run.permissions[ONE]
    assert (known["verdict"], known["by"], known["note"]) == ("allow", "ada", "fine")
    assert play.board.run.open_permissions() == []
    assert play.running == ["a", "c"]


def test_an_attempt_that_nobody_could_answer_parks_its_step_and_is_never_retried() -> None:
    play = parked()
    assert play.data_of("retry_planned") == []
    assert play.statuses() == {"a": "needs_orchestrator", "b": "held", "c": "checkpoint_ready"}
    assert play.outcome().status == "needs_orchestrator"
    assert play.outcome().step("a").next_actions[0]["cell"] == f"%pixir approve {ONE}"


def test_a_step_that_waits_for_a_permission_is_not_offered_as_done() -> None:
    told = parked().outcome()
    for offered in (told.next_actions, told.step("a").next_actions):
        assert [each["action"] for each in offered] == ["approve_request"]


def test_an_approval_of_a_parked_step_makes_it_run_again_and_what_it_kept_from_starting() -> None:
    play = parked()
    say(play, "approve")
    assert play.outcome().reasons[0]["code"] == "decided_not_resumed"
    assert play.outcome().step("a").next_actions[0]["action"] == "resume_run"
    again = play.resume(DECIDED)
    assert again.running == ["a"]
    entry = again.data_of("run_resumed")[0]["steps"][0]
    assert (entry["action"], entry["reason"]) == ("rerun", "decided")
    again.end("a", report={"checkpoint_status": "checkpoint_ready"})
    assert again.running == ["b"]


def test_an_approval_while_others_still_run_makes_the_step_run_again_in_the_same_course() -> None:
    play = begun().end("a", "failed", error="permission_required")
    assert play.statuses()["a"] == "needs_orchestrator"
    say(play, "approve")
    assert sorted(play.running) == ["a", "c"]
    planned = play.data_of("retry_planned")[0]
    assert (planned["attempt"], planned["retry_class"]) == (2, "permission_required")
    # It cost none of its three tries: two crashes are retried, and the third is not.
    play.end("a", "failed", error="crash").turn(60)
    play.end("a", "failed", error="crash").turn(60)
    assert "a" in play.running
    play.end("a", "failed", error="crash").turn(60)
    assert play.statuses()["a"] == "failed"


def test_a_denial_of_a_parked_step_fails_it_for_good() -> None:
    play = parked()
    say(play, "deny")
    play = play.resume(DECIDED)
    assert play.is_over
    assert play.statuses()["a"] == "failed"
    error = play.outcome().step("a").error
    assert error is not None
    assert (error["kind"], error["details"]) == ("permission_denied", {"request_id": ONE})
    assert "ada denied it: fine." in explain(play.plan, play.board.run, "a")


def test_a_denial_while_the_attempt_waits_only_answers_it() -> None:
    play = say(begun(), "deny")
    assert play.running == ["a", "c"]
    assert play.board.run.permissions[ONE]["verdict"] == "deny"


def test_a_request_is_answered_once_by_whoever_comes_first() -> None:
    play = say(begun(), "deny")
    assert refused(play, who="r2") == "answered_already"
    with pytest.raises(InvalidArguments, match="is already denied by ada"):
        grant(answer("approve", who="r2"), play.plan, play.board.run)
    assert grant(answer("deny"), play.plan, play.board.run).drafts == ()  # the same word, twice


def test_what_nobody_asked_or_waits_for_is_refused() -> None:
    assert refused(begun(), request_id=f"{RUN_ID}/a.1.9") == "unknown_request"
    assert refused(begun().end("a", "failed", error="crash")) == "request_outdated"
    assert refused(begun().end("a", report={"checkpoint_status": "checkpoint_ready"})) == (
        "request_outdated"
    )


def test_who_answers_too_late_is_told_to_go_on_with_the_run() -> None:
    play = begun().end("a", "failed", error="crash")
    with pytest.raises(InvalidArguments) as late:
        grant(answer("approve"), play.plan, play.board.run)
    assert f"pixirnb resume {RUN_ID}`" in late.value.fix


def test_a_denial_stands_and_only_asking_again_by_name_is_offered() -> None:
    play = say(parked(), "deny")
    again = play.resume(DECIDED)
    offered = again.outcome().next_actions
    assert [(each["action"], each["step"]) for each in offered][:1] == [("rerun_step", "a")]
    assert f"%pixir resume {RUN_ID}" not in [each["cell"] for each in offered]


def test_a_step_that_was_allowed_what_it_asked_for_needs_no_decision() -> None:
    play = say(parked(), "approve")
    accept = Request("r3", "decide", {"step": "a", "verdict": "accept"}, "ada")
    with pytest.raises(InvalidArguments) as error:
        grant(accept, play.plan, play.board.run)
    assert error.value.code == "decided_already"


def test_a_plain_resume_of_a_parked_step_asks_anew_and_its_old_request_is_over() -> None:
    play = parked().resume()
    assert play.running == ["a"]
    assert refused(play) == "request_outdated"


def test_a_request_of_a_step_that_an_edit_took_out_is_over() -> None:
    rest = [{**step, "depends_on": []} for step in FLOW["steps"][1:]]
    play = parked().resume(plan=plan_of({**FLOW, "steps": rest}))
    assert play.board.run.open_permissions() == []
    assert refused(play) == "request_outdated"


def test_a_request_is_no_request_of_a_fork() -> None:
    play = begun()
    forked = EventDraft("run_forked", {"run_id": RUN_ID, "checkpoint": "x", "seq": 3})
    state = fold(play.record(forked).events)
    assert state.open_permissions() == []
    assert state.permissions == {}


def granted(run: RunState) -> list[str]:
    return list(prior_approvals(run.permissions, "a", run.step("a")))


def test_what_was_allowed_outlives_a_plain_resume_and_a_decision() -> None:
    play = say(parked(), "approve").resume(DECIDED)
    assert play.running == ["a"]
    assert granted(play.board.run) == ["b2:d"]
    play.end("a", "failed", error="crash").resume()
    assert granted(play.board.run) == ["b2:d"]


@pytest.mark.parametrize("selection", [Selection(from_step="a"), Selection(only="a")])
def test_a_step_that_a_person_runs_anew_asks_anew(selection: Selection) -> None:
    play = say(parked(), "approve").resume(selection)
    assert play.running == ["a"]
    assert granted(play.board.run) == []
    assert granted(play.end("a", "failed", error="crash").resume().board.run) == []


@pytest.mark.parametrize(
    "edit",
    [{"runner": "cli", "command": ["other"]}, {"role": "Another."}, {"model": "other"}],
    ids=["command", "role", "model"],
)
def test_a_word_to_one_agent_is_none_to_another_of_its_name(edit: dict[str, Any]) -> None:
    edited = plan_of({**FLOW, "agents": {"w": edit}})
    play = say(parked(), "approve").resume(plan=edited)
    assert play.running == ["a"]
    assert granted(play.board.run) == []


def test_a_word_for_one_task_is_none_for_another() -> None:
    steps = [{**FLOW["steps"][0], "task": "Do more."}, *FLOW["steps"][1:]]
    play = say(parked(), "approve").resume(plan=plan_of({**FLOW, "steps": steps}))
    assert granted(play.board.run) == []


def test_what_was_allowed_in_a_run_is_not_allowed_in_its_forks() -> None:
    play = say(parked(), "approve")
    forked = EventDraft("run_forked", {"run_id": RUN_ID, "checkpoint": "x", "seq": 3})
    assert granted(play.board.run) == ["b2:d"]
    assert granted(fold(play.record(forked).events)) == []


def test_a_word_on_nothing_changes_nothing() -> None:
    run = RunState()
    stray = asked().data | {"event": "permission_decided", "verdict": "allow"}
    play = begun()
    before = dict(play.board.run.permissions)
    play.record(EventDraft("subagent_event", cast("Any", stray | {"request_id": "r-x/a.1.7"})))
    assert play.board.run.permissions == before
    assert run.permissions == {}
