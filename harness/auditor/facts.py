"""The events of a log as the auditor reads them: one by one, and as courses and attempts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.auditor.readings import Reading


@dataclass(frozen=True, slots=True)
class Fact:
    """One event. `kind` is empty where it could not be read: then no rule but those of the log itself looks at it."""

    place: int
    """Position in the log, from 0."""
    seq: int
    time: float
    """Its `at`, in seconds."""
    at: str
    kind: str
    data: dict[str, Any]

    @property
    def step(self) -> str | None:
        """The step it is about."""
        name = self.data.get("step")
        return name if isinstance(name, str) else None


@dataclass(slots=True, eq=False)
class Course:
    """One course of a run. Places are positions in the log."""

    number: int
    start: int
    reading: Reading
    """The workflow, with all lists that were known when the course was over."""
    inputs: dict[str, Any]
    sources: dict[str, str]
    opening: Fact
    entries: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of a resume: step to action and reason."""
    end: int = 0
    """Place of the next course or of the fork; the length of the log for the last."""
    finished: int | None = None
    """Place of its `run_finished`."""
    last_word: int = -1
    """Place of the last event that only its owner writes."""
    readings: list[tuple[int, Reading]] = field(default_factory=list)
    """The workflow with the lists known behind a place, from the place before the course on."""

    @property
    def before(self) -> Reading:
        """The workflow, with the lists known when the course began."""
        return self.readings[0][1] if self.readings else self.reading

    def at(self, place: int) -> Reading:
        """The workflow, with the lists known just before the event at `place`."""
        known = (each for since, each in reversed(self.readings) if since < place)
        return next(known, self.before)


@dataclass(slots=True, eq=False)
class Attempt:
    """One attempt, or one question with a number of its own."""

    step: str
    number: int
    course: Course
    place: int
    timeout_ms: int | None
    is_ask: bool = False
    ended: Fact | None = None
    over: int = 0
    """Place behind which it holds no slot: its end, or the end of its course."""
