"""§4 of the contract, step by step: what a checkpoint status must rest on, and why a step may be held."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from harness.auditor.breaches import Finding
from harness.auditor.conclusions import excused
from harness.auditor.facts import Course, Fact
from harness.auditor.givens import Unknown, condition_at
from harness.auditor.item_readings import FOR_EACH, Collector
from harness.auditor.item_turns import tally
from harness.auditor.readings import StepReading
from harness.auditor.record import Record
from harness.auditor.standing import BY_WORD, Standing

STATUSES: Final = frozenset({"checkpoint_ready", "partial", "failed", "needs_orchestrator"})
SUBAGENT: Final = frozenset(
    {
        "completed", "failed", "timed_out", "interrupted", "cancelled", "detached",
    }
)  # fmt: skip
_CAPS: Final = frozenset({"turn_limit", "iteration_limit", "output_limit"})
_KINDS: Final = {
    "timed_out": "timeout",
    "interrupted": "interrupted",
    "cancelled": "cancelled",
    "detached": "detached",
}
OUTSIDE: Final = "writes_outside_write_set"
"""Kind of the error of an isolated step that changed what it had not claimed, and beginning of a shared one's limitation."""
_NOT_GIVEN: Final = {"reference_missing", "output_too_large", "value_unreadable"}
"""Kinds of errors of a step that could not be asked about, or ask, for want of a value it names."""
_NO_LIST: Final = {*_NOT_GIVEN, "not_a_list", "bad_glob"}
"""Kinds of errors of a step whose list could not be read."""
NOT_READY: Final = "items_not_ready"
"""Kind of the error of a step of whose items too few are ready."""
_REPORTED: Final = {"needs_orchestrator", "failed", "partial"}


def expected(step: StepReading, stood: Standing) -> tuple[str, str | None]:
    """The status an ended attempt deserves, and the error kind that must go with it (None: none; empty: any)."""
    ended = stood.ended or {}
    report = ended.get("report")
    error = ended.get("error") or {}
    if ended.get("status") == "failed" and error.get("kind") in BY_WORD:
        return "needs_orchestrator", str(error["kind"])
    if ended.get("status") != "completed":
        has_left = report is not None or bool(ended.get("artifacts"))
        has_some = error.get("kind") == NOT_READY and bool(error["details"].get("ready"))
        is_some = has_left or has_some or error.get("kind") in _CAPS
        status = "partial" if is_some else "failed"
        return status, str(error.get("kind", ""))
    is_agent = step.kind == "agent"
    fallen = "partial" if is_agent else "failed"
    declared = report.get("checkpoint_status") if isinstance(report, dict) else None
    if is_agent and declared in ("needs_orchestrator", "failed"):  # nothing to judge
        return declared, ""
    if any(not check["passed"] for check in stood.checks) or len(stood.checks) < step.checks:
        return fallen, "verification"
    payload = ended.get("payload")
    is_declared = step.said("output") is not None
    if (is_declared and not isinstance(payload, dict)) or _is_invalid(payload):
        return fallen, "output_invalid"
    is_undeclared = declared is None and (stood.checks or step.workflow.readiness == "lenient")
    if not is_agent or declared == "checkpoint_ready" or is_undeclared:
        if (stood.captured or {}).get("outside"):
            return "needs_orchestrator", OUTSIDE
        return "checkpoint_ready", None
    if declared in _REPORTED:
        return declared, ""
    return "partial", "readiness_not_declared"


def _is_invalid(payload: Any) -> bool:
    if not isinstance(payload, dict):
        return False
    validation = payload.get("validation")
    return not isinstance(validation, dict) or validation.get("passed") is not True


def _verdicts(record: Record) -> Iterator[tuple[Course, Fact, StepReading, Standing]]:
    """Every verdict on an attempt: not a reuse, not a person's word, not what becomes of a question."""
    for course, fact in record.of("checkpoint_decided"):
        step = course.reading.steps.get(fact.data["step"])
        if step is None or fact.data.get("reused"):
            continue
        stood = record.standing(step.id, fact.place)
        is_by_word = stood.decision is not None or (
            stood.kept is not None and stood.kept.decision is not None
        )
        is_question = stood.stage == "asking" or (stood.is_ask and stood.ended is not None)
        if not is_by_word and not is_question:
            yield course, fact, step, stood


