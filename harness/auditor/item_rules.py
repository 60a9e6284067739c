"""Lists of `for_each`: when they are read and what is on them, which of their items stand, and what is collected of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from harness.auditor.breaches import Finding
from harness.auditor.facts import Attempt, Course, Fact
from harness.auditor.givens import Unknown, given_at, output_of, value_at, was_given
from harness.auditor.item_readings import Collector, ItemReading, name_of
from harness.auditor.item_turns import Tally, is_due, let_in, tally
from harness.auditor.record import Record
from harness.auditor.verdict_rules import NOT_READY
from pixirnb.history.codec import NotCanonicalError, canonical
from pixirnb.spec.expressions.references import (
    Reference,
    Template,
    as_text,
    render,
    render_value,
)

_LIMIT = "items_missing"
"""Begins the limitation of a step that is ready without some of its items."""


def _collector(course: Course, place: int, name: str) -> Collector | None:
    step = course.at(place).steps.get(name)
    return step if isinstance(step, Collector) else None


def lists_come_first(record: Record) -> Iterator[Finding]:
    """A list is read once in a course, when all before its step is ready, and by none that is reused, held or stopped."""
    for course, fact in record.of("step_expanded"):
        name, reading = fact.data["step"], course.at(fact.place)
        step, stood = _collector(course, fact.place, name), record.standing(name, fact.place)
        entry = course.entries.get(name, ("rerun", ""))
        if step is None:
            yield fact.seq, name, "It has a list, and its workflow gives it none."
        elif step.items is not None:
            yield fact.seq, name, "Its list was known, and is read again."
        elif stood.stage != "idle" or entry[0] != "rerun":
            yield fact.seq, name, f"Its list is read, and it is {stood.status or entry[0]}."
        elif not is_due(record, reading, fact.place, step):
            yield fact.seq, name, "Its list is read before all that it waits for is ready."
        elif reading.workflow.on_failure == "stop" and record.has_failed(course, fact.place):
            yield fact.seq, name, "Its list is read after a step of this course had failed."


def list_is_true(record: Record) -> Iterator[Finding]:
    """A list is what the workflow and the values it names say: its items in their order, each with its key."""
    for course, fact in record.of("step_expanded"):
        step = _collector(course, fact.place, fact.data["step"])
        if step is None:
            continue
        items, leader = fact.data["items"], fact.data.get("same_as")
        if leader != step.leader or (leader is not None and items):
            yield fact.seq, step.id, f"It has the list of {leader}, and is to have {step.leader}'s."
        elif leader is None:
            try:
                wrong = _wrong_list(record, course, fact, step)
            except Unknown:
                continue
            except LookupError as error:
                wrong = f"Its list is read, and a value of it is not there: {error}"
            if wrong is not None:
                yield fact.seq, step.id, wrong


def _wrong_list(record: Record, course: Course, fact: Fact, step: Collector) -> str | None:
    def look_up(reference: Reference) -> Any:
        return value_at(record, course, fact.place, step, reference)

    due = render_value(step.each.items, look_up)
    if isinstance(due, Mapping):
        due = [{"key": key, "value": due[key]} for key in sorted(due)]
    items = fact.data["items"]
    if not isinstance(due, list) or canonical([i["value"] for i in items]) != canonical(due):
        return f"Its items are {[item['value'] for item in items]}, and are to be {due}."
    if step.each.key is None:
        return None
    template = Template.parse(step.each.key)
    for position, item in enumerate(items):
        one = ItemReading(
            step.step, step.workflow, step.order, step, item["number"], position, item["value"]
        )
        key = as_text(render(template, partial(_of, one, look_up)))
        if key != item["key"]:
            return f"The key of item {position} is {item['key']!r}, and is to be {key!r}."
    return None


def _of(item: ItemReading, look_up: Callable[[Reference], Any], reference: Reference) -> Any:
    return item.own(reference) if reference.source == "item" else look_up(reference)


def numbers_stay(record: Record) -> Iterator[Finding]:
    """A key of a list has one number for ever, and a number one key."""
    known: dict[str, dict[str, int]] = {}
    for _, fact in record.of("step_expanded"):
        numbers = known.setdefault(fact.data["step"], {})
        seen: set[tuple[str, int]] = set()
        for item in fact.data["items"]:
            key, number = item["key"], item["number"]
            if (key, number) in seen:
                yield fact.seq, fact.step, f"Two of its items are `{key}`."
            seen.add((key, number))
            if numbers.setdefault(key, number) != number:
                yield fact.seq, fact.step, f"`{key}` has number {number}, and had {numbers[key]}."
            elif any(other != key and numbers[other] == number for other in numbers):
                yield fact.seq, fact.step, f"`{key}` has number {number}, which is another's."


def reused_is_unchanged(record: Record) -> Iterator[Finding]:
    """An item stands only if it was finished, all before it is ready and it is unchanged; its list, if none is let in since."""
    for course, fact in record.of("step_expanded"):
        reading = course.at(fact.place + 1)
        for number in fact.data["reused"]:
            name = name_of(fact.data["step"], number)
            item, kept = reading.steps.get(name), record.standing(name, fact.place).kept
            if item is None or kept is None or not kept.has_worth:
                yield fact.seq, name, "It is to stand as it stood, and had not been finished."
            elif item.said("reuse") != "spec":
                yield fact.seq, name, "It is never to be reused, and is."
            elif not all(record.standing(d, fact.place).is_ready for d in item.depends_on):
                yield fact.seq, name, "It stands as it stood, and what is before it is not ready."
            elif was_given(record, kept, name) != given_at(record, course, fact.place, item):
                yield fact.seq, name, "It stands as it stood, and what it is made of has changed."
    for course, fact in record.of("checkpoint_decided"):
        more = let_in(record, course, fact.place, fact.data["step"])
        if fact.data.get("reused") and more:
            yield fact.seq, fact.step, f"It is kept, and {more} were skipped when it collected."


def parallel_bounded(record: Record) -> Iterator[Finding]:
    """Never more items of a list under way than its `max_parallel`."""
    for course, fact in record.of("step_scheduled"):
        item = course.at(fact.place).steps.get(fact.data["step"])
        most = item.parent.each.max_parallel if isinstance(item, ItemReading) else None
        if not isinstance(item, ItemReading) or most is None:
            continue
        names = {each.id for each in item.parent.items or ()}
        count = sum(each.step in names for each in record.under_way(course, fact.place))
        if count >= most:
            yield (
                fact.seq,
                item.id,
                f"It began beside {count} of its list; {most} at once is the most.",
            )


def collects_settled(record: Record) -> Iterator[Finding]:
    """A step collects its items once all have settled, unless all are skipped, or a word of a person can make enough ready."""
    for course, fact in record.of("step_scheduled"):
        step = _collector(course, fact.place, fact.data["step"])
        if step is None:
            continue
        told = tally(record, fact.place, step)
        if step.items is None:
            yield fact.seq, step.id, "It collects, and its list is not known."
        elif told.open:
            yield fact.seq, step.id, f"It collects, and {list(told.open)} have not settled."
        elif told.hangs_on_a_word:
            yield fact.seq, step.id, f"It collects, and {list(told.others)} wait for a person."
        elif told.skipped and not told.ready and not told.others:
            yield fact.seq, step.id, "It collects, and all its items are skipped."


def _collections(record: Record) -> Iterator[tuple[Attempt, Fact, Collector, list[Tally]]]:
    """Every attempt that collected items that had settled: what it left, and how they stood then: a word may fall meanwhile."""
    for attempt in record.attempts:
        step, fact = _collector(attempt.course, attempt.place, attempt.step), attempt.ended
        if step is None or fact is None or step.items is None:
            continue
        told = [tally(record, place, step) for place in (attempt.place, fact.place)]
        has_collected = fact.data["status"] == "completed" or _kind(fact) == NOT_READY
        if has_collected and not told[0].open:
            yield attempt, fact, step, told


def _kind(fact: Fact) -> str | None:
    error = fact.data["error"]
    return None if error is None else str(error["kind"])


def enough_are_ready(record: Record) -> Iterator[Finding]:
    """A collection ends well if as many items are ready as `require` says, skipped ones apart; else it says how many are."""
    for attempt, fact, _, told in _collections(record):
        has_enough = {each.is_enough for each in told}
        if (fact.data["status"] == "completed") not in has_enough:
            ready = f"{len(told[-1].ready)} of {told[-1].required} required items are ready"
            yield fact.seq, attempt.step, f"It ended {fact.data['status']}, and {ready}."
        elif fact.data["error"] is not None:
            said = fact.data["error"]["details"]
            due = [{"ready": len(each.ready), "required": each.required} for each in told]
            if said not in due:
                yield fact.seq, attempt.step, f"It says {said}, and {due[-1]} is true."


def collects_what_is(record: Record) -> Iterator[Finding]:
    """What is collected are the values of the ready items in the order of the list, null for all others, which it names."""
    ends: dict[tuple[str, int], list[str]] = {}
    for attempt, fact, step, told in _collections(record):
        missing = fact.data.get("missing") or []
        ends[attempt.step, attempt.number] = missing
        if missing not in [list(each.others) for each in told]:
            due = list(told[-1].others)
            yield fact.seq, attempt.step, f"It misses {missing}, and {due} are not ready."
            continue
        try:
            places = (attempt.place, fact.place)
            due_values = [_values(record, place, step) for place in places]
            said = canonical(_collected(record, fact))
        except (Unknown, NotCanonicalError):
            continue
        if said not in due_values:
            yield fact.seq, attempt.step, "What it collected is not what its items left."
    for _, fact in record.of("checkpoint_decided"):
        missing = ends.get((fact.data["step"], fact.data["attempt"]), [])
        is_told = any(each.startswith(_LIMIT) for each in fact.data["limitations"])
        is_ready = fact.data["status"] == "checkpoint_ready"
        if is_ready and not fact.data.get("reused") and bool(missing) != is_told:
            yield fact.seq, fact.step, f"It misses {missing}, and its limitations say otherwise."


def _values(record: Record, place: int, step: Collector) -> bytes:
    stood = [record.standing(item.id, place) for item in step.items or ()]
    return canonical([output_of(record, each) if each.is_ready else None for each in stood])


def _collected(record: Record, fact: Fact) -> Any:
    output = fact.data.get("output")
    if not isinstance(output, dict):
        raise Unknown("output")
    return output_of(record, record.standing(fact.data["step"], fact.place + 1))
