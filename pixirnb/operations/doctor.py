"""Diagnosis of a run. Changes nothing, runs nothing.

Source: contract.md §7 (diagnostics).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from pixirnb import value_codec
from pixirnb.errors import PixirnbError, UnknownRun
from pixirnb.history.bundles import stored_output
from pixirnb.history.run_state import RunState
from pixirnb.machine.diagnosis import Diagnosis, DiagnosisInput, findings, unreadable
from pixirnb.machine.findings import DiagnosisDocument, Finding
from pixirnb.machine.session_diagnosis import SeenSession
from pixirnb.operations.cluster import strays_on_workers
from pixirnb.operations.run_summary import PlanCache, RunSummary, read_started, summarize
from pixirnb.protocols.ports import Lease
from pixirnb.runners.processes.orphans import search_strays
from pixirnb.store.blobs import FileBlobs
from pixirnb.store.file_store import FileStore
from pixirnb.store.holders import is_out_of_sight
from pixirnb.store.run_inspection import inspect_run
from pixirnb.system.process_life import is_alive
from pixirnb.workspace.merge.recovery import tell_unfinished

if TYPE_CHECKING:
    from distributed import Client

_NOTICED_MS: Final = 5000
"""Milliseconds within which the owner of a run notices that a process of it is gone."""


def diagnose(
    store: FileStore,
    run_id: str,
    *,
    cluster: str | Client | None = None,
    now_ns: Callable[[], int] = time.time_ns,
) -> Diagnosis:
    """Return the problems of a run. Changes nothing, runs nothing.

    Raises UnknownRun if its folder does not exist; with a cluster as `operations.cluster.cluster_of`.
    """
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
            return unreadable(run_id, damage.code, f"cannot read the log: {damage.message}")
        summary = summarize(run_id, reading, PlanCache())
        context = inspect_run(folder, reading, now_ns=now_ns())
        context = replace(
            context,
            sessions=_with_children(summary.run, context),
            strays=() if context.is_held else search_strays(summary.run.run_id, summary.run.owners),
            untrusted=_untrusted(store.blobs(run_id), summary),
            unfinished=tell_unfinished(
                store.state / "merges", run_id, [each["merge"] for each in summary.run.merges]
            ),
            has_workspace=Path(summary.run.workspace).is_dir(),
        )
    except PixirnbError as error:
        # Its folder is there: it died before its first event.
        code = "never_began" if isinstance(error, UnknownRun) else error.code
        if code in {"never_began", "not_begun"}:
            message = error.message[:1].upper() + error.message[1:] + "."
            return Diagnosis(run_id, (Finding(code, "warning", message),))
        return unreadable(run_id, error.code, error.message, error.fix)
    except OSError as error:
        reason = error.strerror or str(error)
        return unreadable(run_id, "state_unusable", f"{error.filename or folder}: {reason}.")
    if not context.is_held:
        context = replace(context, workers=strays_on_workers(summary.run, cluster))
    return Diagnosis(run_id, findings(summary.plan, summary.run, summary.outcome, context))


def diagnose_all(
    store: FileStore, *, limit: int | None = None, cluster: str | Client | None = None
) -> DiagnosisDocument:
    """Return every run's diagnosis, newest first, and the worst status among them: `{status, runs}`."""
    diagnoses = [diagnose(store, run_id, cluster=cluster) for run_id in store.run_ids()[:limit]]
    order = ("blocked", "ready_with_warnings", "ready")
    worst = next((s for s in order if any(d.status == s for d in diagnoses)), "ready")
    return {"status": worst, "runs": [each.document() for each in diagnoses]}


def _with_children(run: RunState, context: DiagnosisInput) -> tuple[SeenSession, ...]:
    """Return the sessions, with the state of the processes of active ones in a live run of this container."""
    lease = context.lease
    if lease is None or context.standing != "live" or is_out_of_sight(Lease(**lease)):
        return context.sessions
    return tuple(
        replace(session, is_process_gone=_is_gone(run, session)) for session in context.sessions
    )


def _is_gone(run: RunState, session: SeenSession) -> bool:
    state = run.steps.get(session.step)
    if state is None or state.stage != "running" or state.attempt != session.attempt:
        return False
    # The log was read a moment ago: an end since then is being recorded.
    is_old = (session.silent_ms or 0) >= _NOTICED_MS
    return is_old and state.pid is not None and not is_alive(state.pid)


def _untrusted(blobs: FileBlobs, summary: RunSummary) -> tuple[str, ...]:
    """Return ready steps whose value is a pickle that would not be loaded here. Makes no key."""
    steps, key = [], value_codec.known_key()
    for step_id, state in summary.run.steps.items():
        stored = stored_output(state)
        if state.checkpoint_status != "checkpoint_ready" or stored["format"] != "pickle":
            continue
        digest = stored.get("blob", "")
        if blobs.fault(digest) is not None:
            continue  # lost: that is a finding of its own
        if key is None or not value_codec.is_trusted(stored, blobs.get(digest), key):
            steps.append(step_id)
    return tuple(steps)
