"""What files mean for a step: writes outside its claims, conflicts and their solution, merges and their undoing."""

from __future__ import annotations

from typing import Any, cast

import pytest

from pixirnb.errors import InvalidArguments
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.step_state import StepState
from pixirnb.machine import fingerprint, seams
from pixirnb.machine.conflict_sides import require_sides
from pixirnb.machine.merge_requests import (
    ConflictResolution,
    MergeRequest,
    captures_before,
    captures_to_merge,
    resolution_for,
)
from pixirnb.machine.requests import Request, grant
from pixirnb.machine.resume import Selection
from pixirnb.testing.generators.file_facts import (
    captured,
    change,
    conflict,
    conflicted,
    merged,
    paths,
    seam,
)
from pixirnb.testing.generators.histories import Rehearsal, plan_of
from pixirnb.views.basics.phrases import why
from pixirnb.views.basics.status_marks import state_mark, step_mark

FLOW: dict[str, Any] = {
    "name": "t",
    "steps": [
        {"id": "a", "run": "x", "workspace": "isolated", "write_set": ["a/**"]},
        {"id": "b", "run": "x", "workspace": "isolated", "write_set": ["b/**"]},
        {"id": "c", "run": "x", "workspace": "isolated", "write_set": ["c/**"], "depends_on": ["a", "b"]},
        {"id": "land", "merge": ["a", "b", "c"], "depends_on": ["c"]},
    ],
}  # fmt: skip
A, B, C = [change("a/1")], [change("b/1")], [change("c/1")]


def begun() -> Rehearsal:
    return Rehearsal(plan_of(FLOW)).begin()


def done(story: Rehearsal, name: str, files: list[dict[str, Any]], **facts: Any) -> Rehearsal:
    left = captured(name, story.state(name).attempt, files=files, **facts)
    return story.record(left, *story.ending(name))


def clashing(story: Rehearsal, name: str, between: tuple[str, str]) -> Rehearsal:
    """The step cannot begin: two sides want one file otherwise."""
    attempt = story.state(name).attempt
    told = conflicted(["a", "b"], [conflict("x", between=between)], step=name, attempt=attempt, between=between)  # fmt: skip
    opened = seam("s1", [*between, name], reason="conflict", files=["x"])
    opened.data["step"] = name
    known = [] if "s1" in story.board.run.seams else [opened]
    return story.record(told, *known, *story.ending(name, "failed", error="merge_conflict"))


def wished(story: Rehearsal, **said: Any) -> MergeRequest:
    wish = grant(Request("q", "merge", said, "ada"), story.plan, story.board.run).merge
    assert wish is not None
    return wish


# --- writes outside the write set ---


def test_an_isolated_step_that_wrote_outside_its_claim_waits_for_a_person_with_the_list() -> None:
    story = begun()
    done(story, "a", [*A, change("elsewhere")], outside=["elsewhere"])
    state = story.state("a")
    assert state.checkpoint_status == "needs_orchestrator"
    assert state.error is not None
    assert (state.error["kind"], state.error["details"]) == ("writes_outside_write_set", paths("elsewhere"))  # fmt: skip
    assert "elsewhere" in story.data_of("decision_requested")[0]["question"]


def test_accepted_it_is_ready_as_it_is_and_says_who_said_so() -> None:
    story = begun()
    done(story, "a", [*A, change("elsewhere")], outside=["elsewhere"])
    story.decide("a")
    assert story.state("a").checkpoint_status == "checkpoint_ready"
    assert story.state("a").limitations == ["accepted_by_human (ada)"]


def test_a_check_that_passed_on_a_file_which_is_not_kept_is_told_at_a_glance() -> None:
    story = begun()
    found = {"saw": "1 found", "files": ["build/a", "a/1"]}
    check = {"check": {"file_exists": "build/a"}, "passed": True, "evidence": found}
    left = captured("a", files=A, left_behind=["build/a", "build/b"])
    checked = EventDraft(
        "verification_recorded", {"step": "a", "attempt": 1, "checks": [cast("Any", check)]}
    )
    story.record(left, checked, *story.ending("a"))
    told = story.outcome(is_live=True)
    unkept = "a check passed on `build/a`, which is not part of its changes; add it to `write_set`"
    assert told.warnings == [{"code": "checked_file_left_behind", "message": unkept, "step": "a"}]
    assert why(told.step("a").document()) == f"{unkept} · 1 known limitation · a completed"


