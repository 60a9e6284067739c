"""A session and an outcome in the words of the Agent Client Protocol: of its schema, and never better than they are."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from acp.schema import PromptResponse, SessionNotification
from hypothesis import given, settings

from pixirnb.sessions.events import Pair
from pixirnb.sessions.state import fold_session
from pixirnb.testing.generators.session_logs import any_events, audit_events, sessions
from pixirnb.views.session.acp import acp_of_outcome, acp_stop_reason, acp_updates
from tests.sweeps import examples
from tests.views.view_samples import HOSTILE, outcome, step

STARTED: Pair = ("session_started", {"session_id": "review.2"})
USER: Pair = ("user_message", {"text": "Mend it.", "origin": "prompt"})
FINAL: Pair = ("assistant_message", {"text": "It is mended.", "partial": False, "final": True})
PARTIAL: Pair = ("assistant_message", {"text": "It is men", "partial": True, "final": False})
THOUGHT: Pair = ("reasoning", {"text": "hm", "model": "m"})
CALL: Pair = ("tool_call", {"call_id": "c1", "name": "read", "args": {"path": "a.py"}})
RESULT: Pair = ("tool_result", {"call_id": "c1", "ok": True, "output": "a\tb"})
FAILED: Pair = ("turn_failed", {"terminal_status": "failed", "message": "no"})


def valid(updates: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The updates, held against the schema: nothing is lost or mended on the way through it."""
    for each in updates:
        read = SessionNotification.model_validate(each)
        assert read.model_dump(by_alias=True, exclude_unset=True, mode="json") == each
    return [each["update"] for each in updates]


def kinds(events: list[Pair]) -> list[str]:
    return [update["sessionUpdate"] for update in valid(acp_updates(events))]


def test_a_session_is_replayed_as_a_transcript() -> None:
    updates = acp_updates([STARTED, USER, THOUGHT, CALL, RESULT, FINAL])
    assert {update["sessionId"] for update in updates} == {"review.2"}
    text = {"type": "text", "text": "a\tb"}
    assert valid(updates)[1:] == [
        {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}},
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "c1",
            "title": "read a.py",
            "kind": "read",
            "status": "in_progress",
            "rawInput": {"path": "a.py"},
        },
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "c1",
            "status": "completed",
            "content": [{"type": "content", "content": text}],
        },
        {
            "sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": "It is mended."},
        },
    ]


def test_text_that_was_cut_off_and_failures_are_no_part_of_a_transcript() -> None:
    assert kinds([USER, PARTIAL, FAILED]) == ["user_message_chunk"]


def test_a_call_without_a_result_is_shown_as_failed_once_its_turn_is_over() -> None:
    assert kinds([USER, CALL]) == ["user_message_chunk", "tool_call"]
    for over in ([USER, CALL, FAILED], [USER, CALL, USER], [USER, CALL, USER, RESULT]):
        updates = [u for u in valid(acp_updates(over)) if u["sessionUpdate"] == "tool_call_update"]
        assert [update["status"] for update in updates] == ["failed"]


STOPS = {
    ("completed", None): "end_turn",
    ("interrupted", None): "cancelled",
    ("interrupted", "turn_limit"): "cancelled",
    ("failed", None): "refusal",
    ("partial_failed", "provider_transient"): "refusal",
    ("timed_out", "timeout"): "refusal",
    ("running", None): "refusal",
    ("a state to come", None): "refusal",
    ("failed", "turn_limit"): "max_turn_requests",
    ("partial_failed", "context_overflow"): "max_tokens",
    ("completed", "turn_limit"): "end_turn",
}


@pytest.mark.parametrize("case", STOPS, ids=str)
def test_only_a_turn_of_a_ready_step_ends_as_an_end(case: tuple[str, str | None]) -> None:
    turn, error_kind = case
    told = acp_stop_reason(turn, "checkpoint_ready", error_kind=error_kind)
    assert PromptResponse.model_validate(told).stop_reason == STOPS[case]
    assert told["_meta"]["pixirnb"]["turn"] == turn
    assert told["_meta"]["pixirnb"]["is_complete"] is (turn == "completed")
    for status in (None, "partial", "failed", "needs_orchestrator"):
        other = acp_stop_reason(turn, status, error_kind=error_kind)
        assert other["stopReason"] != "end_turn"
        assert other["_meta"]["pixirnb"]["is_complete"] is False


