"""What starts now: a step whose files are digested has its slot and its claims meanwhile, and none is passed for long."""

from __future__ import annotations

from typing import Any

from pixirnb.testing.generators.histories import Rehearsal, plan_of

READER: dict[str, Any] = {
    "id": "reader",
    "run": "x",
    "posture": "read_only",
    "read_set": ["a/**"],
    "reuse": "reads",
}
WRITER: dict[str, Any] = {"id": "writer", "run": "x", "write_set": ["a/x"]}


def begun(*steps: dict[str, Any], **keys: Any) -> Rehearsal:
    """A run whose files are digested when the test says so."""
    play = Rehearsal(plan_of({"name": "t", "steps": list(steps), **keys}))
    play.digest_of = None
    return play.begin()


def reading(play: Rehearsal) -> list[str]:
    return [play.plan.steps[index].id for index in play.board.reads]


def test_files_are_digested_once_nothing_runs_that_may_change_them() -> None:
    play = begun(WRITER, READER)
    assert (play.running, reading(play)) == (["writer"], [])
    play.end("writer")
    assert (play.running, reading(play)) == ([], ["reader"])
    play.digested("reader", "now")
    assert play.running == ["reader"]
    [scheduled] = play.data_of("step_scheduled")
    assert scheduled["fingerprint"]["reads"] == "now"


def test_nothing_that_may_change_them_starts_before_the_reader() -> None:
    play = begun({"id": "first", "run": "x"}, {**WRITER, "depends_on": ["first"]}, READER)
    assert reading(play) == ["reader"]
    play.end("first")
    assert play.running == []
    play.digested("reader", "now")
    assert play.running == ["reader"]
    play.end("reader")
    assert play.running == ["writer"]


def test_its_slot_is_not_given_away_meanwhile() -> None:
    play = begun(READER, {"id": "b", "run": "x"}, {"id": "c", "run": "x"}, max_concurrency=2)
    assert (play.running, reading(play)) == (["b"], ["reader"])
    play.digested("reader", "now")
    assert play.running == ["b", "reader"]


def test_each_attempt_has_a_digest_of_its_own() -> None:
    play = begun({**READER, "retry": {"max_attempts": 2, "delay": "1s"}})
    play.digested("reader", "before").end("reader", "failed", error="exit")
    play.turn(2.0)
    assert (play.running, reading(play)) == ([], ["reader"])
    play.digested("reader", "after")
    [scheduled] = play.data_of("step_scheduled")
    assert scheduled["fingerprint"]["reads"] == "after"


def test_a_merge_by_hand_makes_it_digest_them_again() -> None:
    play = begun({**WRITER, "workspace": "isolated"}, {**READER, "depends_on": ["writer"]})
    play.end("writer")
    assert reading(play) == ["reader"]
    play.board.begin_merge([play.plan.index["writer"]])
    play.turn(0.0)
    assert reading(play) == []
    play.board.end_merge()
    play.turn(0.0)
    assert reading(play) == ["reader"]


def test_a_step_that_gives_up_meanwhile_frees_its_slot() -> None:
    play = begun(READER, {"id": "b", "run": "x"}, max_concurrency=1)
    assert play.running == []
    play.cancel_step("reader")
    assert (play.running, reading(play)) == (["b"], [])


def test_a_merge_step_that_waits_for_a_merge_by_hand_is_not_passed_by_what_conflicts_with_it() -> (
    None
):
    apart = {"run": "x", "workspace": "isolated"}
    play = begun(
        {"id": "other", **apart, "write_set": ["other/**"]},
        {"id": "a", **apart, "write_set": ["a/**"]},
        {"id": "land", "merge": ["a"], "depends_on": ["a"]},
        {**WRITER, "depends_on": ["a"]},
    )
    play.end("other")
    play.board.begin_merge([play.plan.index["other"]])
    play.end("a")
    assert play.running == []
    play.board.end_merge()
    play.turn(0.0)
    assert play.running == ["land"]
