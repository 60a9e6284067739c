"""Activity of a run, read from the disk by any process: what changed, what runs, the age of its output, stalls.

The log names the beginning of an attempt; its output log and session change when the step does something.

    StepActivity   one running attempt
    Watch          a run that is followed until it finishes or pauses: its changes as lines, its state as blocks
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from pixirnb.engine.services import Settings, SystemClock
from pixirnb.history.agent_events import PERMISSION_DECIDED, PERMISSION_REQUESTED
from pixirnb.history.events import Event
from pixirnb.history.validation import well_formed
from pixirnb.ids import attempt_name
from pixirnb.operations.run import Run
from pixirnb.views.basics.status_marks import Mark
from pixirnb.views.basics.step_names import titles_of
from pixirnb.views.basics.times import epoch_ms, span
from pixirnb.views.blocks.model import Block, Code, Paragraph, Section, Table, Word
from pixirnb.views.run.change_lines import ChangeLines
from pixirnb.views.run.outcome_view import progress_line

CHANGES: Final = frozenset(
    {
        "step_expanded",
        "step_scheduled",
        "checkpoint_decided",
        "retry_planned",
        "decision_requested",
        "merge_applied",
        "merge_conflicted",
        "seam_opened",
        "seam_resolved",
        "warning_raised",
    }
)
"""Kinds of events that get a line for a person, with `REQUESTS`; the others are only in the log."""
REQUESTS: Final = (PERMISSION_REQUESTED, PERMISSION_DECIDED)
"""Events of agents that get one."""
_QUESTIONS: Final = ("ask", "in_flight")
"""Reasons of a question that no `checkpoint_decided` has reported just before; a foreign log may hold unhashable ones."""
_TICK_S: Final = 0.5
_STALLED: Final = Mark("stalled", "stalled", "!", "half")
_ACTIVE: Final = Mark("running", "active", "▶", "live")


class StepActivity(Struct, frozen=True):
    """One running attempt of a step. Ages are in milliseconds."""

    step: str
    attempt: int
    elapsed_ms: int
    output_age_ms: int | None
    """Age of the last printed output; None if it printed nothing."""
    idle_ms: int
    """Age of the last sign of activity: output, or an event of its session."""

    @property
    def is_stalled(self) -> bool:
        """Return whether it has shown no activity for longer than the limit of the engine."""
        return self.idle_ms >= Settings().stall_after_s * 1000


def step_activity(run: Run, events: Iterable[Event]) -> list[StepActivity]:
    """Return the running attempts of a run, in spec order; `events` hold the beginning of each."""
    now = _now_ms()
    began = {
        (event.data["step"], event.data["attempt"]): epoch_ms(event.at)
        for event in well_formed(events, "attempt_started")
    }
    running = []
    for step, state in run.state.steps.items():
        start = began.get((step, state.attempt))
        if state.stage != "running" or start is None:
            continue
        name = attempt_name(step, state.attempt)
        printed = _changed_ms(run, f"output/{name}.log")
        spoke = _changed_ms(run, f"sessions/{name}.jsonl")
        last = max(start, printed or 0, spoke or 0)
        age = None if printed is None else max(0, round(now - printed))
        idle = max(0, round(now - last))
        # The beginning of an attempt reaches the log a moment late: its first output may be older.
        elapsed = max(0, round(now - start), age or 0)
        running.append(StepActivity(step, state.attempt, elapsed, age, idle))
    return running


def activity_blocks(activity: Sequence[StepActivity], titles: Mapping[str, str]) -> list[Block]:
    """Return the table of running steps; nothing if none runs. `titles`: of steps, by id."""
    rows = [
        (
            Code(each.step, title=titles.get(each.step, "")),
            Word(_STALLED if each.is_stalled else _ACTIVE),
            str(each.attempt),
            span(each.elapsed_ms),
            "none yet" if each.output_age_ms is None else f"{span(each.output_age_ms)} ago",
        )
        for each in activity
    ]
    heads = ("step", "activity", "attempt", "elapsed", "last output")
    table = Table(heads, rows, numeric=frozenset({2, 3}), count=len(rows))
    return [Section("running now", [table])] if rows else []


def _is_change(event: Event) -> bool:
    if event.kind == "decision_requested":
        return event.data.get("reason") in _QUESTIONS
    return event.kind in CHANGES or event.data.get("event") in REQUESTS


class Watch(Struct):
    """A run that is followed from its log. `changes` ends when the run does."""

    run: Run
    _events: list[Event] = field(default_factory=list)
    _stalled: set[tuple[str, int]] = field(default_factory=set)
    _lines: ChangeLines = field(default_factory=ChangeLines)

    def changes(self) -> Iterator[list[str]]:
        """Yield the lines of what changed since the last time, twice a second, until the run finishes or pauses. Blocks."""
        follower = self.run.store.follow(self.run.id)
        while True:
            is_over = self.run.status != "running"
            events = follower.poll()
            self._events += events
            changes = filter(_is_change, events)
            lines = [each for event in changes for each in self._lines.of(event)]
            yield [*lines, *self._stalls()]
            if is_over:
                return
            time.sleep(_TICK_S)

    def blocks(self) -> list[Block]:
        """Return the state of the run as it is now."""
        document = self.run.outcome.document()
        began = epoch_ms(self._events[0].at) if self._events else None
        if began is not None:
            document = {**document, "elapsed_ms": max(0, _now_ms() - began)}
        running = step_activity(self.run, self._events)
        return [Paragraph(progress_line(document)), *activity_blocks(running, titles_of(document))]

    def _stalls(self) -> Iterator[str]:
        for each in step_activity(self.run, self._events):
            key = (each.step, each.attempt)
            if each.is_stalled and key not in self._stalled:
                yield f"[{each.step}] stalled: no activity for {span(each.idle_ms)}"
            (self._stalled.add if each.is_stalled else self._stalled.discard)(key)


def _now_ms() -> int:
    return epoch_ms(SystemClock().wall()) or 0


def _changed_ms(run: Run, path: str) -> float | None:
    try:
        return (run.folder / path).stat().st_mtime * 1000
    except OSError:
        return None
