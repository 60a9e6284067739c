"""What comes next in a turn: it follows from what has been told, and from nothing a driver remembers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from pixirnb.sessions.events import Pair
from pixirnb.sessions.provider_input import replay
from pixirnb.sessions.turn import ModelRequest, TurnEnded, TurnLimits, Use, next_move
from pixirnb.testing.generators.session_logs import any_events, sessions, work_sessions

USER: Pair = ("user_message", {"text": "go", "origin": "prompt"})
LIMITS = TurnLimits(max_requests=3)


def said(text: str = "x", *, final: bool = False, partial: bool = False) -> Pair:
    return ("assistant_message", {"text": text, "partial": partial, "final": final})


def call(call_id: str, name: str = "read", args: Any = None) -> Pair:
    return ("tool_call", {"call_id": call_id, "name": name, "args": args or {}})


def result(call_id: str, *, ok: bool = True) -> Pair:
    return ("tool_result", {"call_id": call_id, "ok": ok, "output": "found"})


def failed(status: str) -> Pair:
    return ("turn_failed", {"terminal_status": status})


ENDS: dict[str, tuple[list[Pair], str]] = {
    "nobody asked anything": ([], "nothing_asked"),
    "a whole final message": ([USER, said(final=True)], "completed"),
    "text that was cut off": ([USER, said(partial=True)], "cut_off"),
    "a failure": ([USER, failed("failed")], "failed"),
    "a failure after some text": (
        [USER, said(partial=True), failed("partial_failed")],
        "partial_failed",
    ),
    "a time-out": ([USER, failed("timed_out")], "timed_out"),
    "an interrupt": ([USER, said(final=True), failed("interrupted")], "interrupted"),
    "a report that was taken": ([USER, call("c1", "report_checkpoint"), result("c1")], "reported"),
    "a report, and text behind it": (
        [USER, call("c1", "report_checkpoint"), result("c1"), said(final=True)],
        "reported",
    ),
    "as many responses as it may have": (
        [USER, *(pair for n in range(3) for pair in (call(f"c{n}"), result(f"c{n}")))],
        "turn_limit",
    ),
    "as many messages that end nothing": ([USER, said(), said(), said()], "turn_limit"),
}


@pytest.mark.parametrize("case", ENDS, ids=str)
def test_a_turn_ends(case: str) -> None:
    events, reason = ENDS[case]
    move = next_move(events, LIMITS)
    assert isinstance(move, TurnEnded)
    assert move.reason == reason


GOES_ON: dict[str, list[Pair]] = {
    "asked": [USER],
    "a result to answer": [USER, said(), call("c1"), result("c1")],
    "a report that was refused": [USER, call("c1", "report_checkpoint"), result("c1", ok=False)],
    "a report of the turn before": [
        *(USER, call("c1", "report_checkpoint"), result("c1"), said(final=True), USER)
    ],
    "responses of the turn before": [
        *(USER, *(pair for n in range(3) for pair in (call(f"c{n}"), result(f"c{n}"))), USER)
    ],
    "a call the turn before left open": [USER, call("c1"), USER],
    "one response of two calls": [USER, said(), call("c1"), call("c2"), result("c1"), result("c2")],
}


@pytest.mark.parametrize("case", GOES_ON, ids=str)
def test_the_model_is_asked_with_what_the_log_says(case: str) -> None:
    events = GOES_ON[case]
    assert next_move(events, LIMITS) == ModelRequest(replay(events))


def test_calls_are_used_in_order_before_anything_else_and_past_the_cap() -> None:
    events = [
        USER,
        said(),
        said(),
        said("three"),
        call("c1", args={"path": "a"}),
        call("c1"),
        call("c2"),
    ]
    first = {"call_id": "c1", "name": "read", "args": {"path": "a"}}
    second: dict[str, Any] = {"call_id": "c1", "name": "read", "args": {}}
    third: dict[str, Any] = {"call_id": "c2", "name": "read", "args": {}}
    assert next_move(events, LIMITS) == Use((first, second, third))
    assert next_move([*events, result("c1")], LIMITS) == Use((second, third))
    done = [*events, result("c1"), result("c1"), result("c2")]
    assert next_move(done, LIMITS) == TurnEnded("turn_limit")


def test_calls_beside_a_report_are_used_before_the_turn_ends() -> None:
    events = [USER, call("c1", "report_checkpoint"), call("c2", "write"), result("c1")]
    assert isinstance(next_move(events, LIMITS), Use)
    assert next_move([*events, result("c2")], LIMITS) == TurnEnded("reported")


def test_a_long_conversation_is_compacted_before_it_is_sent() -> None:
    events = [USER]
    for n in range(40):
        events += [said("word " * 40), call(f"c{n}"), result(f"c{n}")]
    limits = TurnLimits(compact_above=4_000, keep=1_000)
    move = next_move(events, limits)
    assert isinstance(move, ModelRequest)
    ((kind, data),) = move.before
    assert kind == "compaction"
    told = [*events, (kind, data)]
    assert move.items == replay(told)
    assert next_move(told, limits) == ModelRequest(move.items)


def test_a_compaction_does_not_make_responses_uncounted() -> None:
    events = [USER, *(pair for n in range(2) for pair in (call(f"c{n}"), result(f"c{n}")))]
    compaction: Pair = ("compaction", {"text": "s", "events": 5})
    later = [*events, compaction, call("c3"), result("c3")]
    assert next_move(later, LIMITS) == TurnEnded("turn_limit")


@given(sessions() | any_events() | work_sessions())
def test_every_log_has_a_next_move(log: list[Pair]) -> None:
    move = next_move(log, TurnLimits(max_requests=3, compact_above=400, keep=100))
    assert isinstance(move, ModelRequest | Use | TurnEnded)


def test_a_driver_that_is_never_given_an_end_stops_at_the_cap() -> None:
    told = [USER]
    requests = 0
    for number in range(20):
        match next_move(told, LIMITS):
            case ModelRequest(before=before):
                requests += 1
                told += [*before, said(), call(f"d{number}")]
            case Use(calls):
                told += [result(each["call_id"]) for each in calls]
            case TurnEnded(reason):
                assert reason == "turn_limit"
                break
    assert requests == 3