def ready_is_earned(record: Record) -> Iterator[Finding]:
    """A step became ready on a clean end, passing checks, a valid output and, for agents, declared readiness."""
    for _, fact, step, stood in _verdicts(record):
        if fact.data["status"] != "checkpoint_ready":
            continue
        if stood.stage != "ended":
            yield fact.seq, step.id, "It became ready and no attempt or person had made it so."
            continue
        status, kind = expected(step, stood)
        if status != "checkpoint_ready":
            yield (
                fact.seq,
                step.id,
                f"It became ready and had earned {status} ({kind or 'reported'}).",
            )
        elif (
            _needs_a_limit(step, stood) and "readiness_not_declared" not in fact.data["limitations"]
        ):
            yield fact.seq, step.id, "Leniently ready, and no limitation says so."


def _needs_a_limit(step: StepReading, stood: Standing) -> bool:
    report = (stood.ended or {}).get("report")
    declared = report.get("checkpoint_status") if isinstance(report, dict) else None
    return step.kind == "agent" and declared is None and not stood.checks


def verdict_fits_cause(record: Record) -> Iterator[Finding]:
    """Every other verdict is the one the table of causes has for how the attempt ended."""
    for _, fact, step, stood in _verdicts(record):
        said = fact.data["status"]
        if said == "checkpoint_ready":
            continue
        found = (fact.data["error"] or {}).get("kind")
        if stood.stage in {"retrying", "ended"} and found == "cancelled":
            if said not in {"failed", "partial"}:
                yield fact.seq, step.id, f"Given up by the operator, and {said}."
            elif stood.ended and said != expected(step, stood)[0] == "partial":
                yield fact.seq, step.id, f"What it left makes it partial, not {said}."
            continue
        known = _NO_LIST if isinstance(step, Collector) else _NOT_GIVEN
        if found in known and stood.stage == "idle":
            is_asked = step.when is not None or step.kind in {"decision", FOR_EACH}
            if not is_asked or said != "failed":
                yield fact.seq, step.id, f"No `when` or question misses a value, and it is {said}."
            continue
        if stood.stage not in {"ended", "retrying"}:
            yield fact.seq, step.id, f"It became {said} and no attempt had ended."
            continue
        status, kind = expected(step, stood)
        if said != status:
            yield fact.seq, step.id, f"Its end calls for {status}, and it became {said}."
        elif kind and found != kind:
            yield fact.seq, step.id, f"The cause is {kind}, and its error says {found}."


def error_names_cause(record: Record) -> Iterator[Finding]:
    """What is not ready has an error with a kind, what is ready has none, and a stopped attempt says what stopped it."""
    for _, fact in record.of("checkpoint_decided"):
        data = fact.data
        if data.get("reused"):
            continue
        if data["status"] not in STATUSES:
            yield fact.seq, data["step"], f"`{data['status']}` is no verdict."
        elif (data["status"] == "checkpoint_ready") != (data["error"] is None):
            yield fact.seq, data["step"], f"It is {data['status']} with error {data['error']}."
        elif data["error"] is not None and not data["error"]["kind"]:
            yield fact.seq, data["step"], "Its error has no kind."
    for _, fact in record.of("attempt_ended"):
        status, error = fact.data["status"], fact.data["error"]
        if status not in SUBAGENT:
            yield fact.seq, fact.step, f"`{status}` is no way to end."
        elif (status == "completed") != (error is None):
            yield fact.seq, fact.step, f"It ended {status} with error {error}."
        elif status in _KINDS and error["kind"] != _KINDS[status]:
            yield fact.seq, fact.step, f"It ended {status}, and its error says {error['kind']}."


def verdict_names_end(record: Record) -> Iterator[Finding]:
    """A verdict bears the number of the attempt it is about and repeats how that ended."""
    for _, fact, step, stood in _verdicts(record):
        if fact.data["attempt"] != stood.attempt and stood.stage != "idle":
            told = f"{fact.data['attempt']}, and its last attempt is {stood.attempt}"
            yield fact.seq, step.id, f"The verdict is about attempt {told}."
        given_up = (fact.data["error"] or {}).get("kind") == "cancelled"
        said = fact.data["subagent_status"]
        if stood.ended is None or said == stood.ended["status"]:
            continue
        if not (given_up and said == "cancelled"):
            told = f"{said}, and it ended {stood.ended['status']}"
            yield fact.seq, step.id, f"The verdict says {told}."


def nothing_dropped(record: Record) -> Iterator[Finding]:
    """Every ended attempt got a verdict or a planned retry before anything else became of its step or its course."""
    for course in record.courses:
        ends = () if course.finished is None else (course.finished,)
        for place in (course.start, *ends):
            for step in course.at(place).steps:
                if record.standing(step, place).stage == "ended":
                    said = "Its end was left without a verdict."
                    yield record.facts[place].seq, step, said
    for _, fact in record.of("step_scheduled", "decision_requested", "step_held"):
        is_about_end = fact.kind == "decision_requested" and fact.data["reason"] not in {
            "ask",
            "in_flight",
        }
        step = fact.data["step"]
        if not is_about_end and record.standing(step, fact.place).stage == "ended":
            yield fact.seq, step, f"{fact.kind} while its last end awaits a verdict."
        by = fact.data["held_by"]["step"] if fact.kind == "step_held" else None
        if by is not None and record.standing(by, fact.place).stage == "ended":
            yield fact.seq, by, f"It holds `{step}`, and its last end awaits a verdict."


