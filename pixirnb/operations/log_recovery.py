"""The event of a run that continues after log damage: the position, the set-aside data, the steps that may run twice.

Source: docs/adr/0017-owners-and-what-two-of-them-leave.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Event, WarningRaised
from pixirnb.history.run_state import fold
from pixirnb.protocols.ports import Mended, Setback
from pixirnb.wording import join_names

_NAMED: Final = 20
"""Maximum number of steps that are named; the others are counted."""


def recovery_event(setback: Setback, at: str) -> Mended:
    """Return the event about the damage, and the last known attempt of each step."""
    run = fold(setback.events)
    attempts = {step: state.attempt for step, state in run.steps.items()}
    known = [str(step.get("id")) for step in run.spec.get("steps") or ()]
    data: WarningRaised = {
        "code": "log_recovered",
        "message": _message(setback, known),
        "step": None,
        # Lines that cannot be read may have been about any step.
        "unrecorded": [
            name for name in known if run.step(name).checkpoint_status != "checkpoint_ready"
        ],
    }
    draft = EventDraft("warning_raised", data)
    event = Event(setback.events[-1].seq + 1, at, draft.kind, draft.data)
    return Mended([event], attempts)


def _message(setback: Setback, known: Iterable[str]) -> str:
    damage, count = setback.damage, len(setback.events)
    message = f"The log was damaged at line {damage.line} ({damage.code}): the run continued from the {count} events before it."
    if setback.kept is None:
        return f"{message} Everything after it is lost and may run again."
    named = _named_steps(setback.rest)
    steps = [f"`{step}`" for step in known if step in named]
    may = f"; {join_names(steps, _NAMED)} may run again" if steps else ""
    return f"{message} The rest is kept in {setback.kept}{may}."


def _named_steps(rest: bytes) -> set[str]:
    """Return the steps that may have run in the damaged lines, as far as readable: nothing else of them is trusted."""
    steps: set[str] = set()
    for line in rest.split(b"\n"):
        try:
            event = json.loads(line)
            step, kind = event["data"]["step"], event["kind"]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        if isinstance(step, str) and kind not in {"step_held", "decision_requested"}:
            steps.add(step)
    return steps
