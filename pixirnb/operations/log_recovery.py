"""What a run says of itself that goes on from a damaged log: where it broke, what is kept where, which steps may run twice.

Source: docs/adr/0017-owners-and-what-two-of-them-leave.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from pixirnb.history.events import Event, warning
from pixirnb.history.run_state import fold
from pixirnb.protocols.ports import Mended, Setback
from pixirnb.wording import join_names

_NAMED: Final = 20
"""Steps that are named; the rest are counted."""


def recovery_event(setback: Setback, at: str) -> Mended:
    """The event that says it, and the last attempt that is known of each step."""
    run = fold(setback.events)
    attempts = {step: state.attempt for step, state in run.steps.items()}
    known = [str(step.get("id")) for step in run.spec.get("steps") or ()]
    said = warning("log_recovered", _message(setback, known), None)
    event = Event(setback.events[-1].seq + 1, at, said.kind, said.data)
    return Mended([event], attempts)


def _message(setback: Setback, known: Iterable[str]) -> str:
    damage, count = setback.damage, len(setback.events)
    said = f"The log was damaged at line {damage.line} ({damage.code}): the run went on from the {count} events before it."
    if setback.kept is None:
        return f"{said} What followed is lost, and may run again."
    told = _told_of(setback.rest)
    steps = [f"`{step}`" for step in known if step in told]
    may = f"; of {join_names(steps, _NAMED)} it tells what may run again" if steps else ""
    return f"{said} The rest is kept in {setback.kept}{may}."


def _told_of(rest: bytes) -> set[str]:
    """The steps that lines speak of, as far as they can be read: nothing else of them is believed."""
    found: set[str] = set()
    for line in rest.split(b"\n"):
        try:
            step = json.loads(line)["data"]["step"]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        if isinstance(step, str):
            found.add(step)
    return found
