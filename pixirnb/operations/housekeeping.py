"""Keeping house: what runs there are, what speaks against them, how two differ, one taken along, old ones taken away.

    rows       a row a run, newest first, fast for ten thousand of them
    diagnose   what speaks against a run; changes nothing, runs nothing
    compare    two runs, step by step
    export     a run as one file: a zip that opens elsewhere, or a page to look at
    prune      runs that nobody needs any more, shown first

Source: contract.md §7 (diagnostics), §9.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, cast

from pydantic_core import to_json

from pixirnb import value_codec
from pixirnb.errors import PixirnbError, UnknownRun
from pixirnb.history.bundles import stored_output
from pixirnb.history.events import StoredValue
from pixirnb.history.run_state import RunState, fold
from pixirnb.machine.diagnosis import Diagnosis, DiagnosisInput, findings, unreadable
from pixirnb.machine.findings import Finding
from pixirnb.machine.outcome import RunOutcome, as_damaged, outcome
from pixirnb.machine.session_diagnosis import SeenSession
from pixirnb.operations.first_event import read_started, require_beginning
from pixirnb.operations.resume_plan import pinned_plan
from pixirnb.planning.environment import Environment
from pixirnb.planning.plan import Plan
from pixirnb.planning.report import report
from pixirnb.planning.roots import Roots
from pixirnb.protocols.ports import LogContents
from pixirnb.runners.processes.orphans import find_strays
from pixirnb.runners.processes.process_tree import is_alive
from pixirnb.store.archive import pack, write_file
from pixirnb.store.blobs import FileBlobs
from pixirnb.store.file_store import FileStore
from pixirnb.store.lease import live_owner
from pixirnb.store.removal import age_s, bytes_of, finish_removals, remove_run
from pixirnb.store.run_index import Catalogue, Identity, Row
from pixirnb.store.run_inspection import look_around
from pixirnb.views.picture.drawing import edges_of
from pixirnb.views.run.comparison import ComparedRun, comparison
from pixirnb.views.run.page import page
from pixirnb.workspace.choose_store import forget_run, refuse_to_forget
from pixirnb.workspace.local_files import LocalFiles
from pixirnb.workspace.merge.recovery import tell_unfinished
from pixirnb.workspace.remove_copies import remove_copies

PRUNABLE: Final = ("completed", "interrupted", "partial", "timed_out", "failed", "never_began")
"""Statuses a prune takes unless told which."""
ON_REQUEST: Final = ("needs_orchestrator", "unreadable")
"""Statuses it takes only where they are named."""

_PLANS: Final = 64
_NOTICED_MS: Final = 5000
"""The owner of a run notices within this that a process of it is gone."""

_BEGINS_S: Final = 60.0
"""A run that has no event yet may be about to begin for so long."""

Anew = Callable[[str], Row]
"""The row of a run that somebody drives now."""


# --- runs --------------------------------------------------------------------------------------------------------


def rows(
    store: FileStore,
    anew: Anew,
    *,
    limit: int | None = None,
    now_ns: Callable[[], int] = time.time_ns,
) -> list[Row]:
    """A row a run, newest first: `{run_id, workflow, status, started_at, ended_at, counts}`.

    A run that died before its first event has the status `never_began`, one that cannot be read `unreadable`; both say why
    under `error`.
    """
    run_ids = store.run_ids()
    memo, plans = Catalogue(store.state, now_ns=now_ns), _Plans()
    found: list[Row] = []
    try:
        for run_id in run_ids[:limit]:
            known = memo.row(run_id)
            found.append(_fresh(store, run_id, memo, plans, anew) if known is None else known)
    finally:
        memo.save(run_ids)
    return found


def _fresh(store: FileStore, run_id: str, memo: Catalogue, plans: _Plans, anew: Anew) -> Row:
    row: Row = {
        "run_id": run_id,
        "workflow": None,
        "status": None,
        "started_at": None,
        "ended_at": None,
        "counts": {},
    }
    try:
        identity = memo.identity(
            run_id
        )  # before the log is read: what changes meanwhile is read again
        reading = store.read(run_id)
        if reading.owner is not None:
            return anew(run_id)
        standing = _standing_of(run_id, reading, plans)
    except UnknownRun as error:
        status = "never_began" if error.details.get("never_began") else "unreadable"
        return {**row, "status": status, "error": str(error)}
    except Exception as error:  # noqa: BLE001 - one unreadable run must not hide the others; it says why in its row
        return {**row, "status": "unreadable", "error": str(error)}
    row |= {
        "workflow": standing.run.workflow,
        "status": standing.outcome.status,
        "started_at": standing.run.started_at,
        "ended_at": standing.run.ended_at,
        "counts": standing.outcome.counts,
    }
    if reading.damage is None:
        memo.keep(row, identity)
    return row


# --- doctor ------------------------------------------------------------------------------------------------------


def diagnose(
    store: FileStore, run_id: str, *, now_ns: Callable[[], int] = time.time_ns
) -> Diagnosis:
    """What speaks against a run. Changes nothing, runs nothing. Raises UnknownRun where there is no folder of that name."""
    try:
        folder = store.folder(run_id)
    except UnknownRun:
        raise
    except PixirnbError as error:
        return unreadable(run_id, error.code, error.message, error.fix)
    try:
        reading = read_started(store, run_id)
        if reading.damage is not None and not reading.events:
            damage = reading.damage
            return unreadable(run_id, damage.code, f"The log cannot be read: {damage.message}.")
        standing = _standing_of(run_id, reading, _Plans())
        around = look_around(folder, reading, now_ns=now_ns())
        around = replace(
            around,
            sessions=_with_children(standing.run, around),
            strays=() if around.is_held else _strays(standing.run),
            untrusted=_untrusted(store.blobs(run_id), standing),
            unfinished=tell_unfinished(
                store.state / "merges", run_id, [each["merge"] for each in standing.run.merges]
            ),
            has_workspace=Path(standing.run.workspace).is_dir(),
        )
    except UnknownRun as error:  # its folder is there: it died before its first event
        message = error.message[:1].upper() + error.message[1:] + "."
        return Diagnosis(run_id, (Finding("never_began", "warning", message),))
    except PixirnbError as error:
        return unreadable(run_id, error.code, error.message, error.fix)
    except OSError as error:
        said = error.strerror or str(error)
        return unreadable(run_id, "state_unusable", f"{error.filename or folder}: {said}.")
    return Diagnosis(run_id, findings(standing.plan, standing.run, standing.outcome, around))


def diagnose_all(store: FileStore, *, limit: int | None = None) -> dict[str, Any]:
    """Every run's diagnosis, newest first, and the worst status among them: `{status, runs}`."""
    found = [diagnose(store, run_id) for run_id in store.run_ids()[:limit]]
    order = ("blocked", "ready_with_warnings", "ready")
    worst = next((s for s in order if any(d.status == s for d in found)), "ready")
    return {"status": worst, "runs": [each.document() for each in found]}


