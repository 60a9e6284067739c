"""What a log says of files, as the auditor keeps it: merges and what became of them, seams and what became of them.

    Merge    a `merge_applied`, and where it was taken back
    Seam     a `seam_opened`, the attempts of its sides then, and where it was resolved

A seam belongs to the work it was opened over: where one of its sides begins anew, it is gone, resolved or not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from harness.auditor.facts import Course, Fact
from harness.auditor.readings import Reading
from harness.auditor.standing import Standing
from pixirnb.spec.steps import MergeStep

MINE: Final = "workspace"
"""The side of a clash that is the user's own files."""
USABLE: Final = frozenset({"checkpoint_ready", "partial", "needs_orchestrator"})
"""What has settled so is built on, or may be accepted."""


@dataclass(slots=True, eq=False)
class Merge:
    """Changes that were brought into the user's files."""

    name: str
    fact: Fact
    course: Course
    undoes: str | None
    undone_at: int | None = None
    """Place of the merge that took it back."""

    def stands(self, place: int) -> bool:
        """Whether it had been made, and not been taken back, just before `place`."""
        return self.fact.place < place and (self.undone_at is None or self.undone_at >= place)

    @property
    def of(self) -> str | None:
        """The merge step that made it."""
        step = self.fact.data["step"]
        return step if isinstance(step, str) and self.undoes is None else None

    @property
    def number(self) -> int:
        """The attempt that made it; 0 for one that a person asked for."""
        step, _, number = self.name.rpartition(".")
        return int(number) if step == self.of and re.fullmatch("[0-9]{1,9}", number) else 0

    def brings(self, step: str, attempt: int) -> bool:
        """Whether what an attempt changed is part of it."""
        return self.undoes is None and self.fact.data["attempts"].get(step) == attempt


@dataclass(slots=True, eq=False)
class Closing:
    """A seam was resolved."""

    fact: Fact
    undone_at: int | None = None
    """Place at which the merge that had resolved it was taken back."""

    def holds(self, place: int) -> bool:
        """Whether the seam was resolved by it just before `place`."""
        return self.fact.place < place and (self.undone_at is None or self.undone_at >= place)


@dataclass(slots=True, eq=False)
class Seam:
    """An obligation, from its opening on."""

    name: str
    fact: Fact
    sides: dict[str, int]
    """Each step whose work meets, and the attempt it had made by then."""
    closings: list[Closing] = field(default_factory=list)
    """Each time it was resolved."""

    @property
    def is_closed(self) -> bool:
        """Whether it is resolved, by what is known so far."""
        return bool(self.closings) and self.closings[-1].undone_at is None

    @property
    def reason(self) -> str:
        """Why it was opened."""
        return str(self.fact.data["reason"])

    def is_open(self, place: int) -> bool:
        """Whether nobody had resolved it just before `place`."""
        return not any(closing.holds(place) for closing in self.closings)

    def is_of(self, standings: dict[str, Standing]) -> bool:
        """Whether the work it is about is the work that stands."""
        return all(
            _is_standing(standings.get(n), attempt, self.fact.place)
            for n, attempt in self.sides.items()
        )


def _is_standing(stood: Standing | None, attempt: int, place: int) -> bool:
    # A step asked about again, as its later attempts may be lost, keeps the number of the attempt before.
    if stood is None or stood.attempt != attempt or stood.scheduled_at >= place:
        return False
    return stood.kept is not None or (stood.stage != "idle" and stood.status != "held")


@dataclass(slots=True, eq=False)
class Ledger:
    """All of them, in order."""

    merges: list[Merge] = field(default_factory=list)
    seams: list[Seam] = field(default_factory=list)
    conflicts: list[tuple[Course, Fact]] = field(default_factory=list)
    """Every `merge_conflicted`."""

    def enter(self, course: Course, fact: Fact, attempts: dict[str, int]) -> str | None:
        """Take an event in; `attempts` are those that stand. Returns the merge step whose merge it takes back."""
        data = fact.data
        match fact.kind:
            case "merge_applied":
                undoes = data.get("undoes")
                taken = next(
                    (m for m in self.merges if m.name == undoes and m.stands(fact.place)), None
                )
                self.merges.append(Merge(data["merge"], fact, course, undoes))
                if taken is not None:
                    taken.undone_at = fact.place
                    self._reopen(taken.name, fact.place)
                    name = taken.fact.data["step"]
                    return name if isinstance(name, str) else None
            case "merge_conflicted":
                self.conflicts.append((course, fact))
            case "seam_opened":
                # The step that a conflict keeps from going on is no side of it: it may try again.
                meeting = [name for name in data["between"] if name != data.get("step")]
                sides = {name: attempts[name] for name in meeting if name in attempts}
                self.seams.append(Seam(data["id"], fact, sides))
            case "seam_resolved":
                found = self.seam(data["id"])
                if found is not None and not found.is_closed:
                    found.closings.append(Closing(fact))
            case _:
                pass
        return None

    def _reopen(self, merge: str, place: int) -> None:
        """What a merge had resolved is open again once that is taken back."""
        for seam in self.seams:
            if seam.is_closed and seam.closings[-1].fact.data.get("merge") == merge:
                seam.closings[-1].undone_at = place

    def seam(self, name: str) -> Seam | None:
        """The last that was opened under a name."""
        return next((seam for seam in reversed(self.seams) if seam.name == name), None)

    def is_merged(self, step: str, stood: Standing, place: int) -> bool:
        """Whether what an attempt changed was in the user's files just before `place`."""
        # Behind a cut of the log an attempt has the number of one that the cut took, and that was merged perhaps.
        merges = [m for m in self.merges if m.stands(place) and m.fact.place > stood.scheduled_at]
        return any(m.brings(step, stood.attempt) for m in merges)


def has_changes(captured: dict[str, Any] | None) -> bool:
    """Whether an attempt left its folders otherwise than it was given them."""
    return captured is not None and captured["changes"]["count"] > 0


def changed_roots(captured: dict[str, Any]) -> set[str]:
    """The roots it left otherwise."""
    return {root["root"] for root in captured["roots"] if root["base"] != root["left"]}


def finders(reading: Reading, fact: Fact, attempts: Mapping[str, int]) -> list[str]:
    """The merge steps that name what an event takes back of the user's files; none where it takes nothing back.

    Attempts that the log does not know of count for nothing; items count that are no longer on their list.
    """
    is_undo = fact.kind == "merge_applied" and fact.data.get("undoes") is not None
    named = fact.data["attempts"].items() if is_undo else ()
    back = {n.partition("@")[0] for n, attempt in named if attempt <= attempts.get(n, 0)}
    return [
        name
        for name, step in reading.steps.items()
        if isinstance(step.step, MergeStep) and back & set(step.step.merge)
    ]


def later_attempts(
    reading: Reading, fact: Fact, attempts: Mapping[str, int], has_result: Callable[[str], bool]
) -> list[str]:
    """The steps with a result since what an event takes back was merged: they began with those files.

    With an item goes its list, while it is on it.
    """
    is_undo = fact.kind == "merge_applied" and fact.data.get("undoes") is not None
    named = fact.data["attempts"].items() if is_undo else ()
    again = [n for n, attempt in named if attempts.get(n, 0) > attempt and has_result(n)]
    return [*again, *(name.partition("@")[0] for name in again if name in reading.steps)]
