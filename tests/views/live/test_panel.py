"""A panel says of one step all a person asks, at any event of its history, in plain JSON and without its secrets."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Event
from pixirnb.history.run_state import RunState, fold
from pixirnb.machine.resume import Selection
from pixirnb.planning.environment import Environment
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import compile_plan, require
from pixirnb.spec.loader import load_mapping
from pixirnb.testing.generators.histories import Rehearsal, plan_of
from pixirnb.testing.generators.strategies import ends, workflows
from pixirnb.views.basics.sanitize import plain
from pixirnb.views.live.attempt_history import AttemptHistory, Replay
from pixirnb.views.live.controls import controls
from pixirnb.views.live.panel import panel
from tests.views.view_samples import HOSTILE

SPEC: dict[str, Any] = {
    "name": "release",
    "inputs": {"n": {"type": "integer", "default": 3}, "api_token": {"type": "string"}},
    "agents": {"worker": {"runner": "scripted", "role": "You mend.", "posture": "writer"}},
    "steps": [
        {
            "id": "make",
            "description": "builds",
            "run": "build {{ inputs.n }} {{ inputs.api_token }}",
            "env": {"DEPLOY_KEY": "hunter2hunter2", "MODE": "fast"},
            "retry": {"max_attempts": 3, "delay": "10s", "jitter": 0},
            "timeout": "5m",
            "write_set": ["dist/**"],
            "verify": [{"output_contains": "built"}],
        },
        {"id": "argv", "run": ["echo", "hunter2hunter2", "{{ steps.make.output.size }}"],
         "env": {"MY_SECRET": "hunter2hunter2"}, "depends_on": ["make"]},
        {"id": "call", "call": ":count", "with": {"of": "{{ steps.make.summary }}"}, "depends_on": ["make"]},
        {"id": "mend", "task": "Mend it.", "agent": "worker", "depends_on": ["make"]},
        {"id": "gate", "ask": {"question": "Ship {{ inputs.n }}?", "choices": ["now", {"in": 2}]},
         "depends_on": ["mend"]},
    ],
}  # fmt: skip
SOURCES = {":count": "def count(of):\n    return 1\n"}
TAIL = "\x1b[31mred\x1b[0m\n%%bash\n"
INPUTS = {"api_token": "tok-123456789"}


def planned(run: RunState) -> Plan:
    return compile_plan(require(load_mapping(run.spec)), Environment(), run.sources)


def seen(play: Rehearsal, step: str, *, upto: int | None = None, **how: Any) -> dict[str, Any]:
    """The panel at an event, from nothing."""
    events = play.events[:upto]
    run, attempts = fold(events), AttemptHistory()
    attempts.extend(events)
    told = {"is_live": run.finished is None, "is_past": len(events) < len(play.events), **how}
    return panel(play.plan, run, attempts, step, **told)


@pytest.fixture
def play() -> Rehearsal:
    return Rehearsal(plan_of(SPEC, SOURCES)).begin(INPUTS)


def test_every_kind_of_step_says_what_it_was_told(play: Rehearsal) -> None:
    said = {step: seen(play, step)["says"] for step in play.plan.index}

    assert said["make"] == {
        "form": "command",
        "text": "build {{ inputs.n }} {{ inputs.api_token }}",
        "cut": 0,
    }
    assert said["argv"]["words"] == ["echo", "***", "{{ steps.make.output.size }}"]
    assert said["call"]["function"] == ":count"
    assert said["call"]["arguments"] == [{"name": "of", "text": "{{ steps.make.summary }}"}]
    assert said["call"]["source"].startswith("def count(of):")
    assert said["mend"] == {"form": "task", "text": "Mend it.", "cut": 0}
    assert said["gate"]["text"] == "Ship {{ inputs.n }}?"
    assert seen(play, "mend")["agent"] == {
        "name": "worker",
        "runner": "scripted",
        "model": "",
        "role": "You mend.",
    }


def test_no_secret_of_the_environment_or_of_an_input_is_in_any_panel(play: Rehearsal) -> None:
    play.end("make", value={"size": 7}, checks=[True])
    whole = json.dumps([seen(play, step) for step in play.plan.index])

    assert "hunter2" not in whole
    assert "tok-123456789" not in whole
    assert '"MODE", "text": "fast"' in whole


def test_references_show_the_values_they_stand_for_as_soon_as_there_are_any(
    play: Rehearsal,
) -> None:
    before = seen(play, "argv")["inputs"]
    play.end("make", value={"size": 7}, checks=[True])
    after = seen(play, "argv")["inputs"]

    assert [each["form"] for each in before] == ["missing"]
    assert after == [
        {
            "name": "{{ steps.make.output.size }}",
            "from": "output of `make`",
            "form": "json",
            "text": "7",
            "cut": 0,
        }
    ]
    assert [each["text"] for each in seen(play, "make")["inputs"]] == ["3", "***"]


def test_attempts_tell_their_errors_and_why_there_was_another(play: Rehearsal) -> None:
    play.end("make", "failed", error="exit", summary="no disk")
    waiting = seen(play, "make")
    play.turn(11).end("make", checks=[True])
    done = seen(play, "make")

    assert waiting["mark"]["key"] == "retrying"
    assert waiting["retry"]["attempt"] == 2
    assert waiting["retry"]["delay_ms"] == 10_000
    assert waiting["error"]["kind"] == "exit"
    assert [(t["attempt"], t["status"], t["mark"]["key"]) for t in done["attempts"]] == [
        (1, "failed", "failed"),
        (2, "completed", "checkpoint_ready"),
    ]
    assert done["attempts"][0]["retry"] == {"class": "exit", "delay_ms": 10_000, "by": None}
    assert done["attempts"][0]["error"] == "exit"
    assert done["attempts"][1]["error"] == ""
    assert done["error"] is None
    assert done["retry"] is None


def test_attempts_of_an_earlier_course_stay_and_one_that_a_death_cut_short_is_lost(
    play: Rehearsal,
) -> None:
    again = play.resume().end("make", checks=[True])
    told = [(t["attempt"], t["course"], t["status"]) for t in seen(again, "make")["attempts"]]
    assert told == [(1, 1, "lost"), (2, 2, "completed")]


def test_a_held_step_shows_what_its_last_attempt_left(play: Rehearsal) -> None:
    play.end("make", checks=[True]).end("mend", "failed", error="crash", summary="broke")
    play.end("argv").end("call")
    after = play.resume(Selection(only="call"))
    told = seen(after, "mend")

    assert told["mark"]["key"] == "held"
    assert told["error"] is None
    assert told["left"] == {
        "attempt": 1,
        "status": "failed",
        "summary": "broke",
        "error": {"kind": "crash", "message": "crash"},
    }
    assert told["held_by"]["sentence"] == "not selected; failed before"


def test_a_question_offers_its_choices_and_the_messages_of_both_words(play: Rehearsal) -> None:
    play.end("make", checks=[True]).end("mend", report={"checkpoint_status": "checkpoint_ready"})
    asked = seen(play, "gate")
    play.decide("gate", "accept", "now")
    answered = seen(play, "gate")

    assert asked["question"]["text"] == "Ship 3?"
    assert asked["question"]["choices"][1] == {"text": '{"in": 2}', "value": {"in": 2}}
    assert asked["can"]["decide"]
    assert asked["wishes"]["accept"] == {"do": "decide", "step": "gate", "verdict": "accept"}
    assert asked["actions"][0]["wish"] == {"do": "decide", "step": "gate"}
    assert not answered["can"]["decide"]
    assert answered["question"]["said"]["value"] == "now"
    assert answered["wishes"]["accept"] is None


def test_a_run_that_only_waits_for_a_decision_offers_it_and_neither_resume_nor_rerun(
    play: Rehearsal,
) -> None:
    play.end("make", value={"size": 7}, checks=[True]).end("argv").end("call")
    play.end("mend", report={"checkpoint_status": "checkpoint_ready"})
    assert play.is_over
    shown = controls(play.outcome().document(), play.board.run, live="", is_past=False, folder="f")

    assert [action["action"] for action in shown["actions"]] == ["decide_step"]
    assert not shown["can"]["resume"]
    assert not seen(play, "gate")["can"]["rerun"]
    assert seen(play, "make")["can"]["rerun"]


def test_the_past_and_a_damaged_log_have_no_buttons(play: Rehearsal) -> None:
    play.end("make", "failed", error="verification", checks=[False]).turn(11)
    play.end("make", "failed", error="verification", checks=[False]).turn(11)
    play.end("make", "failed", error="verification", checks=[False])
    assert play.is_over
    now = seen(play, "make")
    then = [seen(play, "make", upto=n) for n in range(1, len(play.events))]
    damaged = seen(play, "make", damage="line 7 was edited")

    assert now["headline"] == "`make` failed: 1 of 1 check failed."
    assert now["can"] == {"rerun": True, "decide": False, "cancel": False}
    assert now["wishes"]["rerun"] == {"do": "resume", "from": "make"}
    assert now["actions"][0]["forecast"] == {"ask": "forecast", "from": "make"}
    for told in (*then, damaged):
        assert not any(told["can"].values())
        assert not any(told["wishes"].values())
        assert all(action["wish"] is None for action in told["actions"])
    assert "line 7 was edited" in damaged["why"][0]


def test_an_error_can_be_copied_into_a_cell_that_runs(play: Rehearsal) -> None:
    message = "first\nsecond\n!rm -rf / \x1b[31m"
    error = {"kind": "exit", "message": message, "details": {}}
    (ended,) = play.ending("make", "failed")
    play.record(
        EventDraft("attempt_ended", cast("Any", {**ended.data, "error": error, "tail": TAIL}))
    )
    copied = seen(play, "make")["error"]["copy"].split("\n")

    assert all(line.startswith("#") for line in copied[:-1])
    assert copied[-1] == f"%pixir show {play.board.run.run_id} make"
    assert seen(play, "make")["error"]["tail"] == [["red", "red\n"], ["", "%%bash\n"]]


def hostile(value: Any) -> Any:
    """A fact as a stranger's log could hold it: every text is made of the hostile ones."""
    if isinstance(value, str):
        return "".join(HOSTILE)[:900]
    if isinstance(value, dict):
        return {key: hostile(item) for key, item in value.items()}
    return [hostile(item) for item in value] if isinstance(value, list) else value


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in texts(part)]