def test_a_step_that_is_not_ready_for_another_reason_is_not_made_better_by_it() -> None:
    story = begun()
    story.record(captured("a", files=A, outside=["elsewhere"]), *story.ending("a", "failed"))
    assert story.state("a").checkpoint_status == "failed"


def test_a_shared_step_beside_whose_claims_files_changed_is_ready_with_a_limitation() -> None:
    story = Rehearsal(plan_of({"name": "t", "steps": [{"id": "a", "run": "x", "write_set": ["a/**"]}]})).begin()  # fmt: skip
    story.end("a", outside={"paths": ["p", "q"], "count": 7})
    assert story.state("a").checkpoint_status == "checkpoint_ready"
    [told] = story.state("a").limitations
    assert told.startswith("writes_outside_write_set: p, q and 5 more")


def test_a_shared_step_beside_whose_claims_nobody_could_look_is_ready_and_says_so() -> None:
    story = Rehearsal(plan_of({"name": "t", "steps": [{"id": "a", "run": "x", "write_set": ["a/**"]}]})).begin()  # fmt: skip
    story.end("a", outside={"paths": [], "count": 0, "unchecked": "The disk is gone."})
    assert story.state("a").checkpoint_status == "checkpoint_ready"
    assert story.state("a").limitations == ["writes_not_checked: The disk is gone."]


def test_what_is_left_behind_is_a_limitation() -> None:
    story = begun()
    done(story, "a", A, left_behind=["dist/x"])
    [told] = story.state("a").limitations
    assert "files_left_behind: dist/x" in told


# --- changes count as a result ---


def test_other_changes_are_another_result_and_the_same_ones_are_not() -> None:
    one, two, same = begun(), begun(), begun()
    for story, patch in ((one, "b2:1"), (two, "b2:2"), (same, "b2:1")):
        done(story, "a", A, patch=patch)
    digests = [fingerprint.of_result(story.state("a")) for story in (one, two, same)]
    assert digests[0] == digests[2] != digests[1]


def test_files_flow_past_a_step_that_only_says_the_same_again() -> None:
    flow: dict[str, Any] = {
        "name": "t",
        "steps": [
            {"id": "a", "run": "x", "workspace": "isolated", "write_set": ["a/**"]},
            {"id": "says", "run": "x", "depends_on": ["a"], "posture": "read_only"},
            {"id": "c", "run": "x", "workspace": "isolated", "write_set": ["c/**"], "depends_on": ["says"]},
        ],
    }  # fmt: skip
    story = Rehearsal(plan_of(flow)).begin()
    done(story, "a", A, patch="b2:1")
    story.end("says", value="same")
    done(story, "c", C)
    edited = plan_of({**flow, "steps": [{**flow["steps"][0], "run": "y"}, *flow["steps"][1:]]})
    for patch, begun_again in (("b2:1", ["a"]), ("b2:2", ["a", "says", "c"])):
        later = story.resume(plan=edited)
        done(later, "a", A, patch=patch)
        if "says" in later.running:
            later.end("says", value="same")
        if "c" in later.running:
            done(later, "c", C)
        assert later.started() == begun_again
        assert later.outcome().ok


def test_a_step_that_changed_nothing_is_part_of_no_merge() -> None:
    story = begun()
    done(story, "a", [])
    done(story, "b", B)
    done(story, "c", [])
    at = story.plan.index["land"]
    assert [e["step"] for e in captures_to_merge(story.plan, story.board.run, at)] == ["b"]


def test_a_dependent_is_given_the_changes_of_all_before_it_that_are_ready_and_not_merged() -> None:
    story = begun()
    done(story, "a", A)
    done(story, "b", B)
    at = story.plan.index["c"]
    assert [e["step"] for e in captures_before(story.plan, story.board.run, at)] == ["a", "b"]
    story.record(merged("m1", ["a"]))
    assert [e["step"] for e in captures_before(story.plan, story.board.run, at)] == ["b"]
    story.record(merged("m2", ["a"], undoes="m1"))
    assert [e["step"] for e in captures_before(story.plan, story.board.run, at)] == ["a", "b"]


