"""Lines of a run's changes as they come: of items only the first failures, and with each tenth of them how many are ready."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, cast

from msgspec import Struct, field

from pixirnb.history.events import CheckpointDecided, Event, StepExpanded
from pixirnb.machine.outcome_documents import StepDocument
from pixirnb.views.basics.sanitize import line
from pixirnb.views.basics.status_marks import Mark, step_mark
from pixirnb.views.basics.step_items import counted_of, parent_of
from pixirnb.views.basics.times import time_of_day
from pixirnb.views.run.event_lines import event_line

_NAMED: Final = 10
"""Failures of the items of a step that have a line each."""
_PARTS: Final = 10
"""Lines on how far the items of a step are."""
_SILENT: Final = frozenset({"step_scheduled", "attempt_started", "attempt_ended", "step_held"})


class _Items(Struct):
    """The items of a step, as far as they are known from events."""

    total: int = 0
    ends: dict[str, Mark] = field(default_factory=dict)
    """How each item that has ended stands."""
    named: int = 0
    reported: int = 0
    """Tenths of which there was a line."""


class ChangeLines(Struct):
    """The lines of events that follow one another."""

    _steps: dict[str, _Items] = field(default_factory=dict)

    def of(self, event: Event) -> Iterator[str]:
        """Yield the lines of an event."""
        if event.kind == "step_expanded":
            self._expand(cast("StepExpanded", event.data))
        parent = parent_of(event.data.get("step", ""))
        if not parent:
            yield event_line(event)
            return
        items = self._steps.setdefault(parent, _Items())
        if event.kind == "checkpoint_decided":
            yield from self._ended(event, parent, items)
        elif event.kind == "retry_planned":
            yield from self._named(event, items)
        elif event.kind not in _SILENT:
            yield event_line(event)

    def _expand(self, data: StepExpanded) -> None:
        leader = self._steps.get(data.get("same_as", ""))
        total = len(data["items"]) if leader is None else leader.total
        self._steps[data["step"]] = _Items(total - len(data["reused"]))

    def _ended(self, event: Event, parent: str, items: _Items) -> Iterator[str]:
        data = cast("CheckpointDecided", event.data)
        look: StepDocument = {
            "checkpoint_status": data["status"],
            "subagent_status": data["subagent_status"],
            "attempt": data["attempt"],
        }
        mark = items.ends[data["step"]] = step_mark(look)
        if mark.key != "checkpoint_ready":
            yield from self._named(event, items)
        part = len(items.ends) * _PARTS // max(items.total, 1)
        if part > items.reported or not items.total:
            items.reported = part
            counts = counted_of(list(items.ends.values()), items.total or len(items.ends))
            at = line(time_of_day(event.at), 20)
            yield f"{event.seq:>5} {at} ▸ {line(parent, 64)}: {counts}"

    def _named(self, event: Event, items: _Items) -> Iterator[str]:
        items.named += 1
        if items.named <= _NAMED:
            yield event_line(event)
