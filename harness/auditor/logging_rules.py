"""§3 of the contract: what a log is, and that an act follows its intent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from harness.auditor.breaches import Finding, Sighting
from harness.auditor.facts import Fact
from harness.auditor.record import Record

_AFTER_REST: Final = frozenset(
    {"decision_recorded", "checkpoint_saved", "warning_raised", "run_resumed", "run_forked"}
)
_BY_REQUEST: Final = frozenset(
    {
        "decision_recorded", "checkpoint_saved", "merge_applied", "merge_conflicted",
        "seam_opened", "seam_resolved",
    }
)  # fmt: skip
"""What a person asks for."""
_LEAVE_S: Final = 10.0
"""So long after its run was taken from it an owner may have something under way: it looks, asks, and waits for the grace."""
_NAMES: Final = frozenset({"blob", "patch", "more", "marked"})
"""Members that name a blob."""


def chain_holds(record: Record) -> Iterator[Finding]:
    """Every line is whole, in its place, and follows from the lines before it."""
    if record.damage is not None:
        yield record.damage.line, None, f"{record.damage.code}: {record.damage.message}"


def data_fits(record: Record) -> Iterator[Finding]:
    """Every event has the data of its kind, speaks of a step of the workflow, and a pinned workflow can be read."""
    yield from record.unread


def blobs_whole(record: Record) -> Iterator[Finding]:
    """Every blob that is named is there, and its bytes are those its name stands for."""
    yield from record.lost
    if record.blobs is None:
        return
    seen: set[str] = set()
    for fact in record.facts:
        for digest in _named(fact.data):
            if digest not in seen and record.read_blob(digest) is None:
                yield fact.seq, fact.step, f"The blob {digest} is gone or damaged."
            seen.add(digest)


def _named(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        for key, value in data.items():
            if key in _NAMES and isinstance(value, str) and value.startswith("b2:"):
                yield value
            else:
                yield from _named(value)
    elif isinstance(data, list):
        for value in data:
            yield from _named(value)


def begins_once(record: Record) -> Iterator[Finding]:
    """A log begins with `run_started`, and has no other."""
    if not record.facts:
        if record.damage is None:
            yield None, None, "The log holds no event."
        return
    if record.facts[0].kind not in {"run_started", ""}:
        yield record.facts[0].seq, None, f"It begins with {record.facts[0].kind}."
    for fact in record.facts[1:]:
        if fact.kind == "run_started":
            yield fact.seq, None, "The run is started a second time."


def rest_is_quiet(record: Record) -> Iterator[Finding]:
    """Nothing follows `run_finished` but a person's word, a checkpoint, a warning, a fork or a new course."""
    is_over = False
    for fact in record.facts:
        if fact.kind in {"run_started", "run_resumed", "run_forked"}:
            is_over = False
        elif fact.kind == "merge_applied" and record.is_found(fact):
            continue
        elif is_over and fact.kind and not (fact.kind in _AFTER_REST or _is_asked(record, fact)):
            yield fact.seq, fact.step, f"{fact.kind} after the run had come to rest."
        elif fact.kind == "run_finished":
            is_over = True


def fork_from_checkpoint(record: Record) -> Iterator[Finding]:
    """A fork goes on from a named checkpoint, copied to the event before it, and goes on as a resume."""
    for place, fact in enumerate(record.facts):
        if fact.kind != "run_forked":
            continue
        before = record.facts[place - 1] if place else None
        if before is None or before.kind != "checkpoint_saved" or fact.data["seq"] != before.seq:
            yield fact.seq, None, f"Event {fact.data['seq']}, just before it, is no checkpoint."
        elif before.data["name"] != fact.data["checkpoint"]:
            yield fact.seq, None, f"The checkpoint before it is `{before.data['name']}`."
        # Its process may die before it says so; then a person may speak before another takes it up. What was taken
        # back of the other run since the checkpoint is told first, and so is what was lost of the log.
        later = record.facts[place + 1 :]
        after = next((e for e in later if not _may_come_first(record, e)), None)
        if after is not None and after.kind not in {"run_resumed", ""}:
            yield after.seq, after.step, f"{after.kind} follows a fork that was not resumed."


def _may_come_first(record: Record, fact: Fact) -> bool:
    is_recovery = fact.kind == "warning_raised" and fact.data["code"] == "log_recovered"
    is_first = bool(fact.data.get("undoes")) or is_recovery or _is_late(record, fact)
    return is_first or _is_asked(record, fact)