def test_what_others_build_on_comes_first_in_a_merge() -> None:
    story = begun()
    done(story, "a", A)
    done(story, "b", B)
    done(story, "c", C, built_on=["a", "b"])
    at = story.plan.index["land"]
    assert [e["step"] for e in captures_to_merge(story.plan, story.board.run, at)] == [
        "a",
        "b",
        "c",
    ]


# --- conflicts ---


def test_a_step_that_cannot_begin_waits_for_a_person_and_nothing_of_it_runs() -> None:
    story = begun()
    done(story, "a", A)
    done(story, "b", B)
    clashing(story, "c", ("a", "b"))
    assert story.state("c").checkpoint_status == "needs_orchestrator"
    assert story.state("c").error is not None
    assert story.outcome().status == "needs_orchestrator"
    assert story.state("land").checkpoint_status == "held"


def test_accepted_it_tries_again_with_the_persons_word_at_no_cost_to_its_retries() -> None:
    story = begun()
    done(story, "a", A)
    done(story, "b", B)
    clashing(story, "c", ("a", "b"))
    later = story.resume(Selection(is_decision=True), facts=[story.decision("c", value="a")])
    assert later.running == ["c"]
    state = later.state("c")
    assert (state.attempt, state.attempt - state.tried_before) == (2, 1)
    assert state.solution is not None
    assert (state.solution["value"], state.clash is None) == ("a", False)
    [fact] = seams.after_building(later.board.run, "c")
    later.record(fact)
    done(later, "c", C, built_on=["a", "b"])
    assert later.state("c").checkpoint_status == "checkpoint_ready"
    assert later.outcome().seam_obligations[0]["note"] == "resolved: c began from both"


def test_it_may_clash_again_and_be_decided_again() -> None:
    story = begun()
    done(story, "a", A)
    done(story, "b", B)
    clashing(story, "c", ("a", "b"))
    for _ in range(3):
        story = story.resume(Selection(is_decision=True), facts=[story.decision("c")])
        assert story.running == ["c"]
        clashing(story, "c", ("a", "b"))
        assert story.state("c").checkpoint_status == "needs_orchestrator"


def test_a_word_on_a_conflict_holds_after_a_failure_until_one_of_its_steps_begins_anew() -> None:
    story = begun()
    done(story, "a", A)
    done(story, "b", B)
    clashing(story, "c", ("a", "b"))
    story = story.resume(Selection(is_decision=True), facts=[story.decision("c", value="a")])
    run = story.board.run
    word = resolution_for(run, run.step("c"))
    assert (word.sides, word.decided_on, word.held) == ("a", {".": "t0"}, None)
    story.end("c", "failed", error="exit_code")
    story = story.resume()
    run = story.board.run
    assert story.running == ["c"]
    word = resolution_for(run, run.step("c"))
    assert (word.sides, word.decided_on, word.held) == ("a", {".": "t0"}, {})
    story.end("c", "failed", error="exit_code")
    story = story.resume(Selection(from_step="a"))
    done(story, "a", A)
    run = story.board.run
    assert story.running == ["c"]
    assert resolution_for(run, run.step("c")) == ConflictResolution()


def test_rejected_it_has_failed_and_its_seam_stays_open() -> None:
    story = begun()
    done(story, "a", A)
    done(story, "b", B)
    clashing(story, "c", ("a", "b"))
    later = story.resume(Selection(is_decision=True), facts=[story.decision("c", verdict="reject")])
    assert later.state("c").checkpoint_status == "failed"
    assert later.board.run.seams["s1"]["state"] == "open"
    assert not later.outcome().ok


@pytest.mark.parametrize(
    "value",
    ["nobody", 7, {"x": "nobody"}, {"x": 7}, ["a"], {"x": {"hunks": ["nobody"], "of": "b2:"}}],
)
def test_a_side_that_is_none_is_refused(value: Any) -> None:
    story = begun()
    done(story, "a", A)
    done(story, "b", B)
    clashing(story, "c", ("a", "b"))
    said = {"step": "c", "verdict": "accept", "value": value}
    with pytest.raises(InvalidArguments) as refused:
        grant(Request("q", "decide", said, "ada"), story.plan, story.board.run)
    assert refused.value.code == "not_a_side"
    assert 'for one file {"PATH": "VERSION"}, or --side' in refused.value.fix


