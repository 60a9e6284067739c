"""What a person says about a run, checked and made into facts: decisions on steps, and checkpoints by hand.

Source: contract.md §6; limits from §10.
"""

from __future__ import annotations

import getpass
import json
import secrets
from typing import Any, Final

from pixirnb.errors import InvalidArguments
from pixirnb.history.events import Draft
from pixirnb.history.state import StepState
from pixirnb.ids import is_step_id
from pixirnb.machine.outcome import RunOutcome

NOTE_LIMIT: Final = 4096
VALUE_LIMIT: Final = 16 * 1024


def human_decision(
    step: str, state: StepState, verdict: str, *, value: Any = None, note: str = ""
) -> Draft:
    """The fact of a decision. Raises InvalidArguments when there is nothing to decide or the answer is not allowed."""
    if verdict not in {"accept", "reject"}:
        raise InvalidArguments(
            f"`{verdict}` is no decision.", fix="Say `accept` or `reject`.", code="unknown_verdict"
        )
    if state.decision is not None and not state.decided:
        raise InvalidArguments(
            f"`{step}` has been decided already ({state.decision['verdict']}).",
            fix="Resume the run to act on it.",
            code="decided_already",
        )
    if state.checkpoint_status not in {"needs_orchestrator", "partial"} or state.recheck:
        stands = state.checkpoint_status or state.subagent_status
        raise InvalidArguments(
            f"`{step}` needs no decision: it is {stands}.",
            fix="Decide a step that is waiting for a decision or partial.",
            code="nothing_to_decide",
        )
    choices = (state.request or {}).get("choices") or []
    if verdict == "accept" and choices and value not in choices:
        shown = ", ".join(json.dumps(choice) for choice in choices)
        raise InvalidArguments(
            f"`{step}` can be accepted with one of {shown}.",
            fix=f"Add `--value {json.dumps(choices[0])}`.",
            code="not_a_choice",
        )
    _within("note", note.encode(), NOTE_LIMIT)
    try:
        _within("value", json.dumps(value, allow_nan=False).encode(), VALUE_LIMIT)
    except (TypeError, ValueError) as error:
        raise InvalidArguments(
            f"The value is not plain JSON: {error}.",
            fix="Give a text, number, list or mapping.",
            code="value_not_json",
        ) from error
    return Draft(
        "decision_recorded",
        {
            "step": step,
            "attempt": state.attempt,
            "verdict": verdict,
            "value": value,
            "note": note,
            "by": _who(),
            "request_id": secrets.token_hex(8),
        },
    )


def manual_checkpoint(outcome: RunOutcome, name: str, note: str) -> Draft:
    """The fact of a checkpoint saved by hand. Raises InvalidArguments for a name that is none."""
    if not is_step_id(name):
        raise InvalidArguments(
            f"`{name}` cannot name a checkpoint.",
            fix="Use letters, digits, `-` and `_`, at most 64.",
            code="bad_name",
        )
    _within("note", note.encode(), NOTE_LIMIT)
    ready = outcome.ids("checkpoint_ready")
    return Draft(
        "checkpoint_saved", {"name": name, "reason": "manual", "ready": ready, "note": note}
    )


def _within(what: str, data: bytes, limit: int) -> None:
    if len(data) > limit:
        raise InvalidArguments(
            f"The {what} is {len(data)} bytes long; {limit} is the limit.",
            fix=f"Shorten the {what}, or write it to a file and name the file.",
            code="limit_exceeded",
            details={"limit": what},
        )


def _who() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
