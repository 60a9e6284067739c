"""Who saw what really happened, beside the log: sightings for the auditor, notes for a reader, counts for coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from harness.auditor.breaches import CUT, Breach, Sighting
from pixirnb.testing.fakes.memory_store import MemoryStore

What = Literal[
    "began",
    "ended",
    "returned",
    "wished",
    "merging",
    "answered",
    "forged",
    "died",
    "acquired",
    "wrote",
    "lost",
]


@dataclass(slots=True, eq=False)
class Witness:
    """Sees one world."""

    store: MemoryStore
    now: Callable[[], float]
    sightings: dict[str, list[Sighting]] = field(default_factory=dict)
    """By run."""
    notes: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    breaches: list[Breach] = field(default_factory=list)
    """What needs no log to be seen."""

    def see(
        self,
        what: What,
        run_id: str,
        step: str | None = None,
        attempt: int | None = None,
        detail: str = "",
    ) -> None:
        """Something happened to a run."""
        run = self.store.runs.get(run_id)
        durable = 0 if run is None else run.data.count(b"\n")
        known = self.sightings.setdefault(run_id, [])
        if what in {"died", "lost"}:
            # What it was asked and had no time to act on died with it.
            while known and known[-1].what == "wished" and known[-1].durable == durable:
                known.pop()
        seen = Sighting(what, durable, self.now(), step, attempt, detail)
        known.append(seen)
        if what == "wrote":
            return  # the log tells it
        about = f" {step}.{attempt}" if step and attempt else f" {step}" if step else ""
        self.note(f"{what}{about}{' ' + detail if detail else ''}")

    def follow(self, fork_id: str, run_id: str, seq: int) -> None:
        """A fork begins with what was seen of another run, up to event number `seq`: it is not seen to end there."""
        before = [seen for seen in self.sightings.get(run_id, []) if seen.durable <= seq]
        self.sightings[fork_id] = [*before, Sighting("died", seq, self.now(), None, None, CUT)]

    def forget(self, run_id: str, seq: int) -> None:
        """Of a run only its first `seq` events are left."""
        self.follow(run_id, run_id, seq)

    def note(self, text: str) -> None:
        """A line of the story."""
        self.notes.append(f"{self.now() - 1000:10.3f}  {text}")

    def count(self, name: str, more: int = 1) -> None:
        """One more of them, or so many."""
        self.counts[name] += more

    def breach(self, rule: str, message: str, step: str | None = None) -> None:
        """A promise broken for all to see."""
        self.breaches.append(Breach(rule, None, step, message))
        self.note(f"BREACH {rule}: {message}")
