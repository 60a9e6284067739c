"""Removal of old runs, with a preview.

Source: contract.md §9.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct

from pixirnb.errors import PixirnbError
from pixirnb.machine.outcome_documents import RunRow
from pixirnb.operations.run_list import LiveRow, list_runs
from pixirnb.planning.roots import Roots
from pixirnb.store.file_store import FileStore
from pixirnb.store.lease import live_owner
from pixirnb.store.removal import age_s, bytes_of, finish_removals, remove_run
from pixirnb.store.run_index import Catalogue, Identity
from pixirnb.views.run.housekeeping import PruneDocument, PrunedRun, PruneFailure
from pixirnb.workspace.local_files import LocalFiles
from pixirnb.workspace.remove_copies import remove_copies
from pixirnb.workspace.stores_by_root import forget_run, refuse_to_forget

PRUNABLE: Final = ("completed", "interrupted", "partial", "timed_out", "failed", "never_began")
"""Statuses that a prune deletes by default."""
ON_REQUEST: Final = ("needs_orchestrator", "unreadable")
"""Statuses that it deletes only if they are named."""

_BEGINS_S: Final = 60.0
"""Seconds for which a run without an event may be about to begin."""


class PruneFilter(Struct, frozen=True):
    """A filter for runs to delete."""

    keep: int = 0
    """Number of the newest runs that are kept in any case."""
    older_than_s: float = 0.0
    """Minimum age in seconds since their end."""
    statuses: tuple[str, ...] = ()
    """Statuses to delete; empty: those of PRUNABLE."""
    run_ids: frozenset[str] = frozenset()
    """The runs to delete, whatever their status; empty: by the other parts."""


def prune_runs(
    store: FileStore,
    live_row: LiveRow,
    selection: PruneFilter,
    *,
    is_preview: bool = True,
    now: Callable[[], float] = time.time,
) -> PruneDocument:
    """Delete runs, unless it is a preview: `{preview, runs, kept, bytes, failed}`.

    Never deletes a run that is live, or was resumed meanwhile. Finishes an earlier prune that was killed.
    """
    runs = store.state / "runs"
    memo = Catalogue(store.state)
    let_go = partial(_let_go, store.state)
    if not is_preview:
        finish_removals(runs, let_go)
    seen = {run_id: memo.identity(run_id) for run_id in store.run_ids()}  # before they are read
    everything = list_runs(store, live_row)
    removed: list[PrunedRun] = []
    failed: list[PruneFailure] = []
    allowed = selection.statuses or PRUNABLE
    for row in everything[selection.keep :]:
        run_id, folder = row["run_id"], runs / row["run_id"]
        if selection.run_ids:
            if run_id not in selection.run_ids:
                continue
        elif row["status"] not in allowed or age_s(row["ended_at"], folder, now=now) < max(
            selection.older_than_s, _BEGINS_S if row["status"] == "never_began" else 0.0
        ):
            continue
        size = bytes_of(folder)
        if is_preview and (owner := live_owner(folder)) is not None:
            held = f"{run_id} was last driven by process {owner.pid} on {owner.host}"
            failed.append({"run_id": run_id, "code": "held_by_another", "message": held})
            continue
        if not is_preview:
            try:
                is_still = partial(_is_still, store.state, memo, run_id, seen.get(run_id))
                remove_run(folder, is_still, let_go)
            except PixirnbError as error:
                failed.append({"run_id": run_id, "code": error.code, "message": error.one_line()})
                continue
        removed.append(
            {
                "run_id": run_id,
                "workflow": row["workflow"],
                "status": row["status"],
                "ended_at": row["ended_at"],
                "bytes": size,
            }
        )
    return {
        "preview": is_preview,
        "runs": removed,
        "kept": _kept(everything, removed, runs, is_preview=is_preview),
        "bytes": sum(row["bytes"] for row in removed),
        "failed": failed,
    }


def _kept(
    everything: Sequence[RunRow], removed: Sequence[PrunedRun], runs: Path, *, is_preview: bool
) -> int:
    """Return how many runs are kept. One whose files could not be deleted is neither removed nor kept."""
    if is_preview:
        return len(everything) - len(removed)
    return sum(os.path.lexists(runs / row["run_id"]) for row in everything)


def _is_still(state: Path, memo: Catalogue, run_id: str, identity: Identity | None) -> bool:
    """Return whether an owned run is unchanged; a merge in which its owner died is then rolled back. Raises Cannot."""
    if memo.identity(run_id) != identity:
        return False
    files = LocalFiles(state, Roots.of(str(state), {}))
    for data in files.unrecorded(run_id):
        files.recorded(run_id, data["merge"])
    return True


def _let_go(state: Path, run_id: str) -> None:
    """Release data of a deleted run outside its folder: its trees, and remaining copies."""
    refuse_to_forget(state, run_id)
    for refused in remove_copies(state / "isolated" / run_id, is_all=True):
        raise refused
    forget_run(state, run_id)
