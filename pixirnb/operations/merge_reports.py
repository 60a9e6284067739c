"""Reports of merges, done or previewed, read from the record of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import cast

from pixirnb.engine.folders import roots_of
from pixirnb.engine.isolation import MARKED_LIMIT, changes_of, conflict_facts
from pixirnb.engine.merge import Merger
from pixirnb.errors import PixirnbError
from pixirnb.history.file_events import Changes, ConflictedFile, MergeConflicted
from pixirnb.history.validation import well_formed
from pixirnb.ids import digest_of
from pixirnb.machine.conflict_sides import Sides
from pixirnb.machine.merge_requests import (
    MergeReport,
    MergeRequest,
    PreviewedChanges,
    ReportedConflict,
)
from pixirnb.operations.record import RunRecord
from pixirnb.protocols.ports import Blobs
from pixirnb.protocols.trees import MergeConflict
from pixirnb.runners.output.mask import mask_contents, mask_here
from pixirnb.store.lease import live_owner
from pixirnb.store.state_folder import state_of_run
from pixirnb.views.files.changes import patch_text
from pixirnb.workspace.local_files import LocalFiles, require_workspace
from pixirnb.workspace.merge.recovery import refuse_unfinished as refuse_unfinished_merges
from pixirnb.workspace.merge.recovery import unfinished_merges


def report_merge(record: RunRecord, request_id: str, sides: Sides = None) -> MergeReport:
    """Return the result of a merge request, from the events with its id; empty if there was nothing to do.

    `sides`: as requested.
    """
    run, blobs = record.state, record.store.blobs(record.id)
    for merge in run.merges:
        if merge.get("request_id") == request_id:
            return MergeReport(
                record.id,
                "merged" if merge.get("undoes") is None else "undone",
                list(merge["steps"]),
                merge=merge["merge"],
                undoes=merge.get("undoes"),
                changes={**merge["changes"]},
                unmatched=_unmatched(sides, merge.get("solved") or []),
            )
    for event in well_formed(record.history(), "merge_conflicted"):
        if event.data.get("request_id") == request_id:
            return _conflicted(record.id, cast("MergeConflicted", event.data), blobs, sides=sides)
    return MergeReport(record.id, "nothing", [])


def refuse_unfinished(record: RunRecord) -> None:
    """Raise Cannot (`merge_unfinished`) if a dead process left a merge of the run incomplete, or unrecorded."""
    folder = record.store.folder(record.id)
    known = {merge["merge"] for merge in record.state.merges}
    merges = state_of_run(folder) / "merges"
    if unfinished_merges(merges, record.id, known) and live_owner(folder) is None:
        # Checked again: the process that did the merge may have ended meanwhile.
        known = {merge["merge"] for merge in record.state.merges}
        refuse_unfinished_merges(merges, record.id, known)


def preview_merge(record: RunRecord, request: MergeRequest | None) -> MergeReport:
    """Return the result of a merge without doing it. Reads the user's files only. Raises Cannot.

    Names of files are masked, as in the log of a merge that is done.
    """
    if request is None or (request.undoes is None and not request.steps):
        return MergeReport(record.id, "nothing", [], preview=True)
    run, plan = record.state, record.compiled()
    steps = list(request.steps)
    if request.undoes is not None:
        steps = next(list(m["steps"]) for m in run.merges if m["merge"] == request.undoes)
    roots, blobs = roots_of(run), _Shown(record.store.blobs(record.id))
    state = state_of_run(record.store.folder(record.id))
    files = LocalFiles(state, roots, never_copy=plan.workflow.never_copy)
    require_workspace(files, run)
    result = Merger(plan, run, roots, files, blobs).preview(request)
    if result is None:
        return MergeReport(record.id, "nothing", [], preview=True)
    if isinstance(result, MergeConflict):
        facts = conflict_facts(
            result, plan, run, roots, blobs, steps=request.steps, undoes=request.undoes
        )
        return _conflicted(
            record.id,
            mask_here({}).event(cast("MergeConflicted", facts[0].data)),
            blobs,
            sides=request.sides,
            preview=True,
        )
    changes = changes_of(result.taken, roots, blobs)
    shown, left_out = None, 0
    if changes["patch"] is not None:
        shown, left_out = patch_text(changes["patch"], mask_contents(blobs.beginning))
    masked: Changes = mask_here({}).event(changes)
    previewed: PreviewedChanges = {
        **masked,
        "patch": None,
        "patch_text": shown,
        "patch_cut": left_out,
    }
    return MergeReport(
        record.id,
        "clean",
        steps,
        undoes=request.undoes,
        preview=True,
        changes=previewed,
        unmatched=_unmatched(request.sides, result.solved),
    )


def _unmatched(sides: Sides, paths: Iterable[str]) -> list[str]:
    """Return files with a requested side that are not in conflict."""
    named = list(sides) if isinstance(sides, Mapping) else []
    known = set(paths)
    return [path for path in named if path not in known]


def _conflicted(
    run_id: str, data: MergeConflicted, blobs: Blobs, *, sides: Sides, preview: bool = False
) -> MergeReport:
    return MergeReport(
        run_id,
        "conflict",
        list(data["steps"]),
        undoes=data.get("undoes"),
        preview=preview,
        between=list(data["between"]),
        conflicts=[
            cast("ReportedConflict", {**file, "marked_text": _text(file, blobs)})
            for file in data["files"]
        ],
        # If a conflict has more files than are listed, it is unknown which are not among them.
        unmatched=_unmatched(sides, [file["path"] for file in data["files"]])
        if data["count"] <= len(data["files"])
        else [],
    )


def _text(file: ConflictedFile, blobs: Blobs) -> str | None:
    digest = file.get("marked")
    if digest is None:
        return None

    def read(blob: str, limit: int) -> tuple[bytes, int]:
        data = blobs.get(blob)
        return data[:limit], len(data)

    try:
        return mask_contents(read)(digest, MARKED_LIMIT)[0].decode("utf-8", errors="replace")
    except PixirnbError:
        return None  # a lost blob: the file is named all the same


class _Shown:
    """The blobs of a run, with further ones in memory that are only displayed."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._held: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        digest = digest_of(data)
        self._held[digest] = data
        return digest

    def put_file(
        self, path: Path, before_piece: Callable[[], object] = lambda: None
    ) -> tuple[str, int]:
        before_piece()
        data = path.read_bytes()
        return self.put(data), len(data)

    def get(self, digest: str) -> bytes:
        return self._held[digest] if digest in self._held else self._blobs.get(digest)

    def beginning(self, digest: str, limit: int) -> tuple[bytes, int]:
        """Return the first bytes of a blob, and its size."""
        data = self.get(digest)
        return data[:limit], len(data)

    def path(self, digest: str) -> Path | None:
        return None if digest in self._held else self._blobs.path(digest)

    def has(self, digest: str) -> bool:
        return digest in self._held or self._blobs.has(digest)

    def is_whole(self, digest: str) -> bool:
        return digest in self._held or self._blobs.is_whole(digest)
