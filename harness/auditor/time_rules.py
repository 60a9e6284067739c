"""§5 of the contract: time-outs, retries, and the delays between them.

What depends on how long something took is judged by the log's own clock only where that clock never jumps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from harness.auditor.breaches import Finding
from harness.auditor.facts import Attempt, Course, Fact
from harness.auditor.readings import StepReading
from harness.auditor.record import Record
from harness.auditor.standing import BY_WORD, Standing
from harness.auditor.verdict_rules import expected

PATIENCE_S: Final = 60.0
"""How long after its time-out an attempt may still be under way: polite stop, grace, and the way into the log."""
_EARLY_MS: Final = 5.0
"""By how much clocks may differ that looked at one moment."""
_SYNC_MS: Final = 1000.0
"""By how much less than its time-out an attempt may have lasted: that counts from its intent, which reaches the disk first."""
_CLASSES: Final = {
    "timeout": {"timeout"},
    "context_overflow": {"context_overflow"},
    "verification": {"verification", "output_invalid"},
    "crash": {
        *("crash", "lost", "supervisor_lost", "worker_lost", "spawn_failed"),
        *("agent_silent", "protocol_error"),
    },
    "exit": {"exit", "exception", "agent_failed"},
    "provider_transient": {
        *("provider_transient", "provider_unreachable"),
        *("provider_stream_cut", "provider_malformed"),
    },
    "provider_permanent": {
        *("provider_permanent", "provider_denied", "provider_key_missing"),
        *("model_unknown", "auth_required"),
    },
    "cancelled": {"cancelled"},
}
"""Retry class to the kinds of error in it."""


def timeout_source(record: Record) -> Iterator[Finding]:
    """A first attempt has the time-out of its step, agent, defaults, or 30 minutes; a question only one of its own."""
    for course, fact in record.of("step_scheduled", "decision_requested"):
        step = course.reading.steps.get(fact.data["step"])
        if step is None or record.standing(step.id, fact.place).tries:
            continue
        due = step.timeout_ms if fact.data.get("reason", "ask") == "ask" else None
        if fact.data["timeout_ms"] != due:
            yield (
                fact.seq,
                step.id,
                f"Its time-out is {fact.data['timeout_ms']} ms, and {due} is due.",
            )


def timeout_scaled(record: Record) -> Iterator[Finding]:
    """A retry has the time-out before it times `timeout_scale`, at most 30 minutes unless long ones are allowed."""
    for course, fact in record.of("step_scheduled", "retry_planned"):
        step = course.reading.steps.get(fact.data["step"])
        tries = record.standing(fact.data["step"], fact.place).tries - _is_by_leave(fact)
        tries = max(0, tries)
        if step is None or not tries or step.timeout_ms is None:
            continue
        least, most = step.scaled_timeout_ms(tries)
        if not least <= (fact.data["timeout_ms"] or 0) <= most:
            yield fact.seq, step.id, f"Its time-out is {fact.data['timeout_ms']} ms, not {most:g}."


def timeouts_real(record: Record) -> Iterator[Finding]:
    """An attempt is `timed_out` only once its own time-out, or the run's, was over."""
    for attempt in record.attempts:
        fact = attempt.ended
        if fact is None or fact.data["status"] != "timed_out":
            continue
        spent_ms = float(fact.data["elapsed_ms"]) + _SYNC_MS
        if record.is_wall_true:
            spent_ms = record.elapsed(record.facts[attempt.place], fact) * 1000
        is_own = attempt.timeout_ms is not None and spent_ms >= attempt.timeout_ms - _EARLY_MS
        if not is_own and not _is_run_over(record, attempt.course, fact):
            told = f"after {fact.data['elapsed_ms']} ms of {attempt.timeout_ms}"
            yield fact.seq, attempt.step, f"It is said to have timed out {told}."


def _is_run_over(record: Record, course: Course, fact: Fact) -> bool:
    """Whether the time-out of the whole run may have been over."""
    timeout = course.reading.workflow.timeout
    if timeout is None:
        return False
    if record.is_wall_true:
        return record.elapsed(course.opening, fact) * 1000 >= timeout - _EARLY_MS
    if course.finished is None:
        return True
    spent_ms = float(record.facts[course.finished].data["elapsed_ms"])
    return spent_ms >= timeout - _EARLY_MS


def timeouts_enforced(record: Record) -> Iterator[Finding]:
    """Nothing is under way long after its time-out; once the run's own is over nothing begins, and it soon ends."""
    if not record.is_wall_true:
        return
    for attempt in record.attempts:
        if attempt.timeout_ms is None:
            continue
        last = _last_seen(record, attempt)
        spent = record.elapsed(record.facts[attempt.place], last)
        if spent > attempt.timeout_ms / 1000 + PATIENCE_S:
            told = f"after {spent:.0f} s of {attempt.timeout_ms / 1000:g}"
            yield last.seq, attempt.step, f"It was still under way {told}."
    for course in record.courses:
        timeout = course.reading.workflow.timeout
        if timeout is None or course.last_word < 0:
            continue
        last = record.facts[course.last_word]
        if record.elapsed(course.opening, last) > timeout / 1000 + PATIENCE_S:
            yield last.seq, None, f"The run went on long after its {timeout / 1000:g} s."
    for course, fact in record.of("step_scheduled"):
        timeout = course.reading.workflow.timeout
        spent_ms = record.elapsed(course.opening, fact) * 1000
        if timeout is not None and spent_ms > timeout + _EARLY_MS:
            yield fact.seq, fact.step, f"It began after the run's {timeout / 1000:g} s were over."


