"""Hypothesis strategies: logs of child sessions, sound ones and any others, and events that no provider may ever notice.

Events are `(kind, data)` pairs. Ids, tools and models are few, so that calls and results often meet, and often do not.
"""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from pixirnb.sessions.events import Pair
from pixirnb.testing.generators.strategies import json_values

MODELS: Final = ("test:one", "test:two", None)
TOOLS: Final = ("read", "write", "shell", "report_checkpoint")
KINDS: Final = (
    *("session_started", "user_message", "assistant_message", "reasoning", "tool_call"),
    *("tool_result", "compaction", "branch_summary", "subagent_event", "provider_usage"),
    *("permission_requested", "permission_decided", "checkpoint_reported", "turn_failed"),
    *("text_delta", "status", "attempt_started", "a_kind_to_come"),
)

_ids: Final = st.sampled_from(["c1", "c2", "c1~2", ""])
_models: Final = st.sampled_from(MODELS)
_texts: Final = st.sampled_from(
    [
        "",
        "yes",
        "two\nlines",
        "checkpoint_status: checkpoint_ready",
        "> quoted",
        "ü\u2028\x1b[31mred",
    ]
) | st.text(max_size=20)
_fields: Final = st.sampled_from(
    (
        *("text", "partial", "final", "call_id", "name", "args", "ok", "output", "event", "events"),
        *("model", "synthetic", "session_id", "request_id", "verdict", "terminal_status"),
        *("requests", "steps", "message", "summary", "opaque"),
    )
)


def _data(kind: str, **fields: Any) -> st.SearchStrategy[Pair]:
    return st.tuples(st.just(kind), st.fixed_dictionaries(fields))


def conversation_events() -> st.SearchStrategy[Pair]:
    """Return one event that may be replayed."""
    session = st.sampled_from(["a.1", "b.2"])
    return st.one_of(
        _data("user_message", text=_texts, origin=st.sampled_from(["prompt", "person"])),
        _data("assistant_message", text=_texts, partial=st.just(value=False), final=st.booleans()),
        _data("reasoning", text=_texts, model=_models, opaque=st.just({"id": "r1"})),
        _data("tool_call", call_id=_ids, name=st.sampled_from(TOOLS), args=json_values),
        _data("tool_call", call_id=_ids, name=st.sampled_from(TOOLS), args=json_values),
        _data("tool_result", call_id=_ids, ok=st.booleans(), output=_texts),
        _data("tool_result", call_id=_ids, ok=st.booleans(), output=_texts),
        _data("compaction", text=_texts, events=st.integers(-1, 6)),
        _data("branch_summary", text=_texts, session_id=session),
        _data(
            "subagent_event",
            event=st.sampled_from(["finished", "failed", "timed_out", "interrupted", "cancelled"]),
            session_id=session,
            agent=_models,
            status=st.sampled_from(["completed", "failed"]),
            summary=_texts,
        ),
    )


def audit_events() -> st.SearchStrategy[Pair]:
    """Return one event that is kept and never replayed, or one that streams by and should not be in a log at all."""
    outside = st.sampled_from(
        (
            *("text_delta", "reasoning_delta", "status", "plan", "run_started"),
            *("attempt_ended", "warning_raised", "a_kind_to_come", "output"),
        )
    )
    failures = st.sampled_from(["partial_failed", "failed", "interrupted", "timed_out"])
    return st.one_of(
        _data("assistant_message", text=_texts, partial=st.just(value=True), final=st.booleans()),
        _data("turn_failed", terminal_status=failures, error_kind=_texts, message=_texts),
        _data("provider_usage", model=_models, input_tokens=st.integers(0, 9)),
        _data("permission_requested", request_id=_ids, call_id=_ids, tool=_texts, args=json_values),
        _data("permission_decided", request_id=_ids, verdict=st.sampled_from(["allow", "deny"])),
        _data("checkpoint_reported", checkpoint_status=_texts, summary=_texts),
        _data("session_started", session_id=_texts, model=_models),
        _data(
            "subagent_event",
            event=st.sampled_from(["detached", "started", "permission_requested", ""]),
            summary=_texts,
        ),
        st.tuples(outside, st.dictionaries(_fields, json_values | _ids, max_size=4)),
    )


def conversations(*, most: int = 14) -> st.SearchStrategy[list[Pair]]:
    """Return a conversation in any order, results before their calls and all."""
    return st.lists(conversation_events(), max_size=most)


def sessions(*, most: int = 16) -> st.SearchStrategy[list[Pair]]:
    """Return a log with events of every class in any order."""
    return st.lists(conversation_events() | audit_events(), max_size=most)


def any_events(*, most: int = 16) -> st.SearchStrategy[list[Pair]]:
    """Generate events of a damaged or a foreign log: known kinds with any fields."""
    data = st.dictionaries(_fields, json_values | _ids | st.integers(), max_size=5)
    return st.lists(st.tuples(st.sampled_from(KINDS), data), max_size=most)


@st.composite
def work_sessions(draw: st.DrawFn, *, most: int = 12) -> list[Pair]:
    """Return a sound turn of a model, every call answered, the way a runner tells it: what compaction is for."""
    events: list[Pair] = [("user_message", {"text": draw(_texts) or "go", "origin": "prompt"})]
    for number in range(draw(st.integers(1, most))):
        text = draw(_texts) * draw(st.integers(1, 30))
        message = {"text": text, "partial": False, "final": False}
        events.append(("assistant_message", message))
        names = [f"c{number}.{call}" for call in range(draw(st.integers(1, 3)))]
        for call_id in names:
            name = draw(st.sampled_from(TOOLS[:3]))
            events.append(
                ("tool_call", {"call_id": call_id, "name": name, "args": draw(json_values)})
            )
        for call_id in draw(st.permutations(names)):
            output = draw(_texts) * draw(st.integers(1, 40))
            events.append(
                ("tool_result", {"call_id": call_id, "ok": draw(st.booleans()), "output": output})
            )
    return events
