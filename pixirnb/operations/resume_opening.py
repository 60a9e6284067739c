"""The events that a resume begins with: what it will do with each step, and warnings about what may have run twice;
and the data that a fork copies from its run, so that it is independent: blobs, sessions, trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, cast

from pixirnb.errors import LogDamaged, PixirnbError
from pixirnb.history.event_draft import EventDraft, warning
from pixirnb.history.events import Event, ResumeStep, RunResumed
from pixirnb.history.file_events import MergeApplied
from pixirnb.history.run_state import RunState
from pixirnb.machine.resume import Selection
from pixirnb.operations.resume_plan import Edit, ResumePlan
from pixirnb.operations.run_environment import RunEnvironment
from pixirnb.planning.digest import spec_digest
from pixirnb.protocols.ports import Blobs, LogContents, RunLog, RunStore
from pixirnb.protocols.trees import Files
from pixirnb.views.basics.times import epoch_ms

_BY_OTHERS: Final = ("checkpoint_saved", "decision_recorded", "merge_", "seam_", "warning_raised")
"""Beginnings of the kinds that a process may also record after the owner's death."""


def resume_opening(
    planned: ResumePlan,
    selection: Selection,
    edit: Edit,
    reading: LogContents,
    environment: RunEnvironment,
) -> list[EventDraft]:
    """Return the events that a resume or a fork begins with."""
    data: RunResumed = {
        "owner": environment.owner(),
        "flags": selection.flags(),
        "steps": planned.steps,
        "spec_digest": spec_digest(planned.plan.workflow),
        "inputs": planned.inputs,
    }
    if edit.workflow is not None:
        data["spec"] = edit.workflow.canonical()
    if planned.plan.sources != planned.run.sources:
        data["sources"] = dict(planned.plan.sources)
    if planned.repos != planned.run.repos:
        data["repos"] = planned.repos
    if unfinished_ms := _unfinished_ms(planned.run, reading.events):
        data["unfinished_ms"] = unfinished_ms
    in_flight = [step["step_id"] for step in planned.steps if _was_in_flight(planned.run, step)]
    return [
        EventDraft("run_resumed", data),
        *log_warnings(reading, in_flight, last=reading.events[-1]),
    ]


def _unfinished_ms(run: RunState, events: Sequence[Event]) -> int:
    """Return the length of the last invocation if its process died, by the wall clock."""
    if run.finished is not None or not run.courses:
        return 0
    last = next(
        event
        for event in reversed(events)
        if not event.kind.startswith(_BY_OTHERS) and "request" not in event.data
    )
    begin, end = epoch_ms(run.owners[-1]["at"]), epoch_ms(last.at)
    return 0 if begin is None or end is None else max(0, end - begin)


def _was_in_flight(run: RunState, planned: ResumeStep) -> bool:
    """Return whether a rerun step was active at a death, whatever other reasons it has."""
    state = run.steps.get(planned["step_id"])
    is_known = state is None or state.doubt != "unrecorded"
    if planned["reason"] == "in_flight" and is_known:
        return True
    is_open = state is not None and (state.is_lost or state.stage in {"scheduled", "running"})
    return is_open and planned["action"] == "rerun"


def log_warnings(
    reading: LogContents, in_flight: Sequence[str], *, last: Event | None = None
) -> list[EventDraft]:
    """Return warnings about damage of the log, and about steps cut short.

    `last` tells a fork, which continues from another run's checkpoint, from a death.
    """
    warnings = []
    if reading.damage is not None:
        message = f"removed the incomplete last line of the log: {reading.damage.message}"
        warnings.append(warning("torn_tail", message, None))
    is_fork = last is not None and last.kind == "run_forked"
    when = "running at the checkpoint" if is_fork else "running when its process died"
    for step in in_flight:
        message = f"`{step}` was {when}; its side effects may be incomplete or duplicated"
        warnings.append(warning("side_effects_may_be_partial", message, step))
    return warnings


_TREES: Final = ("seen", "base", "left", "before", "after")
_NAMES_OF_BLOBS: Final = ("blob", "patch", "more", "marked")


def copy_blobs(theirs: Blobs, ours: Blobs, history: Sequence[Event]) -> None:
    """Copy every blob that a forked history names."""
    for digest in sorted({named for event in history for named in _digests(event.data)}):
        try:
            path = theirs.path(digest)
            if path is None:
                ours.put(theirs.get(digest))
            else:
                ours.put_file(path)
        except LogDamaged:
            continue  # lost there: here its step is made anew


def _digests(data: Any) -> Iterator[str]:
    """Yield every blob that an event names."""
    if isinstance(data, dict):
        named = (data[key] for key in _NAMES_OF_BLOBS if isinstance(data.get(key), str))
        yield from (digest for digest in named if digest.startswith("b2:"))
        for value in data.values():
            yield from _digests(value)
    elif isinstance(data, list):
        for value in data:
            yield from _digests(value)


def copy_sessions(store: RunStore, run_id: str, log: RunLog, history: Sequence[Event]) -> None:
    """Copy the sessions of attempts that ended in a forked history; of a damaged one the valid part.

    Raises LogWriteFailed.
    """
    ended = [event.data for event in history if event.kind == "attempt_ended"]
    for session_id in dict.fromkeys(data["session_id"] for data in ended if data.get("session_id")):
        try:
            reading = store.read_session(run_id, session_id)
        except PixirnbError:
            continue  # lost there: what the run's log says of it is what there is
        copied = log.session(session_id)
        if not copied.count:
            copied.append(reading.events)
        copied.close()


def undone_since(events: Sequence[Event], history: Sequence[Event]) -> list[EventDraft]:
    """Return merges of the history that were undone later: the user's files do not contain them any more."""
    standing = {e.data["merge"] for e in history if e.kind == "merge_applied"}
    return [
        EventDraft("merge_applied", cast("MergeApplied", {**event.data, "request_id": None}))
        for event in events[len(history) :]
        if event.kind == "merge_applied" and event.data.get("undoes") in standing
    ]


def adopt_trees(files: Files, run_id: str, history: Sequence[Event]) -> None:
    """Keep the trees that a forked history names; a lost tree is reported by the step that needs it."""
    trees: dict[str, list[str]] = {}
    for event in history:
        if event.kind in {"workspace_captured", "merge_applied", "merge_conflicted"}:
            for root in event.data["roots"]:
                named = trees.setdefault(root["root"], [])
                named += [root[key] for key in _TREES if key in root and root[key] not in named]
    for root, named in trees.items():
        with suppress(PixirnbError):
            files.adopt(run_id, {root: named})