def held_for_cause(record: Record) -> Iterator[Finding]:
    """Each `held_by` is true at that moment."""
    for course, fact in record.of("step_held"):
        step = course.reading.steps.get(fact.data["step"])
        if step is not None:
            wrong = _wrong_hold(record, course, fact, step)
            if wrong is not None:
                yield fact.seq, step.id, wrong


def _wrong_hold(record: Record, course: Course, fact: Fact, step: StepReading) -> str | None:
    kind, by = fact.data["held_by"]["kind"], fact.data["held_by"]["step"]
    stood = record.standing(step.id, fact.place)
    if stood.stage != "idle":
        return f"It was held ({kind}) and it is {stood.stage}."
    codes: set[str] | None = None
    if course.finished is not None:
        codes = {each["code"] for each in record.facts[course.finished].data["reasons"]}
    is_known = isinstance(step, Collector) and step.items is not None
    leader = step.leader if isinstance(step, Collector) and is_known else None
    skipped = excused(course.at(fact.place), record.standings(course, fact.place)) if leader else ()
    if leader in skipped:
        leader = None  # with that it is skipped; else its items alone tell
    waits_for = [
        d for d in step.depends_on if d != leader and not record.standing(d, fact.place).is_ready
    ]
    match kind:
        case "dependency":
            stage = "" if by is None else record.standing(by, fact.place).stage
            if by not in waits_for or stage in {"under_way", "retrying"}:
                return f"It is held by `{by}`, which is no dependency that failed it."
        case "when":
            return _wrong_when(record, course, fact, step, waits_for)
        case "not_selected":
            if stood.entry is None or stood.entry[1] != "not_selected":
                return "It is held as not selected, and neither start nor resume left it out."
        case "run_stopped":
            fails_fast = course.reading.workflow.on_failure == "stop"
            if not (fails_fast and record.has_failed(course, fact.place)):
                stopped = {"interrupted", "cancelled", "drained"}
                if codes is not None and not codes & stopped:
                    return "It is held by the stop of the run, and nothing stopped it."
        case "run_timeout":
            is_late = codes is None or "run_timed_out" in codes
            if course.reading.workflow.timeout is None or not is_late:
                return "It is held by the run's time-out, which had not passed."
        case "cancelled":
            wished = record.wishes(course, len(record.facts), *["cancel", "drain", "interrupt"])
            wished += record.wishes(course, len(record.facts), "cancel_step", step=step.id)
            if record.is_witnessed and not wished:
                return "It is held as cancelled, and nobody wished it."
        case _:
            return f"`{kind}` is no reason to hold a step."
    return None


def _wrong_when(
    record: Record, course: Course, fact: Fact, step: StepReading, waits_for: list[str]
) -> str | None:
    if isinstance(step, Collector):
        told = tally(record, fact.place, step)
        is_empty = bool(told.skipped) and not (told.ready or told.others)
        return None if is_empty else "It is held as skipped, and not all its items are."
    if step.when is None:
        return "It is held by its `when`, and it has none."
    if waits_for:
        return f"Its `when` was asked before `{waits_for[0]}` was ready."
    try:
        return (
            "It is held by its `when`, which holds."
            if condition_at(record, course, fact.place, step)
            else None
        )
    except Unknown:
        return None


def condition_kept(record: Record) -> Iterator[Finding]:
    """A step whose `when` is false neither starts nor asks, nor is it kept where it is false by the inputs of a resume."""
    for course in record.courses[1:]:
        for name, (action, _) in course.entries.items():
            step = course.reading.steps.get(name)
            if action != "reuse" or step is None or step.when is None:
                continue
            of_inputs = all(each.source == "input" for each in step.when.references)
            if of_inputs and not condition_at(record, course, course.start, step):
                yield (
                    course.opening.seq,
                    name,
                    f"`when: {step.when.text}` is false, and it is kept.",
                )
    for course, fact in record.of("step_scheduled", "decision_requested"):
        step = course.reading.steps.get(fact.data["step"])
        stood = record.standing(fact.data["step"], fact.place)
        if step is None or step.when is None or stood.stage != "idle":
            continue
        try:
            if not condition_at(record, course, fact.place, step):
                yield fact.seq, step.id, f"`when: {step.when.text}` is false, and it was begun."
        except Unknown:
            continue
