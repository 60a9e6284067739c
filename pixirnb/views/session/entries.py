"""A child session as a browser pages through it: an entry for each message, call and question, grown event by event.

    events ──▶ Dialogue.take ──▶ Dialogue.page(since=… | before=…) ──▶ {entries, first, count, seq, …}

An entry changes when its answer comes: a call when there is a result, a request when someone decides. Everything in it is text,
cleaned and bounded. Total: an event of any kind and any data has an entry or none, and none raises. The keys stand in
docs/internals/live-view.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pixirnb.history.events import Event
from pixirnb.json_types import JsonMapping, JsonObject
from pixirnb.sessions.state import SessionState
from pixirnb.views.basics.sanitize import line, plain
from pixirnb.views.basics.show_value import shown
from pixirnb.views.basics.tool_call import tool_use

Entry = JsonObject

PAGE: Final = 60
"""Entries of an answer where no number is asked for."""
MOST: Final = 200
_TEXT: Final = 20_000
_RESULT: Final = 8_000
_WORDS: Final = 24


class Dialogue:
    """The entries of one session, oldest first, numbered from 1."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.state = SessionState()
        self.seq = 0
        """The last event taken into account."""
        self._calls: dict[str, Entry] = {}
        self._requests: dict[str, Entry] = {}

    def take(self, event: Event) -> None:
        """Take the next event; one that was taken before changes nothing."""
        if event.seq <= self.seq:
            return
        self.seq = event.seq
        is_barred = event.kind == "tool_result" and self.state.is_barred(event.data)
        self.state.apply(event)
        data = event.data
        match event.kind:
            case "tool_result":
                self._answer_call(event, is_barred=is_barred)
            case "permission_decided":
                self._decide(event)
            case "session_started":
                self._add(event, "started", **_beginning(data))
            case "user_message":
                self._add(event, "told", origin=line(data.get("origin"), 20), **_text(data))
            case "assistant_message":
                is_partial, is_final = bool(data.get("partial")), bool(data.get("final"))
                self._add(event, "said", is_partial=is_partial, is_final=is_final, **_text(data))
            case "reasoning":
                self._add(event, "thought", **_text(data))
            case "tool_call":
                self._calls[str(data.get("call_id"))] = self._add(event, "tool", **_call(data))
            case "permission_requested":
                made = self._add(event, "permission", **_request(data))
                self._requests[str(data.get("request_id"))] = made
            case "checkpoint_reported":
                self._add(event, "report", **_report(data))
            case "compaction" | "branch_summary" | "subagent_event":
                self._add(event, "news", **_news(event.kind, data))
            case "turn_failed":
                self._add(event, "failed", **_failure(data))
            case "provider_usage":
                pass  # summed in the state; a line for each request would drown the words
            case _:
                self._add(event, "other", name=line(event.kind, 60), **_text({"text": shown(data)}))
        if event.kind in {"assistant_message", "checkpoint_reported"}:
            self._drop_repeated(event)

    def page(self, *, since: int = 0, before: int | None = None, limit: int = PAGE) -> JsonObject:
        """Return the last entries, the ones before number `before`, or the last that changed after event `since`."""
        end = len(self.entries) if before is None else max(0, min(before - 1, len(self.entries)))
        first = max(0, end - max(1, min(limit, MOST)))
        entries = self.entries[first:end]
        if since:
            # What a browser has, and how it has changed; whoever missed more than a page sees the last page.
            entries = [entry for entry in entries if entry["seq"] > since]
        return {"entries": entries, "count": len(self.entries), "seq": self.seq}

    def about(self) -> JsonObject:
        """Return the agent, the state of its turn, and the cost."""
        usage = self.state.usage
        return {
            "turn": self.state.turn,
            "turns": self.state.turns,
            "usage": None
            if not usage
            else {
                "input_tokens": usage.get("input_tokens", 0),
                "output_tokens": usage.get("output_tokens", 0),
                "requests": usage.get("requests", 0),
            },
            "waits_for": len(self.state.open_requests),
        }

    # --- inside -------------------------------------------------------------------------------------------------

    def _add(self, event: Event, kind: str, **about: Any) -> Entry:
        entry = {
            "n": len(self.entries) + 1,
            "seq": event.seq,
            "at": line(event.at, 40),
            "kind": kind,
            **about,
        }
        self.entries.append(entry)
        return entry

    def _drop_repeated(self, event: Event) -> None:
        """Leave the words out of a report that a message next to it says as well."""
        last = {entry["kind"]: entry for entry in self.entries[-2:]}
        message, report = last.get("said"), last.get("report")
        if message and report and message["text"].split() == report["text"].split():
            self._change(report, event, text="", cut=0)

    def _change(self, entry: Entry, event: Event, **about: Any) -> None:
        # Replaced, not changed: whoever holds a page holds it as it was.
        made = {**entry, **about, "seq": event.seq}
        self.entries[entry["n"] - 1] = made

    def _answer_call(self, event: Event, *, is_barred: bool) -> None:
        data = event.data
        error = data.get("error")
        given = data.get("output")
        output = given if isinstance(given, str) else shown(given)
        answer = {
            "ok": data.get("ok") is True,
            "output": plain(output, _RESULT),
            "output_cut": max(0, len(output) - _RESULT),
            "error": None
            if not isinstance(error, Mapping)
            else {
                "kind": line(error.get("kind"), 60),
                "message": plain(error.get("message") or "", 2_000),
            },
            "is_orphan": bool(data.get("synthetic")),
            "is_barred": bool(data.get("synthetic")) and is_barred,
        }
        call = self._calls.pop(str(data.get("call_id")), None)
        if call is None:
            name = line(data.get("name") or "a call outside of this log", 80)
            call = self._add(event, "tool", **{**_call({}), "name": name})
        self._change(call, event, **answer)

    def _decide(self, event: Event) -> None:
        data = event.data
        request = self._requests.get(str(data.get("request_id")))
        if request is None:
            request = self._add(event, "permission", **_request(data))
        self._change(
            request,
            event,
            verdict=line(data.get("verdict"), 20),
            by=line(data.get("by") or "", 80),
            note=plain(data.get("note") or "", 4_096),
        )