def test_hunks_of_another_text_are_refused() -> None:
    story = begun()
    done(story, "a", A)
    done(story, "b", B)
    clashing(story, "c", ("a", "b"))
    for version, code in {"a": "conflict_changed", "workspace": "not_a_side"}.items():
        value = {"x": {"hunks": [version], "of": "b2:other"}}
        said = {"step": "c", "verdict": "accept", "value": value}
        with pytest.raises(InvalidArguments) as refused:
            grant(Request("q", "decide", said, "ada"), story.plan, story.board.run)
        assert refused.value.code == code


def test_a_file_that_is_not_in_conflict_is_refused_with_those_that_are() -> None:
    story = begun()
    done(story, "a", A)
    done(story, "b", B)
    clashing(story, "c", ("a", "b"))
    said = {"step": "c", "verdict": "accept", "value": {"x": "a", "nofile": "workspace"}}
    with pytest.raises(InvalidArguments) as refused:
        grant(Request("q", "decide", said, "ada"), story.plan, story.board.run)
    assert refused.value.code == "not_in_conflict"
    assert "`nofile`" in refused.value.message
    assert "`x`" in (refused.value.fix or "")
    said["value"] = {"x": "a"}
    assert grant(Request("q", "decide", said, "ada"), story.plan, story.board.run).drafts


def test_a_file_that_was_solved_before_or_that_the_log_could_not_name_has_a_side_too() -> None:
    clash: Any = {"between": ["a", "b"], "steps": ["a", "b"], "count": 1, "files": [{"path": "x"}]}
    clash["solved"] = [{"path": "y", "chosen": None, "was": None}]
    state = StepState(clash=clash)
    run = begun().board.run
    require_sides({"y": "a"}, state, run)
    state.clash["count"] = 2  # type: ignore[index]
    require_sides({"z": "a"}, state, run)


@pytest.mark.parametrize("value", ["b", {"x": "b"}])
def test_a_step_that_left_the_files_in_conflict_as_they_were_is_no_side_of_it(value: Any) -> None:
    story = done(done(begun(), "a", A), "b", [change("y")])
    clashing(story, "c", ("workspace", "a"))
    asked = Request("q", "decide", {"step": "c", "verdict": "accept", "value": value}, "ada")
    with pytest.raises(InvalidArguments) as refused:
        grant(asked, story.plan, story.board.run)
    assert refused.value.message == "`b` did not change `x`"
    assert "(your files), `a`" in (refused.value.fix or "")


@pytest.mark.parametrize(
    ("value", "sides"),
    [
        ("a", "workspace"),
        ("workspace", "workspace"),
        ({"x": "a", "y": "b"}, {"x": "workspace"}),
        ("b", None),
    ],
)
def test_a_version_that_was_merged_by_hand_is_the_users_own_files(value: Any, sides: Any) -> None:
    story = begun()
    done(story, "a", A)
    done(story, "b", B)
    clashing(story, "c", ("a", "b"))
    story.record(merged("m1", ["a"]))
    story = story.resume(Selection(is_decision=True), facts=[story.decision("c", value=value)])
    run = story.board.run
    # The choice counts for files as the merge left them: an edit since is asked about.
    expected = ConflictResolution(sides=sides, decided_on={".": "t1"} if sides else None)
    assert resolution_for(run, run.step("c")) == expected
    story.end("c", "failed", error="exit_code")
    again = story.resume().board.run
    assert resolution_for(again, again.step("c")) == ConflictResolution()  # files may have changed


def test_a_word_said_just_before_one_side_was_merged_by_hand_is_out_of_date() -> None:
    story = begun()
    done(story, "a", A)
    done(story, "b", B)
    clashing(story, "c", ("a", "b"))
    story = story.resume(Selection(is_decision=True), facts=[story.decision("c")])
    story.record(merged("m1", ["a"]))
    assert resolution_for(story.board.run, story.board.run.step("c")) == ConflictResolution()


# --- merges that a person asks for ---


def test_all_that_is_ready_and_not_merged_is_merged_where_nothing_is_named() -> None:
    story = begun()
    done(story, "a", A)
    done(story, "b", [])
    assert wished(story).steps == ("a",), "b changed nothing"
    story.record(merged("m1", ["a"]))
    assert wished(story).steps == ()
    assert wished(story, steps=["a"]).steps == (), "merging twice changes nothing"


