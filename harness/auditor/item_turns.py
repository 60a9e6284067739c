"""Whose turn it is among items and what collects them: what a list, an item and a collecting step wait for."""

from __future__ import annotations

from dataclasses import dataclass

from harness.auditor.conclusions import excused
from harness.auditor.facts import Course
from harness.auditor.item_readings import Collector, ItemReading
from harness.auditor.readings import Reading, StepReading
from harness.auditor.record import Record
from harness.auditor.standing import Standing


@dataclass(frozen=True, slots=True)
class Tally:
    """How the items of a list stand."""

    ready: tuple[str, ...]
    skipped: tuple[str, ...]
    """A `when` holds them, or what they depend on: they do not count."""
    others: tuple[str, ...]
    waiting_for_a_word: int
    required: int
    open: tuple[str, ...]
    """Those that have not settled, or are held by a step of which nothing is known yet."""

    @property
    def is_enough(self) -> bool:
        """Whether as many are ready as have to be."""
        return len(self.ready) >= self.required

    @property
    def hangs_on_a_word(self) -> bool:
        """Whether too few are ready, and would be enough if a person accepted what waits for that."""
        return not self.is_enough and len(self.ready) + self.waiting_for_a_word >= self.required


def tally(record: Record, place: int, step: Collector) -> Tally:
    """How the items of a list stood just before `place`."""
    stood = {item.id: record.standing(item.id, place) for item in step.items or ()}
    ready = tuple(name for name, each in stood.items() if each.is_ready)
    blamed = {name: _to_blame(record, place, name) for name in stood}
    skipped = tuple(n for n, each in blamed.items() if (each.held_by or {}).get("kind") == "when")
    others = tuple(name for name in stood if name not in {*ready, *skipped})
    waiting = [n for n in others if blamed[n].status in {"needs_orchestrator", "partial"}]
    required = step.each.required(len(stood) - len(skipped))
    is_open = tuple(
        name
        for name, each in stood.items()
        if each.stage != "settled" or blamed[name].stage == "idle"
    )
    return Tally(ready, skipped, others, len(waiting), required, is_open)


def let_in(record: Record, course: Course, place: int, name: str) -> list[str]:
    """Items of a kept list that are not ready, were not missing when it was collected, and are skipped no more."""
    reading, kept = course.at(place), record.standing(name, place).kept
    if kept is None or kept.ended is None or name not in reading.steps:
        return []
    steps = record.standings(course, place)
    known = {*kept.ended.get("missing", ()), *excused(reading, steps)}
    items = getattr(reading.steps[name], "items", None) or ()
    return [each.id for each in items if not steps[each.id].is_ready and each.id not in known]


def _to_blame(record: Record, place: int, name: str) -> Standing:
    """How the step stands that a step is held by in the end; itself if none holds it."""
    passed: set[str] = set()
    while True:
        passed.add(name)
        stood = record.standing(name, place)
        by = stood.held_by or {}
        if by.get("kind") != "dependency" or by.get("step") in {None, *passed}:
            return stood
        name = str(by["step"])


def is_due(record: Record, reading: Reading, place: int, step: StepReading) -> bool:
    """Whether nothing before an idle step keeps it from its start, or its list from being read."""
    if not isinstance(step, Collector):
        return all(record.standing(name, place).is_ready for name in step.depends_on)
    if step.items is not None:
        told = tally(record, place, step)
        is_gated = not step.items and not _are_ready(record, place, step.gates)
        return not told.open and not told.hangs_on_a_word and not is_gated
    if step.leader is None:
        return _are_ready(record, place, step.gates)
    leader = reading.steps.get(step.leader)
    return isinstance(leader, Collector) and leader.items is not None


def _are_ready(record: Record, place: int, names: tuple[str, ...]) -> bool:
    return all(record.standing(name, place).is_ready for name in names)


def is_slotless(record: Record, place: int, step: StepReading) -> bool:
    """Whether what a step does next needs no slot: its list is read, or all its items are skipped."""
    if not isinstance(step, Collector):
        return False
    return step.items is None or (
        bool(step.items) and len(tally(record, place, step).skipped) == len(step.items)
    )


def may_be_parked(record: Record, course: Course, place: int, step: StepReading) -> bool:
    """Whether an item may have to wait for others of its list: as many run, or could, as may at once."""
    if not isinstance(step, ItemReading) or step.parent.each.max_parallel is None:
        return False
    reading = course.at(place)
    collector = reading.steps.get(step.parent.id)
    items = (collector.items or ()) if isinstance(collector, Collector) else ()
    busy = [each for each in items if each.id != step.id and _is_busy(record, reading, place, each)]
    return len(busy) >= step.parent.each.max_parallel


def _is_busy(record: Record, reading: Reading, place: int, item: ItemReading) -> bool:
    stage = record.standing(item.id, place).stage
    if stage in {"under_way", "retrying"}:
        return True
    return stage == "idle" and is_due(record, reading, place, item)
