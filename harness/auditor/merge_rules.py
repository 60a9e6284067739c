"""§8 of the contract, for what comes back: a merge is of what is ready, whole, once, and can be taken back; views say so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.auditor.breaches import Finding
from harness.auditor.facts import Course
from harness.auditor.ledger import Merge, changed_roots
from harness.auditor.logging_rules import is_inherited
from harness.auditor.record import Record, mergeable_at, open_at, seams_at
from harness.auditor.standing import CONFLICT
from pixirnb.spec.steps import MergeStep


def _brought(record: Record) -> Iterator[Merge]:
    """Every merge that brought changes into the user's files."""
    return (merge for merge in record.ledger.merges if merge.undoes is None)


def merges_what_is_ready(record: Record) -> Iterator[Finding]:
    """A merge brings changes of isolated steps that are ready and not merged yet, by the attempts that stand."""
    for merge in _brought(record):
        data, place = merge.fact.data, merge.fact.place
        steps, attempts = data["steps"], data["attempts"]
        if not steps or len(set(steps)) != len(steps) or set(attempts) != set(steps):
            yield merge.fact.seq, data["step"], f"It brings {steps}, by the attempts {attempts}."
        for name in steps:
            if record.is_unrecorded(name, place):
                continue  # the journal proves the merge; what it is of stood in the part of the log that is lost
            stood = record.standing(name, place)
            if not stood.is_ready or stood.captured is None:
                yield merge.fact.seq, name, f"It was merged while {stood.status}."
            elif record.is_found(merge.fact) and attempts.get(name, 0) > stood.attempt:
                continue  # the log has lost the attempt
            elif attempts.get(name) != stood.attempt:
                told = f"attempt {attempts.get(name)}, and {stood.attempt} stands"
                yield merge.fact.seq, name, f"It was merged by {told}."
            elif record.ledger.is_merged(name, stood, place):
                yield merge.fact.seq, name, "It was merged already."
        step = merge.course.reading.steps.get(data["step"])
        if step is not None:
            written = step.step.merge if isinstance(step.step, MergeStep) else ()
            named = merge.course.reading.carriers(written)
            if not set(steps) <= set(named):
                yield merge.fact.seq, step.id, f"It brings {steps}, and is to bring {list(named)}."


def merges_whole(record: Record) -> Iterator[Finding]:
    """A merge brings each of its steps whole, in every root that it changed, together with what it builds on."""
    for merge in _brought(record):
        data, place = merge.fact.data, merge.fact.place
        roots = {root["root"] for root in data["roots"]}
        for name in data["steps"]:
            captured = record.standing(name, place).captured
            if captured is None:
                continue
            if missing := changed_roots(captured) - roots:
                yield merge.fact.seq, name, f"It was merged without {sorted(missing)}."
            # Of a step that says that it only reads nobody plans to merge what a person accepted all the same.
            writers = [n for n in captured["built_on"] if _may_write(merge.course, n)]
            below = mergeable_at(record, merge.course, place, writers)
            if left := set(below) - set(data["steps"]):
                yield merge.fact.seq, name, f"It was merged without {sorted(left)}, its base."


def _may_write(course: Course, step: str) -> bool:
    known = course.reading.steps.get(step)
    return known is not None and (bool(known.claims.writes) or not known.says_what_it_writes)


def merge_step_merges(record: Record) -> Iterator[Finding]:
    """A merge step is ready only once all it names that changed anything is in the user's files."""
    for course, fact in record.of("checkpoint_decided"):
        step = course.reading.steps.get(fact.data["step"])
        if step is None or not isinstance(step.step, MergeStep) or fact.data.get("reused"):
            continue
        if fact.data["status"] == "checkpoint_ready":
            named = course.reading.carriers(step.step.merge)
            left = mergeable_at(record, course, fact.place, named)
            if left:
                yield fact.seq, step.id, f"It is ready, and {left} are not merged."


def solved_by_word(record: Record) -> Iterator[Finding]:
    """What a person edited counts as solved in the attempt of a merge step after their word; a later attempt asks again."""
    for merge in _brought(record):
        data, place = merge.fact.data, merge.fact.place
        step, solved = data["step"], data.get("solved") or []
        if step is None or not solved:
            continue
        clash, word = _word_on(record, step, place)
        value = None if word is None else word["value"]
        if isinstance(value, str) and value:
            continue
        known = {file["path"] for file in (clash or {}).get("solved") or ()} | set(value or ())
        attempt = record.standing(step, place).attempt
        left = [path for path in solved if path not in known]
        # What is found after a damage may have lost its decision with the rest of the log.
        is_unsaid = word is None and not record.is_found(merge.fact)
        if left and (is_unsaid or (word is not None and attempt > word["attempt"] + 1)):
            yield merge.fact.seq, step, f"Attempt {attempt} took {left} as solved by no word."


