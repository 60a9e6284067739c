"""Requests for a run that no process drives: recorded by a person between two courses, and audited at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.simulator.person import BY, decision, merging, permission, resolution
from harness.simulator.records import Records
from harness.simulator.witness import Witness
from harness.simulator.world import Document
from pixirnb.machine.requests import Request
from pixirnb.operations import prepare
from pixirnb.operations.run_environment import RunEnvironment
from pixirnb.testing.fakes.memory_store import MemoryStore


@dataclass(slots=True, eq=False)
class RequestsAtRest:
    """The requests of one life; `environment` makes what a run is prepared with."""

    store: MemoryStore
    records: Records
    witness: Witness
    environment: Callable[[], RunEnvironment]
    asked: int = 0
    """Number of requests so far: each has an id of its own."""

    def record(self, act: Document, run_id: str) -> None:
        """Record a request on a run that no process drives, and resume nothing."""
        if act.get("checkpoint"):
            self.asked += 1
            said = {"name": act["checkpoint"], "note": ""}
            request = Request(f"r{self.asked}", "checkpoint", said, BY)
            self.witness.count("checkpoints at rest")
        else:
            request = self.decision(act, run_id)
            self.witness.count("decisions not resumed")
        prepare.record(self.store, run_id, request, environment=self.environment())
        if act.get("twice"):
            prepare.record(self.store, run_id, request, environment=self.environment())
            self.witness.count("said twice")
        self.records.audit(run_id, None)

    def merge(self, act: Document, run_id: str) -> None:
        """Do a merge of a run that no process drives, or take one back."""
        self.asked += 1
        plan, _ = self.records.known(run_id)
        said = merging(act, plan, is_undo=bool(act.get("undo")))
        self.witness.count("merges at rest")
        prepare.merge(
            self.store,
            run_id,
            Request(f"r{self.asked}", "merge", said, BY),
            environment=self.environment(),
        )
        self.records.audit(run_id, None)

    def decision(self, act: Document, run_id: str) -> Request:
        """Return the request that answers a question of the run, as the act says."""
        plan, run = self.records.known(run_id)
        self.asked += 1
        if run.open_permissions() and act.get("permit", True):
            self.witness.count("permissions answered at rest")
            verb, said = permission(act, run)
            return Request(f"r{self.asked}", verb, said, BY)
        if run.seams and act.get("seam"):
            self.witness.count("seams decided at rest")
            return Request(f"r{self.asked}", "decide", resolution(act, run), BY)
        self.witness.count("decisions at rest")
        return Request(f"r{self.asked}", "decide", decision(act, plan, run), BY)
