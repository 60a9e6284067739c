"""A log read into a Record: lines decoded, data fetched from blobs, courses cut, every step followed from event to event."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from harness.auditor import standing
from harness.auditor.breaches import Sighting
from harness.auditor.facts import Attempt, Course, Fact
from harness.auditor.item_readings import name_of, read_spec, with_lists
from harness.auditor.ledger import Merge, finders, later_attempts
from harness.auditor.record import Record
from harness.auditor.shapes import SHAPES, misfit
from harness.auditor.standing import NEW, Standing
from pixirnb.history.codec import decode_data, decode_lines

_OWNERS: Final = frozenset(
    {
        "step_scheduled", "attempt_started", "attempt_ended", "step_held",
        "verification_recorded", "run_finished", "workspace_captured", "step_expanded",
    }
)  # fmt: skip
"""What only the process that drives the run writes. What follows from an end the next one writes, where a death tore it off."""

_OF_FILES: Final = frozenset({"merge_applied", "merge_conflicted", "seam_opened", "seam_resolved"})
_OF_WORDS: Final = frozenset({"decision_recorded", "checkpoint_decided", "decision_requested"})
_BEFORE_A_RESUME: Final = _OF_WORDS | _OF_FILES
"""What may be written of a fork that nobody has taken up yet: a person's words, and verdicts on ends that have none."""


def prepare(
    log: bytes,
    *,
    blobs: Callable[[str], bytes] | None = None,
    outcome: Mapping[str, Any] | None = None,
    sightings: Sequence[Sighting] = (),
    wall_is_true: bool = False,
) -> Record:
    """Read a log once for all rules. What cannot be read is remembered as such, and left out of the rest."""
    decoded = decode_lines(log)
    record = Record([], decoded.damage, outcome, tuple(sightings), wall_is_true, blobs)
    for place, event in enumerate(decoded.events):
        at, kind, data = str(event.at), event.kind, _unspilled(record, event.seq, event.data)
        fits = data is not None and isinstance(kind, str)
        if data is not None and isinstance(kind, str):
            wrong = misfit(kind, data)
            if wrong is not None:
                record.unread.append((event.seq, None, f"{kind} has no readable {wrong}."))
                fits = False
        known = kind if fits else ""
        record.facts.append(Fact(place, event.seq, _seconds(at), at, known, data or {}))
    _Fold(record).run()
    for course in record.courses:
        for fact in record.facts[course.start : course.end]:
            record.by_kind.setdefault(fact.kind, []).append((course, fact))
    record.hear()
    return record


def _unspilled(record: Record, seq: int, data: dict[str, Any]) -> dict[str, Any] | None:
    digest = data.get("$blob")
    if not isinstance(digest, str):
        return data
    found = record.read_blob(digest)
    spilled = None if found is None else decode_data(found)
    if spilled is not None:
        return spilled
    record.lost.append(
        (seq, None, f"The data of event {seq} lies in {digest}, which is not there.")
    )
    return None


def _seconds(at: str) -> float:
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return 0.0


