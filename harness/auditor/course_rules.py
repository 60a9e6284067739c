"""§6 of the contract, as a resume is carried out: what was planned is what is done, and no work is done twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness.auditor.breaches import Finding
from harness.auditor.facts import Course, Fact
from harness.auditor.givens import given_at, stored, was_given
from harness.auditor.item_readings import Collector
from harness.auditor.item_turns import let_in
from harness.auditor.record import Record
from harness.auditor.resume_rules import allowed, forced, worth
from harness.auditor.standing import Standing
from pixirnb.history.codec import NotCanonicalError, canonical


def _begins(record: Record) -> Iterator[tuple[Course, Fact, Standing]]:
    """Every event that begins something: an attempt, or a question of its own."""
    for course, fact in record.of("step_scheduled", "decision_requested"):
        if fact.data.get("reason", "ask") in {"ask", "in_flight"}:
            yield course, fact, record.standing(fact.data["step"], fact.place)


def begun_once(record: Record) -> Iterator[Finding]:
    """Within a course a step begins once, and goes on only by the retries that were planned."""
    for _, fact, stood in _begins(record):
        is_planned_not_to = (
            stood.entry is not None and stood.entry[0] != "rerun" and not stood.tries
        )
        if stood.stage in {"under_way", "settled", "asking"} and not is_planned_not_to:
            told = stood.status or stood.stage
            yield fact.seq, fact.step, f"It began again while it was {told}."


def entry_obeyed(record: Record) -> Iterator[Finding]:
    """A step that a resume reuses or holds does not begin in its course."""
    for course, fact, stood in _begins(record):
        entry = course.entries.get(fact.data["step"])
        if stood.stage == "retrying":
            continue  # by a person's word, and rules of their own tell
        if entry is not None and entry[0] in {"reuse", "hold"}:
            yield fact.seq, fact.step, f"It began, and was to {entry[0]} ({entry[1]})."


def equal_digest_stops(record: Record) -> Iterator[Finding]:
    """A step planned again only for what is before it is kept where all that came out equal."""
    for course, fact, stood in _begins(record):
        step = course.reading.steps.get(fact.data["step"])
        is_upstream = stood.entry in {("rerun", "upstream_changed"), ("rerun", "held")}
        if step is None or stood.kept is None or not is_upstream or stood.stage != "idle":
            continue
        if step.said("reuse") != "spec":
            continue
        then = was_given(record, stood.kept, step.id)
        if then is None or then != given_at(record, course, fact.place, step):
            continue
        if not let_in(record, course, fact.place, step.id):
            yield fact.seq, step.id, "It began again, and nothing it was made of had changed."


def in_flight_warned(record: Record) -> Iterator[Finding]:
    """A step in flight at a death begins again only with a warning that its side effects may be partial."""
    for course in record.courses[1:]:
        warned: set[Any] = set()
        for fact in record.facts[course.start : course.end]:
            if fact.kind == "warning_raised" and fact.data["code"] == "side_effects_may_be_partial":
                warned.add(fact.data.get("step"))
            elif fact.kind in {"step_scheduled", "decision_requested"}:
                step = fact.data["step"]
                is_lost = record.standing(step, course.start).stage == "under_way"
                if isinstance(course.at(fact.place).steps.get(step), Collector):
                    continue  # it only gathers what its items left
                if is_lost and step not in warned:
                    warned.add(step)
                    yield fact.seq, step, "It was in flight at a death, and no warning says so."


def asks_before_rerun(record: Record) -> Iterator[Finding]:
    """`rerun: ask`: a step that may have run unseen is asked about before it runs again, unless it was named."""
    for course, fact, stood in _begins(record):
        step = course.reading.steps.get(fact.data["step"])
        if step is None or fact.kind != "step_scheduled" or step.said("rerun") != "ask":
            continue
        is_named = stood.entry == ("rerun", "selected")
        has_died = stood.stage == "idle" and (
            stood.entry == ("rerun", "in_flight")
            or (stood.is_in_doubt and not is_named and "@" in step.id)
        )
        if _is_of_named_list(course, step.id):
            continue
        if has_died or (not is_named and record.is_unrecorded(step.id, fact.place)):
            yield fact.seq, step.id, "It ran again without a question."


def _is_of_named_list(course: Course, name: str) -> bool:
    """Whether a step is an item of a list that was named as a whole."""
    each, at, _ = name.partition("@")
    named = {step for step, (_, reason) in course.entries.items() if reason == "selected"}
    return bool(at) and each in named and not any(step.startswith(f"{each}@") for step in named)


def selection_kept(record: Record) -> Iterator[Finding]:
    """`--from`, `--only` and `--until` begin what they name and need, and leave everything else out."""
    for course in record.courses[1:]:
        may, must = allowed(course), forced(course)
        for step in course.before.steps:
            entry = course.entries.get(step)
            if entry is None:
                continue
            due = "rerun" if step in may else "hold"
            if step in must and entry[0] != due:
                yield course.opening.seq, step, f"It was named, and is to {entry[0]} ({entry[1]})."
            elif entry[0] == "rerun" and step not in may:
                yield course.opening.seq, step, "It was left out, and is to run."


def decision_goes_on(record: Record) -> Iterator[Finding]:
    """Deciding a parked run goes on with it: what failed or waits for another word is not tried again."""
    for course in record.courses[1:]:
        if not course.opening.data["flags"].get("decided"):
            continue
        for name, (action, reason) in course.entries.items():
            step = course.before.steps.get(name)
            if step is None or action != "rerun":
                continue
            before = record.standing(name, course.start)
            if before.is_permitted and reason == "decided":
                continue
            was = worth(before)
            if was in {"failed", "partial", "needs_orchestrator", "asking"}:
                yield (
                    course.opening.seq,
                    name,
                    f"It stood {was}, and a decision reruns it ({reason}).",
                )


def digest_of_result(record: Record) -> Iterator[Finding]:
    """Within a run, results that are equal have equal digests, and others have others; only what is ready has one."""
    by_digest: dict[str, bytes] = {}
    by_result: dict[bytes, str] = {}
    for _, fact in record.of("checkpoint_decided"):
        data = fact.data
        if data.get("reused"):
            continue
        digest = data["digest"]
        if (data["status"] == "checkpoint_ready") != (digest is not None):
            yield fact.seq, data["step"], f"It is {data['status']}, and its digest is {digest}."
            continue
        if digest is None:
            continue
        stood = record.standing(data["step"], fact.place)
        result = _result(stood.kept if stood.stage == "idle" and stood.kept else stood)
        if result is None:
            continue
        if by_digest.setdefault(digest, result) != result:
            yield fact.seq, data["step"], "Its digest is that of another result."
        elif by_result.setdefault(result, digest) != digest:
            yield fact.seq, data["step"], "An equal result had another digest."


def _result(stood: Standing) -> bytes | None:
    """All that dependents can see of what a step left."""
    ended = stood.ended or {}
    payload = ended.get("payload")
    schema = payload.get("schema_id") if isinstance(payload, dict) else None
    output = {k: v for k, v in stored(stood).items() if k != "signature"}
    event = stood.brought or stood.captured
    patch = None if event is None else event["changes"]["patch"]
    try:
        return canonical([output, list(ended.get("artifacts") or []), schema, patch])
    except (NotCanonicalError, TypeError):
        return None
