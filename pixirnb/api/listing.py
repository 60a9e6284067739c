"""The list of runs, and one of them by its name. Nothing that runs is loaded for these."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pixirnb.errors import InvalidArguments
from pixirnb.machine.document_access import Attributes
from pixirnb.operations.locations import store_of, type_name, workspace_of
from pixirnb.operations.run_filter import filter_of
from pixirnb.operations.run_list import list_runs, row_of_live
from pixirnb.operations.run_names import find_run
from pixirnb.store.file_store import FileStore
from pixirnb.views.run.run_rows import Rows

if TYPE_CHECKING:
    from pixirnb.machine.outcome import RunOutcome
    from pixirnb.operations.run import Run

    RunRef = str | Path | Run | RunOutcome | Mapping[str, Any]
    """A run: itself, its outcome, its row in `runs()`, its name, or the path of its folder."""


def runs(
    *,
    workspace: str | Path | None = None,
    state: str | Path | None = None,
    limit: int | None = None,
    workflow: str | None = None,
    status: str | Sequence[str] = (),
    since: str | None = None,
    name: str | None = None,
    tags: Sequence[str] = (),
) -> Rows:
    """Return the runs of a state folder, newest first.

    A row has `run_id workflow status started_at ended_at counts name tags`, as keys and as attributes; `open_run` takes it.

    Args:
        workspace: folder whose state folder is listed.
        state: state folder; by default the nearest `.pixirnb`.
        limit: maximum number of runs; None for all.
        workflow: only runs of this workflow.
        status: only runs with this status, or one of these.
        since: only runs that started after this date, or less than this long ago (`2d`).
        name: only runs with this name.
        tags: only runs with all these tags.

    Raises:
        InvalidArguments: `status` is none, or `since` is neither a date nor a duration.
        StateUnusable: the state folder cannot be used.

    Example:
        >>> _ = pixirnb.run({"name": "demo", "steps": [{"id": "hello", "run": "echo hello"}]})
        >>> pixirnb.runs(limit=1)[0].workflow
        'demo'
    """
    store = store_of(workspace_of(None, workspace), state)
    only = filter_of(workflow, status, since, name, tags)
    rows = list_runs(store, row_of_live(store), limit=limit, only=only)
    return Rows(map(Attributes, rows), len(rows) or len(store.run_ids()))


def locate_run(
    run_id: RunRef,
    *,
    workspace: str | Path | None = None,
    state: str | Path | None = None,
) -> tuple[FileStore, str]:
    """Return the store and the id of a run.

    It is given as a Run, its outcome or its row, by its name (see `operations.run_names`) or by its folder.
    """
    if not isinstance(run_id, str | Path | Mapping):
        from pixirnb.machine.outcome import RunOutcome
        from pixirnb.operations.run import Run

        if isinstance(run_id, Run):
            return run_id.store, run_id.id
        if isinstance(run_id, RunOutcome):
            workspace = workspace or run_id.workspace or None
            run_id = run_id.run_id
    if isinstance(run_id, Mapping) and "run_id" in run_id:
        run_id = run_id["run_id"]
    if not isinstance(run_id, str | Path):
        raise InvalidArguments(
            f"expected a run id, path or Run, got {type_name(run_id)}",
            fix='pass an id such as run.id, "@last", or the path of a run folder',
        )
    path = Path(run_id)
    if path.name == str(run_id) or not os.path.isdir(path):  # noqa: PTH112 - as in `workspace_of`
        store = store_of(workspace_of(None, workspace), state)
        return store, find_run(store, str(run_id), lambda: list_runs(store, row_of_live(store)))
    return FileStore.of_folder(path.resolve())
