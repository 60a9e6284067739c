"""Sound logs, and how to break one promise in them: events are changed, dropped, copied or moved, and the log chained again."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from harness.auditor.audit import Breach, Sighting, audit
from pixirnb.history.events import Event
from tests.harness.auditor.taped_runs import Tape, log_of

Match = Callable[[Event], bool]


def at(kind: str, step: str | None = None, **data: Any) -> Match:
    """Events of a kind, of a step, with some data."""

    def matches(event: Event) -> bool:
        is_of = event.kind == kind and (step is None or event.data.get("step") == step)
        return is_of and all(event.data.get(name) == value for name, value in data.items())

    return matches


@dataclass
class Exhibit:
    """A log that can be doctored, and all that is handed to the audit with it."""

    events: list[Event]
    sightings: list[Sighting] = field(default_factory=list)
    outcome: Any = None
    blobs: Callable[[str], bytes] | None = None
    wall: bool = False
    tail: bytes = b""
    sessions: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def of(
        cls, tape: Tape, *, seen: bool = False, shown: bool = False, wall: bool = False
    ) -> Exhibit:
        """What a tape holds; its sightings and outcome where asked for."""
        outcome = tape.outcome(is_live=not tape.is_over).document() if shown else None
        return cls(
            copy.deepcopy(tape.events), list(tape.sightings) if seen else [], outcome, wall=wall
        )

    def audit(self) -> list[Breach]:
        """What the auditor says of it."""
        renumbered = [replace(event, seq=n) for n, event in enumerate(self.events, start=1)]
        return audit(
            log_of(renumbered) + self.tail,
            blobs=self.blobs,
            outcome=self.outcome,
            sightings=self.sightings,
            wall_is_true=self.wall,
            sessions=self.sessions,
        )

    def place(self, match: Match, nth: int = 0) -> int:
        """Where the n-th such event stands; negative counts from the last."""
        return [n for n, event in enumerate(self.events) if match(event)][nth]

    def change(self, match: Match, nth: int = 0, **data: Any) -> Exhibit:
        """Change members of an event's data."""
        self.events[self.place(match, nth)].data.update(data)
        return self

    def change_all(self, match: Match, **data: Any) -> Exhibit:
        """Change members of the data of every such event."""
        for event in filter(match, self.events):
            event.data.update(data)
        return self

    def respec(self, **workflow: Any) -> Exhibit:
        """Change what the pinned workflow says."""
        self.events[0].data["spec"].update(workflow)
        return self

    def restep(self, step: str, **said: Any) -> Exhibit:
        """Change what a step of the pinned workflow says."""
        for each in self.events[0].data["spec"]["steps"]:
            if each["id"] == step:
                each.update(said)
        return self

    def reentry(self, step: str, **said: Any) -> Exhibit:
        """Change what the last resume plans for a step."""
        for entry in self.events[self.place(at("run_resumed"), -1)].data["steps"]:
            if entry["step_id"] == step:
                entry.update(said)
        return self

    def drop(self, match: Match) -> Exhibit:
        """Take all such events out."""
        assert any(map(match, self.events))
        self.events = [event for event in self.events if not match(event)]
        return self

    def insert(self, place: int, *events: Event) -> Exhibit:
        """Put copies of events in, at the time of the event before."""
        time = self.events[place - 1].at
        self.events[place:place] = [replace(copy.deepcopy(each), at=time) for each in events]
        return self

    def later(self, match: Match, nth: int, at_: str) -> Exhibit:
        """Give an event, and all behind it, another time."""
        place = self.place(match, nth)
        self.events[place:] = [replace(event, at=at_) for event in self.events[place:]]
        return self

    def see(self, what: str, durable: int, **said: Any) -> Exhibit:
        """Add a sighting."""
        self.sightings.append(Sighting(what, durable, 0.0, **said))
        return self

    def show(self, **document: Any) -> Exhibit:
        """Change what the outcome shows."""
        assert self.outcome is not None
        self.outcome = {**self.outcome, **document}
        return self


def of(make: Callable[[], Tape], **options: bool) -> Callable[[], Exhibit]:
    """Exhibits of a run that is played anew for each."""
    return lambda: Exhibit.of(make(), **options)


def made(kind: str, data: Mapping[str, Any]) -> Event:
    """An event from nothing."""
    return Event(0, "", kind, dict(data))
