"""§1 and §2 of the contract: who may start, beside whom, in which order, and how soon."""

from __future__ import annotations

from collections.abc import Iterator

from harness.auditor.breaches import Finding
from harness.auditor.facts import Attempt, Course, Fact
from harness.auditor.givens import Unknown, condition_at
from harness.auditor.item_readings import Collector
from harness.auditor.item_turns import is_due, is_slotless, may_be_parked
from harness.auditor.readings import StepReading
from harness.auditor.record import Record
from harness.auditor.standing import Standing


def failure_stops(record: Record) -> Iterator[Finding]:
    """Under `on_failure: stop` nothing begins once a step has failed; only retries go on."""
    for course, fact in record.of("step_scheduled", "decision_requested"):
        if course.reading.workflow.on_failure != "stop" or not _is_new(record, fact):
            continue
        if record.has_failed(course, fact.place):
            yield fact.seq, fact.step, "It began after a step of this course had failed."


def _is_new(record: Record, fact: Fact) -> bool:
    """Whether the event begins a step, and is neither a retry nor a question about what an attempt left."""
    return record.standing(fact.data["step"], fact.place).stage == "idle"


def conflicts_apart(record: Record) -> Iterator[Finding]:
    """No two steps that conflict have attempts under way at once; a detached thread keeps what it writes until it returns."""
    for course, fact in record.of("step_scheduled"):
        step = fact.data["step"]
        for other in record.under_way(course, fact.place):
            if course.reading.conflict(step, other.step):
                yield fact.seq, step, f"It began while `{other.step}` was under way: they conflict."
        if not record.is_witnessed:
            continue  # only a witness knows when a thread returns
        for other in record.detached(course, fact.place):
            if other.step != step and _writes_against(course, other, step):
                yield (
                    fact.seq,
                    step,
                    f"It began beside a thread of `{other.step}` that still writes.",
                )


def _writes_against(course: Course, writer: Attempt, step: str) -> bool:
    steps = course.reading.steps
    if writer.step not in steps or step not in steps:
        return False
    return steps[writer.step].claims.writes_against(steps[step].claims)


def detached_not_retried(record: Record) -> Iterator[Finding]:
    """A step whose detached thread is still going on is not begun again."""
    for course, fact in record.of("step_scheduled") if record.is_witnessed else ():
        for other in record.detached(course, fact.place):
            if other.step == fact.step:
                yield (
                    fact.seq,
                    fact.step,
                    f"It began while the thread of attempt {other.number} lived.",
                )


def slots_bounded(record: Record) -> Iterator[Finding]:
    """Never more attempts under way than `max_concurrency`; a detached thread holds no slot."""
    for course, fact in record.of("step_scheduled"):
        count, most = (
            len(record.under_way(course, fact.place)),
            course.reading.workflow.max_concurrency,
        )
        if count >= most:
            yield (
                fact.seq,
                fact.step,
                f"It began beside {count} others; {most} at once is the most.",
            )


def dependencies_ready(record: Record) -> Iterator[Finding]:
    """A step begins, or asks, only where each step it depends on stands `checkpoint_ready`; what is held is not decided."""
    for _, fact in record.of("checkpoint_decided"):
        if record.standing(fact.data["step"], fact.place).status == "held":
            yield fact.seq, fact.data["step"], f"It was held, and is {fact.data['status']}."
    for course, fact in record.of("step_scheduled", "decision_requested"):
        step = course.at(fact.place).steps.get(fact.data["step"])
        is_begin = fact.data.get("reason", "ask") in {"ask", "in_flight"}
        before = () if step is None or not is_begin else step.depends_on
        if isinstance(step, Collector):
            before = () if step.items else step.gates  # its items have waited for them
        for name in before:
            stood = record.standing(name, fact.place)
            if not stood.is_ready:
                told = stood.status or stood.stage
                yield fact.seq, fact.step, f"It began while `{name}` was {told}."


def earlier_first(record: Record) -> Iterator[Finding]:
    """No step begins past an earlier one that is ready to run, waits, and conflicts with it."""
    for course, fact in record.of("step_scheduled"):
        reading = course.at(fact.place)
        step = reading.steps.get(fact.data["step"])
        if step is None or step.said("reuse") == "reads":
            continue  # its files may have been digested before the other could begin
        for name, other in reading.steps.items():
            is_earlier = other.order < step.order and reading.conflict(name, step.id)
            if is_earlier and _could_run(record, course, fact.place, other):
                yield fact.seq, step.id, f"It began past `{name}`, which waited for the same files."


