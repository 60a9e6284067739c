"""§4 and §6 of the contract, for the whole run: when it may rest, what its end says, and which checkpoints it leaves."""

from __future__ import annotations

from collections.abc import Iterator

from harness.auditor.breaches import Finding
from harness.auditor.conclusions import (
    RUN_CODES,
    STEP_CODES,
    counts_of,
    reasons_of,
    status_of,
)
from harness.auditor.facts import Course, Fact
from harness.auditor.item_turns import is_due
from harness.auditor.record import Record, open_at


def _ends(record: Record) -> Iterator[tuple[Course, Fact]]:
    for course in record.courses:
        if course.finished is not None:
            yield course, record.facts[course.finished]


def rest_is_rest(record: Record) -> Iterator[Finding]:
    """A course finishes only when no attempt is under way, no retry is pending, and every step is settled or asks."""
    for course, fact in _ends(record):
        for step, stood in record.standings(course, fact.place).items():
            if stood.stage in {"under_way", "retrying", "idle"} and not stood.is_undone:
                yield fact.seq, step, f"The run came to rest, and it is {stood.stage}."


def status_is_first(record: Record) -> Iterator[Finding]:
    """`run_finished` bears the first status that holds, in the contract's order."""
    for course, fact in _ends(record):
        codes = {each["code"] for each in fact.data["reasons"]} & RUN_CODES
        steps, seams = record.standings(course, fact.place), open_at(record, course, fact.place)
        due = status_of(course.reading, steps, codes, has_seams=bool(seams))
        if fact.data["status"] != due:
            yield fact.seq, None, f"It says {fact.data['status']}, and {due} holds."


def counts_true(record: Record) -> Iterator[Finding]:
    """The counts of `run_finished` are those of the steps' statuses."""
    for course, fact in _ends(record):
        due = counts_of(course.at(fact.place), record.standings(course, fact.place))
        if fact.data["counts"] != due:
            yield fact.seq, None, f"It counts {fact.data['counts']}, and there are {due}."


def reasons_real(record: Record) -> Iterator[Finding]:
    """A run that is not completed says why, in known codes, and names exactly the steps that stand so."""
    for course, fact in _ends(record):
        reasons, status = fact.data["reasons"], fact.data["status"]
        if status == "completed":
            if reasons:
                yield fact.seq, None, "It is completed, and gives reasons why not."
            continue
        steps = record.standings(course, fact.place)
        if not reasons:
            yield fact.seq, None, f"It is {status}, and says not why."
        is_stopped = all(each["code"] == "step_run_stopped" for each in reasons)
        own = reasons_of(course.at(fact.place), steps)
        for step, stood in steps.items():
            due = own[step]
            if due is None and is_stopped and (stood.held_by or {}).get("kind") == "run_stopped":
                due = "step_run_stopped"  # nothing else says why
            said = {
                each["code"]
                for each in reasons
                if each["step"] == step and each["code"] != "seam_open"
            }
            if said != ({due} if due else set()):
                yield fact.seq, step, f"Its reasons are {sorted(said)}, and {due} is due."
        told = [each.get("seam") for each in reasons if each["code"] == "seam_open"]
        is_open = [seam.name for seam in open_at(record, course, fact.place)]
        if told != is_open:
            yield fact.seq, None, f"It tells of the open seams {told}, and there are {is_open}."
        for each in reasons:
            if each["code"] == "seam_open":
                continue
            known = RUN_CODES if each["step"] is None else STEP_CODES
            if each["code"] not in known:
                yield fact.seq, each["step"], f"`{each['code']}` is no reason."
            elif each["step"] is not None and each["step"] not in course.reading.steps:
                yield fact.seq, each["step"], "It names a step that is not there."


def parks(record: Record) -> Iterator[Finding]:
    """When nothing is under way and nothing can go on but by a person's word, the run comes to rest at once."""
    for course in record.courses:
        for place in record.groups(course):
            threads = record.detached(course, place, heard=True)
            if threads or record.under_way(course, place) or record.is_merging(place):
                continue
            steps = record.standings(course, place)
            waits = [s for s in steps.values() if s.stage in {"retrying", "ended"}]
            waits += [s for s in steps.values() if s.stage == "asking" and s.timeout_ms is not None]
            begins = [s for s in steps.values() if s.stage == "idle"]
            if not waits and not (begins and _may_begin(record, course, place)):
                yield (
                    record.facts[place - 1].seq,
                    None,
                    "Nothing could go on, and the run did not rest.",
                )


def _may_begin(record: Record, course: Course, place: int) -> bool:
    """Whether some idle step has nothing before it that it waits for: then another rule judges why it waits."""
    reading = course.at(place)
    return any(
        record.standing(name, place).stage == "idle" and is_due(record, reading, place, step)
        for name, step in reading.steps.items()
    )


def phases_checkpointed(record: Record) -> Iterator[Finding]:
    """A phase has its checkpoint once its last step is ready, before the run rests, and never sooner."""
    for course, fact in record.of("checkpoint_saved"):
        if fact.data["reason"] != "phase":
            continue
        members = course.reading.phases.get(fact.data["name"])
        if members is None:
            yield fact.seq, None, f"There is no phase `{fact.data['name']}`."
            continue
        for step in members:
            if not record.standing(step, fact.place).is_ready:
                yield (
                    fact.seq,
                    step,
                    f"The phase `{fact.data['name']}` was saved before it was ready.",
                )
    for course, fact in _ends(record):
        saved = {
            each.data["name"]: each.place
            for each in record.facts[: fact.place]
            if each.kind == "checkpoint_saved" and each.data["reason"] == "phase"
        }
        for name, members in course.reading.phases.items():
            stood = [record.standing(step, fact.place) for step in members]
            last = max((each.settled_at for each in stood), default=-1)
            if all(each.is_ready for each in stood) and saved.get(name, -1) < last:
                yield fact.seq, None, f"The phase `{name}` is ready, and has no checkpoint."


def end_checkpointed(record: Record) -> Iterator[Finding]:
    """The checkpoint `end` stands just before `run_finished`."""
    for _, fact in _ends(record):
        before = record.facts[fact.place - 1]
        if before.kind != "checkpoint_saved" or before.data["reason"] != "end":
            yield fact.seq, None, "The run came to rest without its last checkpoint."


def checkpoint_lists_ready(record: Record) -> Iterator[Finding]:
    """Every checkpoint lists exactly the steps that were ready when it was saved."""
    for course, fact in record.of("checkpoint_saved"):
        due = {name for name, each in record.standings(course, fact.place).items() if each.is_ready}
        said = fact.data["ready"]
        if set(said) != due or len(said) != len(due):
            yield fact.seq, None, f"It lists {said}, and ready are {sorted(due)}."