def _last_seen(record: Record, attempt: Attempt) -> Fact:
    """The event that ended the attempt, or the last of its course that its owner wrote."""
    course = attempt.course
    if attempt.over < course.end:
        return record.facts[attempt.over]
    return record.facts[max(course.last_word, attempt.place)]


def retry_budget(record: Record) -> Iterator[Finding]:
    """A course makes at most `max_attempts` attempts of a step, the first counted, and plans the next by its number."""
    for fact, step, stood in _retries(record):
        if stood.tries >= step.retry.max_attempts:
            yield fact.seq, step.id, f"A retry after {stood.tries} attempts; that is all it has."
        if fact.data["attempt"] != stood.attempt + 1:
            yield (
                fact.seq,
                step.id,
                f"It plans attempt {fact.data['attempt']} after {stood.attempt}.",
            )


def retry_class(record: Record) -> Iterator[Finding]:
    """Only a failure of a class that the policy names is retried; never a question, an interrupt or a detached thread."""
    for fact, step, stood in _retries(record):
        kind, said = fact.data["error"]["kind"], fact.data["retry_class"]
        if kind not in _CLASSES.get(said, set()) or said not in step.retry.classes:
            yield fact.seq, step.id, f"{kind} was retried as {said}, which is not to be."
        elif stood.ended is None or step.kind == "decision":
            yield fact.seq, step.id, "A retry of what had not failed."
        elif stood.ended["status"] in {"interrupted", "detached"}:
            yield fact.seq, step.id, f"A retry of an attempt that was {stood.ended['status']}."
        else:
            status, due = expected(step, stood)
            if status not in {"failed", "partial"} or (due and due != kind):
                yield fact.seq, step.id, f"A retry for {kind}; the attempt was {status} ({due})."


def retry_taken(record: Record) -> Iterator[Finding]:
    """A failure worth another attempt gets it while the budget lasts and nobody stopped the step or the run."""
    if not record.is_witnessed:
        return  # what the operator wished stands in no log
    for course, fact in record.of("checkpoint_decided"):
        step = course.reading.steps.get(fact.data["step"])
        if step is None or fact.data["status"] not in {"failed", "partial"}:
            continue
        if fact.place > course.last_word:
            continue  # perhaps by the resume, because a death had torn it off: that begins it anew
        stood = record.standing(step.id, fact.place)
        kind = (fact.data["error"] or {}).get("kind")
        known = [name for name, kinds in _CLASSES.items() if kind in kinds]
        ended = (stood.ended or {}).get("status")
        if stood.stage != "ended" or stood.is_ask or ended in {"interrupted", "detached"}:
            continue
        is_worth = bool(known) and known[0] in step.retry.classes
        if is_worth and 0 < stood.tries < step.retry.max_attempts and stood.decision is None:
            is_given_up = record.wishes(course, fact.place, "cancel_step", step=step.id)
            if record.is_free(course, fact.place + 1) and not is_given_up:
                yield fact.seq, step.id, f"It was given up after {stood.tries} attempts for {kind}."


def retry_delay(record: Record) -> Iterator[Finding]:
    """A planned delay is `delay` grown by `backoff`, differs from it by no more than `jitter`, and is at most `max_delay`."""
    for course, fact in record.of("retry_planned"):
        step = course.reading.steps.get(fact.data["step"])
        tries = record.standing(fact.data["step"], fact.place).tries
        if step is None or not tries or _is_by_leave(fact):
            continue
        least, most = step.delay_ms(tries)
        if not least <= fact.data["delay_ms"] <= most:
            told = f"{least:g} to {most:g} ms are due"
            yield fact.seq, step.id, f"A delay of {fact.data['delay_ms']} ms; {told}."


def retry_waits(record: Record) -> Iterator[Finding]:
    """A retry begins no sooner than its delay is over."""
    for _, fact in record.of("step_scheduled") if record.is_wall_true else ():
        stood = record.standing(fact.data["step"], fact.place)
        if stood.stage != "retrying" or stood.retry is None:
            continue
        waited_ms = record.elapsed(record.facts[stood.retry_at], fact) * 1000
        if waited_ms < stood.retry["delay_ms"] - _EARLY_MS:
            told = f"{waited_ms:g} of {stood.retry['delay_ms']} ms"
            yield fact.seq, fact.step, f"It was tried again after {told}."


def _is_by_leave(fact: Fact) -> bool:
    """Whether a step begins again by a person's word on what it rested for: a rule of its own tells of that."""
    return fact.data.get("retry_class") in BY_WORD


def _retries(record: Record) -> Iterator[tuple[Fact, StepReading, Standing]]:
    """The retries that a policy planned, not a person by leave: each with its step, and how that stood before."""
    for course, fact in record.of("retry_planned"):
        step = course.reading.steps.get(fact.data["step"])
        if step is not None and not _is_by_leave(fact):
            yield fact, step, record.standing(step.id, fact.place)
