"""§6 of the contract, for people: what they decided, and §3's operator, whose wish is obeyed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from harness.auditor.breaches import CUT, Finding, Sighting
from harness.auditor.facts import Course, Fact
from harness.auditor.givens import given_at, was_given
from harness.auditor.record import OPERATOR_CODES, Record
from harness.auditor.standing import Standing

_ACCEPTED: Final = ("accepted_by_human", "accepted_by_agent")
_HEARD_S: Final = 1.0
"""An owner hears a wish within a second: what ends by itself until then was not to be stopped."""
_GRACE_S: Final = 10.0
"""What is asked to stop has five seconds to do so politely; the rest is for hearing and ending it."""


def decision_by_word(record: Record) -> Iterator[Finding]:
    """A question is answered only by a person's recorded word; unanswered it can but expire or be given up."""
    for _, fact in record.of("checkpoint_decided"):
        stood = _asked(record, fact)
        if stood is None or stood.decision is not None or not stood.is_ask:
            continue
        kind = (fact.data["error"] or {}).get("kind")
        is_expired = stood.ended is not None and stood.ended["status"] == "timed_out"
        if fact.data["status"] != "failed" or (kind != "cancelled" and not is_expired):
            yield fact.seq, fact.step, f"It became {fact.data['status']}, and nobody had decided."


def first_word_stands(record: Record) -> Iterator[Finding]:
    """Accepted, a step is ready (`accepted_by_…` where it was no question); rejected, failed: by the first word said."""
    for course, fact in record.of("checkpoint_decided"):
        stood = _asked(record, fact)
        step = course.reading.steps.get(fact.data["step"])
        if stood is None or stood.decision is None or step is None:
            continue
        is_set_back = record.standing(step.id, fact.place).kept is stood
        if is_set_back and was_given(record, stood, step.id) != given_at(
            record, course, fact.place, step
        ):
            continue  # the word was about what it was made of then
        data, kind = fact.data, (fact.data["error"] or {}).get("kind")
        if stood.decision["verdict"] == "accept":
            if data["status"] != "checkpoint_ready":
                yield fact.seq, step.id, f"It was accepted, and became {data['status']}."
            elif step.kind != "decision" and not any(
                each.startswith(_ACCEPTED) for each in data["limitations"]
            ):
                yield fact.seq, step.id, "It was accepted, and no limitation says by whom."
        elif data["status"] != "failed" or kind != _refused(stood.decision):
            yield fact.seq, step.id, f"It was rejected, and became {data['status']} ({kind})."


def _refused(decision: dict[str, Any]) -> str:
    return "permission_denied" if "permission" in decision else "rejected"


def _asked(record: Record, fact: Fact) -> Standing | None:
    """Where the step stood that a verdict is about, if a person had a say in it; None for a reuse."""
    if fact.data.get("reused"):
        return None
    stood = record.standing(fact.data["step"], fact.place)
    return stood.kept if stood.stage == "idle" and stood.kept is not None else stood


def word_is_a_choice(record: Record) -> Iterator[Finding]:
    """A word is `accept` or `reject`, and an accepting one bears one of the choices, where there are any."""
    for _, fact in record.of("decision_recorded"):
        stood = record.standing(fact.data["step"], fact.place)
        if fact.data["verdict"] not in {"accept", "reject"}:
            yield fact.seq, fact.step, f"`{fact.data['verdict']}` is no decision."
        choices = (stood.request or {}).get("choices") or []
        is_open = fact.data["verdict"] == "accept" and stood.takes_a_word and choices
        if is_open and fact.data["value"] not in choices:
            yield fact.seq, fact.step, f"{fact.data['value']!r} is none of {choices}."


def word_acted_on(record: Record) -> Iterator[Finding]:
    """No course comes to rest on a word that nothing was made of."""
    for course in record.courses:
        if course.finished is None:
            continue
        for step, stood in record.standings(course, course.finished).items():
            if stood.decision is not None and not stood.is_decided:
                yield (
                    record.facts[course.finished].seq,
                    step,
                    "It was decided, and nothing followed.",
                )


