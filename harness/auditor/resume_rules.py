"""§6 of the contract, as a resume is planned: every step once, for a true reason, and nothing finished done again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from harness.auditor.breaches import Finding
from harness.auditor.conclusions import excused
from harness.auditor.facts import Course
from harness.auditor.givens import admits_more, course_at, given_at, stored, was_given
from harness.auditor.item_readings import Collector, ItemReading
from harness.auditor.item_turns import tally
from harness.auditor.readings import StepReading
from harness.auditor.record import Record, open_at
from harness.auditor.standing import Standing
from pixirnb.spec.steps import MergeStep

_UNUSABLE: Final = {"value_not_trusted", "blob_missing", "blob_damaged"}
"""Reasons that lie in the run's folder, not in its log."""
_REASONS: Final = {
    "reuse": {"ready", "decided"},
    "hold": {"not_selected", "failed", "partial", "held", "waiting"},
    "rerun": {
        "failed", "partial", "held", "waiting", "in_flight", "spec_changed", "input_changed",
        "upstream_changed", "selected", "decided", "never",
        *_UNUSABLE,
    },
}  # fmt: skip


def _resumes(record: Record) -> Iterator[Course]:
    yield from record.courses[1:]


def _planned(record: Record) -> Iterator[tuple[Course, StepReading, Standing, str, str]]:
    """Each planned step of each resume: where it stood before, what is to be done, and why."""
    for course in _resumes(record):
        for name, (action, reason) in course.entries.items():
            if name in course.before.steps:
                before = record.standing(name, course.start)
                yield course, course.before.steps[name], before, action, reason


def worth(before: Standing) -> str:
    """What a step stood for when its last course was over: its status, or where an attempt was left."""
    if before.kept is not None and (before.status == "held" or before.stage == "idle"):
        return worth(before.kept)
    if before.is_by_word:
        return "decided"
    if before.stage in {"under_way", "ended", "retrying", "asking", "idle"}:
        return before.stage
    return str(before.status)


def is_decision(course: Course) -> bool:
    """Whether it goes on with what a person decided, and tries nothing else again."""
    return bool(course.opening.data["flags"].get("decided"))


def forced(course: Course) -> set[str]:
    """The steps a resume was told to do again, whatever they are."""
    flags = course.opening.data["flags"]
    if isinstance(flags.get("only"), str):
        item = course.before.steps.get(flags["only"])
        # An item is collected anew.
        return {flags["only"], *((item.parent.id,) if isinstance(item, ItemReading) else ())}
    if isinstance(flags.get("from"), str):
        begins = flags["from"].split(",")
        return {step for name in begins for step in course.before.reach(name, "dependents")}
    return set()


def allowed(course: Course) -> set[str]:
    """The steps a resume may begin at all."""
    flags, reading = course.opening.data["flags"], course.before
    found = set(reading.steps)
    if isinstance(flags.get("only"), str):
        found = forced(course)
    elif isinstance(flags.get("from"), str):
        found = {b for name in forced(course) for b in reading.reach(name, "depends_on")}
    if isinstance(flags.get("until"), str):
        found &= reading.reach(flags["until"], "depends_on")
    return found


def is_unchanged(
    record: Record, course: Course, step: StepReading, before: Standing
) -> bool | None:
    """Whether a result would be made of the same things now; None where the log does not say.

    A step before it that an earlier course set back and never came to is decided when this course comes to it: so is this.
    """
    then = was_given(record, before, step.id)
    moved = _moved(record, course, before)
    if moved:
        names = step.step.merge if isinstance(step.step, MergeStep) else (step.id,)
        steps = [each for each in course.before.steps.values() if each.id in names]
        texts = [f"{each.step} {each.agent}" for each in steps]
        # The folders of a step may hold a repository that it does not name.
        return False if any(f"repos.{name}" in text for name in moved for text in texts) else None
    if any(record.standing(name, course.start).kept is not None for name in step.depends_on):
        return None
    if then is None:
        return None
    if then != given_at(record, course, course.start, step):
        return False
    admits = admits_more(record, course, step)
    return None if admits is None else not admits