@pytest.mark.parametrize(
    ("named", "code"),
    [(["nobody"], "unknown_step"), (["b"], "merge_not_ready"), (["land"], "merge_not_isolated"), (["c"], "merge_incomplete")],
)  # fmt: skip
def test_what_cannot_be_merged_is_refused_with_a_reason(named: list[str], code: str) -> None:
    story = begun()
    done(story, "a", A)
    if code == "merge_incomplete":
        done(story, "b", B)
        done(story, "c", C, built_on=["a", "b"])
    with pytest.raises(InvalidArguments) as refused:
        wished(story, steps=named)
    assert refused.value.code == code


def test_the_last_merge_that_stands_is_the_one_that_is_taken_back() -> None:
    story = begun()
    done(story, "a", A)
    done(story, "b", B)
    with pytest.raises(InvalidArguments) as refused:
        wished(story, undo=True)
    assert refused.value.code == "nothing_to_undo"
    assert f"`pixirnb diff {story.board.run.run_id}`" in str(refused.value.fix)
    story.record(merged("m1", ["a"]), merged("m2", ["b"]))
    assert wished(story, undo=True).undoes == "m2"
    story.record(merged("m3", ["b"], undoes="m2"))
    assert wished(story, undo=True).undoes == "m1"
    assert wished(story).steps == ("b",)


def test_a_merge_that_left_every_file_as_it_was_is_taken_back_too() -> None:
    story = begun()
    done(story, "a", A)
    done(story, "b", B)
    story.record(merged("m1", ["a"]), merged("m2", ["b"], files=[]))
    assert wished(story).steps == ()
    assert wished(story, undo=True).undoes == "m2"
    story.record(merged("m3", ["b"], undoes="m2", files=[]))
    assert wished(story).steps == ("b",)
    assert wished(story, undo=True).undoes == "m1"


def test_a_merge_that_is_taken_back_has_no_sides_to_choose() -> None:
    story = begun()
    done(story, "a", A)
    story.record(merged("m1", ["a"]))
    with pytest.raises(InvalidArguments) as refused:
        wished(story, undo=True, sides="workspace")
    assert refused.value.code == "not_a_side"


def test_a_merge_step_whose_merge_was_taken_back_is_to_be_done_again_and_the_run_says_so() -> None:
    story = begun()
    done(story, "a", A)
    done(story, "b", B)
    done(story, "c", C, built_on=["a", "b"])
    story.record(merged("land.1", ["a", "b", "c"], step="land"), *story.ending("land"))
    assert story.outcome().ok
    story.record(merged("m2", ["a", "b", "c"], undoes="land.1"))
    outcome = story.outcome()
    assert (outcome.ok, outcome.reasons) == (False, [{"code": "merge_undone", "step": "land"}])
    assert outcome.summary.endswith("1 merge undone."), (
        "it has run: it is not one that did not start"
    )
    look = step_mark(outcome.step("land").document())
    assert (look.word, look) == ("merge undone", state_mark(story.state("land")))
    later = story.resume()
    assert later.started() == ["land"]
    assert not later.outcome().step("land").undone


def test_a_request_that_was_done_is_not_done_again() -> None:
    story = begun()
    done(story, "a", A)
    story.record(
        EventDraft("merge_applied", cast("Any", {**merged("m1", ["a"]).data, "request_id": "q"}))
    )
    assert grant(Request("q", "merge", {}, "ada"), story.plan, story.board.run).merge is None


def test_a_merge_that_a_damaged_log_has_lost_the_attempt_of_gives_its_number_to_no_other() -> None:
    story = begun()
    story.record(merged("land.1", ["a"], step="land"))
    assert story.state("land").attempt == 1
    later = story.resume()
    done(later, "a", A)
    done(later, "b", B)
    done(later, "c", C, built_on=["a", "b"])
    assert later.data_of("step_scheduled")[-1] | {"fingerprint": {}} == {
        "step": "land",
        "attempt": 2,
        "wave": 2,
        "timeout_ms": 1_800_000,
        "workspace": "shared",
        "fingerprint": {},
    }


@pytest.mark.parametrize("name", ["land." + "9" * 5_000, "land.²", "other.7", "land.", "m1"])
def test_a_name_that_is_no_attempt_of_the_step_proves_none(name: str) -> None:
    story = begun()
    story.record(merged(name, ["a"], step="land"))
    assert story.state("land").attempt == 0