def asked_in_words(record: Record) -> Iterator[Finding]:
    """A step that needs a person's word asks for it before the run rests."""
    for course in record.courses:
        if course.finished is None:
            continue
        for step, stood in record.standings(course, course.finished).items():
            if stood.status == "needs_orchestrator" and stood.request is None:
                yield (
                    record.facts[course.finished].seq,
                    step,
                    "It needs a decision, and asks nothing.",
                )


def stop_is_stop(record: Record) -> Iterator[Finding]:
    """Once the operator has wished the end of a run or a step, nothing of it begins any more."""
    for seen, course in record.heard:
        # What was decided before the wish was heard may be in the group that was being written.
        behind = _behind_group(record, course, seen.durable)
        if seen.step is not None and record.standing(seen.step, seen.durable).stage == "settled":
            continue  # there was nothing to cancel
        for fact in record.facts[behind : course.end]:
            if fact.kind != "step_scheduled":
                continue
            if seen.detail in OPERATOR_CODES or seen.step == fact.step:
                yield fact.seq, fact.step, f"It began after the operator's {seen.detail}."


def stop_ends_work(record: Record) -> Iterator[Finding]:
    """What is under way when the operator cancels or interrupts it is made to end; only a drain lets it finish."""
    for wish, _ in record.heard:
        if wish.detail == "drain":
            continue
        place = next(n for n, seen in enumerate(record.sightings) if seen is wish)
        for begun in _at_work(record.sightings[:place]):
            if wish.step not in {None, begun.step}:
                continue
            over = _over(record.sightings[place:], begun)
            if over.detail == CUT:
                continue  # nobody knows its end
            spent, is_own_end = over.at - wish.at, over.detail in {"completed", "failed"}
            if spent > _GRACE_S or (is_own_end and spent > _HEARD_S):
                told = f"went on for {spent:g} s after the operator's {wish.detail}"
                yield None, begun.step, f"Attempt {begun.attempt} {told}."


def _at_work(seen: Sequence[Sighting]) -> list[Sighting]:
    """What had begun and not ended."""
    found: dict[tuple[str | None, int | None], Sighting] = {}
    for each in seen:
        if each.what == "began":
            found[each.step, each.attempt] = each
        elif each.what == "ended":
            found.pop((each.step, each.attempt), None)
        elif each.what in {"died", "acquired"}:
            found.clear()  # it belongs to a course that is over
    return list(found.values())


def _over(seen: Sequence[Sighting], begun: Sighting) -> Sighting:
    """What ended it: its runner, the death of its process, or that nobody looked on."""
    for each in seen:
        is_its_end = each.what == "ended" and each.step == begun.step
        if each.what in {"died", "acquired"} or (is_its_end and each.attempt == begun.attempt):
            return each
    return seen[-1]


def stop_is_said(record: Record) -> Iterator[Finding]:
    """A run that the operator stopped says so at its end, unless it was completed by then; and no other says it."""
    for course in record.courses if record.is_witnessed else ():
        if course.finished is None:
            continue
        finished = record.facts[course.finished]
        wished = {
            OPERATOR_CODES[seen.detail]
            for seen in record.wishes(course, course.finished, *OPERATOR_CODES)
        }
        heard = {
            OPERATOR_CODES[seen.detail]
            for seen in record.wishes(course, course.finished, *OPERATOR_CODES)
            if _behind_group(record, course, seen.durable) <= course.finished
        }
        said = {each["code"] for each in finished.data["reasons"]} & set(OPERATOR_CODES.values())
        if finished.data["status"] != "completed" and heard and not said:
            yield finished.seq, None, f"It was {sorted(heard)}, and its end does not say so."
        elif said - wished:
            yield finished.seq, None, f"Its end says {sorted(said)}, and nobody wished it."


def _behind_group(record: Record, course: Course, durable: int) -> int:
    """Place behind the group that was being written when `durable` events were on disk."""
    place = max(durable, course.start)
    if place >= course.end:
        return course.end
    first = place
    while place < course.end and record.facts[place].at == record.facts[first].at:
        place += 1
    return place
