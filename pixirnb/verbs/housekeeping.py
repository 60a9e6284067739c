"""The verbs for many runs at once: `runs doctor compare export prune`. Source: contract.md §9."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from pixirnb.api.listing import locate_run
from pixirnb.api.listing import runs as list_runs
from pixirnb.errors import EXIT_CANNOT, EXIT_COMPLETED, EXIT_PARTIAL, InvalidArguments
from pixirnb.operations.locations import store_of, workspace_of
from pixirnb.operations.run_filter import span_s, statuses_of
from pixirnb.operations.run_list import row_of_live
from pixirnb.store.state_folder import runs_below
from pixirnb.verbs.answers import Answer
from pixirnb.verbs.options import Cluster, Common, DryRun, Flag, RunName, is_json, state_of

if TYPE_CHECKING:
    from pixirnb.store.file_store import FileStore

_EXIT_OF: Final = {
    "ready": EXIT_COMPLETED,
    "ready_with_warnings": EXIT_PARTIAL,
    "blocked": EXIT_CANNOT,
}


def runs(
    *,
    workflow: str | None = None,
    status: Annotated[str | None, Parameter(negative="")] = None,
    since: str | None = None,
    name_: Annotated[str | None, Parameter(name="--name")] = None,
    tag: Annotated[list[str] | None, Parameter(negative="")] = None,
    limit: int = 50,
    common: Common | None = None,
) -> Answer:
    """List runs, newest first.

    Args:
        workflow: Only runs of this workflow.
        status: Only runs with these statuses, separated by commas.
        since: Only runs that started after this date, or less than this long ago: 2d, 12h.
        name_: Only runs with this name.
        tag: Only runs with this tag; repeatable, all must match.
        limit: Maximum number of runs; 0 for all.
    """
    rows = list_runs(
        state=state_of(common),
        limit=_limit(limit),
        workflow=workflow,
        status=() if status is None else status,
        since=since,
        name=name_,
        tags=tag or (),
    )
    store = store_of(workspace_of(None, None), state_of(common))
    if not rows and not store.run_ids() and (elsewhere := runs_below(store.state)):
        document = {"runs": [], "message": f"No runs here; {elsewhere}."}
        return Answer("message", document, is_json=is_json(common))
    return Answer("runs", {"runs": rows}, is_json=is_json(common))


def doctor(
    run: RunName | None = None,
    /,
    *,
    limit: int = 50,
    cluster: Cluster = None,
    common: Common | None = None,
) -> Answer:
    """Check runs for problems; change nothing.

    Args:
        limit: Without RUN: maximum number of runs, newest first; 0 for all.
    """
    from pixirnb.operations.doctor import diagnose, diagnose_all
    from pixirnb.runners.cluster.connection import connect

    if cluster is not None:
        connect(cluster)  # one that cannot be reached is not one without problems
    if run is None:
        store = store_of(workspace_of(None, None), state_of(common))
        document = diagnose_all(store, limit=_limit(limit), cluster=cluster)
        elsewhere = () if document["runs"] else (runs_below(store.state),)
    else:
        store, run_id = locate_run(run, state=state_of(common))
        document, elsewhere = diagnose(store, run_id, cluster=cluster).document(), ()
    code = _EXIT_OF[document["status"]]
    return Answer("diagnosis", document, code, lines=elsewhere, is_json=is_json(common))


def compare(left: RunName, right: RunName, /, *, common: Common | None = None) -> Answer:
    """Compare two runs: their workflows, inputs, outcomes and steps."""
    from pixirnb.operations.run_summary import compare_runs

    pair = [locate_run(run, state=state_of(common)) for run in (left, right)]
    document = compare_runs(pair[0], pair[1])
    return Answer("comparison", document, is_json=is_json(common))


def export(
    run: RunName,
    /,
    *,
    to: Path | None = None,
    html: Flag = False,
    force: Flag = False,
    common: Common | None = None,
) -> Answer:
    """Write a run to one file: a zip that opens on any machine, or an HTML page.

    Args:
        to: File to write; default: RUN.zip or RUN.html in the current folder.
        html: Write an HTML page of the outcome.
        force: Replace an existing file.
    """
    from pixirnb.operations.export import export_run

    store, run_id = locate_run(run, state=state_of(common))
    target = to or Path(f"{run_id}.{'html' if html else 'zip'}")
    document = export_run(store, run_id, target, is_page=html, force=force)
    return Answer("export", document, is_json=is_json(common))


def prune(
    *runs: str,
    keep: int | None = None,
    older_than: str | None = None,
    status: Annotated[str | None, Parameter(negative="")] = None,
    yes: Flag = False,
    dry_run: DryRun = False,
    common: Common | None = None,
) -> Answer:
    """List the runs that would be deleted; --yes deletes them.

    Args:
        runs: Only these runs, whatever their status: ids, names, `@last`, as RUN of other verbs.
        keep: Keep the N most recent runs.
        older_than: Only runs that ended longer ago than this, such as 30d or 12h.
        status: Only runs with these statuses, separated by commas.
        yes: Delete the runs.
        dry_run: Only list them, even with --yes.
    """
    from pixirnb.operations.prune import ON_REQUEST, PRUNABLE, PruneFilter, prune_runs

    if runs and (keep is not None or older_than is not None or status is not None):
        raise InvalidArguments(
            "RUN cannot be combined with --keep, --older-than or --status",
            fix="remove the option, or the runs",
        )
    if yes and not runs and keep is None and older_than is None and status is None:
        raise InvalidArguments(
            "--yes without a filter would delete every run",
            fix="add RUN, --keep N, --older-than 30d or --status failed,partial",
        )
    store = store_of(workspace_of(None, None), state_of(common))
    which = PruneFilter(
        _kept(keep),
        0.0 if older_than is None else span_s(older_than, "--older-than"),
        statuses_of(() if status is None else status, (*PRUNABLE, *ON_REQUEST)),
        frozenset(_id_in(store, run) for run in runs),
    )
    document = prune_runs(store, row_of_live(store), which, is_preview=dry_run or not yes)
    code = EXIT_CANNOT if document["failed"] else EXIT_COMPLETED
    return Answer("prune", document, code, is_json=is_json(common))


def _limit(limit: int) -> int | None:
    if limit < 0:
        raise InvalidArguments(
            f"invalid --limit {limit}", fix="use a positive number, or 0 for all"
        )
    return limit or None


def _kept(keep: int | None) -> int:
    if keep is not None and keep < 0:
        raise InvalidArguments(f"invalid --keep {keep}", fix="use 0 or a positive number")
    return keep or 0


def _id_in(store: FileStore, run: str) -> str:
    """Return the id of a run of this state folder. Raises InvalidArguments, UnknownRun."""
    home, run_id = locate_run(run, state=store.state)
    if home.folder(run_id).resolve() != store.folder(run_id).resolve():
        raise InvalidArguments(
            f"{home.folder(run_id)} is not a run of {store.state}", fix="delete the folder instead"
        )
    return run_id