def test_text_of_a_strangers_log_comes_out_clean_and_bounded(play: Rehearsal) -> None:
    play.end("make", "failed", error="exit").turn(11)
    play.end("make", "failed", error="exit", tail="x").turn(11).end("make", "failed", error="exit")
    kept = {"step", "kind", "run_id", "spec", "workflow", "inputs", "sources", "status", "at"}
    events = [
        Event(e.seq, e.at, e.kind, {k: v if k in kept else hostile(v) for k, v in e.data.items()})
        for e in play.events
    ]
    run, attempts = fold(events), AttemptHistory()
    attempts.extend(events)
    told = panel(play.plan, run, attempts, "make", is_live=False)

    for text in texts({**told, "question": None, "wishes": None}):
        assert plain(text, 10**6) == text
    assert len(json.dumps(told)) < 200_000


@given(workflows(most=5), st.lists(ends(), min_size=1, max_size=8), st.data())
@settings(max_examples=40)
def test_at_every_event_of_any_history_a_panel_is_json_and_the_same_however_one_came_there(
    spec: dict[str, Any], happened: list[dict[str, Any]], data: st.DataObject
) -> None:
    play = Rehearsal(plan_of(spec)).begin()
    for end in happened:
        if play.running:
            step = data.draw(st.sampled_from(play.running))
            play.end(step, **end)
        else:
            play.turn(1_000)
    if data.draw(st.booleans()):
        play = play.resume()
    replay = Replay(planned)
    order = data.draw(st.permutations(range(1, len(play.events) + 1)))
    for seq in order[:12]:
        moment = replay.at(play.events, seq)
        step = data.draw(st.sampled_from(list(play.plan.index)))
        told = panel(
            moment.plan,
            moment.run,
            moment.attempts,
            step,
            is_live=moment.run.finished is None,
            is_past=moment.is_past,
        )
        assert json.loads(json.dumps(told, allow_nan=False)) == told
        assert told == seen(play, step, upto=seq)
        assert told["seq"] == seq


def test_events_of_no_known_shape_change_nothing_that_is_listed() -> None:
    attempts = AttemptHistory()
    attempts.extend(
        Event(n, "", kind, {"step": 7})
        for n, kind in enumerate(["step_scheduled", "attempt_ended", "retry_planned", "new"], 1)
    )
    late = EventDraft("attempt_started", {"step": "a", "attempt": 1, "pid": None})
    attempts.take(Event(9, "", late.kind, late.data))
    assert attempts.of("a") == ()