@dataclass(slots=True, eq=False)
class _Fold:
    """Follows a log from its first event to its last."""

    record: Record
    open: dict[str, Attempt] = field(default_factory=dict)
    """Step to its attempt under way in the present course, or its open question."""
    last: dict[str, Attempt] = field(default_factory=dict)
    spec: dict[str, Any] = field(default_factory=dict)
    """The pinned workflow, as it is written in the log."""
    lists: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """The last list of each step."""
    leaders: dict[str, str] = field(default_factory=dict)
    """Steps that share a list, and whose."""
    current: set[str] = field(default_factory=set)
    """Steps whose own list no resume has set back since."""

    def run(self) -> None:
        """Follow it."""
        courses = self.record.courses
        for fact in self.record.facts:
            if fact.kind in {"run_started", "run_resumed"}:
                if not self._begin(fact):
                    break
            elif courses and (courses[-1].end == 0 or fact.kind in _BEFORE_A_RESUME):
                self._apply(courses[-1], fact)
        if courses and courses[-1].end == 0:
            courses[-1].end = len(self.record.facts)
        for attempt in self.record.attempts:
            if not attempt.over:
                attempt.over = attempt.course.end

    def _begin(self, fact: Fact) -> bool:
        record = self.record
        before = record.courses[-1] if record.courses else None
        is_resume = fact.kind == "run_resumed"
        if is_resume == (before is None):
            return True  # a rule tells: there is nothing to go on from, or it began already
        spec = fact.data.get("spec")
        try:
            is_pinned = spec is None and before is not None
            self.spec = self.spec if is_pinned else spec or {}
            reading = with_lists(read_spec(self.spec), self.spec, self._known())
            reading.verify()
        except (ValueError, TypeError) as error:
            message = f"Its workflow cannot be read: {str(error)[:200]}"
            record.unread.append((fact.seq, None, message))
            return False
        if before is not None and before.end == 0:
            before.end = fact.place
        sources = fact.data.get("sources") or (before.sources if before else {})
        inputs = fact.data["inputs"]
        course = Course(len(record.courses), fact.place, reading, inputs, sources, fact)
        course.readings.append((fact.place - 1, reading))
        record.courses.append(course)
        if is_resume:
            entries = {entry["step_id"]: entry for entry in fact.data["steps"]}
            for name, entry in entries.items():
                course.entries[name] = (entry["action"], entry["reason"])
            items = {name: parent for parent in self.lists for name in self._items(parent)}
            for step in {*reading.steps, *record.timeline, *items}:
                later = self._resumed(fact, entries, step, items.get(step))
                self._move(step, fact.place, later)
            self.current -= {name for name, each in entries.items() if each["action"] == "rerun"}
            self._read(course, fact)
        for step in () if is_resume else fact.data.get("not_selected") or ():
            self._move(step, fact.place, standing.left_out(self._now(step)))
        # Attempts die with their process; a question that is left open goes on waiting.
        asked = {name for name in self.open if self._now(name).stage == "asking"}
        self.open = {name: each for name, each in self.open.items() if name in asked}
        return True

    def _known(self) -> dict[str, list[dict[str, Any]]]:
        known = {name: self.lists[name] for name in self.current}
        for _ in self.leaders:  # whose list a step shares must be known, too
            known = {n: each for n, each in known.items() if self.leaders.get(n, n) in known}
        return known

    def _items(self, step: str) -> list[str]:
        return [name_of(step, item["number"]) for item in self.lists[step]]

    def _read(self, course: Course, fact: Fact) -> None:
        """Go on with the lists that are known behind an event."""
        course.reading = with_lists(course.reading, self.spec, self._known())
        course.readings.append((fact.place, course.reading))

    def _resumed(
        self, fact: Fact, entries: dict[str, Any], step: str, parent: str | None
    ) -> Standing:
        """Where a step stands behind a resume: of an item that is not named what becomes of its step decides."""
        before, entry = self._now(step), entries.get(step)
        of_parent = entries.get(parent or "")
        if parent is None or entry is not None or of_parent is None:
            return standing.resumed(before, entry)
        action, reason, flags = of_parent["action"], of_parent["reason"], fact.data["flags"]
        if (action, reason) == ("hold", "not_selected"):
            return standing.set_back(before, action, reason)
        if action != "rerun":
            return standing.resumed(before, None)
        waits = before.status in {"failed", "partial", "needs_orchestrator"}
        if flags.get("decided") and waits and before.decision is None and not before.is_permitted:
            return standing.resumed(before, None)
        selected = {n for n, each in entries.items() if each["reason"] == "selected"}
        named = selected.intersection(self._items(parent))
        if flags.get("only") in named:
            return standing.set_back(before, "hold", "not_selected")
        is_forced = reason == "selected" and not named
        return standing.set_back(before, "rerun", "selected" if is_forced else "upstream_changed")

    def _expand(self, course: Course, fact: Fact, step: str) -> None:
        """Take a list: its items are steps from here on, and those that are reused stand as they stood."""
        leader = fact.data.get("same_as")
        before = self._items(step) if step in self.lists else []
        only = course.opening.data.get("flags", {}).get("only")
        same = self.lists[step] = self.lists.get(leader, []) if leader else fact.data["items"]
        self.current.add(step)
        # Those that a resume left out have the list they had: where that is another one, it is theirs no more.
        self.current -= {n for n, a in self.leaders.items() if a == step and self.lists[n] != same}
        self.leaders.pop(step, None)
        if leader:
            self.leaders[step] = leader
        self._read(course, fact)
        for name in self._items(step) if only in before else ():
            if name not in before:  # the resume named another item alone
                self._move(name, fact.place, standing.left_out(self._now(name)))
        for number in fact.data["reused"]:
            name = name_of(step, number)
            self._move(name, fact.place, standing.reused(self._now(name)))

    def _apply(self, course: Course, fact: Fact) -> None:
        if fact.kind == "run_forked":
            course.end = fact.place
            course.finished = None  # what had ended is the run it was forked from
            return
        if fact.kind in _OWNERS:
            course.last_word = fact.place
        if fact.kind == "run_finished" and course.finished is None:
            course.finished = fact.place
        self._enter(course, fact)
        step = fact.step
        if step is None or fact.kind not in SHAPES or fact.kind == "warning_raised":
            return
        if step not in course.reading.steps:
            if fact.kind == "subagent_event":
                return  # of a step that was taken out: its session had to be closed all the same
            message = f"{fact.kind} speaks of a step that is not there."
            self.record.unread.append((fact.seq, step, message))
            return
        follow = self._expand if fact.kind == "step_expanded" else self._follow
        follow(course, fact, step)

    def _enter(self, course: Course, fact: Fact) -> None:
        if fact.kind not in _OF_FILES:
            return
        attempts = {name: self._now(name).attempt for name in self.record.timeline}
        undone = self.record.ledger.enter(course, fact, attempts)
        # A step that has merged anew since is not undone by what its attempt before had merged.
        if undone and (last := self._last_merge(undone)) and last.name == fact.data["undoes"]:
            self._move(undone, fact.place, standing.taken_back(self._now(undone)))
        reading = course.reading
        again = later_attempts(reading, fact, attempts, lambda n: standing.has_result(self._now(n)))
        for name in [*again, *finders(reading, fact, attempts)]:
            self._move(name, fact.place, standing.lost_again(self._now(name)))

    def _follow(self, course: Course, fact: Fact, step: str) -> None:
        before, data, place = self._now(step), fact.data, fact.place
        match fact.kind:
            case "step_scheduled":
                self._begun(course, fact, is_ask=False)
                later = standing.scheduled(before, data, place)
                later = replace(later, brought=self._still_brought(step, place))
            case "decision_requested":
                if data["reason"] in {"ask", "in_flight"}:
                    self._begun(course, fact, is_ask=True)
                later = standing.requested(before, data, place)
            case "attempt_started" | "verification_recorded":
                if not self._is_under_way(fact) or before.is_ask:
                    message = f"{fact.kind} of an attempt that is not under way."
                    self.record.strays.append((fact.seq, step, message))
                    return
                if fact.kind == "attempt_started":
                    return
                later = replace(before, checks=tuple(data["checks"]))
            case "attempt_ended":
                if not self._ends(fact, step):
                    return
                later = standing.ended(before, data)
            case "workspace_captured":
                later = replace(before, captured=data) if self._is_of_now(fact) else before
            case "merge_applied" if data.get("undoes") is None:
                made = self.record.ledger.merges[-1].number
                later = replace(before, brought=data, attempt=max(before.attempt, made))
            case "retry_planned":
                later = standing.retried(before, data, place)
            case "subagent_event":
                later = standing.permitted(before, data)
            case "checkpoint_decided":
                self._close(step, fact)
                later = standing.decided(before, data, place)
            case "step_held":
                later = standing.held(before, data)
            case "decision_recorded":
                later = standing.spoken(before, data)
            case _:
                return
        self._move(step, place, later)

    def _still_brought(self, step: str, place: int) -> dict[str, Any] | None:
        """What the step last merged, where that and all it was made of still stand: it is not merged twice."""
        last = self._last_merge(step)
        if last is None or not last.stands(place):
            return None
        brought = last.fact.data
        made_of = [(self._now(name), attempt) for name, attempt in brought["attempts"].items()]
        stands = all(stood.is_left_by(attempt, last.fact.place) for stood, attempt in made_of)
        return brought if stands else None

    def _last_merge(self, step: str) -> Merge | None:
        """The last merge that a step made."""
        merges = reversed(self.record.ledger.merges)
        return next((m for m in merges if m.fact.data["step"] == step and m.undoes is None), None)

    def _begun(self, course: Course, fact: Fact, *, is_ask: bool) -> None:
        step, data = fact.data["step"], fact.data
        attempt = Attempt(step, data["attempt"], course, fact.place, data["timeout_ms"], is_ask)
        self.record.attempts.append(attempt)
        self.open[step] = self.last[step] = attempt

    def _is_under_way(self, fact: Fact) -> bool:
        attempt = self.open.get(fact.data["step"])
        return attempt is not None and attempt.number == fact.data["attempt"]

    def _is_of_now(self, fact: Fact) -> bool:
        return bool(self._now(fact.data["step"]).attempt == fact.data["attempt"])

    def _ends(self, fact: Fact, step: str) -> bool:
        if self._is_under_way(fact):
            attempt = self.open.pop(step)
            attempt.ended, attempt.over = fact, fact.place
            if fact.data["status"] == "detached":
                self.record.threads.append(attempt)
            return True
        last = self.last.get(step)
        if last is not None and last.number == fact.data["attempt"] and last.ended is not None:
            message = f"Attempt {last.number} had ended before."
            self.record.doubles.append((fact.seq, step, message))
        else:
            message = "An attempt ended that was not under way."
            self.record.strays.append((fact.seq, step, message))
        return False

    def _close(self, step: str, fact: Fact) -> None:
        """A question is over with its verdict."""
        asked = self.open.get(step)
        if asked is not None and asked.is_ask:
            asked.over = fact.place
            del self.open[step]

    def _now(self, step: str) -> Standing:
        found = self.record.timeline.get(step)
        return found[1][-1] if found else NEW

    def _move(self, step: str, place: int, later: Standing) -> None:
        places, found = self.record.timeline.setdefault(step, ([], []))
        places.append(place)
        found.append(later)
