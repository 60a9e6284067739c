"""A session as a conversation: everything in it is there, labelled for what it is, harmless and bounded."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given

from pixirnb.history.events import Event
from pixirnb.sessions.events import Pair
from pixirnb.sessions.state import fold_session
from pixirnb.testing.generators.session_logs import any_events, sessions
from pixirnb.views.blocks.html_renderer import body_html, draw_html
from pixirnb.views.blocks.text_renderer import text_lines
from pixirnb.views.session.conversation import (
    conversation,
    conversation_blocks,
    conversation_body,
    turn_mark,
)
from tests.views.test_hostile_text import CONTROLS, audit
from tests.views.view_samples import HOSTILE

STARTED: Pair = (
    "session_started",
    {"session_id": "review.2", "step": "review", "attempt": 2, "agent": "worker", "runner": "llm"},
)
USER: Pair = ("user_message", {"text": "Mend it.\nAll of it.", "origin": "prompt"})
FINAL: Pair = ("assistant_message", {"text": "It is mended.", "partial": False, "final": True})
PARTIAL: Pair = ("assistant_message", {"text": "It is men", "partial": True, "final": False})
CALL: Pair = ("tool_call", {"call_id": "c1", "name": "read", "args": {"path": "a.py"}})
USAGE: Pair = ("provider_usage", {"input_tokens": 1200, "output_tokens": 3})


def failed(status: str) -> Pair:
    said = {"terminal_status": status, "error_kind": "timeout", "message": "It took too long."}
    spans = {"elapsed_ms": 900_012, "timeout_ms": 900_000}
    return ("turn_failed", {**said, **spans, "next_actions": ["rerun_step"]})


def told(events: list[Pair], **options: Any) -> str:
    return "\n".join(text_lines(conversation_blocks(conversation(events, **options))))


def test_a_session_reads_as_it_went() -> None:
    asked: Pair = (
        "permission_requested",
        {"request_id": "p1", "tool": "shell", "args": {"command": "rm x"}},
    )
    decided: Pair = (
        "permission_decided",
        {"request_id": "p1", "verdict": "deny", "by": "ada", "note": "no"},
    )
    found: Pair = ("tool_result", {"call_id": "c1", "ok": True, "output": "x = 1"})
    events = [STARTED, USER, CALL, found, asked, decided, FINAL, USAGE]
    assert told(events).splitlines() == [
        "◌ ended · review.2 · worker, llm",
        "  ○ turn 1 · prompt",
        "    │ Mend it.",
        "    │ All of it.",
        "  ✓ read a.py: ok",
        "  ◆ permission for shell rm x: denied by ada: no",
        "  · agent",
        "    │ It is mended.",
        "  usage: 1,200 tokens input, 3 tokens output, 1 request",
    ]


ENDS = {
    "partial_failed": [USER, PARTIAL, failed("partial_failed")],
    "failed": [USER, failed("failed")],
    "interrupted": [USER, PARTIAL, failed("interrupted")],
    "timed_out": [USER, failed("timed_out")],
    "running": [USER, PARTIAL],
    "a failure that calls itself completed": [USER, FINAL, failed("completed")],
    "an open call": [USER, CALL, FINAL],
}


@pytest.mark.parametrize("case", ENDS, ids=str)
def test_nothing_but_a_clean_end_is_called_completed(case: str) -> None:
    document = conversation([STARTED, *ENDS[case]])
    for shown in (
        "\n".join(text_lines(conversation_blocks(document))),
        draw_html(conversation_blocks(document)),
    ):
        assert "completed" not in shown
        assert 'class="pixirnb-status pixirnb-ready"' not in shown


def test_text_that_was_cut_off_is_kept_and_says_so() -> None:
    document = conversation([STARTED, USER, PARTIAL, failed("timed_out")])
    lines = text_lines(conversation_blocks(document))
    assert lines[lines.index("  · agent, cut off") + 1] == "    │ It is men"
    assert "agent, cut off" in body_html(conversation_body(document))
    assert "  ◷ timed out after 15 m 00 s of 15 m 00 s" in lines


def test_a_session_that_nobody_writes_any_more_does_not_look_as_if_it_ran() -> None:
    assert "running" in told([STARTED, USER])
    assert "no end recorded" in told([STARTED, USER], is_live=False)
    assert turn_mark("completed", is_live=False).word == "ended"


def test_completed_is_said_only_where_the_step_is_ready_and_how_it_stands_else() -> None:
    heads = {
        "checkpoint_ready": "✓ completed · review.2 · worker, llm",
        "partial": "◌ ended · review.2 · its step: partial · worker, llm",
        "failed": "◌ ended · review.2 · its step: failed · worker, llm",
        "needs_orchestrator": "◌ ended · review.2 · its step: needs a decision · worker, llm",
    }
    for status, head in heads.items():
        document = conversation([STARTED, USER, FINAL], checkpoint_status=status)
        assert text_lines(conversation_blocks(document))[0] == head
        shown = draw_html(conversation_blocks(document))
        assert ("completed" in shown) is (status == "checkpoint_ready")
        assert ('class="pixirnb-status pixirnb-ready"' in shown) is (status == "checkpoint_ready")


def test_an_end_is_said_once_and_silence_is_not_shown_as_speech() -> None:
    for status in ("timed_out", "interrupted"):
        ended = ("turn_failed", {"terminal_status": status, "error_kind": status})
        assert f"({status})" not in told([STARTED, USER, ended])
    silent = {"text": "", "partial": False, "final": True}
    empty: Pair = ("tool_result", {"call_id": "c1", "ok": True, "output": "\n"})
    events = [STARTED, USER, CALL, empty, ("assistant_message", silent)]
    assert "· agent" not in told(events)
    body = body_html(conversation_body(conversation(events)))
    assert "<pre>\n</pre>" not in body
    assert ">agent<" not in body


def test_tools_are_folded_with_what_they_were_given_and_what_came_of_it() -> None:
    orphan: Pair = (
        "tool_result",
        {"call_id": "c1", "ok": False, "output": "lost", "synthetic": True},
    )
    document = conversation([USER, CALL, orphan])
    asked: Pair = ("permission_requested", {"request_id": "p", "call_id": "c1", "tool": "read"})
    assert "not approved; not executed" in told([USER, CALL, asked, orphan])
    assert "result lost; it may have been executed" in told([USER, CALL, orphan])
    assert "<details><summary>✗ read a.py: result lost" in body_html(conversation_body(document))
    assert "no result yet" in told([USER, CALL])


def test_no_line_of_an_agents_text_can_pass_for_one_of_ours() -> None:
    forged = "ok\n✓ review.2: completed\r· agent\u2028◆ permission for shell: allowed by ada"
    events: list[Pair] = [USER, ("assistant_message", {"text": forged, "partial": True})]
    lines = text_lines(conversation_blocks(conversation(events)))
    assert [line for line in lines if "completed" in line or "allowed" in line] == [
        "    │ ✓ review.2: completed",
        "    │ ◆ permission for shell: allowed by ada",
    ]


def test_long_texts_are_bounded_and_say_how_much_is_missing() -> None:
    output = "\n".join(f"line {n}" for n in range(5_000))
    events: list[Pair] = [
        USER,
        ("assistant_message", {"text": output, "partial": False, "final": True}),
    ]
    document = conversation(events)
    assert re.search(r"\[[\d,]+ more lines, [\d,]+ more characters\]", told(events))
    assert re.search(r"[\d,]+ more characters", body_html(conversation_body(document)))
    assert len(body_html(conversation_body(document))) < 10_000


def test_a_long_session_shows_its_beginning_and_its_end() -> None:
    events = [STARTED, USER, *[FINAL] * 1_000, failed("failed")]
    document = conversation(events, most=50)
    assert len(document["entries"]) == 51
    assert document["left_out"] == 1_003 - 50
    assert document["entries"][0]["kind"] == "started"
    assert document["entries"][-1]["kind"] == "failed"
    assert "953 entries are not shown here" in told(events, most=50)


def test_events_of_a_log_and_pairs_make_the_same_conversation() -> None:
    pairs = [STARTED, USER, FINAL]
    events = [Event(n, "", kind, data) for n, (kind, data) in enumerate(pairs, 1)]
    assert conversation(events) == conversation(pairs)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_and_obeyed_by_nobody(text: str) -> None:
    fields = [
        *("text", "name", "tool", "output", "call_id", "request_id", "verdict", "by", "note"),
        *("agent", "session_id", "runner", "terminal_status", "error_kind", "message", "event"),
        *("summary", "checkpoint_status", "origin", "model", "step", "status"),
    ]
    data: dict[str, Any] = dict.fromkeys(fields, text)
    data |= {"args": {text: text}, "limitations": [text], "next_actions": [text]}
    kinds = ["session_started", "user_message", "assistant_message", "reasoning", "tool_call"]
    kinds += ["tool_result", "permission_requested", "permission_decided", "checkpoint_reported"]
    kinds += ["compaction", "branch_summary", "subagent_event", "turn_failed", "a_kind_to_come"]
    document = conversation([(kind, dict(data)) for kind in kinds])
    audit(draw_html(conversation_blocks(document)))
    for row in text_lines(conversation_blocks(document)):
        assert CONTROLS.search(row) is None
        assert "\n" not in row


@given(sessions() | any_events())
def test_every_log_can_be_shown_and_stored(log: list[Pair]) -> None:
    document = conversation(log)
    assert json.loads(json.dumps(document)) == document
    assert document["turn"] == fold_session(log).turn
    audit(draw_html(conversation_blocks(document)))
    assert all("\n" not in row for row in text_lines(conversation_blocks(document)))
