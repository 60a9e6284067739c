"""Next actions of a person, as a live view offers them: the phrase, the cell to run, and the message its button sends."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from pixirnb.json_types import PageObject
from pixirnb.machine.next_actions import NextAction
from pixirnb.views.basics.phrases import action_phrase, needs_edit
from pixirnb.views.basics.placeholders import mark_placeholders
from pixirnb.views.basics.sanitize import line

Message = PageObject

_LISTED: Final = 40
_RESUMES: Final = frozenset({"retry_failed_steps", "resume_run"})


def action_documents(
    actions: Iterable[NextAction],
    *,
    is_live: bool,
    is_past: bool,
    clashing: Collection[str] = (),
    partial: Sequence[str] = (),
    has_stopped: bool = False,
) -> list[PageObject]:
    """`next_actions` with their phrases, wishes and previews. What was offered in the past has no button.

    `clashing`, `partial` and `has_stopped` are those of `action_phrase`.
    """
    return [
        {
            "action": line(action.get("action"), 40),
            "step": line(action["step"], 80) if action.get("step") else None,
            "phrase": action_phrase(action, clashing, partial, has_stopped=has_stopped),
            "cell": line(mark_placeholders(action.get("cell") or ""), 400),
            "wish": None if is_past else _request(action, is_live=is_live),
            "forecast": None if is_past or is_live else _forecast(action),
        }
        for action in list(actions)[:_LISTED]
    ]


def resume_request(**choice: str | None) -> Message:
    """The message that resumes: `from_`, `only`, `until` and `checkpoint`, as far as they are given."""
    return {"do": "resume", **_named(choice)}


def resume_forecast(**choice: str | None) -> Message:
    """The ask that shows what the same resume would do."""
    return {"ask": "forecast", **_named(choice)}


def _request(action: NextAction, *, is_live: bool) -> Message | None:
    """None for what no button can do: an edit of the workflow, or a resume of a run that is under way."""
    name, step = action.get("action"), action.get("step")
    if name == "decide_step":
        return {"do": "decide", "step": step}
    if name == "abort":
        return {"do": "cancel"}
    if name == "merge_changes":
        return {"do": "merge", "steps": []}
    if is_live or needs_edit(action):
        return None
    if name in _RESUMES:
        return resume_request()
    return resume_request(from_=step) if name == "rerun_step" else None


def _forecast(action: NextAction) -> Message | None:
    name = action.get("action")
    if needs_edit(action):
        return None
    if name in _RESUMES:
        return resume_forecast()
    return resume_forecast(from_=action.get("step")) if name == "rerun_step" else None


def _named(choice: Mapping[str, str | None]) -> Message:
    return {name.rstrip("_"): value for name, value in choice.items() if value is not None}
