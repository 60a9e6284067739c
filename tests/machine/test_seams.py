"""Seams: when somebody has to say that the work of several steps fits, who may say so, and that no run is completed before."""

from __future__ import annotations

from typing import Any

import pytest

from pixirnb.errors import InvalidArguments
from pixirnb.history.event_draft import EventDraft
from pixirnb.machine import seams
from pixirnb.machine.requests import Request, grant
from pixirnb.machine.resume import Selection
from pixirnb.testing.generators.file_facts import captured, change, merged, resolved
from pixirnb.testing.generators.histories import Rehearsal, plan_of


def step(name: str, *after: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": name,
        "run": "x",
        "workspace": "isolated",
        "write_set": [f"{name}/**", "shared.txt"],
        "depends_on": list(after),
        **fields,
    }


def begun(*steps: dict[str, Any], **fields: Any) -> Rehearsal:
    return Rehearsal(plan_of({"name": "t", **fields, "steps": list(steps)})).begin()


def done(story: Rehearsal, name: str, *files: str, **facts: Any) -> Rehearsal:
    """The step ends cleanly and left these files."""
    left = captured(name, story.state(name).attempt, files=[change(f) for f in files], **facts)
    return story.record(left, *story.ending(name))


def open_now(story: Rehearsal) -> dict[str, list[str]]:
    seen = story.board.run.seams.values()
    return {seam["id"]: seam["between"] for seam in seen if seam["state"] == "open"}


def test_two_writers_that_are_not_ordered_and_touch_one_file_open_a_seam_on_it() -> None:
    story = begun(step("a"), step("b"))
    done(story, "a", "a/1", "shared.txt")
    assert not open_now(story)
    done(story, "b", "b/1", "shared.txt")
    assert open_now(story) == {"s1": ["a", "b"]}
    assert story.board.run.seams["s1"]["paths"] == ["shared.txt"]


def test_writers_that_are_ordered_or_touch_other_files_open_none() -> None:
    story = begun(step("a"), step("b", "a"), step("c", write_set=["c/**"]))
    done(story, "a", "shared.txt")
    done(story, "b", "shared.txt")
    done(story, "c", "c/1")
    assert not open_now(story)
    assert story.outcome().ok


def test_two_that_end_in_one_turn_open_one_seam_not_two_and_not_none() -> None:
    story = begun(step("a", write_set=["a/**"]), step("b", write_set=["b/**"]))
    story.record(
        captured("a", files=[change("shared.txt")]),
        *story.ending("a"),
        captured("b", files=[change("shared.txt")]),
        *story.ending("b"),
    )
    assert list(story.board.run.seams) == ["s1"]


def test_the_work_of_a_step_that_failed_meets_nobodys() -> None:
    story = begun(step("a"), step("b"))
    done(story, "a", "shared.txt")
    story.record(captured("b", files=[change("shared.txt")]), *story.ending("b", "failed"))
    assert not open_now(story)


def test_a_run_with_an_open_seam_needs_a_person_whatever_is_ready() -> None:
    story = begun(step("a"), step("b"))
    done(story, "a", "shared.txt")
    done(story, "b", "shared.txt")
    outcome = story.outcome()
    assert set(story.statuses().values()) == {"checkpoint_ready"}
    assert (outcome.status, outcome.ok) == ("needs_orchestrator", False)
    assert outcome.reasons == [{"code": "seam_open", "step": "b", "seam": "s1"}]
    assert "completion_ready" not in outcome.proof_states
    assert {a["action"] for a in outcome.next_actions} >= {"resolve_seam", "merge_changes"}
    assert story.board.run.finished is not None
    assert story.board.run.finished["status"] == "needs_orchestrator"


def test_a_merge_of_both_sides_resolves_what_met_and_of_one_side_does_not() -> None:
    story = begun(step("a"), step("b"))
    done(story, "a", "shared.txt")
    done(story, "b", "shared.txt")
    run = story.board.run
    assert seams.after_merge(run, "m1", ["a"], step=None, by="ada") == []
    [fact] = seams.after_merge(run, "m1", ["a", "b"], step=None, by="ada")
    story.record(merged("m1", ["a", "b"]), fact)
    assert story.outcome().ok
    assert story.outcome().seam_obligations[0]["state"] == "resolved"


def test_a_seam_where_one_version_was_chosen_is_not_called_merged() -> None:
    story = begun(step("a"), step("b"))
    done(story, "a", "shared.txt")
    done(story, "b", "shared.txt")
    for chosen, how in (
        ({"shared.txt": "b"}, "resolved with the version of b"),
        ({"other": "b"}, "merged together"),
    ):
        [fact] = seams.after_merge(
            story.board.run, "m1", ["a", "b"], step=None, by="ada", chosen=chosen
        )
        assert fact.data["note"] == f"{how} in m1, by ada"


