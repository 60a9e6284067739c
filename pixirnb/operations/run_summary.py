"""Summary of a run from its log: its plan, its state, its outcome; and the comparison of two runs."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from pydantic_core import to_json

from pixirnb.history.run_state import RunState, fold
from pixirnb.machine.outcome import RunOutcome, as_damaged, outcome
from pixirnb.operations.first_event import read_started, require_beginning
from pixirnb.operations.resume_plan import pinned_plan
from pixirnb.planning.plan import Plan
from pixirnb.protocols.ports import LogContents
from pixirnb.store.file_store import FileStore
from pixirnb.views.run.comparison import ComparedRun, ComparisonDocument, comparison

PLANS_KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class RunSummary:
    plan: Plan
    run: RunState
    outcome: RunOutcome


class PlanCache:
    """A cache of plans of pinned workflows: ten thousand runs have a few workflows, each planned once."""

    def __init__(self) -> None:
        self._known: dict[bytes, Plan] = {}

    def of(self, run: RunState) -> Plan:
        """Return the plan of a run's workflow. Raises InvalidSpec."""
        key = blake2b(to_json([run.spec, run.sources])).digest()
        plan = self._known.get(key)
        if plan is None:
            if len(self._known) >= PLANS_KEPT:
                self._known.clear()
            plan = self._known[key] = pinned_plan(run)
        return plan


def summarize(run_id: str, reading: LogContents, plans: PlanCache) -> RunSummary:
    require_beginning(run_id, reading.events)
    run = fold(reading.events)
    plan = plans.of(run)
    result = outcome(plan, run, is_live=reading.owner is not None)
    if reading.damage is not None:
        result = as_damaged(result, reading.damage)
    return RunSummary(plan, run, result)


def compare_runs(left: tuple[FileStore, str], right: tuple[FileStore, str]) -> ComparisonDocument:
    """Compare two runs, step by step; see `views.run.comparison`. Raises UnknownRun, LogDamaged."""
    return comparison(_side(*left), _side(*right))


def _side(store: FileStore, run_id: str) -> ComparedRun:
    summary = summarize(run_id, read_started(store, run_id), PlanCache())
    return ComparedRun(summary.outcome, summary.run)