def _is_never(course: Course, step: StepReading) -> bool:
    """Whether its result is to be made anew whatever it is: one that a selection leaves out stands."""
    is_taken = step.id in allowed(course) or isinstance(step, Collector)
    return step.said("reuse") == "never" and not is_decision(course) and is_taken


def _moved(record: Record, course: Course, before: Standing) -> set[str]:
    """The repositories that were other folders when the step was last begun."""
    then: dict[str, str] = {}
    now: dict[str, str] = {}
    for each in record.courses[: course.number + 1]:
        now = each.opening.data.get("repos", now)
        if each.start <= before.scheduled_at:
            then = now
    return {name for name in then.keys() & now.keys() if then[name] != now[name]}


def _is_repeated(
    record: Record, course: Course, step: StepReading, before: Standing, action: str
) -> bool:
    """Whether finished work is to be done again, or held, without need."""
    reason = course.entries[step.id][1]
    if worth(before) not in {"checkpoint_ready", "decided"} or action == "reuse":
        return False
    if step.id in forced(course) or _is_never(course, step):
        return False
    is_read_anew = (reason, step.said("reuse")) == ("input_changed", "reads")
    if reason in _UNUSABLE or is_read_anew or _open_items(record, course, step, before):
        return False
    if reason == "not_selected" and _may_have_changed_outside(step, before):
        return False
    if _differ(record, course, before, _asked(step)):
        return False  # its condition is asked again
    written = set(course.before.written)
    is_stale = any(
        course.entries.get(d, ("", ""))[0] != "reuse" or _is_undecided(record, course, d)
        for d in step.depends_on
        if d in written
    )
    return not is_stale and is_unchanged(record, course, step, before) is True


def _asked(step: StepReading) -> set[str]:
    """The inputs that the condition of a step refers to, and those that its items do."""
    one = step.template if isinstance(step, Collector) else step
    refers = [*(() if one.when is None else one.when.references)]
    refers += one.references if isinstance(step, Collector) else ()
    return {each.name for each in refers if each.source == "input"}


def _differ(record: Record, course: Course, before: Standing, names: set[str]) -> bool:
    """Whether some of these inputs are others than those of the course that the step's result is of."""
    made = course_at(record, before.scheduled_at)
    earlier = {} if made is None else made.inputs
    return any(earlier.get(name) != course.inputs.get(name) for name in names)


def _open_items(record: Record, course: Course, step: StepReading, before: Standing) -> set[str]:
    """The items that a resume left out, or all that are not ready where the step was set back: these begin again with it.

    Or the step whose list it shares, which is no more the one that it had.
    """
    was_set_back = before.kept is not None or before.status == "held"
    if not isinstance(step, Collector) or step.items is None:
        leader = getattr(step, "leader", None)
        return {leader} if leader is not None and was_set_back else set()
    if was_set_back:
        return set(tally(record, course.start, step).others)
    steps = record.standings(course, course.start)
    holds = {item.id: steps[item.id].held_by or {} for item in step.items}
    left = {name for name, hold in holds.items() if hold.get("kind") == "not_selected"}
    return left - excused(course.before, steps) if left else left


def _may_have_changed_outside(step: StepReading, before: Standing) -> bool:
    """Whether what no log shows, a file that was read or a blob that is gone, may be why it was not reused."""
    output = ((before.kept or before).ended or {}).get("output") or {}
    return step.said("reuse") == "reads" or "blob" in output


def plan_whole(record: Record) -> Iterator[Finding]:
    """A resume plans every step of its workflow once, and no other, each with an action and a reason that go together."""
    for course in _resumes(record):
        planned = [entry["step_id"] for entry in course.opening.data["steps"]]
        for name in course.before.written:
            if planned.count(name) != 1:
                yield course.opening.seq, name, f"It is planned {planned.count(name)} times."
        for entry in course.opening.data["steps"]:
            name, action, reason = entry["step_id"], entry["action"], entry["reason"]
            item = course.before.steps.get(name)
            if item is None:
                yield course.opening.seq, name, "It is planned, and the workflow has no such step."
            elif isinstance(item, ItemReading) and reason not in {"selected", *_UNUSABLE}:
                yield course.opening.seq, name, "It is planned, and its step decides what it does."
            if reason not in _REASONS.get(action, set()):
                yield course.opening.seq, name, f"It is to {action} because {reason}."


