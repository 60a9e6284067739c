"""The tape of a run: one entry an event, each with the steps whose look it changed. The browser replays it without folding.

    events ──▶ Tape.take(event) ──▶ [seq, ms, kind, step, changes, status]

To see the run as it was after entry n, take each step's last change in the entries up to n. Everything is a number, so that ten
thousand events weigh a few hundred kilobytes. Source: docs/adr/0012-the-live-view.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, get_args

from pixirnb.history.events import Event, Kind
from pixirnb.history.state import RunState, StepState
from pixirnb.planning.plan import Plan
from pixirnb.views.marks import STEP_MARKS, Mark, step_mark
from pixirnb.views.moments import epoch_ms

KINDS: Final[tuple[str, ...]] = get_args(Kind)
"""Kinds of events, in the order of the contract; an entry names one by its place here, an unknown one by `len(KINDS)`."""
STRIDE: Final = 5
"""Numbers a change takes: step, place in STEP_MARKS, attempt, elapsed ms, holder; -1 where there is none."""

Entry = list[Any]
"""`[seq, ms since the first event, kind, step or -1, changes, run status or ""]`."""

_PLACE: Final = {mark.key: place for place, mark in enumerate(STEP_MARKS)}
_STATUS: Final = {"run_started": "running", "run_resumed": "running", "run_forked": "running"}


@dataclass(slots=True, eq=False)
class Tape:
    """The tape of one run, grown an event at a time. Holds the fold it is made from."""

    plan: Plan
    run: RunState = field(default_factory=RunState)
    entries: list[Entry] = field(default_factory=list)
    began_ms: int = 0
    """Moment of the first event, in ms since 1970."""
    _shown: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _ms: int = 0

    def extend(self, events: Iterable[Event]) -> None:
        """Take events in order."""
        for event in events:
            self.take(event)

    def take(self, event: Event) -> Entry:
        """Take one event; returns its entry, which is added to `entries`."""
        self.run.apply(event)
        at = epoch_ms(event.at)
        if at is not None:
            if not self.entries:
                self.began_ms = at
            # A wall clock may jump back; a picture of time may not.
            self._ms = max(self._ms, at - self.began_ms)
        step = event.data.get("step")
        place = self.plan.index.get(step, -1) if isinstance(step, str) else -1
        changes: list[int] = []
        for name in _touched(event, step):
            self._change(name, changes)
        status = _STATUS.get(event.kind, "")
        if event.kind == "run_finished":
            status = str(event.data.get("status", ""))
        kind = KINDS.index(event.kind) if event.kind in KINDS else len(KINDS)
        entry = [event.seq, self._ms, kind, place, changes, status]
        self.entries.append(entry)
        return entry

    def _change(self, name: str, changes: list[int]) -> None:
        place, state = self.plan.index.get(name), self.run.steps.get(name)
        if place is None or state is None:
            return
        elapsed = (state.ended or {}).get("elapsed_ms")
        holder = (state.held_by or {}).get("step")
        look = (
            _PLACE[mark_of(state).key],
            state.attempt,
            elapsed if isinstance(elapsed, int) and state.stage == "settled" else -1,
            self.plan.index.get(holder, -1) if isinstance(holder, str) else -1,
        )
        if self._shown.get(name) != look:
            self._shown[name] = look
            changes += (place, *look)


def mark_of(state: StepState) -> Mark:
    """The look of a step's state, the same as of its outcome."""
    return step_mark(
        {
            "checkpoint_status": state.checkpoint_status,
            "subagent_status": state.subagent_status,
            "stage": state.stage,
        }
    )


def _touched(event: Event, step: Any) -> list[str]:
    """Steps whose look the event may change."""
    if event.kind == "run_resumed":
        entries = event.data.get("steps")
        listed = entries if isinstance(entries, list) else []
        return [e["step_id"] for e in listed if isinstance(e, dict) and "step_id" in e]
    return [step] if isinstance(step, str) else []
