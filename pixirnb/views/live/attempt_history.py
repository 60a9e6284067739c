"""Every attempt of every step, as the log tells it, course by course: what a panel lists and no fold keeps.

events ──▶ AttemptHistory.take(event) ──▶ attempts.of(step): [PastAttempt, …], oldest first

`StateAt` is a history at any of its events: the fold and the attempts of `events[:n]`, and the plan that was in force then.
A slider asks often, and mostly for the event after the last: going forward takes only what is new, going back begins again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from msgspec import Struct, field

from pixirnb.history.events import AttemptEnded, CheckpointDecided, ErrorData, Event, RetryPlanned
from pixirnb.history.run_state import RunState
from pixirnb.history.validation import fits
from pixirnb.machine.expansion import with_items
from pixirnb.planning.plan import Plan


class FollowingRetry(RetryPlanned):
    """A retry, and when and why it was planned."""

    at: str
    by: str | None
    """The person whose decision was the reason, if any."""


class PastAttempt(Struct):
    """One attempt. Times are those of the log, for people."""

    attempt: int
    incarnation: int
    """1 for the start, one more for each resume."""
    scheduled_at: str | None
    timeout_ms: int | None
    started_at: str | None = None
    ended_at: str | None = None
    ended: AttemptEnded | None = None
    retry: FollowingRetry | None = None
    """Retry that followed, if any."""
    verdict: CheckpointDecided | None = None
    """Decision on its checkpoint, if any."""
    accepted_by: str | None = None
    """The person who accepted it, if any."""
    is_lost: bool = False
    """It was under way when a later process took the run up."""

    @property
    def error(self) -> ErrorData | None:
        """Why it is not ready: of its verdict, of its retry, or of its end."""
        for cause in (self.verdict, self.retry, self.ended):
            if cause is not None and cause["error"] is not None:
                return cause["error"]
        return None


class AttemptHistory(Struct, eq=False):
    """The attempts of one run, grown an event at a time."""

    _of: dict[str, list[PastAttempt]] = field(default_factory=dict)
    _incarnation: int = 0
    requested_at: dict[str, str] = field(default_factory=dict)
    """Step to the time of the last question about it."""

    def extend(self, events: Iterable[Event]) -> None:
        """Take events in order."""
        for event in events:
            self.take(event)

    def take(self, event: Event) -> None:
        """Take one more event into account; one that has not the shape of its kind changes nothing."""
        data: Any = event.data
        if event.kind not in _KINDS or not fits(event.kind, data):
            return
        match event.kind:
            case "run_started":
                self._incarnation = 1
            case "run_forked":
                self._incarnation = 0
            case "run_resumed":
                self._incarnation += 1
                for made in self._of.values():
                    made[-1].is_lost = made[-1].ended is None
            case "step_scheduled":
                begun = PastAttempt(
                    data["attempt"], self._incarnation, event.at, data["timeout_ms"]
                )
                self._of.setdefault(data["step"], []).append(begun)
            case "decision_requested":
                self.requested_at[data["step"]] = event.at
            case _:
                self._follow(event)

    def of(self, step: str) -> Sequence[PastAttempt]:
        """Return the attempts of a step, oldest first."""
        return self._of.get(step, ())

    def _follow(self, event: Event) -> None:
        """Apply an event about an attempt that was scheduled before."""
        data: Any = event.data
        made = self._of.get(data["step"])
        if not made:
            return
        last = made[-1]
        if event.kind == "retry_planned":
            last.retry = cast("FollowingRetry", {**data, "at": event.at, "by": last.accepted_by})
        elif event.kind == "decision_recorded":
            last.accepted_by = data["by"] if data["verdict"] == "accept" else None
        elif last.attempt == data["attempt"]:
            if event.kind == "attempt_started":
                last.started_at = event.at
            elif event.kind == "attempt_ended":
                last.ended, last.ended_at, last.is_lost = data, event.at, False
            elif not data.get("reused"):
                last.verdict = data


_KINDS = frozenset(
    {
        *("run_started", "run_resumed", "run_forked", "step_scheduled", "attempt_started"),
        *("attempt_ended", "retry_planned", "checkpoint_decided", "decision_requested"),
        "decision_recorded",
    }
)


class StateAt(Struct, frozen=True):
    """The run as it was when `run.seq` had been recorded. Read it, do not change it; it holds until the next is asked for."""

    run: RunState
    attempts: AttemptHistory
    plan: Plan
    is_past: bool
    """True if the history goes on."""


class Replay(Struct, eq=False):
    """One history, visited. `planned` makes the plan of the workflow a state has pinned."""

    planned: Callable[[RunState], Plan]
    _run: RunState = field(default_factory=RunState)
    _attempts: AttemptHistory = field(default_factory=AttemptHistory)
    _taken: int = 0
    _plans: dict[str, Plan] = field(default_factory=dict)
    _expanded: tuple[object, Plan] | None = None
    """The last plan with its items, and what it was made from."""

    def at(self, events: Sequence[Event], seq: int | None) -> StateAt:
        """Return the moment of an event, or of the last. `events` is what it was before, or longer; it must not be empty.

        `seq` beyond either end is the nearest there is.
        """
        count = len(events) if seq is None else min(max(seq, 1), len(events))
        if count < self._taken:
            self._run, self._attempts, self._taken = RunState(), AttemptHistory(), 0
        for event in events[self._taken : count]:
            self._run.apply(event)
            self._attempts.take(event)
        self._taken = count
        return StateAt(self._run, self._attempts, self._plan(), count < len(events))

    def forget(self) -> None:
        """Forget all states: the history is another one than before."""
        self._run, self._attempts, self._taken = RunState(), AttemptHistory(), 0
        self._plans.clear()
        self._expanded = None

    def _plan(self) -> Plan:
        # Of one workflow a resume may have pinned other sources of its notebook functions.
        key = "\0".join([self._run.spec_digest, *map(repr, sorted(self._run.sources.items()))])
        if key not in self._plans:
            self._plans[key] = self.planned(self._run)
        run = self._run
        lists = [(name, id(each.items), run.knows(name)) for name, each in run.items.items()]
        if self._expanded is None or self._expanded[0] != (key, lists):
            self._expanded = (key, lists), with_items(self._plans[key], self._run)
        return self._expanded[1]