def reason_true(record: Record) -> Iterator[Finding]:
    """The reason a resume gives for a step is how the step stood."""
    for course, step, before, action, reason in _planned(record):
        was = worth(before)
        is_true = True
        is_odd = reason not in _REASONS.get(action, set())
        is_lost = before.stage == "under_way"
        if is_odd or is_lost or _is_repeated(record, course, step, before, action):
            continue  # rules of their own tell
        match reason:
            case "ready":
                is_true = was == "checkpoint_ready"
            case "decided":
                is_true = before.is_permitted if action == "rerun" else was == "decided"
            case "failed":
                is_true = was in {"failed", "retrying"}
            case "partial":
                is_undone = was == "idle" and (
                    before.is_undone or _is_undone(record, course, step.id, before)
                )
                is_true = was in {"partial", "needs_orchestrator"} or is_undone
            case "waiting":
                is_true = was == "asking"
            case "held":
                is_true = was in {"held", "asking", "idle"}  # older logs: `held` of a question
            case "upstream_changed":
                again = {
                    name
                    for name, (act, why) in course.entries.items()
                    if act == "rerun"
                    or why in {"failed", "partial", "waiting"}
                    or _is_undecided(record, course, name)
                }
                because = _because(course, step.id)
                again |= _open_items(record, course, step, before)
                is_true = bool(because) and set(because) <= again & set(step.depends_on)
            case "selected":
                is_true = step.id in forced(course)
            case "not_selected":
                is_true = step.id not in allowed(course) or is_decision(course)
            case "value_not_trusted" | "blob_missing" | "blob_damaged":
                names = [step.id, *course.before.carriers([step.id])]
                stood = [record.standing(name, course.start) for name in names]
                left = [stored(each.kept or each) for each in stood]
                is_true = any("blob" in each or each.get("format") == "pickle" for each in left)
            case _:
                continue  # in_flight and what changed have rules of their own
        if not is_true:
            yield course.opening.seq, step.id, f"To {action} because {reason}; it stood {was}."


def _is_undone(record: Record, course: Course, step: str, before: Standing) -> bool:
    """Whether the merge that the last attempt of a merge step made was taken back before a course."""
    made = (merge for merge in record.ledger.merges if merge.name == f"{step}.{before.attempt}")
    return any(not merge.stands(course.opening.place) for merge in made)


def _is_undecided(record: Record, course: Course, name: str) -> bool:
    """Whether a person had spoken on a step, and no verdict had followed."""
    stood = record.standing(name, course.start)
    return stood.decision is not None and not stood.is_decided


def _because(course: Course, step: str) -> list[str]:
    entries = course.opening.data["steps"]
    return next((entry["because"] for entry in entries if entry["step_id"] == step), [])


def change_true(record: Record) -> Iterator[Finding]:
    """Where a resume says that the workflow or an input changed, it did."""
    for course, step, before, action, reason in _planned(record):
        if _is_repeated(record, course, step, before, action):
            continue
        if reason == "spec_changed":
            if before.scheduled_at < 0 or step.said("reuse") == "never":
                continue
            if is_unchanged(record, course, step, before) is True:
                yield course.opening.seq, step.id, "It is to rerun as changed, and nothing has."
        elif reason == "never" and step.said("reuse") != "never":
            yield (
                course.opening.seq,
                step.id,
                "It is called never reused, and its spec says otherwise.",
            )
        elif reason == "input_changed" and step.said("reuse") != "reads":
            of_items = step.template.references if isinstance(step, Collector) else ()
            named = {r.name for r in (*step.references, *of_items) if r.source == "input"}
            is_same = not _differ(record, course, before, named | _asked(step))
            # A resume that left it out may have run what is before it.
            if is_same and is_unchanged(record, course, step, before) is True:
                yield course.opening.seq, step.id, "Its inputs are said to have changed."