def test_two_merges_one_after_the_other_resolve_it_with_the_second() -> None:
    story = begun(step("a"), step("b"))
    done(story, "a", "shared.txt")
    done(story, "b", "shared.txt")
    story.record(merged("m1", ["a"]))
    [fact] = seams.after_merge(story.board.run, "m2", ["b"], step=None, by="ada")
    assert fact.data["id"] == "s1"


def test_a_later_step_that_had_both_sides_in_its_files_resolves_it_when_it_is_ready() -> None:
    story = begun(step("a"), step("b"), step("c", "a", "b", write_set=["c/**"]))
    done(story, "a", "shared.txt")
    done(story, "b", "shared.txt")
    assert open_now(story) == {"s1": ["a", "b"]}
    done(story, "c", built_on=["a", "b"])
    assert not open_now(story)
    assert story.outcome().ok


def test_one_that_failed_or_had_only_one_side_resolves_nothing() -> None:
    story = begun(step("a"), step("b"), step("c", "a", "b"), step("d", "a", "b"))
    done(story, "a", "shared.txt")
    done(story, "b", "shared.txt")
    done(story, "c", built_on=["a"])
    story.record(captured("d", built_on=["a", "b"]), *story.ending("d", "failed"))
    assert "s1" in open_now(story)


def test_a_declared_seam_opens_when_its_step_is_usable_and_is_resolved_by_a_later_step_that_names_it() -> (
    None
):
    story = begun(
        {"id": "a", "run": "x", "seams": ["types fit cloud"]},
        {"id": "b", "run": "x", "depends_on": ["a"]},
        {"id": "c", "run": "x", "depends_on": ["b"], "seams": ["types fit cloud"]},
    )
    story.end("a")
    assert story.board.run.seams["s1"]["note"] == "types fit cloud"
    story.end("b")
    assert open_now(story) == {"s1": ["a"]}
    story.end("c")
    assert not open_now(story)
    assert list(story.board.run.seams) == ["s1"], "the answer opens no seam of its own"
    assert story.outcome().ok


def test_two_sides_that_declare_one_seam_are_not_its_answer() -> None:
    note = {"seams": ["types fit cloud"]}
    story = begun({"id": "a", "run": "x", **note}, {"id": "b", "run": "x", **note})
    story.end("a")
    story.end("b")
    assert "s1" in open_now(story)
    assert story.outcome().status == "needs_orchestrator"


def test_what_an_agent_reports_is_a_seam_too_whatever_it_says() -> None:
    story = Rehearsal(
        plan_of(
            {
                "name": "t",
                "agents": {"w": {"posture": "read_only"}},
                "steps": [{"id": "a", "task": "Do.", "agent": "w"}],
            }
        )
    ).begin()
    said = {"checkpoint_status": "checkpoint_ready", "seams": ["the API <b>may</b> differ", 7, ""]}
    story.end("a", report=said)
    notes = [seam["note"] for seam in story.board.run.seams.values()]
    assert notes == ["the API <b>may</b> differ", "7"]
    assert {seam["reason"] for seam in story.board.run.seams.values()} == {"reported"}
    assert not story.outcome().ok


def test_no_seam_bears_the_name_of_a_step() -> None:
    story = begun(step("s1"), step("s2"))
    done(story, "s1", "shared.txt")
    done(story, "s2", "shared.txt")
    assert list(open_now(story)) == ["s3"]


def test_a_seam_is_resolved_by_its_name_though_a_step_that_came_later_has_it() -> None:
    story = begun(step("a"), step("b"))
    done(story, "a", "shared.txt")
    done(story, "b", "shared.txt")
    edited = plan_of({"name": "t", "steps": [step("a"), step("b"), step("s1")]})
    said = {"step": "s1", "verdict": "accept", "note": "they fit"}
    [draft] = grant(Request("q1", "decide", said, "ada"), edited, story.board.run).drafts
    assert draft.kind == "seam_resolved"


def test_a_person_resolves_a_seam_with_a_note_and_not_without() -> None:
    story = begun(step("a"), step("b"))
    done(story, "a", "shared.txt")
    done(story, "b", "shared.txt")

    def ask(verdict: str, note: str = "", value: Any = None) -> tuple[EventDraft, ...]:
        said = {"step": "s1", "verdict": verdict, "note": note, "value": value}
        return grant(Request("q1", "decide", said, "ada"), story.plan, story.board.run).drafts

    for wrong in (("accept", ""), ("accept", "  "), ("reject", "no"), ("accept", "ok", 1)):
        with pytest.raises(InvalidArguments) as refused:
            ask(*wrong)
        assert refused.value.code == "seam_needs_note"
    story.record(*ask("accept", "they fit"))
    assert not open_now(story)
    assert story.outcome().ok
    assert "q1" in story.board.run.requests
    said = {"step": "s1", "verdict": "accept", "note": "again"}
    with pytest.raises(InvalidArguments) as said_twice:
        grant(Request("q2", "decide", said, "bob"), story.plan, story.board.run)
    assert said_twice.value.code == "nothing_to_decide"


