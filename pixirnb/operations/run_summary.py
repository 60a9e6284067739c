"""Summary of a run from its log: its plan, its state, its outcome; and the comparison of two runs.

The beginning of a log is waited for while a run starts, and required when a run is read.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from msgspec import Struct
from pydantic_core import to_json

from pixirnb.errors import Cannot, LogDamaged
from pixirnb.history.events import Event
from pixirnb.history.run_state import RunState, fold
from pixirnb.machine.expansion import with_items
from pixirnb.machine.outcome import RunOutcome, as_damaged, outcome
from pixirnb.operations.resume_plan import written_plan
from pixirnb.planning.plan import Plan
from pixirnb.protocols.ports import LogContents
from pixirnb.store.file_store import FileStore
from pixirnb.views.run.comparison import ComparedRun, ComparisonDocument, comparison

PLANS_KEPT: Final = 64
_LOOK_S: Final = 0.01
_PATIENCE_S: Final = 5.0
"""Seconds that an owned run may take until its first event."""


class RunSummary(Struct, frozen=True):
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
            plan = self._known[key] = written_plan(run)
        return with_items(plan, run)


def read_started(store: FileStore, run_id: str) -> LogContents:
    """Read a run; if it is just starting, with its first event. Raises UnknownRun, StateUnusable, Cannot (`not_begun`)."""
    # Id and lock exist a moment before the first event is on disk: readers elsewhere wait for it.
    patience = time.monotonic() + _PATIENCE_S
    while True:
        reading = store.read(run_id)
        if reading.events or reading.owner is None or reading.damage is not None:
            return reading
        if time.monotonic() >= patience:
            raise Cannot(
                f"process {reading.owner.pid} has not written the first event of {run_id} yet",
                fix="try again, or end that process",
                code="not_begun",
            )
        time.sleep(_LOOK_S)


def require_beginning(run_id: str, events: Sequence[Event]) -> None:
    """Raise LogDamaged for a history without its beginning."""
    if not events or events[0].kind != "run_started":
        raise LogDamaged(
            f"the log of {run_id} cannot be read from its beginning",
            fix="check log.jsonl in its folder; the run cannot be shown or resumed",
        )


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