def _word_on(record: Record, step: str, place: int) -> tuple[dict[str, Any] | None, ...]:
    """The last conflict of a step before `place`, and the decision that it began again by."""
    clash = said = word = None
    for fact in record.facts[:place]:
        if fact.step != step:
            continue
        if fact.kind == "merge_conflicted":
            clash, word = fact.data, None
        elif fact.kind == "decision_recorded":
            said = fact.data
        elif fact.kind == "retry_planned" and fact.data["retry_class"] == CONFLICT:
            word = said
    return clash, word


def undo_is_of_the_last(record: Record) -> Iterator[Finding]:
    """Each merge has a name of its own, and none but the last that stands is taken back.

    Of a log that lost its end, the files may tell first of all that what it lost was taken back.
    """
    known: list[Merge] = []
    for merge in record.ledger.merges:
        if any(other.name == merge.name for other in known):
            yield merge.fact.seq, None, f"Another merge is named {merge.name}."
        if merge.undoes is not None:
            place = merge.fact.place
            standing = [m for m in known if m.undoes is None and m.stands(place)]
            is_last = bool(standing) and standing[-1].name == merge.undoes
            is_lost = record.is_found(merge.fact) and not any(
                other.name == merge.undoes for other in known
            )
            if not (is_last or is_lost or is_inherited(record, merge.fact)):
                last = standing[-1].name if standing else "none"
                yield merge.fact.seq, None, f"It takes back {merge.undoes}, and {last} is the last."
        known.append(merge)


# --- what views show ---------------------------------------------------------------------------------------------


def _shown(record: Record) -> Iterator[tuple[Course, Mapping[str, Any]]]:
    if record.outcome is not None and record.courses and "seam_obligations" in record.outcome:
        yield record.courses[-1], record.outcome


def outcome_changes(record: Record) -> Iterator[Finding]:
    """The bundle of a step shows the changes that its attempt left, or that it brought back, and no others."""
    for course, shown in _shown(record):
        for each in shown.get("steps") or []:
            bundle, name = each.get("checkpoint"), each.get("step_id")
            if not isinstance(bundle, Mapping) or name not in course.reading.steps:
                continue
            stood = record.standing(name, len(record.facts))
            told = [event["changes"] for event in (stood.brought, stood.captured) if event]
            due = told[0] if told else {"patch": None, "files": []}
            said = bundle.get("changes") or {}
            for key, value in due.items():
                if said.get(key) != value:
                    yield None, name, f"Its {key} is shown as {said.get(key)}, and it is {value}."


def outcome_seams(record: Record) -> Iterator[Finding]:
    """The outcome lists the seams of the work that stands, each with its sides and whether it is open."""
    for course, shown in _shown(record):
        end = len(record.facts)
        due = [
            (
                seam.name,
                list(seam.fact.data["between"]),
                "open" if seam.is_open(end) else "resolved",
            )
            for seam in seams_at(record, course, end)
        ]
        said = [(s.get("id"), s.get("between"), s.get("state")) for s in shown["seam_obligations"]]
        if said != due:
            yield None, None, f"Its seams are {said}, and {due} are due."


def outcome_offers(record: Record) -> Iterator[Finding]:
    """What can be merged is offered to be merged, and every open seam to be resolved; nothing else is."""
    for course, shown in _shown(record):
        end = len(record.facts)
        if shown.get("status") == "running" or record.damage is not None:
            continue
        offered = shown.get("next_actions") or []
        left = mergeable_at(record, course, end, course.reading.steps)
        has_merge = any(each["action"] == "merge_changes" for each in offered)
        if bool(left) != has_merge:
            yield (
                None,
                None,
                f"{left} can be merged, and it is {'' if has_merge else 'not '}offered.",
            )
        cells = [each["cell"] for each in offered if each["action"] == "resolve_seam"]
        seams = [seam.name for seam in open_at(record, course, end)]
        told = [name for name in seams if any(f" {name} " in cell for cell in cells)]
        if told != seams or len(cells) != len(seams):
            yield None, None, f"The seams {seams} are open, and it offers {cells}."