def test_a_step_that_begins_anew_takes_its_seams_with_it() -> None:
    story = begun(step("a"), step("b"))
    done(story, "a", "shared.txt")
    done(story, "b", "shared.txt")
    later = story.resume(Selection(from_step="b"))
    assert not open_now(later)
    done(later, "b", "b/1")
    assert not open_now(later)
    assert later.outcome().ok


def test_a_question_that_is_asked_anew_takes_its_seams_with_it() -> None:
    ask = {"id": "ask", "ask": {"question": "Go on with {{ steps.a.output }}?"}}
    first = {"id": "a", "run": "x {{ inputs.n }}"}
    inputs = {"n": {"type": "integer", "default": 1}}
    story = begun(first, {**ask, "depends_on": ["a"], "seams": ["names"]}, inputs=inputs)
    story.end("a", value="one")
    story = story.resume(facts=[story.decision("ask")])
    assert open_now(story) == {"s1": ["ask"]}
    story.record(resolved("s1", "they fit"))
    later = story.resume(inputs={"n": 2})
    later.end("a", value="two")
    assert later.state("ask").awaits_human
    assert later.outcome().document()["seam_obligations"] == []


def test_a_seam_that_is_torn_off_the_log_is_opened_by_the_next_course() -> None:
    story = begun(step("a"), step("b"), step("c", "a", "b", write_set=["c/**"]))
    done(story, "a", "shared.txt")
    done(story, "b", "shared.txt")
    opened = next(e.seq for e in story.events if e.kind == "seam_opened")
    later = story.resume(upto=opened - 1)
    assert open_now(later) == {"s1": ["a", "b"]}


def test_a_resolved_seam_is_not_opened_again_by_a_resume() -> None:
    story = begun(step("a"), step("b"))
    done(story, "a", "shared.txt")
    done(story, "b", "shared.txt")
    story.record(resolved("s1", "they fit"))
    later = story.resume(facts=())
    assert not open_now(later)


def test_a_merge_that_is_taken_back_opens_again_what_it_had_resolved() -> None:
    story = begun(step("a"), step("b"))
    done(story, "a", "shared.txt")
    done(story, "b", "shared.txt")
    [fact] = seams.after_merge(story.board.run, "m1", ["a", "b"], step=None, by="ada")
    story.record(merged("m1", ["a", "b"]), fact)
    story.record(merged("m2", ["a", "b"], undoes="m1"))
    assert open_now(story) == {"s1": ["a", "b"]}
    assert story.outcome().status == "needs_orchestrator"
    [again] = seams.after_merge(story.board.run, "m3", ["a", "b"], step=None, by="ada")
    story.record(merged("m3", ["a", "b"]), again)
    assert story.outcome().ok


def test_what_a_person_said_of_a_seam_outlives_a_merge_that_is_taken_back() -> None:
    story = begun(step("a"), step("b"))
    done(story, "a", "shared.txt")
    done(story, "b", "shared.txt")
    story.record(resolved("s1", "they fit"), merged("m1", ["a", "b"]))
    story.record(merged("m2", ["a", "b"], undoes="m1"))
    assert not open_now(story)


def test_seams_of_steps_that_left_the_workflow_left_the_outcome() -> None:
    story = begun(step("a"), step("b"))
    done(story, "a", "shared.txt")
    done(story, "b", "shared.txt")
    later = story.resume(plan=plan_of({"name": "t", "steps": [step("a")]}))
    assert later.outcome().ok
    assert later.outcome().seam_obligations == []


def test_seams_of_steps_that_left_are_offered_to_nobody_and_hide_none_of_those_that_stayed() -> (
    None
):
    merge = {"id": "land", "merge": ["a", "b"], "depends_on": ["a", "b"]}
    story = begun(step("a"), step("b"), merge)
    done(story, "a", "a/x")
    done(story, "b", "b/x")
    plan, run = story.plan, story.board.run
    story.record(*seams.clash(plan, run, ["a", "b"], ["shared.txt"], 1, step="land"))
    assert open_now(story) == {"s1": ["a", "b", "land"]}
    later = story.resume(plan=plan_of({"name": "t", "steps": [step("a"), step("b"), step("c")]}))
    offered = [each["action"] for each in later.outcome().next_actions]
    assert "resolve_seam" not in offered
    plan, run = later.plan, later.board.run
    [fact] = seams.clash(plan, run, ["a", "b"], ["shared.txt"], 1, step=None)
    later.record(fact)
    assert [seam["between"] for seam in later.outcome().seam_obligations] == [["a", "b"]]
