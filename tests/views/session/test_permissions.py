"""A step whose agent asks a person looks so in every view, says what exactly it asks, and does so until it is answered."""

from __future__ import annotations

from typing import Any, cast

import pytest

from pixirnb.history.event_draft import EventDraft
from pixirnb.machine.outcome import outcome
from pixirnb.testing.generators.histories import RUN_ID, Rehearsal, plan_of
from pixirnb.views.basics.phrases import why
from pixirnb.views.basics.status_marks import STEP_MARKS, at_rest, state_mark, step_mark
from pixirnb.views.blocks.html_renderer import draw_html
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.live.attempt_history import AttemptHistory
from pixirnb.views.live.panel import panel
from pixirnb.views.live.tape import STRIDE, Tape
from pixirnb.views.run.event_lines import event_line
from pixirnb.views.run.explain import explain
from pixirnb.views.run.outcome_view import outcome_blocks, step_blocks
from pixirnb.views.run.permission_calls import call_lines

FLOW: dict[str, Any] = {
    "name": "t",
    "agents": {"w": {}},
    "steps": [
        {"id": "a", "task": "Do.", "agent": "w"},
        {"id": "b", "run": "x", "depends_on": ["a"]},
    ],
}
ONE = f"{RUN_ID}/a.1.1"
WHOSE = {"step": "a", "attempt": 1, "session_id": "a.1", "agent": "w", "request_id": ONE}
HOSTILE = "\x1b[2J<b>rm</b>\u202e"


def asking(args: Any = None) -> Rehearsal:
    """A run whose agent waits for a person."""
    given = {"path": "src/a.py", "text": "x = 1\n"} if args is None else args
    data = {"tool": "write_file", "args": given, "digest": "b2:d", "why": "because"}
    asked = EventDraft(
        "subagent_event", cast("Any", {"event": "permission_requested", **WHOSE, **data})
    )
    return Rehearsal(plan_of(FLOW)).begin().record(asked)


def answered(verdict: str) -> Rehearsal:
    """The same, and what a person said."""
    data = {"verdict": verdict, "by": "ada@lab", "note": "not there", "request": "q1"}
    return asking().record(
        EventDraft("subagent_event", cast("Any", {"event": "permission_decided", **WHOSE, **data}))
    )


def shown(play: Rehearsal, *, is_live: bool = True, is_past: bool = False) -> dict[str, Any]:
    """The panel of the agent's step."""
    attempts = AttemptHistory()
    attempts.extend(play.events)
    return panel(play.plan, play.board.run, attempts, "a", is_live=is_live, is_past=is_past)


def test_it_waits_for_permission_in_every_view() -> None:
    play = asking()
    told = outcome(play.plan, play.board.run, is_live=True).document()
    assert step_mark(told["steps"][0]) == state_mark(play.state("a"))
    assert state_mark(play.state("a")).key == "permission"
    assert "needs permission" in draw_text(outcome_blocks(told))
    assert "1 waiting for permission" in told["summary"]
    assert "needs permission" in draw_html(outcome_blocks(told, [("a", "b")]))
    first = explain(play.plan, play.board.run, "a", is_live=True)[0]
    assert first == (
        f"`a` asks for permission to use `write_file` src/a.py. Use `approve {ONE}` or `deny`."
    )
    assert why(told["steps"][0]) == f"asks to use write_file: src/a.py; allow it with approve {ONE}"


def test_wherever_an_approval_is_offered_the_change_is_shown() -> None:
    play = asking({"path": "src/a.py", "old": "x = 1", "new": f"x = 2\n{HOSTILE}", "all": True})
    for is_live in (True, False):  # parked, the request is still open
        if not is_live:
            play.end("a", "failed", error="permission_required")
        told = outcome(play.plan, play.board.run, is_live=is_live).document()
        for blocks in (outcome_blocks(told), step_blocks(told["steps"][0])):
            text = draw_text(blocks)
            assert "asks to use write_file src/a.py" in text
            assert "    -x = 1\n    +x = 2\n    +<U+001B>[2J<b>rm</b><U+202E>" in text
            assert "&lt;b&gt;rm&lt;/b&gt;" in draw_html(blocks)
        assert told["steps"][0]["requests"][0]["args"]["old"] == "x = 1"
    answered_steps = outcome(answered("allow").plan, answered("allow").board.run, is_live=True)
    assert "requests" not in answered_steps.document()["steps"][0]


