"""What no status tells has a look of its own: waiting to retry, kept perhaps, given up after it had run, asked about first."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from pixirnb.history.run_state import fold
from pixirnb.machine.outcome import outcome
from pixirnb.machine.resume import Selection, asking, plan_resume
from pixirnb.testing.generators.histories import Rehearsal, events_of, plan_of, run_resumed
from pixirnb.views.basics.icons import status_shape
from pixirnb.views.basics.status_marks import STEP_MARKS, at_rest, state_mark, step_mark
from pixirnb.views.blocks.html_renderer import draw_html
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.run.explain import explain
from pixirnb.views.run.outcome_view import outcome_blocks
from pixirnb.views.run.resume_preview import forecast, sentence

RETRIED: dict[str, Any] = {
    "name": "w",
    "steps": [
        {"id": "a", "run": "x", "retry": {"max_attempts": 3, "delay": "10s", "jitter": 0}},
        {"id": "b", "run": "x", "depends_on": ["a"]},
    ],
}
CAREFUL: dict[str, Any] = {
    "name": "w",
    "steps": [
        {"id": "a", "run": "x", "rerun": "ask"},
        {"id": "b", "run": "x"},
        {"id": "c", "run": "x", "depends_on": ["a"]},
    ],
}


def begun(spec: dict[str, Any]) -> Rehearsal:
    return Rehearsal(plan_of(spec)).begin()


def look(play: Rehearsal, step: str, *, is_live: bool = True) -> str:
    """The look in an outcome's document, which is that of the fold."""
    document = at_rest(outcome(play.plan, play.board.run, is_live=is_live).document())
    told = next(each for each in document["steps"] if each["step_id"] == step)
    mark = step_mark(told)
    assert state_mark(play.state(step), is_live=is_live) == mark
    return mark.key


def test_no_two_looks_of_steps_share_a_key_or_a_word() -> None:
    for a, b in combinations(STEP_MARKS, 2):
        assert a.key != b.key
        assert a.word != b.word
    # A run that was interrupted and a step that was lost with it are one thing at two places.
    own = [mark for mark in STEP_MARKS if mark.key != "lost"]
    assert (
        len({mark.symbol for mark in own}) == len({status_shape(mark) for mark in own}) == len(own)
    )


def test_a_step_whose_attempt_only_begins_is_starting_in_every_view() -> None:
    play = begun(RETRIED)
    intended = [event.kind for event in play.events].index("step_scheduled") + 1
    run = fold(play.events[:intended])
    live, dead = (outcome(play.plan, run, is_live=is_live) for is_live in (True, False))

    assert step_mark(live.document()["steps"][0]) == state_mark(run.step("a"))
    assert state_mark(run.step("a")).key == "starting"
    assert "0 of 2 steps ready, 1 starting, 1 not started." in draw_text(
        outcome_blocks(live.document())
    )
    # What was intended may have begun: its start may have been lost with the process.
    assert step_mark(at_rest(dead.document())["steps"][0]).key == "lost"
    assert "1 was running, 1 not started" in draw_text(outcome_blocks(dead.document()))


def test_a_step_that_waits_for_its_retry_says_so_and_why() -> None:
    play = begun(RETRIED).end("a", "failed", error="exit")
    shown = draw_text(outcome_blocks(outcome(play.plan, play.board.run, is_live=True).document()))

    assert look(play, "a") == "retrying"
    assert "retrying" in shown
    assert "waits 10.0 s for attempt 2: exit" in shown
    assert "1 waiting to retry, 1 not started" in shown
    assert "retrying" in draw_html(
        outcome_blocks(outcome(play.plan, play.board.run, is_live=True).document())
    )
    assert look(play.turn(11), "a") != "retrying"


def test_a_retry_that_a_death_forestalled_does_not_look_as_if_it_would_still_come() -> None:
    play = begun(RETRIED).end("a", "failed", error="exit")

    assert look(play, "a", is_live=False) == "unretried"
    assert explain(play.plan, play.board.run, "a", is_live=False)[0].startswith("`a` was to wait")
    shown = draw_text(outcome_blocks(outcome(play.plan, play.board.run, is_live=False).document()))
    assert "1 retry pending" in shown
    assert "retrying" not in shown


def test_an_outcome_without_a_retry_has_the_keys_it_always_had() -> None:
    play = begun(RETRIED)
    steps = outcome(play.plan, play.board.run, is_live=True).document()["steps"]
    assert all("retry" not in step and "recheck" not in step for step in steps)


def test_a_step_that_may_be_kept_is_neither_running_nor_not_started() -> None:
    play = begun(RETRIED).end("a", value=1).end("b", value=2)
    edited = {"name": "w", "steps": [{"id": "a", "run": "y"}, RETRIED["steps"][1]]}
    changed = play.resume(plan=plan_of(edited))

    assert look(changed, "b") == "recheck"
    assert "pending re-check" in draw_text(outcome_blocks(changed.outcome(is_live=True).document()))


def given_up(play: Rehearsal) -> Rehearsal:
    """The run taken up after a death, only to be ended."""
    entries = plan_resume(play.plan, play.board.run, Selection())
    after = Rehearsal(play.plan, play.events)
    after.board.stop = "cancel"
    return after.record(run_resumed(play.plan, play.board.run, entries, Selection()))


def test_a_step_given_up_after_it_had_run_is_not_said_never_to_have_started() -> None:
    play = begun(CAREFUL)
    after = given_up(play)
    told = draw_text(outcome_blocks(outcome(play.plan, after.board.run, is_live=False).document()))

    assert after.state("b").checkpoint_status == "held"
    assert look(after, "b", is_live=False) == "cancelled"
    assert look(after, "c", is_live=False) == "held"
    assert "⊘ b canceled 1 canceled before it could run again" in " ".join(told.split())
    assert "before it started" not in told
    why = explain(play.plan, after.board.run, "b", is_live=False)
    assert any("was running when its process died" in sentence for sentence in why)


def test_a_dry_run_says_where_it_would_ask_before_it_runs_anything() -> None:
    play = begun(CAREFUL).end("b")
    entries = plan_resume(play.plan, play.board.run, Selection())
    asks = asking(play.plan, play.board.run, entries)
    told = forecast([{**entry, "asks": entry["step_id"] in asks} for entry in entries])

    assert asks == {"a"}
    words = {mark.word: [step for row in rows for step in row.steps] for mark, rows in told}
    assert words == {"reuse": ["b"], "ask first": ["a"], "run": ["c"]}
    assert "ask about 1 first" in sentence(told)


def test_a_step_that_is_named_is_run_without_a_question() -> None:
    play = begun(CAREFUL).end("b")
    entries = plan_resume(play.plan, play.board.run, Selection(from_step="a"))
    assert asking(play.plan, play.board.run, entries) == set()


def test_a_step_of_a_run_whose_process_died_is_not_said_to_run() -> None:
    play = begun(CAREFUL)
    assert explain(play.plan, play.board.run, "a")[0] == "`a` is running: attempt 1."
    dead = [explain(play.plan, play.board.run, step, is_live=False)[0] for step in ("a", "c")]
    assert dead == [
        "Attempt 1 of `a` was running when the run ended.",
        "`c` had not started when the run ended.",
    ]


def test_an_end_without_its_verdict_is_not_judged() -> None:
    play = begun(CAREFUL)
    (ended,) = events_of(play.ending("a"), after=len(play.events))
    play.board.run.apply(ended)
    assert state_mark(play.state("a")).key == "ended"