def _text(data: JsonMapping) -> JsonObject:
    given = data.get("text")
    text = given if isinstance(given, str) else "" if given is None else shown(given)
    return {"text": plain(text, _TEXT), "cut": max(0, len(text) - _TEXT)}


def _beginning(data: JsonMapping) -> JsonObject:
    names = ("agent", "runner", "model", "permission_mode", "continues")
    return {
        **{name: line(data[name], 120) if data.get(name) else None for name in names},
        "command": _words(data.get("command")),
        "tools": _words(data.get("tools")),
    }


def _words(given: Any) -> list[str]:
    words = given if isinstance(given, Sequence) and not isinstance(given, str | bytes) else []
    return [line(word, 120) for word in words[:_WORDS]]


def _call(data: JsonMapping) -> JsonObject:
    nothing = {"ok": None, "output": "", "output_cut": 0, "error": None}
    used = tool_use(data.get("name") or "tool", data.get("args"))
    return {**used, **nothing, "is_orphan": False, "is_barred": False}


def _request(data: JsonMapping) -> JsonObject:
    return {
        "request": line(data.get("request_id") or "", 200),
        **tool_use(data.get("tool") or "tool", data.get("args")),
        "verdict": None,
        "by": "",
        "note": "",
    }


def _report(data: JsonMapping) -> JsonObject:
    return {
        "status": line(data.get("checkpoint_status") or "", 40),
        **_text({"text": data.get("summary") or ""}),
        "limitations": [line(each, 600) for each in list(data.get("limitations") or [])[:20]]
        if isinstance(data.get("limitations"), list)
        else [],
    }


def _news(kind: str, data: JsonMapping) -> JsonObject:
    if kind == "compaction":
        text, whose = "Summary of the conversation so far", ""
    elif kind == "branch_summary":
        text, whose = "Result of another session", line(data.get("session_id") or "", 90)
    else:
        event, status = line(data.get("event") or "", 40), line(data.get("status") or "", 40)
        text = f"Delegated: {event.replace('_', ' ') or status}"
        whose = line(data.get("session_id") or data.get("agent") or "", 90)
    return {
        "title": text,
        "whose": whose,
        **_text({"text": data.get("text") or data.get("summary") or ""}),
    }


def _failure(data: JsonMapping) -> JsonObject:
    actions = data.get("next_actions")
    return {
        "status": line(data.get("terminal_status") or "failed", 40),
        "error_kind": line(data.get("error_kind") or "", 60),
        **_text({"text": data.get("message") or ""}),
        "reason": line(data.get("reason") or "", 120),
        "timeout_ms": _number(data.get("timeout_ms")),
        "elapsed_ms": _number(data.get("elapsed_ms")),
        "next_actions": _words(actions),
    }


def _number(given: Any) -> int | None:
    return given if isinstance(given, int) and not isinstance(given, bool) else None