def _could_run(record: Record, course: Course, place: int, step: StepReading) -> bool:
    """Whether a step waits for nothing but a slot and its claims."""
    stood = record.standing(step.id, place)
    if may_be_parked(record, course, place, step):
        return False
    if stood.stage == "retrying":
        return _is_due(record, place, stood)
    if not _is_waiting(record, course, place, step, stood) or step.kind == "decision":
        return False
    if any(each.step == step.id for each in record.detached(course, place, heard=True)):
        return False
    try:
        return condition_at(record, course, place, step)
    except Unknown:
        return False


def _is_due(record: Record, place: int, stood: Standing) -> bool:
    """Whether a planned retry's delay is surely over."""
    if not record.is_wall_true or stood.retry is None or place >= len(record.facts):
        return False
    waited = record.elapsed(record.facts[stood.retry_at], record.facts[place])
    return waited * 1000 > float(stood.retry["delay_ms"]) + 1


def _is_waiting(
    record: Record, course: Course, place: int, step: StepReading, stood: Standing
) -> bool:
    """Whether an idle step could begin as far as its dependencies and the run go."""
    if stood.is_undone:
        return False  # a person took it back: it waits for a resume
    if stood.stage != "idle" or (stood.entry is not None and stood.entry[1] == "not_selected"):
        return False
    if course.reading.workflow.on_failure == "stop" and record.has_failed(course, place):
        return False
    return is_due(record, course.at(place), place, step)


def _may_be_due(record: Record, place: int, stood: Standing) -> bool:
    """Whether a planned retry's delay may be over just before `place`."""
    if not record.is_wall_true or stood.retry is None:
        return True
    waited = record.elapsed(record.facts[stood.retry_at], record.facts[place - 1])
    return waited * 1000 >= float(stood.retry["delay_ms"]) - 10


def starts_promptly(record: Record) -> Iterator[Finding]:
    """When a group ends, nothing is left waiting that could begin, but for a step whose files or values are read first."""
    for course in record.courses:
        for place in record.groups(course):
            if record.is_free(course, place) and not record.is_merging(place):
                yield from _left_waiting(record, course, place)


def _reads_first(step: StepReading) -> bool:
    """Whether the engine reads files or an output, beside the run's turns, before it can decide on a step."""
    spec = step.step
    each = getattr(spec, "for_each", None)
    texts = f"{spec.when} {getattr(spec, 'ask', '')} {each and (each.items, each.key)}"
    return spec.reuse == "reads" or "steps." in texts


def _may_be_reading(record: Record, step: StepReading, place: int) -> bool:
    """Whether the files that a step reads may be being digested: it could start but for that."""
    stood = record.standing(step.id, place)
    if step.said("reuse") != "reads" or stood.stage not in {"idle", "retrying"}:
        return False
    return all(record.standing(name, place).is_ready for name in step.depends_on)


def _left_waiting(record: Record, course: Course, place: int) -> Iterator[Finding]:
    reading_then = course.at(place)
    workflow, steps = reading_then.workflow, reading_then.steps
    busy = record.under_way(course, place)
    threads = record.detached(course, place, heard=True)
    reading = [step.id for step in steps.values() if _may_be_reading(record, step, place)]
    has_slot = len(busy) + len(reading) < workflow.max_concurrency
    waiting_before = list(reading)  # in whatever order: they have their slots and claims already
    for step in sorted(steps.values(), key=lambda each: each.order):
        stood = record.standing(step.id, place)
        if stood.stage == "retrying" and _may_be_due(record, place, stood):
            waiting_before.append(step.id)  # ready again: what conflicts with it waits behind it
        if step.id in reading:
            continue
        if _reads_first(step) and stood.stage == "idle":
            if is_due(record, reading_then, place, step):
                waiting_before.append(step.id)
            continue
        is_waiting = _is_waiting(record, course, place, step, stood)
        if not is_waiting:
            continue
        if may_be_parked(record, course, place, step):
            waiting_before.append(step.id)
            continue
        if record.wishes(course, place, "cancel_step", step=step.id):
            waiting_before.append(
                step.id
            )  # given up, perhaps a moment later: what conflicts with it waited so long
            continue
        has_died = stood.entry is not None and stood.entry[1] == "in_flight"
        asks = has_died and step.step.rerun == "ask" and not isinstance(step, Collector)
        if step.kind != "decision" and not asks and not is_slotless(record, place, step):
            against = [*(each.step for each in busy), *waiting_before]
            waiting_before.append(step.id)
            is_blocked = any(reading_then.conflict(step.id, name) for name in against)
            is_blocked = is_blocked or any(_meets_thread(course, each, step.id) for each in threads)
            if not has_slot or is_blocked:
                continue
        yield record.facts[place - 1].seq, step.id, "It could have begun, and was left waiting."


def _meets_thread(course: Course, thread: Attempt, step: str) -> bool:
    return thread.step == step or course.reading.conflict(thread.step, step)
