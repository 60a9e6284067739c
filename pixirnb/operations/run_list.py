"""List of runs: a row a run, newest first, fast for ten thousand of them.

Source: contract.md §9; docs/adr/0009.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pixirnb.errors import Cannot, UnknownRun
from pixirnb.machine.outcome_documents import RunRow
from pixirnb.operations.run_filter import RunFilter
from pixirnb.store.file_store import FileStore
from pixirnb.store.run_index import Catalogue

if TYPE_CHECKING:
    from pixirnb.operations.run_summary import PlanCache

LiveRow = Callable[[str], RunRow]
"""Function that makes the row of a live run."""


def list_runs(
    store: FileStore,
    live_row: LiveRow,
    *,
    limit: int | None = None,
    only: RunFilter = RunFilter(),  # noqa: B008 - frozen
    now_ns: Callable[[], int] = time.time_ns,
) -> list[RunRow]:
    """Return the rows of the runs that `only` lets pass, newest first."""
    run_ids = store.run_ids()
    memo = Catalogue(store.state, now_ns=now_ns)
    fresh: Callable[[str], RunRow] | None = None
    listed: list[RunRow] = []
    try:
        for run_id in run_ids:
            if len(listed) == limit:
                break
            row = memo.row(run_id)
            if row is None:
                fresh = fresh or _reader(store, memo, live_row)
                row = fresh(run_id)
            if only.matches(row):
                listed.append(row)
    finally:
        memo.save(run_ids)
    return listed


def _reader(store: FileStore, memo: Catalogue, live_row: LiveRow) -> Callable[[str], RunRow]:
    """Return a function that makes the row of a run from its log."""
    from pixirnb.operations.run_summary import (
        PlanCache,  # what the catalogue knows needs none of it
    )

    return partial(_fresh, store, memo, PlanCache(), live_row)


def _fresh(
    store: FileStore, memo: Catalogue, plans: PlanCache, live_row: LiveRow, run_id: str
) -> RunRow:
    from pixirnb.machine.outcome_summary import run_row
    from pixirnb.operations.run_summary import summarize

    row: RunRow = {
        "run_id": run_id,
        "workflow": None,
        "status": "unreadable",
        "started_at": None,
        "ended_at": None,
        "counts": {},
        "name": None,
        "tags": [],
    }
    try:
        # Before the log is read: what changes meanwhile is read again.
        identity = memo.identity(run_id)
        reading = store.read(run_id)
        if reading.owner is not None:
            return live_row(run_id)
        summary = summarize(run_id, reading, plans)
    except UnknownRun as error:
        if error.details.get("never_began"):
            row["status"] = "never_began"
        row["error"] = str(error)
        return row
    except Cannot as error:
        row["status"] = "running" if error.code == "not_begun" else row["status"]
        row["error"] = str(error)
        return row
    except Exception as error:  # noqa: BLE001 - one unreadable run must not hide the others; it says why in its row
        row["error"] = str(error)
        return row
    row = run_row(run_id, summary.run, summary.outcome.status, summary.outcome.counts)
    if reading.damage is None:
        memo.keep(row, identity)
    elif reading.damage.code != "torn_tail":
        row["error"] = f"log damaged at line {reading.damage.line}"
    return row


def row_of_live(store: FileStore) -> LiveRow:
    """Return a function that makes the row of a live run from its id."""

    def row(run_id: str) -> RunRow:
        from pixirnb.machine.outcome_summary import run_row
        from pixirnb.operations.run import load_run  # a run at rest needs none of it

        opened = load_run(store, run_id)
        return run_row(run_id, opened.state, opened.outcome.status, opened.outcome.counts)

    return row
