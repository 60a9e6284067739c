"""What the machine makes of merges that are taken back, and of conflicts that a person solves."""

from __future__ import annotations

from typing import Any

from pixirnb.history.event_draft import EventDraft
from pixirnb.machine.resume import Selection
from pixirnb.machine.seams import clash, number_seam
from pixirnb.testing.generators.histories import Rehearsal, plan_of

NOTHING: dict[str, Any] = {"patch": None, "files": [], "count": 0, "more": None}


def workflow(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"name": "files", "steps": list(steps)}


def apart(name: str, *after: str, **said: Any) -> dict[str, Any]:
    step = {"id": name, "run": "true", "workspace": "isolated", "write_set": [f"{name}/**"]}
    return {**step, "depends_on": list(after), **said}


def started(*steps: dict[str, Any]) -> Rehearsal:
    return Rehearsal(plan_of(workflow(*steps))).begin()


def works(play: Rehearsal, step: str) -> Rehearsal:
    """An isolated step changes a file of its own."""
    file = {"path": f"{step}/1", "change": "added", "added": 1, "deleted": 0}
    root = {"root": ".", "folder": "/w", "method": "git", "seen": "1", "base": "1", "left": "2"}
    data: Any = {
        "step": step,
        "attempt": play.state(step).attempt,
        "roots": [root],
        "built_on": [],
        "changes": {**NOTHING, "patch": f"patch {step}", "files": [file], "count": 1},
    }
    return play.record(EventDraft("workspace_captured", data), *play.ending(step))


def merged(
    play: Rehearsal, name: str, *, step: str | None, undoes: str | None = None
) -> EventDraft:
    data: Any = {
        "merge": name, "step": step, "by": "ada", "steps": ["a"], "attempts": {"a": 1},
        "roots": [], "changes": NOTHING, "undoes": undoes,
    }  # fmt: skip
    return EventDraft("merge_applied", data)


def clashes(play: Rehearsal, step: str) -> Rehearsal:
    """The files of a step clash with the user's."""
    data: Any = {
        "step": step, "attempt": play.state(step).attempt, "steps": ["a"],
        "between": ["workspace", "a"], "files": [], "count": 1, "roots": [],
    }  # fmt: skip
    return play.record(
        EventDraft("merge_conflicted", data), *play.ending(step, "failed", error="merge_conflict")
    )


def landing() -> Rehearsal:
    """a is merged by `land`; `after` waits for a slot behind `long`."""
    steps = (
        apart("a"),
        {"id": "land", "merge": ["a"], "depends_on": ["a"]},
        {"id": "long", "run": "true", "write_set": ["x/**"]},
        {"id": "after", "run": "true", "write_set": ["x/**"], "depends_on": ["land"]},
    )
    play = works(started(*steps), "a")
    return play.record(merged(play, "land.1", step="land"), *play.ending("land"))


def test_a_merge_step_whose_merge_is_taken_back_is_ready_no_more_and_nothing_begins_on_it() -> None:
    play = landing()
    play.record(merged(play, "m2", step=None, undoes="land.1"))
    play.end("long")
    assert play.started() == ["a", "long", "land"]
    assert play.state("after").held_by == {"kind": "dependency", "step": "land"}
    assert play.data_of("checkpoint_saved")[-1]["ready"] == ["a", "long"]
    assert {"code": "merge_undone", "step": "land"} in play.outcome().reasons
    later = play.resume()
    assert later.running == ["land"]


def test_a_merge_step_that_found_all_merged_already_is_not_ready_once_that_merge_is_taken_back() -> (
    None
):
    play = landing().end("long").end("after")
    later = play.resume(Selection("a")).end("a").end("land")
    assert later.state("land").checkpoint_status == "checkpoint_ready"
    later.record(merged(later, "m2", step=None, undoes="land.1"))
    assert later.state("land").checkpoint_status is None
    assert {"code": "merge_undone", "step": "land"} in later.outcome().reasons


def test_a_merge_that_is_not_taken_back_lets_what_waits_for_it_begin() -> None:
    play = landing()
    play.end("long")
    assert play.running == ["after"]


def test_an_attempt_after_a_conflict_is_the_first_of_its_course() -> None:
    retry = {"max_attempts": 2, "delay": "0s", "timeout_scale": 1.5}
    steps = (apart("a"), apart("b", "a", retry=retry, timeout="30s"))
    play = clashes(works(started(*steps), "a"), "b")
    later = play.resume(Selection(is_decision=True), facts=[play.decision("b", value="workspace")])
    assert later.starts[-1].timeout_ms == 30_000
    later.end("b", "failed", error="exit")
    assert later.state("b").attempt == 3
    assert later.starts[-1].timeout_ms == 45_000
    later.end("b", "failed", error="exit")
    assert later.state("b").checkpoint_status == "failed"


def test_a_solution_outlives_that_what_is_before_the_step_is_done_again() -> None:
    steps = (apart("a", reuse="never"), apart("b", "a"))
    play = clashes(works(started(*steps), "a"), "b")
    later = play.resume(facts=[play.decision("b", value="workspace")])
    works(later, "a")
    assert later.kinds("b") == ["retry_planned", "step_scheduled"]
    assert later.running == ["b"]
    assert ((at := later.state("b").solution) and at["value"]) == "workspace"


def test_what_was_read_before_a_conflict_is_looked_at_again_after_it() -> None:
    play = clashes(works(started(apart("a"), apart("b", "a"), apart("z")), "a"), "b")
    index = play.plan.index["b"]
    play.board.reads[index] = "before"
    play.decide("b", value="workspace")
    assert index not in play.board.reads


def test_no_two_seams_of_a_run_have_one_name() -> None:
    play = clashes(works(started(apart("a"), apart("s1", "a"), apart("z")), "a"), "s1")
    run = play.board.run
    (first,) = clash(play.plan, run, ["workspace", "a"], ["x"], 1, step=None)
    assert first.data["id"] == "s2"
    play.record(first)
    assert number_seam(play.plan, run, first).data["id"] == "s3"
    play.record(number_seam(play.plan, run, first))
    run.seams.clear()
    (later,) = clash(play.plan, run, ["workspace", "a"], ["x"], 1, step=None)
    assert later.data["id"] == "s4"


def test_a_step_that_is_only_asked_about_has_no_seam_in_any_course() -> None:
    asks = {"id": "a", "run": "true", "seams": ["types"], "rerun": "ask"}
    play = started(asks, {"id": "b", "ask": {"question": "Go on?"}})
    died = play.resume()
    assert died.state("a").stage == "asking"
    later = died.resume(Selection(is_decision=True), facts=[died.decision("b")])
    assert later.data_of("seam_opened") == []
    done = later.resume(Selection(is_decision=True), facts=[later.decision("a")])
    assert [seam["note"] for seam in done.data_of("seam_opened")] == ["types"]
