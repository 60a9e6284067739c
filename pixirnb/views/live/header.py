"""The head of a live view: how the run stands now, in the words every other view uses."""

from __future__ import annotations

from pixirnb.json_types import PageObject
from pixirnb.machine.outcome import RunDocument
from pixirnb.views.basics.phrases import action_phrase, clashing, reason_phrase
from pixirnb.views.basics.sanitize import line

_LISTED = 12


def heading(document: RunDocument, *, live: str, now_ms: int) -> PageObject:
    """From a `RunOutcome.document()`. `live`: `here`, `elsewhere` or empty; `now_ms`: since the run's first event."""
    return {
        "status": document["status"],
        "sentence": line(document["summary"], 600),
        "reasons": [reason_phrase(reason) for reason in document["reasons"][:_LISTED]],
        "warnings": [
            {"text": line(warning.get("message", ""), 300), "step": warning.get("step")}
            for warning in document["warnings"][:_LISTED]
        ],
        "actions": [
            {
                "phrase": action_phrase(action, clashing(document)),
                "cell": line(action.get("cell", ""), 300),
            }
            for action in document["next_actions"][:_LISTED]
        ],
        "elapsed_ms": document["elapsed_ms"],
        "live": live,
        "now": now_ms,
    }