def in_flight_reruns(record: Record) -> Iterator[Finding]:
    """What was under way when its process died is planned to run again, and nothing else is called in flight."""
    for course, step, before, action, reason in _planned(record):
        was_asked = (before.request or {}).get("reason") == "in_flight"
        if reason == "in_flight" and before.stage != "under_way" and not was_asked:
            told = worth(before)
            yield course.opening.seq, step.id, f"It is called in flight, and it stood {told}."
        is_left_out = (action, reason) == ("hold", "not_selected")
        is_lost = before.stage == "under_way" and reason not in {"in_flight", "selected"}
        if is_lost and not is_left_out:
            yield course.opening.seq, step.id, f"It was in flight, and is to {action} as {reason}."


def finished_not_repeated(record: Record) -> Iterator[Finding]:
    """What is ready or decided is reused, if it, its inputs and all before it are unchanged and nobody selected it."""
    for course, step, before, action, reason in _planned(record):
        if _is_repeated(record, course, step, before, action):
            yield course.opening.seq, step.id, f"It was finished, and is to {action} as {reason}."


def stale_not_reused(record: Record) -> Iterator[Finding]:
    """Nothing is reused whose step, inputs or upstream results are other than those it was made of."""
    for course, step, before, action, _ in _planned(record):
        if action != "reuse":
            continue
        is_open = before.decision is not None and not before.is_decided
        if _is_never(course, step) and not is_open:
            yield course.opening.seq, step.id, "It is never to be reused, and is."
        elif is_unchanged(record, course, step, before) is False:
            yield course.opening.seq, step.id, "It is reused, and what it was made of has changed."
        for name in step.depends_on:
            if course.entries.get(name, ("", ""))[0] == "rerun":
                yield course.opening.seq, step.id, f"It is reused although `{name}` runs again."
    for course, fact in record.of("checkpoint_decided"):
        known = course.reading.steps.get(fact.data["step"])
        kept = record.standing(fact.data["step"], fact.place).kept
        if known is None or kept is None or not fact.data.get("reused"):
            continue
        then = was_given(record, kept, known.id)
        if then is not None and then != given_at(record, course, fact.place, known):
            yield fact.seq, known.id, "It is kept, and what it was made of has changed."


def reuse_keeps(record: Record) -> Iterator[Finding]:
    """What is kept keeps the status and the digest it had."""
    for _, fact in record.of("checkpoint_decided"):
        stood = record.standing(fact.data["step"], fact.place)
        if not fact.data.get("reused"):
            continue
        if stood.kept is None:
            yield fact.seq, fact.step, "It is kept, and there was nothing to keep."
        elif (fact.data["status"], fact.data["digest"]) != (stood.kept.status, stood.kept.digest):
            yield (
                fact.seq,
                fact.step,
                f"It is kept as {fact.data['status']}, and was {stood.kept.status}.",
            )


def spec_pinned(record: Record) -> Iterator[Finding]:
    """A course without a workflow of its own goes on with the pinned one; one with another says so by its digest."""
    before = None
    for course in record.courses:
        data = course.opening.data
        # A default that is written out is another text.
        pinned = data["spec_digest"], data.get("spec") or (before and before[1])
        if before is not None and (before[0] == pinned[0]) != (before[1] == pinned[1]):
            is_same = "the same" if before[0] == pinned[0] else "another"
            yield course.opening.seq, None, f"Its digest says {is_same} workflow, wrongly."
        before = pinned


def no_op_is_silent(record: Record) -> Iterator[Finding]:
    """A completed, unchanged run is not resumed: nothing is written."""
    for course in _resumes(record):
        before = record.courses[course.number - 1]
        if before.finished is None or before.end != course.start:
            continue
        if any(
            fact.kind == "decision_recorded"
            for fact in record.facts[before.finished : course.start]
        ):
            continue
        # What had resolved a seam may have been undone since.
        status = record.facts[before.finished].data["status"]
        is_completed = status == "completed" and not open_at(record, before, course.start)
        is_reuse = all(action == "reuse" for action, _ in course.entries.values())
        digests = {each.opening.data["spec_digest"] for each in (before, course)}
        is_same = len(digests) == 1 and before.inputs == course.inputs
        if is_completed and is_reuse and is_same and not course.opening.data["flags"]:
            yield course.opening.seq, None, "The run was completed and unchanged, and was resumed."