@pytest.mark.parametrize(
    ("args", "lines"),
    [
        ({"command": "rm -r x; echo\ndone", "timeout": 5}, [" timeout: 5", " $ rm -r x; echo", " $ done"]),
        ({"command": ["rm", "-r"]}, [" $ rm -r"]),
        ({"path": "a", "content": "1\n2\n"}, ["+1", "+2"]),
        ({"title": "t", "paths": ["a"], "diff": "@@\n-x\n+y\n z"}, ["@@", "-x", "+y", " z"]),
        ({"title": "t", "input": {"command": "ls"}}, [" $ ls"]),
        (None, []),
        ("x", [" x"]),
        ({"content": "a\n" * 90}, [*["+a"] * 60, "… 30 more lines"]),
    ],
)  # fmt: skip
def test_a_call_is_shown_as_a_diff_or_a_command(args: Any, lines: list[str]) -> None:
    assert [text for _, text in call_lines(args)] == lines


def test_once_answered_it_runs_again_and_the_panel_says_by_whom() -> None:
    for verdict in ("allow", "deny"):
        play = answered(verdict)
        assert state_mark(play.state("a")).key in {"starting", "running"}
        (asked,) = shown(play)["permissions"]
        assert (asked["is_open"], asked["verdict"], asked["by"]) == (False, verdict, "ada@lab")
        assert (asked["note"], asked["wishes"]) == ("not there", None)


def test_the_panel_shows_the_whole_of_what_is_asked_and_what_each_button_says() -> None:
    (asked,) = shown(asking())["permissions"]
    assert (asked["request"], asked["name"], asked["about"]) == (ONE, "write_file", "src/a.py")
    assert [(each["name"], each["text"]) for each in asked["given"]] == [
        ("path", "src/a.py"),
        ("text", "x = 1\n"),
    ]
    assert asked["why"] == "because"
    assert asked["wishes"] == {
        "allow": {"do": "approve", "request": ONE},
        "deny": {"do": "deny", "request": ONE},
    }


def test_in_the_past_nothing_can_be_answered() -> None:
    (asked,) = shown(asking(), is_past=True)["permissions"]
    assert asked["is_open"]
    assert asked["wishes"] is None


def test_a_death_leaves_no_step_that_looks_as_if_it_still_waited() -> None:
    play = asking()
    told = at_rest(outcome(play.plan, play.board.run, is_live=False).document())
    assert step_mark(told["steps"][0]).key == "lost"
    assert state_mark(play.state("a"), is_live=False).key == "lost"
    assert "needs permission" not in draw_text(outcome_blocks(told))
    first = explain(play.plan, play.board.run, "a", is_live=False)[0]
    assert "asked to use `write_file`" in first
    assert "died" in first


def test_the_tape_turns_the_box_and_says_what_happened() -> None:
    play = answered("deny")
    tape = Tape(play.plan)
    tape.extend(play.events)
    asked, decided = tape.entries[-2:]
    place = [mark.key for mark in STEP_MARKS].index("permission")
    assert asked[4][:2] == [0, place]
    assert len(asked[4]) == STRIDE
    assert (asked[6], decided[6]) == ([1, 0], [1, 2])


def test_the_log_says_who_asked_for_what_and_who_answered() -> None:
    asked, decided = answered("deny").events[-2:]
    assert f"a: asks to use write_file src/a.py: {ONE}" in event_line(asked)
    assert "a: denied by ada@lab: not there" in event_line(decided)


def test_what_an_agent_asks_for_is_text_and_nothing_more() -> None:
    play = asking({HOSTILE: HOSTILE})
    (asked,) = shown(play)["permissions"]
    (given,) = asked["given"]
    assert "\x1b" not in given["text"] + given["name"] + asked["about"]
    assert "<b>rm</b>" not in draw_html(
        outcome_blocks(outcome(play.plan, play.board.run, is_live=True).document(), [("a", "b")])
    )
