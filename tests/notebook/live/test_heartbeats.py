"""What the page is told of steps under way, between two ticks."""

from __future__ import annotations

from pixirnb.engine.broadcast import STEP_OUTPUT, Live
from pixirnb.notebook.live.heartbeats import Heartbeats
from pixirnb.testing.generators.histories import Rehearsal, plan_of
from pixirnb.views.live.tape import Tape

SPEC = "name: talks\nsteps:\n  - {id: talk, run: talk, retry: {max_attempts: 2}}\n"


def told(play: Rehearsal, attempt: int) -> dict[int, object]:
    """Return the last printed line by attempt, of a step that printed `two` in `attempt`."""
    tape = Tape(play.plan)
    tape.extend(play.events)
    heartbeats = Heartbeats()
    data = {"stream": "stdout", "chunk": "one\ntwo\n\n"}
    heartbeats.take(Live(STEP_OUTPUT, "talk", attempt, data), tape)
    pulse = heartbeats.pulse(tape)
    assert pulse is not None
    return {sign[0]: sign[6] for sign in pulse["steps"].values()}


def test_output_that_overtakes_the_start_of_its_attempt_is_kept() -> None:
    play = Rehearsal(plan_of(SPEC)).begin()
    assert play.events[-1].kind == "step_scheduled"
    assert told(play, 1) == {1: "two"}


def test_an_attempt_that_is_over_has_no_sign() -> None:
    play = Rehearsal(plan_of(SPEC)).begin().end("talk", "failed", error="exit")
    assert told(play, 1) == {}
    assert told(play, 2) == {2: "two"}  # the next attempt's output, ahead of its events
