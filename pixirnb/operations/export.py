"""Export of a run as one file: a zip that opens elsewhere, or a page to look at."""

from __future__ import annotations

from pathlib import Path

from pixirnb.operations.first_event import read_started
from pixirnb.operations.run_summary import PlanCache, summarize
from pixirnb.planning.environment import Environment
from pixirnb.planning.report import report
from pixirnb.store.archive import pack, write_file
from pixirnb.store.file_store import FileStore
from pixirnb.views.picture.drawing import edges_of
from pixirnb.views.run.housekeeping import ExportDocument
from pixirnb.views.run.page import page


def export_run(
    store: FileStore, run_id: str, target: Path, *, is_page: bool = False, force: bool = False
) -> ExportDocument:
    """Write a run into one file, a zip of its folder or a page of its outcome: `{run_id, path, bytes, files}`.

    Raises UnknownRun, LogDamaged (a page of a log without a beginning), Cannot (`file_exists`, `file_unwritable`).
    """
    folder = store.folder(run_id)
    reading = read_started(store, run_id)
    if is_page:
        summary = summarize(run_id, reading, PlanCache())
        planned = report(summary.plan.workflow, Environment()).document()
        text = page(summary.outcome.document(), edges_of(summary.plan), planned)
        count = write_file(target, lambda file: file.write(text.encode()) and 1, force=force)
    else:
        count = pack(folder, target, force=force)
    size = target.stat().st_size
    return {"run_id": run_id, "path": str(target), "bytes": size, "files": count}
