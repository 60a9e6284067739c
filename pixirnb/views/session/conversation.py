"""A child session as a conversation, for terminals, exports and pages that stay as they are.

    events ──▶ conversation(…) ──▶ {session_id, turn, entries, usage, …} ──▶ conversation_blocks(…)

The entries are those of `views.session.entries`, which a live view pages through: cleaned and bounded, what was left out
counted. Text that was cut off is labelled so, a failure is one. A turn with clean evidence came to its end; completed is said
only where its step is ready besides, for an agent that ends clean may have reported anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from pixirnb.history.events import Event
from pixirnb.sessions.events import Pair, as_pairs
from pixirnb.views.basics.sanitize import line, plural
from pixirnb.views.basics.status_marks import Mark, step_mark
from pixirnb.views.basics.times import span
from pixirnb.views.blocks.model import (
    Block,
    Code,
    Details,
    Heading,
    Items,
    Paragraph,
    Quotation,
    Section,
    Tone,
)
from pixirnb.views.session.entries import Dialogue

Conversation = dict[str, Any]
"""Plain JSON: `session_id step attempt agent runner model checkpoint_status is_live turn turns entries left_out usage
waits_for`."""
Entry = Mapping[str, Any]

MOST: Final = 200
"""Entries that are shown: the first few, and the last."""
_FIRST: Final = 20
_LINES: Final = 40
"""Lines of one text in a terminal."""
_FOLDED: Final = 400
"""Characters of a message from which it is folded: the prompt is long, and seldom what one looks for."""

_TURNS: Final = {
    "completed": Mark("ended", "ended", "◌", "idle"),
    "running": Mark("running", "running", "▸", "live"),
    "partial_failed": Mark("partial", "failed, partial text kept", "◐", "half"),
    "failed": Mark("failed", "failed", "✗", "bad"),
    "interrupted": Mark("interrupted", "interrupted", "■", "half"),
    "timed_out": Mark("timed_out", "timed out", "◷", "late"),
}
_COMPLETED: Final = Mark("checkpoint_ready", "completed", "✓", "ready")
_SAYS_ITSELF: Final = {"timeout": "timed out"}
"""Kinds of error that a state says in its own words."""
_LEFT_OPEN: Final = Mark("lost", "no end recorded", "■", "half")


def conversation(
    events: Iterable[Event | Pair],
    *,
    is_live: bool = True,
    most: int = MOST,
    checkpoint_status: str | None = None,
) -> Conversation:
    """Return the conversation as data. `is_live`: whether a process writes it, so that one without an end may still be running.

    `checkpoint_status`: what its step came to by this attempt, where that is known.
    """
    dialogue = Dialogue()
    given = list(events)
    for seq, (kind, data) in enumerate(as_pairs(given), 1):
        entry = given[seq - 1]
        dialogue.take(Event(seq, entry.at if isinstance(entry, Event) else "", kind, data))
    started = dialogue.state.started or {}
    names = ("session_id", "step", "agent", "runner", "model")
    attempt = started.get("attempt")
    entries = _numbered(dialogue.entries)
    left_out = max(0, len(entries) - most)
    if left_out:
        first = min(_FIRST, most // 2)
        entries = [
            *entries[:first],
            {"kind": "gap", "count": left_out},
            *entries[first + left_out :],
        ]
    return {
        **{name: line(started.get(name) or "", 120) or None for name in names},
        "attempt": attempt if isinstance(attempt, int) and not isinstance(attempt, bool) else None,
        "checkpoint_status": checkpoint_status,
        "is_live": is_live,
        **dialogue.about(),
        "entries": entries,
        "left_out": left_out,
    }


def turn_mark(turn: Any, *, is_live: bool = True, checkpoint_status: Any = None) -> Mark:
    """Return the look of a turn's state; one that came to its end is completed where its step is ready."""
    if turn == "completed" and checkpoint_status == "checkpoint_ready":
        return _COMPLETED
    if turn == "running" and not is_live:
        return _LEFT_OPEN
    known = _TURNS.get(turn) if isinstance(turn, str) else None
    return known or Mark("unknown", line(turn, 40) or "unknown", "?", "idle")