def _strays(run: RunState) -> tuple[int, ...]:
    """Processes of a run's steps that nobody owns."""
    return tuple(find_strays(run.run_id, run.owners))


def _with_children(run: RunState, around: DiagnosisInput) -> tuple[SeenSession, ...]:
    """The sessions, with what became of the processes of those that are under way in a run that is driven here."""
    if around.standing != "live":
        return around.sessions
    return tuple(
        replace(session, is_process_gone=_is_gone(run, session)) for session in around.sessions
    )


def _is_gone(run: RunState, session: SeenSession) -> bool:
    state = run.steps.get(session.step)
    if state is None or state.stage != "running" or state.attempt != session.attempt:
        return False
    # The log was read a moment ago: what ended just now is being recorded.
    is_old = (session.silent_ms or 0) >= _NOTICED_MS
    return is_old and state.pid is not None and not is_alive(state.pid)


def _untrusted(blobs: FileBlobs, standing: _Standing) -> tuple[str, ...]:
    """Ready steps whose value is a pickle that would not be loaded here. Makes no key."""
    found, key = [], value_codec.known_key()
    for step_id, state in standing.run.steps.items():
        stored = cast("StoredValue", stored_output(state))
        if state.checkpoint_status != "checkpoint_ready" or stored["format"] != "pickle":
            continue
        digest = stored.get("blob", "")
        if blobs.fault(digest) is not None:
            continue  # lost: that is a finding of its own
        if key is None or not value_codec.is_trusted(stored, blobs.get(digest), key):
            found.append(step_id)
    return tuple(found)


# --- compare -----------------------------------------------------------------------------------------------------


def compare(left: tuple[FileStore, str], right: tuple[FileStore, str]) -> dict[str, Any]:
    """How two runs differ, step by step; see `views.run.comparison`. Raises UnknownRun, LogDamaged."""
    return comparison(_side(*left), _side(*right))


def _side(store: FileStore, run_id: str) -> ComparedRun:
    standing = _standing_of(run_id, read_started(store, run_id), _Plans())
    return ComparedRun(standing.outcome, standing.run)


# --- export ------------------------------------------------------------------------------------------------------


def export(
    store: FileStore, run_id: str, target: Path, *, is_page: bool = False, force: bool = False
) -> dict[str, Any]:
    """Write a run into one file, a zip of its folder or a page of its outcome: `{run_id, path, bytes, files}`.

    Raises UnknownRun, LogDamaged (a page of a log without a beginning), Cannot (`file_exists`, `file_unwritable`).
    """
    folder = store.folder(run_id)
    reading = read_started(store, run_id)
    if is_page:
        standing = _standing_of(run_id, reading, _Plans())
        planned = report(standing.plan.workflow, Environment()).document()
        text = page(standing.outcome.document(), edges_of(standing.plan), planned)
        count = write_file(target, lambda file: file.write(text.encode()) and 1, force=force)
    else:
        count = pack(folder, target, force=force)
    size = target.stat().st_size
    return {"run_id": run_id, "path": str(target), "bytes": size, "files": count}


