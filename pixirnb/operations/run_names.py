"""Names of runs as people write them: an id, its unique beginning, its last part, `@last`, a run's name, or a workflow's.

Source: docs/reference/cli.md (a run's name).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pixirnb.errors import InvalidArguments, UnknownRun
from pixirnb.ids import LAST, is_run_id
from pixirnb.machine.outcome_documents import RunRow
from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.store.file_store import FileStore
from pixirnb.store.state_folder import runs_below
from pixirnb.wording import join_names

_NAMED: Final = 6

Rows = Callable[[], list[RunRow]]
"""Function that lists all runs, newest first."""


def find_run(store: FileStore, name: str, rows: Rows) -> str:
    """Return the id that a name stands for; a run's name, and then a workflow, stands for its newest run.

    Raises:
        UnknownRun: there is no such run.
        InvalidArguments: `run_ambiguous`, several ids begin so.
    """
    if is_run_id(name):
        return name
    run_ids = store.run_ids()
    if name == LAST:
        if not run_ids:
            raise UnknownRun(
                f"no runs in {store.state}",
                fix=runs_below(store.state) or "start one with `pixirnb run FILE`",
            )
        return run_ids[0]
    matches = [each for each in run_ids if _is_part(name, each)]
    if len(matches) == 1:
        return matches[0]
    listed = rows()
    for key in ("name", "workflow"):
        newest = next((row["run_id"] for row in listed if row.get(key) == name), None)
        if newest is not None:
            return newest
    if matches:
        raise InvalidArguments(
            f"`{name}` is part of {len(matches)} run ids: {join_names(matches, _NAMED)}",
            fix="write more of the id",
            code="run_ambiguous",
            details={"runs": matches},
        )
    known = [word for row in listed for word in (LAST, row.get("name"), row["workflow"]) if word]
    raise store.unknown_run(name, did_you_mean(name, known, otherwise=""))


def _is_part(name: str, run_id: str) -> bool:
    # Only a whole last part: the name of a workflow could be the end of any id.
    return run_id.startswith(f"r-{name.removeprefix('r-')}") or run_id.rpartition("-")[2] == name