def conversation_blocks(document: Conversation) -> list[Block]:
    """Return the conversation with its heading."""
    aside = " · ".join(part for part in (_standing(document), _who(document)) if part)
    heading = Heading(_mark(document), document.get("session_id") or "session", aside=aside)
    return [heading, *conversation_body(document)]


def conversation_body(document: Conversation) -> list[Block]:
    """Return the conversation without its heading, for a page that has one."""
    return [
        *(
            block
            for entry in document.get("entries") or []
            if (drawer := _DRAWERS.get(str(entry.get("kind")))) is not None
            for block in drawer(entry)
        ),
        Paragraph(_costs(document), "mute"),
    ]


def _numbered(entries: Sequence[Entry]) -> list[dict[str, Any]]:
    """Return the entries, each with the turn it is of."""
    turn = 0
    numbered = []
    for entry in entries:
        turn += entry["kind"] == "told"
        numbered.append({**entry, "turn": turn})
    return numbered


def _mark(document: Conversation) -> Mark:
    return turn_mark(
        document.get("turn"),
        is_live=document.get("is_live") is not False,
        checkpoint_status=document.get("checkpoint_status"),
    )


def _standing(document: Conversation) -> str:
    """Return how its step stands, where the mark does not say it."""
    status = document.get("checkpoint_status")
    if status is None or _mark(document) is _COMPLETED:
        return ""
    return f"its step: {step_word(status)}"


def step_word(checkpoint_status: Any) -> str:
    """Return `ready`, `partial`, `needs a decision` of what a step came to; empty where that is not known."""
    return (
        ""
        if checkpoint_status is None
        else step_mark({"checkpoint_status": checkpoint_status}).word
    )


def _who(document: Conversation) -> str:
    words = [document.get("agent"), document.get("runner"), document.get("model")]
    return ", ".join(str(word) for word in words if word)


def _costs(document: Conversation) -> str:
    usage = document.get("usage")
    if not isinstance(usage, Mapping):
        return ""
    tokens = [f"{usage.get(f'{way}_tokens', 0):,} tokens {way}" for way in ("input", "output")]
    return f"usage: {', '.join(tokens)}, {plural(usage.get('requests', 0), 'request')}"


# --- one entry, in words ----------------------------------------------------------------------------------------------------


def _input_words(entry: Entry) -> str:
    whose = {"prompt": "prompt", "person": "a person", "harness": "pixirnb"}
    return f"turn {entry['turn']} · {whose.get(str(entry.get('origin')), 'told')}"


def _says(entry: Entry) -> bool:
    """Return whether there is something to read: an agent may end its turn, or call a tool, without a word."""
    return bool(entry.get("is_partial")) or bool(str(entry.get("text") or "").strip())


def _message_words(entry: Entry) -> str:
    return "agent, cut off" if entry.get("is_partial") else "agent"


def _tool_words(entry: Entry) -> str:
    about = f" {entry['about']}" if entry.get("about") else ""
    if entry.get("ok") is True:
        how = "ok"
    elif entry.get("is_orphan"):
        how = "result lost; it may have been executed"
        if entry.get("is_barred"):
            how = "not approved; not executed"
    else:
        how = "no result yet" if entry.get("ok") is None else "failed"
    return f"{entry.get('name')}{about}: {how}"


def _permission_words(entry: Entry) -> str:
    words = {"allow": "allowed", "deny": "denied", "unattended": "no one was available to answer"}
    verdict = entry.get("verdict")
    how = "waiting for an answer" if verdict is None else words.get(verdict, str(verdict))
    by = f" by {entry['by']}" if entry.get("by") and verdict in {"allow", "deny"} else ""
    note = f": {line(entry['note'], 300)}" if entry.get("note") else ""
    about = f" {entry['about']}" if entry.get("about") else ""
    return f"permission for {entry.get('name')}{about}: {how}{by}{note}"


def _report_words(entry: Entry) -> str:
    return f"reports `{entry.get('status') or 'nothing'}`, a claim"