OUTCOMES: dict[str, tuple[Any, str, str]] = {
    "completed": (outcome("completed", [step("a")]), "end_turn", "completed"),
    "partial": (
        outcome("partial", [step("a"), step("b", status="partial")]),
        "refusal",
        "- partial: b",
    ),
    "held": (
        outcome("needs_orchestrator", [step("a"), step("b", status="held")]),
        "refusal",
        "- held: b",
    ),
    "failed": (
        outcome("failed", [step("a", status="failed")]),
        "refusal",
        "- failed: a",
    ),
    "timed out": (outcome("timed_out", [step("a", status="failed")]), "refusal", "timed out"),
    "interrupted": (outcome("interrupted", [step("a")]), "cancelled", "interrupted"),
    "running": (outcome("running", [step("a")]), "refusal", "running"),
}


@pytest.mark.parametrize("case", OUTCOMES, ids=str)
def test_an_outcome_is_told_for_what_it_is(case: str) -> None:
    document, reason, words = OUTCOMES[case]
    told = acp_of_outcome(document)
    plan, message = valid([{"sessionId": "s", "update": update} for update in told["updates"]])
    PromptResponse.model_validate({key: told[key] for key in ("stopReason", "_meta")})
    assert told["stopReason"] == reason
    assert told["_meta"]["pixirnb"]["status"] == document["status"]
    assert words in message["content"]["text"]
    assert ("completed" in message["content"]["text"]) is (case == "completed")
    ready = [entry["status"] == "completed" for entry in plan["entries"]]
    assert ready == [s["checkpoint_status"] == "checkpoint_ready" for s in document["steps"]]


def test_the_four_kinds_of_outcome_can_be_told_apart_by_text_and_by_data() -> None:
    told = [
        acp_of_outcome(OUTCOMES[case][0]) for case in ("completed", "partial", "held", "failed")
    ]
    assert len({each["updates"][1]["content"]["text"] for each in told}) == 4
    assert len({each["_meta"]["pixirnb"]["status"] for each in told}) == 4


def test_an_outcome_that_calls_itself_completed_and_is_not_ok_does_not_pass() -> None:
    told = acp_of_outcome(cast("Any", {**outcome("completed", [step("a")]), "ok": False}))
    assert told["stopReason"] == "refusal"
    assert "completed" not in told["updates"][1]["content"]["text"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_words_stay_words(text: str) -> None:
    bad = step(text, status="failed", summary=text)
    document = outcome("failed", [bad], summary=text, workflow=text, run_id=text)
    told = acp_of_outcome(document)
    valid([{"sessionId": "s", "update": update} for update in told["updates"]])
    assert "\x1b" not in told["updates"][1]["content"]["text"]
    events: list[Pair] = [USER, ("assistant_message", {"text": text}), ("tool_result", {})]
    assert "\x1b" not in json.dumps(acp_updates(events))


@settings(max_examples=examples(60))  # the schema is slow
@given(sessions() | any_events())
def test_every_log_has_a_mapping_that_the_schema_takes(log: list[Pair]) -> None:
    updates = acp_updates(log)
    begun = set()
    for update in valid(updates):
        if update["sessionUpdate"] == "tool_call":
            assert update["toolCallId"] not in begun
            begun.add(update["toolCallId"])
        elif update["sessionUpdate"] == "tool_call_update":
            begun.remove(update["toolCallId"])  # raises where it was not begun, or answered before
            begun.add(f"{update['toolCallId']} answered")
    state = fold_session(log)
    stop = acp_stop_reason(state.turn, "checkpoint_ready")["stopReason"]
    assert (stop == "end_turn") is (state.turn == "completed")


@given(sessions(), audit_events())
def test_an_audit_event_is_not_a_message_of_the_transcript(log: list[Pair], audit: Pair) -> None:
    def messages(events: list[Pair]) -> list[Any]:
        shown = [each["update"] for each in acp_updates(events)]
        return [update for update in shown if update["sessionUpdate"].endswith("_chunk")]

    assert messages([*log, audit]) == messages(log)
