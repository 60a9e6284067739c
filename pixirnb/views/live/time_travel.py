"""A history at any of its events: the fold and the attempts of `events[:n]`, and the plan that was in force then.

A slider asks often, and mostly for the event after the last: going forward takes only what is new, going back begins again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pixirnb.history.events import Event
from pixirnb.history.run_state import RunState
from pixirnb.planning.plan import Plan
from pixirnb.views.live.attempt_history import Tries


@dataclass(frozen=True, slots=True)
class StateAt:
    """The run as it was when `run.seq` had been recorded. Read it, do not change it; it holds until the next is asked for."""

    run: RunState
    tries: Tries
    plan: Plan
    is_past: bool
    """True if the history goes on."""


@dataclass(slots=True, eq=False)
class Replay:
    """One history, visited. `planned` makes the plan of the workflow a state has pinned."""

    planned: Callable[[RunState], Plan]
    _run: RunState = field(default_factory=RunState)
    _tries: Tries = field(default_factory=Tries)
    _taken: int = 0
    _plans: dict[str, Plan] = field(default_factory=dict)

    def at(self, events: Sequence[Event], seq: int | None) -> StateAt:
        """The moment of an event, or of the last. `events` is what it was before, or longer; it must not be empty.

        `seq` beyond either end is the nearest there is.
        """
        count = len(events) if seq is None else min(max(seq, 1), len(events))
        if count < self._taken:
            self._run, self._tries, self._taken = RunState(), Tries(), 0
        for event in events[self._taken : count]:
            self._run.apply(event)
            self._tries.take(event)
        self._taken = count
        return StateAt(self._run, self._tries, self._plan(), count < len(events))

    def forget(self) -> None:
        """The history is another one than before."""
        self._run, self._tries, self._taken = RunState(), Tries(), 0
        self._plans.clear()

    def _plan(self) -> Plan:
        # Of one workflow a resume may have pinned other sources of its notebook functions.
        key = "\0".join([self._run.spec_digest, *map(repr, sorted(self._run.sources.items()))])
        if key not in self._plans:
            self._plans[key] = self.planned(self._run)
        return self._plans[key]