# --- prune -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PruneFilter:
    """Which runs may go."""

    keep: int = 0
    """So many of the newest stay, whatever they are."""
    older_than_s: float = 0.0
    """Only runs that ended so long ago."""
    statuses: tuple[str, ...] = ()
    """Only these; empty: those of PRUNABLE."""


def prune(
    store: FileStore,
    anew: Anew,
    wish: PruneFilter,
    *,
    is_preview: bool = True,
    now: Callable[[], float] = time.time,
) -> dict[str, Any]:
    """Runs that may go: `{preview, runs, kept, bytes, failed}`; they are gone unless it is a preview.

    Never a run that is live, or was taken up again while this went on. What a killed prune left is finished.
    """
    runs = store.state / "runs"
    memo = Catalogue(store.state)
    let_go = partial(_let_go, store.state)
    if not is_preview:
        finish_removals(runs, let_go)
    seen = {run_id: memo.identity(run_id) for run_id in store.run_ids()}  # before they are read
    everything = rows(store, anew)
    removed: list[Row] = []
    failed: list[dict[str, Any]] = []
    allowed = wish.statuses or PRUNABLE
    for row in everything[wish.keep :]:
        run_id, folder = row["run_id"], runs / row["run_id"]
        if row["status"] not in allowed or age_s(row["ended_at"], folder, now=now) < max(
            wish.older_than_s, _BEGINS_S if row["status"] == "never_began" else 0.0
        ):
            continue
        size = bytes_of(folder)
        if is_preview and (owner := live_owner(folder)) is not None:
            held = f"{run_id} was last held by process {owner.pid} on {owner.host}."
            failed.append({"run_id": run_id, "code": "held_by_another", "message": held})
            continue
        if not is_preview:
            try:
                is_still = partial(_is_still, store.state, memo, run_id, seen.get(run_id))
                remove_run(folder, is_still, let_go)
            except PixirnbError as error:
                failed.append({"run_id": run_id, "code": error.code, "message": error.sentences()})
                continue
        told = {name: row[name] for name in ("run_id", "workflow", "status", "ended_at")}
        removed.append({**told, "bytes": size})
    return {
        "preview": is_preview,
        "runs": removed,
        "kept": _kept(everything, removed, runs, is_preview=is_preview),
        "bytes": sum(row["bytes"] for row in removed),
        "failed": failed,
    }


def _kept(
    everything: Sequence[Row], removed: Sequence[Row], runs: Path, *, is_preview: bool
) -> int:
    """How many stay. One whose files the disk would not delete is neither removed nor there to be kept."""
    if is_preview:
        return len(everything) - len(removed)
    return sum(os.path.lexists(runs / row["run_id"]) for row in everything)


def _is_still(state: Path, memo: Catalogue, run_id: str, identity: Identity | None) -> bool:
    """Whether a run that is held now is as it was; a merge that its owner died in is then taken back. Raises Cannot."""
    if memo.identity(run_id) != identity:
        return False
    files = LocalFiles(state, Roots.of(str(state), {}))
    for data in files.unrecorded(run_id):
        files.recorded(run_id, data["merge"])
    return True


def _let_go(state: Path, run_id: str) -> None:
    """Give up what is kept beside the folders of runs for one that is gone: its trees, and copies that nobody swept."""
    refuse_to_forget(state, run_id)
    for refused in remove_copies(state / "isolated" / run_id, is_all=True):
        raise refused
    forget_run(state, run_id)


# --- how a run stands --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Standing:
    plan: Plan
    run: RunState
    outcome: RunOutcome


class _Plans:
    """Plans of pinned workflows: a folder of ten thousand runs holds a few workflows, and each is planned once."""

    def __init__(self) -> None:
        self._known: dict[bytes, Plan] = {}

    def of(self, run: RunState) -> Plan:
        """The plan of a run's workflow. Raises InvalidSpec."""
        key = blake2b(to_json([run.spec, run.sources])).digest()
        plan = self._known.get(key)
        if plan is None:
            if len(self._known) >= _PLANS:
                self._known.clear()
            plan = self._known[key] = pinned_plan(run)
        return plan


def _standing_of(run_id: str, reading: LogContents, plans: _Plans) -> _Standing:
    require_beginning(run_id, reading.events)
    run = fold(reading.events)
    plan = plans.of(run)
    found = outcome(plan, run, is_live=reading.owner is not None)
    if reading.damage is not None:
        found = as_damaged(found, reading.damage)
    return _Standing(plan, run, found)