def _is_late(record: Record, fact: Fact) -> bool:
    """Whether it is what a resume says first of an end without a verdict."""
    if fact.kind == "decision_requested":
        return fact.data["reason"] not in {"ask", "in_flight"}
    is_verdict = fact.kind == "checkpoint_decided"
    return is_verdict and record.standing(fact.data["step"], fact.place).stage == "ended"


def _is_asked(record: Record, fact: Fact) -> bool:
    """Whether a person asked for it, or it follows at once from a merge that a person asked for."""
    while fact.kind in {"seam_opened", "seam_resolved"} and fact.data.get("request_id") is None:
        fact = record.facts[fact.place - 1]
    return _is_from_a_person(fact) or is_inherited(record, fact)


def is_inherited(record: Record, fact: Fact) -> bool:
    """Whether it tells a fork what a person has taken back of the run that it comes from."""
    is_undone = fact.kind == "merge_applied" and fact.data.get("undoes") is not None
    if fact.data.get("request_id") is not None:
        return False
    return is_undone and any(each.kind == "run_forked" for each in record.facts[: fact.place])


def _is_from_a_person(fact: Fact) -> bool:
    if fact.kind == "subagent_event":
        return fact.data["event"] == "permission_decided" and "request" in fact.data
    return fact.kind in _BY_REQUEST and fact.data.get("request_id") is not None


def intent_first(record: Record) -> Iterator[Finding]:
    """An attempt starts, is checked and ends only while under way, and its intent is on disk before anything acts."""
    yield from record.strays
    for seen in record.sightings:
        if seen.what == "began" and not any(
            each.step == seen.step and each.number == seen.attempt and each.place < seen.durable
            for each in record.attempts
        ):
            yield None, seen.step, f"Attempt {seen.attempt} began, and no intent was on disk."


def one_owner_writes(record: Record) -> Iterator[Finding]:
    """Only who took a run up last writes to it; who lost it writes nothing more, and soon ends what it has under way."""
    owner: str | None = None
    for place, seen in enumerate(record.sightings):
        if seen.what == "acquired":
            owner = seen.detail
        elif seen.what == "lost":
            owner = None
            yield from _going_on(record.sightings[:place], record.sightings[place:], seen.at)
        elif seen.what == "wrote" and seen.detail != owner:
            yield seen.durable, None, f"{seen.detail} wrote, and does not hold the run."


def _going_on(
    before: Sequence[Sighting], after: Sequence[Sighting], lost_at: float
) -> Iterator[Finding]:
    """What was under way when its owner lost the run, and long after."""
    if any(seen.what == "died" for seen in after):
        return
    since = max((n for n, seen in enumerate(before) if seen.what == "acquired"), default=0)
    under_way: dict[tuple[str | None, int | None], bool] = {}
    for seen in before[since:]:
        if seen.what in {"began", "ended"}:
            under_way[seen.step, seen.attempt] = seen.what == "began"
    ends = {(seen.step, seen.attempt): seen.at for seen in after if seen.what == "ended"}
    for key, is_open in under_way.items():
        if is_open and ends.get(key, float("inf")) > lost_at + _LEAVE_S:
            yield None, key[0], f"Attempt {key[1]} went on long after its owner had lost the run."


def attempts_count_on(record: Record) -> Iterator[Finding]:
    """Attempts of a step are numbered 1, 2, 3… over all courses, and no number is used twice."""
    last: dict[str, int] = {}
    for attempt in record.attempts:
        step, fact = attempt.step, record.facts[attempt.place]
        # Of an attempt that a damaged log has lost its merge may tell.
        merged = [
            m.number for m in record.ledger.merges if m.of == step and m.fact.place < fact.place
        ]
        # A question about a death is about the attempt that was lost.
        due = max(last.get(step, 0), *merged, 0) + (fact.data.get("reason") != "in_flight")
        if attempt.number != due:
            yield fact.seq, step, f"Attempt {attempt.number} where {due} was due."
        last[step] = attempt.number


def ends_once(record: Record) -> Iterator[Finding]:
    """An attempt ends once."""
    yield from record.doubles


def ends_are_real(record: Record) -> Iterator[Finding]:
    """No attempt is recorded as ended while its runner still performs it, a detached thread apart."""
    ended = {(s.step, s.attempt): s for s in record.sightings if s.what == "ended"}
    began = {(s.step, s.attempt): s for s in record.sightings if s.what == "began"}
    for attempt in record.attempts:
        key = (attempt.step, attempt.number)
        if attempt.ended is None or key not in began or attempt.is_ask:
            continue
        if attempt.ended.data["status"] == "detached":
            continue
        seen = ended.get(key)
        if seen is None or seen.durable > attempt.ended.place:
            yield (
                attempt.ended.seq,
                attempt.step,
                "It was recorded as ended before its runner let go.",
            )