def _failure_mark(entry: Entry) -> Mark:
    # What a log calls the end of a failed turn is data: a failure cannot look like anything else.
    status = str(entry.get("status"))
    is_one = status in _TURNS and status not in {"completed", "running"}
    return _TURNS[status] if is_one else _TURNS["failed"]


def _failed_words(entry: Entry) -> str:
    word = _failure_mark(entry).word
    error = entry.get("error_kind")
    is_redundant = error in {None, "", entry.get("status")} or word == _SAYS_ITSELF.get(error)
    kind = "" if is_redundant else f" ({error})"
    after, limit = span(entry.get("elapsed_ms")), span(entry.get("timeout_ms"))
    took = f" after {after}" if after else ""
    of = f" of {limit}" if after and limit else ""
    return f"{word}{kind}{took}{of}"


def _news_words(entry: Entry) -> str:
    whose = f" ({entry['whose']})" if entry.get("whose") else ""
    return f"{entry.get('title')}{whose}"


def _gap_words(entry: Entry) -> str:
    return f"{entry.get('count', 0):,} entries are not shown here"


# --- one entry, drawn -------------------------------------------------------------------------------------------------------


def _quote(entry: Entry, rows: int = _LINES) -> Quotation:
    return Quotation(str(entry.get("text") or ""), entry.get("cut") or 0, rows)


def _headed(words: str, entry: Entry, tone: Tone = "mute") -> list[Block]:
    return [Paragraph(words, tone), Section("", [_quote(entry)])]


def _folded(words: str, entry: Entry, rows: int = _LINES) -> list[Block]:
    return [Details(words, [_quote(entry, rows)])]


def _input(entry: Entry) -> list[Block]:
    is_long = len(str(entry.get("text") or "")) > _FOLDED
    words = f"○ {_input_words(entry)}"
    return _folded(words, entry) if is_long else _headed(words, entry)


def _message(entry: Entry) -> list[Block]:
    if not _says(entry):
        return []
    return _headed(
        f"· {_message_words(entry)}", entry, "half" if entry.get("is_partial") else "mute"
    )


def _tool(entry: Entry) -> list[Block]:
    words = f"{_symbol(entry)} {_tool_words(entry)}"
    error, output = (entry.get("error") or {}).get("message") or "", entry.get("output") or ""
    given: list[Block] = [
        block
        for part in entry.get("given") or []
        for block in (Paragraph(Code(part.get("name") or "argument", 60)), _quote(part))
    ]
    came = [
        Quotation(error if error != output else ""),
        Quotation(output, entry.get("output_cut") or 0),
    ]
    brief: list[Block] = [Paragraph(words)]
    if entry.get("ok") is False and not entry.get("is_orphan"):
        brief.append(Section("", [Quotation(error or output, rows=4)]))
    return [Details(words, [*given, *came], instead=brief)]


def _symbol(entry: Entry) -> str:
    return {True: "✓", None: "▸"}.get(entry.get("ok"), "✗")


def _failed(entry: Entry) -> list[Block]:
    mark = _failure_mark(entry)
    return _headed(f"{mark.symbol} {_failed_words(entry)}", entry, mark.tone)


def _report(entry: Entry) -> list[Block]:
    limits = [str(each) for each in entry.get("limitations") or []]
    return [*_headed(f"· {_report_words(entry)}", entry), Section("", [Items(limits)])]


_DRAWERS: Final[dict[str, Callable[[Entry], list[Block]]]] = {
    "told": _input,
    "said": _message,
    "thought": lambda entry: _folded("· thinks", entry, 6),
    "tool": _tool,
    "permission": lambda entry: [Paragraph(f"◆ {_permission_words(entry)}", "ask")],
    "report": _report,
    "news": lambda entry: _folded(f"· {_news_words(entry)}", entry),
    "failed": _failed,
    "gap": lambda entry: [Paragraph(f"[{_gap_words(entry)}]", "mute")],
    "other": lambda entry: [
        Details(
            f"· {entry.get('name')}",
            [_quote(entry)],
            instead=[Paragraph(f"· {entry.get('name')}: {line(entry.get('text'), 160)}")],
        )
    ],
}
