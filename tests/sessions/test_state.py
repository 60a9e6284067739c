"""How a turn stands: each terminal state by its evidence, `completed` by clean evidence alone, and closing what is open."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pixirnb.sessions.events import Pair
from pixirnb.sessions.state import SessionState, fold_session
from pixirnb.sessions.unclean_end import closing
from pixirnb.testing.generators.session_logs import any_events, sessions

STARTED: Pair = ("session_started", {"session_id": "review.2"})
USER: Pair = ("user_message", {"text": "go", "origin": "prompt"})
FINAL: Pair = ("assistant_message", {"text": "done", "partial": False, "final": True})
WHOLE: Pair = ("assistant_message", {"text": "on it", "partial": False, "final": False})
PARTIAL: Pair = ("assistant_message", {"text": "half a", "partial": True, "final": False})
CALL: Pair = ("tool_call", {"call_id": "c1", "name": "write", "args": {}})
RESULT: Pair = ("tool_result", {"call_id": "c1", "ok": True, "output": "ok"})


def failed(status: str) -> Pair:
    return (
        "turn_failed",
        {"terminal_status": status, "error_kind": "x", "message": "", "details": {}},
    )


TURNS: dict[str, tuple[list[Pair], str]] = {
    "nothing yet": ([], "running"),
    "asked": ([USER], "running"),
    "a whole final message": ([USER, FINAL], "completed"),
    "a whole final message after tools": ([USER, WHOLE, CALL, RESULT, FINAL], "completed"),
    "a message that ends nothing": ([USER, WHOLE], "running"),
    "a message that was cut off": ([USER, PARTIAL], "running"),
    "cut off, though it calls itself final": (
        [USER, ("assistant_message", {"text": "x", "partial": True, "final": True})],
        "running",
    ),
    "a call nobody answered": ([USER, CALL, FINAL], "running"),
    "a call nobody answered in the turn before": ([USER, CALL, USER, FINAL], "running"),
    "a call after the final message": ([USER, FINAL, CALL, RESULT], "running"),
    "half a message after the final one": ([USER, FINAL, PARTIAL], "running"),
    "asked again": ([USER, FINAL, USER], "running"),
    "a failure before the final message": ([USER, failed("failed"), FINAL], "failed"),
    "a failure after the final message": ([USER, FINAL, failed("timed_out")], "timed_out"),
    "a failure a turn ago": ([USER, failed("failed"), USER, FINAL], "completed"),
    "only a process that ended": ([USER, ("attempt_ended", {"status": "completed"})], "running"),
    "only a report": (
        [USER, ("checkpoint_reported", {"checkpoint_status": "checkpoint_ready"})],
        "running",
    ),
    "partial and failed": ([USER, PARTIAL, failed("partial_failed")], "partial_failed"),
    "interrupted": ([USER, failed("interrupted")], "interrupted"),
    "a failure of another version": ([USER, failed("melted")], "failed"),
    "a failure that says nothing": ([USER, ("turn_failed", {})], "failed"),
}


@pytest.mark.parametrize("case", TURNS, ids=str)
def test_a_turn_stands_as_its_evidence_says(case: str) -> None:
    events, turn = TURNS[case]
    assert fold_session(events).turn == turn


CLOSINGS: dict[str, tuple[list[Pair], dict[str, Any], str, list[str]]] = {
    "failed": ([USER], {"status": "failed"}, "failed", ["inspect_session", "rerun_step"]),
    "failed with text left over": (
        [USER],
        {"status": "failed", "partial_text": " half a \n"},
        "partial_failed",
        ["inspect_session", "rerun_step"],
    ),
    "failed with partial text told before": (
        [USER, PARTIAL],
        {"status": "failed"},
        "partial_failed",
        ["inspect_session", "rerun_step"],
    ),
    "called partial without any text": (
        [USER],
        {"status": "partial_failed"},
        "failed",
        ["inspect_session", "rerun_step"],
    ),
    "interrupted": (
        [USER, CALL],
        {"status": "interrupted", "partial_text": "half a"},
        "interrupted",
        ["inspect_session", "resume_run"],
    ),
    "timed out": (
        [USER, CALL, RESULT],
        {"status": "timed_out"},
        "timed_out",
        ["inspect_session", "raise_timeout", "rerun_step"],
    ),
    "timed out before anything": (
        [],
        {"status": "timed_out"},
        "timed_out",
        ["inspect_session", "raise_timeout", "rerun_step"],
    ),
    "a status nobody knows": (
        [USER],
        {"status": "melted"},
        "failed",
        ["inspect_session", "rerun_step"],
    ),
    "completed, and its attempt was not": (
        [USER, FINAL],
        {"status": "timed_out"},
        "timed_out",
        ["inspect_session", "raise_timeout", "rerun_step"],
    ),
}


def close(events: list[Pair], **given: Any) -> list[Pair]:
    said: dict[str, Any] = {
        "error_kind": "timeout",
        "message": "It took too long.",
        "reason": "deadline",
    }
    said |= {"timeout_ms": 900_000, "elapsed_ms": 900_012, "details": {"a": 1}}
    return closing(fold_session(events), **{**said, **given})


@pytest.mark.parametrize("case", CLOSINGS, ids=str)
def test_every_terminal_state_leaves_its_evidence(case: str) -> None:
    events, given, turn, actions = CLOSINGS[case]
    told = [STARTED, *events]
    closed = [*told, *close(told, **given)]
    state = fold_session(closed)
    assert state.turn == turn
    assert state.is_closed
    assert closed[-1] == (
        "turn_failed",
        {
            "terminal_status": turn,
            "error_kind": "timeout",
            "message": "It took too long.",
            "details": {"a": 1},
            "timeout_ms": 900_000,
            "elapsed_ms": 900_012,
            "reason": "deadline",
            "child_session_id": "review.2",
            "next_actions": actions,
        },
    )


def test_partial_text_is_kept_and_labelled() -> None:
    drafts = close([USER], status="interrupted", partial_text="half a thought")
    assert drafts[0] == (
        "assistant_message",
        {"text": "half a thought", "partial": True, "final": False},
    )


def test_an_open_call_gets_a_durable_result_that_says_what_is_not_known() -> None:
    (orphan,) = [
        data for kind, data in close([USER, CALL], status="failed") if kind == "tool_result"
    ]
    assert orphan["call_id"] == "c1"
    assert orphan["ok"] is False
    assert orphan["synthetic"] is True
    assert orphan["error"]["kind"] == "orphan_tool_call"
    assert orphan["error"]["details"] == {"tool": "write", "reason": "deadline"}


def test_a_session_that_failed_by_its_own_word_only_gets_its_calls_closed() -> None:
    drafts = close([USER, CALL, failed("failed")], status="interrupted", partial_text="more")
    assert [kind for kind, _ in drafts] == ["tool_result"]


@given(
    sessions() | any_events(),
    st.sampled_from(["failed", "interrupted", "timed_out", "partial_failed"]),
    st.sampled_from(["", "half a"]),
)
def test_closing_twice_adds_nothing(log: list[Pair], status: str, text: str) -> None:
    closed = [*log, *close(log, status=status, partial_text=text)]
    assert fold_session(closed).is_closed
    assert close(closed, status="interrupted", partial_text="other") == []


@given(any_events() | sessions())
def test_any_log_folds_and_only_clean_evidence_completes_it(log: list[Pair]) -> None:
    state = SessionState()
    for kind, data in log:
        state.take(kind, data)
        assert state.usage.get("requests", 0) >= 0
    assert state.turn in {
        "running",
        "completed",
        "partial_failed",
        "failed",
        "interrupted",
        "timed_out",
    }
    if state.turn == "completed":
        asked = [place for place, (kind, _) in enumerate(log) if kind == "user_message"]
        turn = log[asked[-1] + 1 :] if asked else log
        last = [data for kind, data in turn if kind in {"assistant_message", "tool_call"}][-1]
        assert last.get("final")
        assert not last.get("partial")
        assert "turn_failed" not in {kind for kind, _ in turn}
        assert state.open_calls == {}


def test_usage_is_summed_and_nonsense_in_it_is_not() -> None:
    told: list[Pair] = [
        ("provider_usage", {"input_tokens": 3, "output_tokens": 1}),
        ("provider_usage", {"input_tokens": "many", "output_tokens": True, "requests": -4}),
        ("provider_usage", {"input_tokens": 4, "requests": 2}),
    ]
    assert fold_session(told).usage == {"input_tokens": 7, "output_tokens": 1, "requests": 3}


def test_an_unattended_request_stays_open() -> None:
    asked: Pair = ("permission_requested", {"request_id": "p1", "tool": "shell"})
    unheard: Pair = ("permission_decided", {"request_id": "p1", "verdict": "unattended"})
    denied: Pair = ("permission_decided", {"request_id": "p1", "verdict": "deny"})
    assert list(fold_session([asked, unheard]).open_requests) == ["p1"]
    assert fold_session([asked, unheard, denied]).open_requests == {}
