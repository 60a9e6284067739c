"""From within a session a person is told commands that lead on, and never to look at what is on the screen."""

from __future__ import annotations

from pixirnb.views.blocks.html_renderer import draw_html
from pixirnb.views.blocks.text_renderer import draw_text
from pixirnb.views.session.session_view import SessionDocument, next_steps, session_blocks

SESSION: SessionDocument = {
    "run_id": "r-1",
    "session_id": "edit.1",
    "step": "edit",
    "attempt": 1,
    "turn": "failed",
    "checkpoint_status": "failed",
    "open_requests": [],
    "next_actions": [
        {"action": "rerun_step", "step": "edit", "cell": "%pixir resume r-1 --from edit"}
    ],
    "is_live": False,
    "events": [
        {
            "seq": 1,
            "at": "2026-11-22T08:00:01.000000Z",
            "kind": "turn_failed",
            "data": {"terminal_status": "failed", "next_actions": ["inspect_session"]},
        }
    ],
    "damage": None,
}
ASKING: SessionDocument = {
    **SESSION,
    "checkpoint_status": None,
    "open_requests": [
        {"request_id": "r-1/edit.1.1", "tool": "write\x1b[2J", "args": {"path": "<b>a.py"}}
    ],
    "next_actions": [
        {"action": "approve_request", "step": "edit", "cell": "%pixir approve r-1/edit.1.1"}
    ],
}


def test_what_comes_next_is_a_command_in_the_words_of_the_place() -> None:
    shown = draw_text(session_blocks(SESSION, command="pixirnb"))
    assert "  pixirnb resume r-1 --from edit  rerun edit and its dependents" in shown
    assert "%pixir resume r-1 --from edit" in draw_text(session_blocks(SESSION))
    for told in (shown, draw_html(session_blocks(SESSION))):
        assert "look into the session" not in told


def test_an_open_question_is_named_with_the_command_that_answers_it() -> None:
    ((cell, words),) = next_steps(ASKING, command="pixirnb")
    assert (cell, words) == ("pixirnb approve r-1/edit.1.1", "allow write <b>a.py; or `deny`")
    assert "approve r-1/edit.1.1" in draw_html(session_blocks(ASKING))
    assert "<b>a.py" not in draw_html(session_blocks(ASKING))


def test_where_nothing_is_to_do_nothing_is_said() -> None:
    done: SessionDocument = {**SESSION, "checkpoint_status": "checkpoint_ready", "next_actions": []}
    assert "next" not in draw_text(session_blocks(done))
