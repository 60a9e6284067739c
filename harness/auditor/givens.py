"""What a step was given: the values its references stood for at some moment, and whether its `when` held then."""

from __future__ import annotations

from functools import partial
from typing import Any

from pydantic_core import from_json

from harness.auditor.facts import Course
from harness.auditor.item_readings import Collector, ItemReading
from harness.auditor.readings import StepReading
from harness.auditor.record import Record
from harness.auditor.standing import Standing
from pixirnb.history.codec import NotCanonicalError, canonical
from pixirnb.spec.expressions.references import Reference, pick


class Unknown(LookupError):
    """Raised where a value cannot be known from the log and the blobs at hand."""


def stored(stood: Standing) -> dict[str, Any]:
    """What a step left as its output: an attempt's, else what a person answered."""
    output = (stood.ended or {}).get("output")
    if isinstance(output, dict):
        return output
    if stood.decision is not None and stood.decision["verdict"] == "accept":
        return {"format": "json", "value": stood.decision["value"]}
    return {"format": "none"}


def condition_at(record: Record, course: Course, place: int, step: StepReading) -> bool:
    """Whether the step's `when` held just before `place`. Raises Unknown."""
    if step.when is None:
        return True

    def look_up(reference: Reference) -> Any:
        return value_at(record, course, place, step, reference)

    for reference in step.when.references:
        try:
            look_up(reference)
        except Unknown:
            raise
        except LookupError:
            continue  # what is not there counts as null
    return step.when.evaluate(look_up)


def admits_more(record: Record, course: Course, step: StepReading) -> bool | None:
    """Whether a `when` lets in an item that it skipped: it was edited. None where the log does not say."""
    items = (step.items or ()) if isinstance(step, Collector) else ()
    held_by = {item: record.standing(item.id, course.start).held_by or {} for item in items}
    skipped = [item for item in items if held_by[item].get("kind") == "when"]
    look_up = partial(value_at, record, course, course.start)
    answers = [item.when is None or item.when.holds(partial(look_up, item)) for item in skipped]
    return None if None in answers and True not in answers else any(answers)


def value_at(
    record: Record, course: Course, place: int, step: StepReading, reference: Reference
) -> Any:
    """The value a reference of a step stood for. Raises Unknown, or LookupError where there was none."""
    if isinstance(step, ItemReading):
        reference = step.of_item(reference)
    match reference.source, reference.part:
        case "input", _:
            return pick(course.inputs.get(reference.name), reference)
        case "item", _ if isinstance(step, ItemReading):
            return step.own(reference)
        case "run", _:
            return record.facts[0].data.get("run_id")
        case "step", "summary":
            return (record.standing(reference.name, place).ended or {}).get("summary", "")
        case "step", "output":
            return pick(output_of(record, record.standing(reference.name, place)), reference)
        case _:
            raise Unknown(reference.text)


def output_of(record: Record, stood: Standing) -> Any:
    """The value that a step left. Raises Unknown."""
    output = stored(stood)
    digest = output.get("blob")
    if digest is None:
        if "value" not in output and output.get("format") != "none":
            raise Unknown(str(output.get("format")))
        return output.get("value")
    data = record.read_blob(str(digest))
    if data is None or output.get("format") not in {"text", "json", "jsonl"}:
        raise Unknown(str(digest))
    try:
        if output["format"] == "jsonl":
            return [from_json(line) for line in data.splitlines() if line.strip()]
        return data.decode() if output["format"] == "text" else from_json(data)
    except ValueError as error:
        raise Unknown(str(digest)) from error


def given_at(record: Record, course: Course, place: int, step: StepReading) -> tuple[Any, ...]:
    """What the step is made of and given at a moment: equal for two moments, its result need not be made twice."""
    before = _counted(record, place, step)
    dependencies = tuple(sorted((d, record.standing(d, place).digest) for d in before))
    order = tuple(i.id for i in step.items or ()) if isinstance(step, Collector) else ()
    seen: list[tuple[str, bytes | str | None]] = []
    references = step.references
    if isinstance(step, ItemReading):
        references = tuple(map(step.of_item, references))
    for reference in references:
        if reference.source == "run":
            continue
        stood = record.standing(reference.name, place)
        if reference.source == "step" and reference.part == "output_path":
            seen.append((reference.text, stood.digest))
        elif reference.source == "step" and reference.part == "output" and "blob" in stored(stood):
            seen.append((reference.text, str(stored(stood)["blob"])))
        else:
            try:
                value = canonical(value_at(record, course, place, step, reference))
            except (LookupError, NotCanonicalError):
                value = b""
            seen.append((reference.text, value))
    files = _files_at(record, course, place, step, before)
    return step.deed(course.sources), dependencies, tuple(seen), files, order


def _counted(record: Record, place: int, step: StepReading) -> tuple[str, ...]:
    """The dependencies whose results count as such."""
    if isinstance(step, Collector):
        return tuple(d for d in step.depends_on if d != step.leader)  # its items count, one by one
    if isinstance(step, ItemReading):
        # Of its list the item alone counts, the files it begins from, and artifacts that it may read.
        lists = step.parent.sources
        kept = {d for d in lists if (record.standing(d, place).ended or {}).get("artifacts")}
        return tuple(d for d in step.depends_on if d not in lists - kept)
    return tuple(step.depends_on)


def _files_at(
    record: Record, course: Course, place: int, step: StepReading, counted: tuple[str, ...]
) -> tuple[tuple[str, str], ...]:
    """What isolated steps before those it depends on have changed: files flow past steps that only read."""
    if step.workspace != "isolated" and step.kind != "merge":
        return ()
    covered = set(counted) if isinstance(step, ItemReading) else {*step.depends_on}
    before = course.reading.reach(step.id, "depends_on") - {step.id} - covered
    stood = {name: record.standing(name, place) for name in before}
    patches = {
        name: each.captured["changes"]["patch"]
        for name, each in stood.items()
        if each.captured is not None and (each.kept or each).is_ready
    }
    return tuple(sorted((name, patch) for name, patch in patches.items() if patch is not None))


def course_at(record: Record, place: int) -> Course | None:
    """The course an event belongs to."""
    return next((c for c in reversed(record.courses) if c.start <= place), None)


def was_given(record: Record, stood: Standing, step: str) -> tuple[Any, ...] | None:
    """What the step's standing result was made of, when it was scheduled or asked; None where the log does not say."""
    course = course_at(record, stood.scheduled_at) if stood.scheduled_at >= 0 else None
    known = None if course is None else course.reading.steps.get(step)
    if course is None or known is None:
        return None
    return given_at(record, course, stood.scheduled_at, known)
