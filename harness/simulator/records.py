"""The runs of a world as anyone can read them, and what the auditor makes of them after each course."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from harness.auditor.audit import audit
from harness.auditor.breaches import Breach, Sighting
from harness.simulator.files import Content
from harness.simulator.witness import Witness
from harness.simulator.words import misapplied
from pixirnb.history.codec import canonical
from pixirnb.history.run_state import RunState, fold
from pixirnb.machine.expansion import with_items
from pixirnb.machine.outcome import RunOutcome, as_damaged, outcome
from pixirnb.operations.resume_plan import written_plan
from pixirnb.planning.plan import Plan
from pixirnb.protocols.ports import LogContents
from pixirnb.testing.fakes.memory_store import MemoryStore

_REQUESTS: Final = (
    re.compile(rb'"request_id":"([^"/]+)"'),  # what an agent asks has a slash in its id
    re.compile(rb'"request":"([^"]+)"'),
)


@dataclass(slots=True, eq=False)
class Records:
    """The logs and blobs of one world."""

    store: MemoryStore
    witness: Witness
    trees: Mapping[str, Content]
    """Every tree of its files that there ever was."""
    lost: dict[str, dict[str, bytes]] = field(default_factory=dict)
    """Run to the blobs it lost: the auditor may still read them."""
    _plans: dict[bytes, Plan] = field(default_factory=dict)
    """By their spec: the same workflow is planned once. Not by its digest, which a log may have wrong."""

    def known(self, run_id: str) -> tuple[Plan, RunState]:
        """A run as its log tells it."""
        return self._known(self.store.read(run_id))

    def outcome(self, run_id: str) -> RunOutcome:
        """How a run stands that nobody drives."""
        reading = self.store.read(run_id)
        plan, run = self._known(reading)
        found = outcome(plan, run, is_live=False)
        return found if reading.damage is None else as_damaged(found, reading.damage)

    def _known(self, reading: LogContents) -> tuple[Plan, RunState]:
        run = fold(reading.events)
        key = canonical(run.spec)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = written_plan(run)
        return with_items(plan, run), run

    def checkpoint(self, run_id: str, pick: int) -> str:
        """The name of one of a run's checkpoints; one it has not, where it has none."""
        events = self.store.read(run_id).events
        names = [str(event.data["name"]) for event in events if event.kind == "checkpoint_saved"]
        return names[pick % len(names)] if names else "none"

    def lose_blob(self, run_id: str, pick: int) -> None:
        """Lose the blob of an output, if there is one. Those that hold events are left: without them no log can be read."""
        run = self.store.runs[run_id]
        log = bytes(run.data)
        stored = sorted(run.blobs.stored)
        names = [name for name in stored if f'"$blob":"{name}"'.encode() not in log]
        if names:
            name = names[pick % len(names)]
            self.lost.setdefault(run_id, {})[name] = run.blobs.stored.pop(name)
            self.witness.count("blobs lost")
            self.witness.note(f"lost {name}")

    def told(self, run_id: str) -> bytes:
        """All that was ever written of a run: its log, and what recoveries have kept aside."""
        run = self.store.runs.get(run_id)
        return b"" if run is None else b"".join((bytes(run.data), *run.broken))

    def damage(self, run_id: str, pick: int) -> None:
        """Change a byte of one of a log's lines. The first is left: without it there is no run."""
        run = self.store.runs[run_id]
        lines = bytes(run.data).split(b"\n")[:-1]
        if len(lines) > 1:
            kept = 1 + pick % (len(lines) - 1)
            run.data[sum(len(line) + 1 for line in lines[:kept]) + 8] ^= 1
            self.witness.forget(run_id, kept)
            self.witness.count("logs damaged")
            self.witness.note(f"damaged line {kept + 1}")

    def count(self, run_id: str) -> None:
        """Count what a run's log holds, for coverage."""
        count = self.witness.count
        for event in self.store.read(run_id).events:
            data = event.data
            match event.kind:
                case "step_expanded":
                    count("lists shared" if "same_as" in data else "lists")
                    count("items", len(data["items"]))
                    if data["reused"]:
                        count("items kept", len(data["reused"]))
                case "retry_planned":
                    count(f"retried: {data['retry_class']}")
                case "attempt_ended":
                    count(f"attempt {data['status']}")
                    if data.get("missing"):
                        count("items missing")
                case "run_resumed":
                    if any("@" in entry["step_id"] for entry in data["steps"]):
                        count("items selected")
                case "step_held":
                    count(f"held: {data['held_by']['kind']}")
                case "decision_requested":
                    count("asks of a death" if data["reason"] == "in_flight" else "asks")
                case "checkpoint_decided" if data.get("reused"):
                    count("kept by an equal digest")
                case "checkpoint_saved":
                    count(f"checkpoints: {data['reason']}")
                case "subagent_event":
                    count(f"session {data['event']}")
                    if data["event"] == "permission_decided":
                        count(f"permission: {data['verdict']}")
                case "workspace_captured":
                    count("captures")
                    if data["built_on"]:
                        count("builds on others")
                    if data.get("outside"):
                        count("writes outside")
                case "merge_applied":
                    count("undone" if data["undoes"] else "merged")
                    if data["solved"]:
                        count("solved")
                case "merge_conflicted":
                    count("clashes of a person" if data["step"] is None else "clashes")
                case "seam_opened":
                    count(f"seam {data['reason']}")
                case "seam_resolved":
                    by = "merge" if data.get("merge") else "step" if data.get("step") else "person"
                    count(f"seam resolved: {by}")
                case "warning_raised":
                    count(f"warned: {data['code']}")
                case _:
                    pass
        if b'"$blob":' in self.store.runs[run_id].data:
            count("events in blobs")

    def audit(self, run_id: str, found: RunOutcome | None) -> None:
        """Note every promise of a run that was broken. `found`: the outcome that was shown; None: the one its log tells."""
        run = self.store.runs[run_id]
        if self.witness.breaches or not run.data:
            return
        twice = _handled_twice(bytes(run.data))
        if twice is not None:
            self.witness.breach("handled_once", f"The request {twice} was handled twice.")
        if (told := misapplied(self.store.read(run_id).events, self.trees)) is not None:
            self.witness.breach("word_holds", told)
        # A fork could not copy what its source had lost: all that ever was lost may still be read.
        lost = {name: data for each in self.lost.values() for name, data in each.items()}
        blobs = {**lost, **run.blobs.stored}
        seen = self.witness.sightings.get(run_id, [])
        sessions = {name: bytes(session.data) for name, session in run.sessions.items()}
        shown = found or self.outcome(run_id)
        for breach in _audited(bytes(run.data), blobs, shown, seen, sessions):
            self.witness.breaches.append(breach)
            self.witness.note(f"BREACH {breach.rule} at {breach.seq}: {breach.message}")


def _handled_twice(log: bytes) -> str | None:
    """The id of a request that the log shows handled more than once."""
    for pattern in _REQUESTS:
        seen: set[bytes] = set()
        for found in pattern.findall(log):
            if found in seen:
                return str(found, "utf-8")
            seen.add(found)
    return None


def _audited(
    log: bytes,
    blobs: Mapping[str, bytes],
    found: RunOutcome,
    seen: Sequence[Sighting],
    sessions: Mapping[str, bytes],
) -> list[Breach]:
    whole = log[: log.rfind(b"\n") + 1]  # what was torn at a death had been promised to nobody
    return audit(
        whole,
        blobs=lambda name: blobs[name],
        outcome=found.document(),
        sightings=seen,
        wall_is_true=True,
        sessions=sessions,
    )
