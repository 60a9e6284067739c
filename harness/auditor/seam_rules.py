"""§8 of the contract, for seams: each is opened for a cause, none is missing, and each is resolved by who may."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from harness.auditor.breaches import Finding
from harness.auditor.facts import Course, Fact
from harness.auditor.file_rules import paths_of
from harness.auditor.ledger import MINE, USABLE, Seam
from harness.auditor.readings import Reading, StepReading
from harness.auditor.record import Record, seams_at
from harness.auditor.standing import Standing

_MET: Final = frozenset({"met", "conflict"})


def _notes(step: StepReading, stood: Standing) -> dict[str, str]:
    """What a step declares to have a seam, and what its agent reported: note to reason."""
    report = (stood.ended or {}).get("report")
    said = report.get("seams") if isinstance(report, dict) else None
    found = {str(note): "reported" for note in said or () if note} if isinstance(said, list) else {}
    return {**found, **dict.fromkeys(step.said("seams") or (), "declared")}


def _is_usable(stood: Standing) -> bool:
    return stood.stage == "settled" and stood.status in USABLE


def _are_ordered(reading: Reading, one: str, other: str) -> bool:
    return one in reading.reach(other, "depends_on") or other in reading.reach(one, "depends_on")


def _met(record: Record, course: Course, place: int, one: str, other: str) -> set[str]:
    """Files that two steps that are not ordered both changed."""
    if _are_ordered(course.reading, one, other):
        return set()
    found: list[set[str]] = []
    for name in (one, other):
        stood = record.standing(name, place)
        if not _is_usable(stood) or stood.captured is None:
            return set()
        found.append(paths_of(record, stood.captured) or set())
    return found[0] & found[1]


def seams_are_opened(record: Record) -> Iterator[Finding]:
    """Before a run rests a seam was opened for all that steps declare or report, and for files that two of them met in."""
    for course in record.courses:
        if course.finished is None:
            continue
        place, seq = course.finished, record.facts[course.finished].seq
        known = seams_at(record, course, place)
        steps = course.reading.steps
        usable = [name for name in steps if _is_usable(record.standing(name, place))]
        for name in usable:
            for note in _notes(steps[name], record.standing(name, place)):
                has_one = any(s.fact.data["note"] == note and name in s.sides for s in known)
                if not has_one and not _answers(record, course, place, name, note):
                    yield seq, name, f"The seam {note!r} was never opened."
        files = [name for name in usable if record.standing(name, place).captured is not None]
        for one, other in combinations(files, 2):
            has_one = any(s.reason in _MET and {one, other} <= set(s.sides) for s in known)
            if not has_one and _met(record, course, place, one, other):
                yield seq, other, f"It met `{one}` in a file, and no seam was opened."


def _answers(record: Record, course: Course, place: int, name: str, note: str) -> bool:
    """Whether a step names the seam of a step before it: then it is there to resolve it."""
    before = course.reading.reach(name, "depends_on") - {name}
    return record.standing(name, place).is_ready and any(
        note in (course.reading.steps[other].said("seams") or ())
        and _is_usable(record.standing(other, place))
        for other in before
    )


def seams_have_cause(record: Record) -> Iterator[Finding]:
    """A seam has a name of its own and a cause: it is declared, reported, met in the files it names, or a merge conflicted."""
    names: set[str] = set()
    for course, fact in record.of("seam_opened"):
        data = fact.data
        if data["id"] in names or data["id"] in course.reading.steps:
            yield fact.seq, None, f"There is something else called `{data['id']}`."
        names.add(data["id"])
        wrong = _wrong_cause(record, course, fact)
        if wrong is not None:
            yield fact.seq, (data["between"] or [None])[-1], wrong


def _wrong_cause(record: Record, course: Course, fact: Fact) -> str | None:
    data, place, steps = fact.data, fact.place, course.reading.steps
    sides = [name for name in data["between"] if name != MINE]
    if not sides or any(name not in steps for name in sides):
        return f"It is between {data['between']}."
    for seam in seams_at(record, course, place):
        is_same = seam.fact.data["note"] == data["note"] and set(seam.sides) == set(sides)
        if is_same and (seam.reason == data["reason"] != "conflict"):
            return f"It is opened again: {seam.name} is the same."
    match data["reason"]:
        case "declared" | "reported":
            last = sides[-1]
            stood = record.standing(last, place)
            if _notes(steps[last], stood).get(data["note"]) != data["reason"]:
                return f"`{last}` has {data['reason']} no seam {data['note']!r}."
            if not _is_usable(stood):
                return f"`{last}` left nothing that could fit."
        case "met":
            found = _met(record, course, place, sides[0], sides[-1])
            if len(sides) != 2 or data["count"] != len(found) or not set(data["paths"]) <= found:
                return f"They met in {sorted(found)}, not in {data['paths']}."
        case "conflict":
            if not any(_is_of(clash, set(data["between"]), place) for _, clash in _clashes(record)):
                return "No merge had conflicted."
        case _:
            return f"`{data['reason']}` opens no seam."
    return None


def _clashes(record: Record) -> list[tuple[Course, Fact]]:
    return record.ledger.conflicts


def _is_of(clash: Fact, sides: set[str], place: int) -> bool:
    known = {*clash.data["between"], *clash.data["steps"], clash.data["step"]}
    return clash.place < place and set(clash.data["between"]) <= sides <= known


def seams_are_resolved_by_who_may(record: Record) -> Iterator[Finding]:
    """An open seam is resolved once: by a person with a note, a later step that is ready, or a merge of all its sides."""
    for course, fact in record.of("seam_resolved"):
        seam = next((s for s in record.ledger.seams if s.name == fact.data["id"]), None)
        if seam is None or seam.fact.place > fact.place:
            yield fact.seq, None, f"There is no seam `{fact.data['id']}`."
            continue
        if not seam.is_open(fact.place):
            yield fact.seq, None, f"The seam {seam.name} was resolved before."
        if not _may(record, course, fact, seam):
            yield fact.seq, fact.step, f"The seam {seam.name} was resolved by {fact.data['by']}."


def _may(record: Record, course: Course, fact: Fact, seam: Seam) -> bool:
    data, place = fact.data, fact.place
    if data.get("merge") is not None:
        sides = set(seam.sides) - {data.get("step")}
        return seam.reason in _MET and all(
            record.ledger.is_merged(name, record.standing(name, place), place) for name in sides
        )
    name = data.get("step")
    if name is None:
        is_person = data["by"] not in {"step", "merge", ""}
        return is_person and bool(data["note"].strip()) and data.get("request_id") is not None
    step, stood = course.reading.steps.get(name), record.standing(name, place)
    if step is None or data["by"] != "step":
        return False
    if seam.reason == "conflict":
        return name == seam.fact.data.get("step") and seam.is_of(record.standings(course, place))
    before = course.reading.reach(name, "depends_on") - {name}
    built_on = set((stood.captured or {}).get("built_on") or ())
    note = seam.fact.data["note"]
    is_named = bool(note) and note in (step.said("seams") or ())
    has_both = seam.reason == "met" and set(seam.sides) <= built_on
    return stood.is_ready and set(seam.sides) <= before and (is_named or has_both)
