"""Rehearsed runs as logs: every event stamped with the rehearsal's own clock, and a witness who sees what no log tells.

tape = begun(text)
tape.end("make")
tape.breaches()      # [] for a sound machine
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from harness.auditor.audit import Breach, Sighting, audit
from pixirnb.history.codec import GENESIS, encode
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Event, ResumeReason
from pixirnb.history.run_state import fold
from pixirnb.machine.board import RunStop
from pixirnb.machine.expansion import with_items, without_items
from pixirnb.machine.resume import Selection, is_no_op, plan_resume
from pixirnb.planning.plan import Plan
from pixirnb.testing.generators.histories import (
    Rehearsal,
    events_of,
    plan_of,
    run_resumed,
    verdicts_torn_off,
)

EPOCH = datetime(2026, 11, 22, tzinfo=UTC)


def log_of(events: Iterable[Event]) -> bytes:
    """The events as lines, chained."""
    lines, chain = [], GENESIS
    for event in events:
        line, chain = encode(event, chain)
        lines.append(line)
    return b"".join(lines)


class Tape(Rehearsal):
    """A rehearsal that is watched: its events bear its time, and its sightings tell what it was asked and what it did."""

    def __init__(self, plan: Plan, events: Sequence[Event] = (), *, now: float = 1000.0) -> None:
        super().__init__(plan, events, now=now)
        self.sightings: list[Sighting] = []
        self.ticks = 0
        self.seen = 0

    @property
    def log(self) -> bytes:
        """The log so far."""
        return log_of(self.events)

    def breaches(self, *, outcome: Mapping[str, Any] | None = None) -> list[Breach]:
        """The audit of the log so far, with the outcome as the machine shows it."""
        shown = outcome or self.outcome(is_live=not self.is_over).document()
        return audit(self.log, outcome=shown, sightings=self.sightings, wall_is_true=True)

    def stop(self, how: RunStop) -> Tape:
        """The operator ends the run, and is seen to."""
        self._see("wished", detail=how)
        super().stop(how)
        return self

    def cancel_step(self, step: str) -> Tape:
        """The operator gives one step up, and is seen to."""
        self._see("wished", step=step, detail="cancel_step")
        super().cancel_step(step)
        return self

    def release(self, step: str) -> Tape:
        """A detached thread returns, and is seen to."""
        attempt = self.board.detached[self.plan.index[step]]
        self._see("returned", step=step, attempt=attempt)
        super().release(step)
        return self

    def record(self, *drafts: EventDraft) -> Tape:
        """Facts happen in one turn, and all that follows from them."""
        running = {self.plan.steps[i].id: each.attempt for i, each in self.board.running.items()}
        for draft in drafts:
            name = str(draft.data.get("step"))
            if draft.kind == "attempt_ended" and running.get(name) == draft.data["attempt"]:
                self._see("ended", step=name, attempt=draft.data["attempt"])
        super().record(*drafts)
        return self

    def resume(
        self,
        selection: Selection | None = None,
        *,
        plan: Plan | None = None,
        upto: int | None = None,
        inputs: Mapping[str, Any] | None = None,
        facts: Sequence[EventDraft] = (),
        unusable: Mapping[str, ResumeReason] | None = None,
    ) -> Tape:
        """A later process takes the run up after its first `upto` events, with the warnings that the engine adds.

        A completed run with nothing to do is left alone, as the engine leaves it.
        """
        events = self.events[:upto]
        chosen, going = selection or Selection(), plan or self.plan
        known = [*events, *events_of(facts, after=len(events))]
        torn = verdicts_torn_off(self.plan, known)
        run = fold([*known, *events_of(torn, after=len(known))])
        entries = plan_resume(
            with_items(without_items(going), run), run, chosen, inputs=inputs, unusable=unusable
        )
        is_completed = run.finished is not None and run.finished["status"] == "completed"
        is_same = run.spec == going.workflow.canonical() and run.inputs == (inputs or run.inputs)
        if is_completed and is_same and chosen.is_empty and is_no_op(entries) and not facts:
            return self
        later = Tape(going, events, now=self.now)
        later.sightings = [seen for seen in self.sightings if seen.durable <= len(events)]
        later.ticks = self.ticks + 1
        later._see("died")
        later._see("acquired")
        lost = [
            entry["step_id"]
            for entry in entries
            if run.step(entry["step_id"]).stage in {"scheduled", "running"}
        ]
        again = {entry["step_id"] for entry in entries if entry["action"] == "rerun"}
        lost += [
            name
            for name, state in run.steps.items()
            if "@" in name
            and name.partition("@")[0] in again
            and name not in lost
            and (state.is_lost or state.stage in {"scheduled", "running"})
        ]
        warnings = [
            EventDraft(
                "warning_raised",
                {"code": "side_effects_may_be_partial", "message": "It may be.", "step": name},
            )
            for name in lost
        ]
        opening = [*facts, *torn, run_resumed(going, run, entries, chosen, inputs), *warnings]
        later.record(*opening)
        return later

    def _see(
        self, what: str, *, step: str | None = None, attempt: int | None = None, detail: str = ""
    ) -> None:
        self.sightings.append(Sighting(what, len(self.events), self.now, step, attempt, detail))

    def _fresh(self) -> None:
        super()._fresh()
        self.ticks += 1

    def _apply(self, draft: EventDraft) -> None:
        super()._apply(draft)
        at = EPOCH + timedelta(seconds=self.now, microseconds=self.ticks)
        stamped = replace(self.events[-1], at=at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"))
        self.events[-1] = stamped

    def _settle(self) -> Tape:
        super()._settle()
        for start in self.starts[self.seen :]:
            self._see("began", step=start.step, attempt=start.attempt)
        self.seen = len(self.starts)
        return self


def begun(source: str | Mapping[str, Any], inputs: Mapping[str, Any] | None = None) -> Tape:
    """A run of a workflow, started."""
    tape = Tape(plan_of(source))
    tape.begin(inputs)
    return tape
