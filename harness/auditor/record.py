"""A log, prepared for its rules: events, courses, attempts, and where each step stood at every moment.

Fact      one event, with its place in the log and whether it could be read
Course    from a `run_started` or `run_resumed` up to the next
Attempt   from its intent to its end, or to the end of its course
Record    all of them, made once by `prepare`, read by every rule
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import takewhile
from typing import Any, Final

from harness.auditor.breaches import Finding, Sighting
from harness.auditor.facts import Attempt, Course, Fact
from harness.auditor.item_readings import is_needed
from harness.auditor.ledger import MINE, Ledger, Seam, has_changes
from harness.auditor.standing import NEW, Standing
from pixirnb.history.codec import Damage

OPERATOR_CODES: Final = {"cancel": "cancelled", "drain": "drained", "interrupt": "interrupted"}
"""What the operator wishes, and how `run_finished` says so."""


@dataclass(slots=True, eq=False)
class Record:
    """Everything a rule may ask."""

    facts: list[Fact]
    damage: Damage | None
    outcome: Mapping[str, Any] | None
    sightings: Sequence[Sighting]
    is_wall_true: bool
    blobs: Callable[[str], bytes] | None
    sessions: Mapping[str, bytes] | None = None
    """Logs of the child sessions, by name."""
    courses: list[Course] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    unread: list[Finding] = field(default_factory=list)
    """Events that have not the data of their kind, or speak of a step nobody knows."""
    lost: list[Finding] = field(default_factory=list)
    """Events whose data lies in a blob that is gone."""
    strays: list[Finding] = field(default_factory=list)
    """Ends, starts and checks of attempts that were not under way."""
    doubles: list[Finding] = field(default_factory=list)
    """Ends of attempts that had ended."""
    heard: list[tuple[Sighting, Course]] = field(default_factory=list)
    """Every wish of the operator with the course it was meant for."""
    by_kind: dict[str, list[tuple[Course, Fact]]] = field(default_factory=dict)
    threads: list[Attempt] = field(default_factory=list)
    """Attempts whose threads outlived them."""
    timeline: dict[str, tuple[list[int], list[Standing]]] = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    """Merges and seams."""

    # --- what rules ask -----------------------------------------------------------------------------------------

    @property
    def is_witnessed(self) -> bool:
        """Whether somebody outside the log watched."""
        return bool(self.sightings)

    def of(self, *kinds: str) -> Iterator[tuple[Course, Fact]]:
        """Every event of some kinds, with its course, in the order of the log."""
        if len(kinds) == 1:
            return iter(self.by_kind.get(kinds[0], ()))
        found = [each for kind in kinds for each in self.by_kind.get(kind, ())]
        return iter(sorted(found, key=lambda each: each[1].place))

    def standing(self, step: str, place: int) -> Standing:
        """Where a step stood just before the event at `place`."""
        places, found = self.timeline.get(step, ([], []))
        index = bisect_right(places, place - 1)
        return found[index - 1] if index else NEW

    def standings(self, course: Course, place: int) -> dict[str, Standing]:
        """Where every step of a course's workflow stood just before `place`."""
        return {step: self.standing(step, place) for step in course.at(place).steps}

    def under_way(self, course: Course, place: int) -> list[Attempt]:
        """The attempts of a course that hold a slot just before `place`."""
        return [
            each
            for each in self.attempts
            if each.course is course and not each.is_ask and each.place < place <= each.over
        ]

    def detached(self, course: Course, place: int, *, heard: bool = False) -> list[Attempt]:
        """Attempts whose threads may still be going on just before `place`: nobody has seen them return.

        `heard`: nor could the return have been heard of by whoever wrote the group before `place`.
        """
        if not self.threads:
            return []
        limit = self.group_start(place - 1) - 1 if heard and place else place
        returned = {
            (seen.step, seen.attempt)
            for seen in self.sightings
            if seen.what == "returned" and seen.durable <= limit
        }
        deaths = [seen.durable for seen in self.sightings if seen.what in {"died", "lost"}]
        return [
            each
            for each in self.threads
            if each.over < place
            and (each.step, each.number) not in returned
            and each.step in course.reading.steps
            and not any(each.over < death <= place for death in deaths)
        ]

    def group_start(self, place: int) -> int:
        """Place of the first event of the group that the event at `place` was written with."""
        while place and self.facts[place - 1].at == self.facts[place].at:
            place -= 1
        return place

    def is_merging(self, place: int) -> bool:
        """Whether a merge that a person asked for may have been under way: it is waited for, and may come to nothing."""
        if not self.is_witnessed:
            later = takewhile(lambda fact: fact.kind != "run_finished", self.facts[place:])
            merges = (fact for fact in later if fact.kind in {"merge_applied", "merge_conflicted"})
            return any(fact.data["step"] is None for fact in merges)
        before = self.group_start(max(0, self.group_start(place - 1) - 1))
        over = {s.detail: s.durable for s in self.sightings if s.what == "answered"}
        return any(
            s.what == "merging" and s.durable <= place and before <= over.get(s.detail, s.durable)
            for s in self.sightings
        )

    def groups(self, course: Course) -> Iterator[int]:
        """Places behind the groups of a course that were surely written whole by an owner that went on."""
        for place in range(course.start, course.last_word):
            if self.facts[place].at != self.facts[place + 1].at:
                yield place + 1

    def is_free(self, course: Course, place: int) -> bool:
        """Whether surely nothing had told the run to stop just before `place`."""
        codes: set[str] | None = None
        if course.finished is not None:
            codes = {each["code"] for each in self.facts[course.finished].data["reasons"]}
        timeout = course.reading.workflow.timeout
        if timeout is not None:
            if self.is_wall_true:
                if self.elapsed(course.opening, self.facts[place - 1]) >= timeout / 1000 - 0.01:
                    return False
            elif codes is None or "run_timed_out" in codes:
                return False
        if self.is_witnessed:
            return not self.wishes(course, place, *OPERATOR_CODES)
        return codes is not None and not codes & set(OPERATOR_CODES.values())

    def wishes(
        self, course: Course, place: int, *kinds: str, step: str | None = None
    ) -> list[Sighting]:
        """What the operator had wished of a course by the time `place` events were on disk; of an item, or of its list."""
        return [
            seen
            for seen, meant in self.heard
            if meant is course
            and seen.detail in kinds
            and seen.durable <= place
            and (step is None or seen.step in {step, step.partition("@")[0]})
        ]

    def hear(self) -> None:
        """Find for each wish the course it was meant for: the one going on, or the next where none was."""
        turns = [s for s in self.sightings if s.what in {"wished", "died", "lost", "acquired"}]
        before: Sighting | None = None
        for seen in turns:
            if seen.what != "wished":
                before = seen
                continue
            is_held = before is None or before.what == "acquired"
            since = 0 if before is None else before.durable if is_held else seen.durable
            for course in self.courses:
                is_over = course.finished is not None and course.finished < seen.durable
                if course.start < since:
                    continue
                if is_held and is_over:
                    if before is None:
                        continue
                    break  # its owner had not left yet: it came too late for anybody
                self.heard.append((seen, course))
                break
        # Of an end that the disk refused only a witness knows that its thread goes on.
        lost = {(s.step, s.attempt) for s in self.sightings if s.detail == "detached"}
        self.threads += [
            replace(each, over=each.place)
            for each in self.attempts
            if each.ended is None and not each.is_ask and (each.step, each.number) in lost
        ]

    def elapsed(self, earlier: Fact, later: Fact) -> float:
        """Seconds between two events, by their own clock."""
        return later.time - earlier.time

    def is_unrecorded(self, step: str, place: int) -> bool:
        """Whether a damage of the log hides what a step did, and nothing has been said of the step between that and `place`."""
        told = {"step_scheduled", "checkpoint_decided", "decision_recorded"}
        for fact in reversed(self.facts[:place]):
            if fact.step == step and fact.kind in told:
                return False
            if fact.data.get("code") == "log_recovered":
                return step in (fact.data.get("unrecorded") or ())
        return False

    def is_found(self, fact: Fact) -> bool:
        """Whether it tells, first of all after a log was cut short, of a merge that only the files and its journal know of."""
        return fact.place > 0 and self.facts[fact.place - 1].data.get("code") == "log_recovered"

    def has_failed(self, course: Course, place: int) -> bool:
        """Whether a step came out of this course as failed or partial; of items only those of which all are required."""
        return any(
            fact.data["status"] in {"failed", "partial"}
            and not fact.data.get("reused")
            and is_needed(course.reading.steps.get(fact.data["step"]))
            for fact in self.facts[course.start : place]
            if fact.kind == "checkpoint_decided"
        )

    def read_blob(self, digest: str) -> bytes | None:
        """A blob's bytes; None where it is gone or not what its name says."""
        if self.blobs is None:
            return None
        try:
            data = self.blobs(digest)
        except Exception:  # noqa: BLE001 - whatever a store raises means that it has not got it
            return None
        whole = "b2:" + blake2b(data, digest_size=32).hexdigest()
        return data if whole == digest else None


def seams_at(record: Record, course: Course, place: int) -> list[Seam]:
    """The seams of the steps there are just before `place`, oldest first."""
    if not record.ledger.seams:
        return []
    steps = course.reading.steps
    standings = record.standings(course, place)
    return [
        seam
        for seam in record.ledger.seams
        if seam.fact.place < place
        and all(name in steps for name in seam.fact.data["between"] if name != MINE)
        and seam.is_of(standings)
    ]


def open_at(record: Record, course: Course, place: int) -> list[Seam]:
    """Those of them that are open."""
    return [seam for seam in seams_at(record, course, place) if seam.is_open(place)]


def mergeable_at(record: Record, course: Course, place: int, among: Iterable[str]) -> list[str]:
    """Steps, in spec order, that are ready with changes of their own that are not in the user's files."""
    wanted = set(among)
    standings = {n: record.standing(n, place) for n in course.reading.steps if n in wanted}
    return [
        name
        for name, stood in standings.items()
        if stood.is_ready
        and has_changes(stood.captured)
        and not record.ledger.is_merged(name, stood, place)
    ]
