"""A session as pages of entries: each event has its entry, answers go to what they answer, and nothing it says is obeyed."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pixirnb.history.events import Event
from pixirnb.testing.generators.session_logs import any_events
from pixirnb.views.basics.tool_call import tool_use
from pixirnb.views.session.entries import MOST, Dialogue
from tests.sweeps import examples

HOSTILE = "\x1b[2J\u202ered\x07<b>&</b>\x00"


def talk(*events: tuple[str, dict[str, Any]]) -> Dialogue:
    """A dialogue of these events."""
    found = Dialogue()
    for seq, (kind, data) in enumerate(events, 1):
        found.take(Event(seq, f"2026-11-22T08:00:{seq % 60:02}.000000Z", kind, data))
    return found


CALL = ("tool_call", {"call_id": "c1", "name": "write", "args": {"text": "x", "path": "a.py"}})
ASKED = (
    "permission_requested",
    {"request_id": "r/s.1.1", "call_id": "c1", "tool": "write", "args": {"path": "a.py"}},
)


def test_a_call_is_open_until_its_result_comes_and_then_bears_it() -> None:
    open_call = talk(CALL)
    (entry,) = open_call.entries
    assert (entry["kind"], entry["name"], entry["about"], entry["ok"]) == (
        "tool",
        "write",
        "a.py",
        None,
    )
    assert [each["name"] for each in entry["given"]] == ["path", "text"]

    open_call.take(Event(2, "", "tool_result", {"call_id": "c1", "ok": True, "output": "done"}))
    (answered,) = open_call.entries
    assert (answered["n"], answered["seq"], answered["ok"], answered["output"]) == (
        1,
        2,
        True,
        "done",
    )
    assert entry["ok"] is None, "a page that was handed out stays what it was"


def test_a_report_that_repeats_the_message_next_to_it_is_shown_once() -> None:
    message = ("assistant_message", {"text": "All  done.\n", "final": True})
    report = ("checkpoint_reported", {"checkpoint_status": "partial", "summary": "All done."})
    other = ("checkpoint_reported", {"checkpoint_status": "partial", "summary": "Half done."})
    usage: tuple[str, dict[str, Any]] = ("provider_usage", {"input_tokens": 1})

    def texts(*events: tuple[str, dict[str, Any]]) -> list[tuple[str, str]]:
        return [(entry["kind"], entry["text"]) for entry in talk(*events).entries]

    assert texts(message, usage, report) == [("said", "All  done.\n"), ("report", "")]
    assert texts(report, message) == [("report", ""), ("said", "All  done.\n")]
    assert texts(message, other)[1] == ("report", "Half done.")
    assert texts(message, ("reasoning", {"text": ""}), report)[2] == ("report", "All done.")
    (_, shown) = talk(message, report).entries
    assert (shown["status"], shown["seq"]) == ("partial", 2)


def test_what_the_harness_closed_says_that_its_result_was_lost() -> None:
    lost = {
        "call_id": "c1",
        "ok": False,
        "output": "?",
        "synthetic": True,
        "error": {"kind": "orphan_tool_call", "message": "lost", "details": {}},
    }
    (entry,) = talk(CALL, ("tool_result", lost)).entries
    assert entry["is_orphan"]
    assert entry["error"] == {"kind": "orphan_tool_call", "message": "lost"}


def test_a_request_bears_the_word_that_was_said_and_by_whom() -> None:
    said = {"request_id": "r/s.1.1", "verdict": "deny", "by": "ada@lab", "note": "not there"}
    _, waiting = talk(CALL, ASKED).entries
    assert waiting["verdict"] is None
    dialogue = talk(CALL, ASKED, ("permission_decided", said))
    _, entry = dialogue.entries
    assert (entry["verdict"], entry["by"], entry["note"]) == ("deny", "ada@lab", "not there")
    assert (entry["name"], entry["about"]) == ("write", "a.py")
    assert dialogue.about()["waits_for"] == 0


def test_cut_off_text_and_the_failure_are_told_as_such() -> None:
    failed = {
        "terminal_status": "timed_out",
        "error_kind": "timeout",
        "message": "too long",
        "timeout_ms": 1000,
        "elapsed_ms": 1003,
        "reason": "timed_out",
        "next_actions": ["raise_timeout"],
    }
    partial = ("assistant_message", {"text": "I beg", "partial": True, "final": False})
    said, end = talk(partial, ("turn_failed", failed)).entries
    assert (said["is_partial"], said["is_final"], said["text"]) == (True, False, "I beg")
    assert (end["status"], end["elapsed_ms"], end["timeout_ms"]) == ("timed_out", 1003, 1000)


def test_pages_go_back_from_the_end_and_forward_from_what_was_seen() -> None:
    dialogue = talk(*[("assistant_message", {"text": str(n)}) for n in range(1, 501)])
    last = dialogue.page(limit=3)
    assert ([entry["n"] for entry in last["entries"]], last["count"]) == ([498, 499, 500], 500)
    assert [entry["n"] for entry in dialogue.page(before=498, limit=2)["entries"]] == [496, 497]
    assert dialogue.page(before=1)["entries"] == []
    assert [entry["n"] for entry in dialogue.page(since=499)["entries"]] == [500]
    assert dialogue.page(since=500)["entries"] == []
    assert len(dialogue.page(limit=10_000)["entries"]) == MOST


def test_an_answer_to_an_old_call_is_news() -> None:
    dialogue = talk(CALL, *[("assistant_message", {"text": "."})] * 20)
    dialogue.take(Event(22, "", "tool_result", {"call_id": "c1", "ok": True, "output": "late"}))
    (changed,) = dialogue.page(since=21)["entries"]
    assert (changed["n"], changed["output"]) == (1, "late")


def test_what_is_asked_for_is_shown_whole_up_to_its_limit_and_the_rest_is_counted() -> None:
    asked = tool_use("shell", {"command": "x" * 5_000, "why": [1, {"deep": True}]})
    (command, why) = asked["given"]
    assert (len(command["text"]), command["cut"]) == (4_000, 1_000)
    assert json.loads(why["text"]) == [1, {"deep": True}]
    assert tool_use("shell", ["rm", "-rf"])["about"] == '["rm", "-rf"]'
    assert tool_use("shell", {"command": ["rm", "-rf", "x"]})["about"] == "rm -rf x"
    assert tool_use("look", None)["given"] == []


def texts(value: Any) -> list[str]:
    """Every text in a document."""
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts(each)]
    return [value] if isinstance(value, str) else []


@settings(max_examples=examples(200), deadline=None)
@given(any_events(), st.integers(0, 30))
def test_any_log_has_entries_that_are_json_and_text_that_acts_on_nothing(
    log: list[tuple[str, dict[str, Any]]], since: int
) -> None:
    dialogue = talk(*log)
    page = {**dialogue.page(since=since), **dialogue.about()}
    assert json.loads(json.dumps(page, allow_nan=False)) == page
    assert [entry["n"] for entry in dialogue.entries] == list(range(1, len(dialogue.entries) + 1))
    assert not any({"\x1b", "\x07", "\x00", "\u202e"} & set(text) for text in texts(page))


def test_hostile_words_are_cleaned_everywhere() -> None:
    named = {"request_id": HOSTILE, "tool": HOSTILE, "args": {HOSTILE: HOSTILE}, "by": HOSTILE}
    dialogue = talk(
        ("session_started", {"agent": HOSTILE, "runner": HOSTILE, "tools": [HOSTILE]}),
        ("user_message", {"text": HOSTILE, "origin": HOSTILE}),
        ("assistant_message", {"text": HOSTILE}),
        ("tool_call", {"call_id": "c", "name": HOSTILE, "args": {HOSTILE: [HOSTILE]}}),
        ("permission_requested", named),
        ("permission_decided", {**named, "verdict": HOSTILE, "note": HOSTILE}),
        (HOSTILE, {HOSTILE: HOSTILE}),
    )
    assert not any(set("\x1b\x07\x00\u202e") & set(text) for text in texts(dialogue.entries))
