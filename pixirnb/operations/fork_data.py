"""The data that a fork copies from its run, so that it is independent: blobs, sessions, trees.

Source: contract.md §6; docs/adr/0011-a-fork-carries-its-history.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final, cast

from pixirnb.errors import LogDamaged, PixirnbError, StateUnusable, UnknownRun
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Event
from pixirnb.history.file_events import MergeApplied
from pixirnb.history.validation import well_formed
from pixirnb.json_types import JsonObject
from pixirnb.operations.resume_plan import history_at
from pixirnb.operations.run_environment import RunEnvironment, as_events
from pixirnb.protocols.ports import Blobs, LogContents, RunLog, RunStore
from pixirnb.protocols.trees import Files

_TREES: Final = ("seen", "base", "left", "before", "after")
_NAMES_OF_BLOBS: Final = ("blob", "patch", "more", "marked")


def source_blobs(store: RunStore, events: Sequence[Event]) -> list[Blobs]:
    """Return the blobs of the runs that a fork's history comes from, as far as these are there."""
    sources: list[Blobs] = []
    for event in well_formed(events, "run_forked"):
        with suppress(UnknownRun, StateUnusable):
            sources.append(store.blobs(event.data["run_id"]))
    return sources


def copy_blobs(sources: Sequence[Blobs], ours: Blobs, history: Sequence[Event]) -> None:
    """Copy every blob that a forked history names from the first source that has it."""
    for digest in sorted({named for event in history for named in _digests(event.data)}):
        theirs = next((each for each in sources if each.has(digest)), None)
        if theirs is None:
            continue  # lost there: here its step is made anew
        path = theirs.path(digest)
        with suppress(LogDamaged):
            if path is None:
                ours.put(theirs.get(digest))
            else:
                ours.put_file(path)


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


def fork_history(
    reading: LogContents, run_id: str, checkpoint: str, environment: RunEnvironment
) -> list[Event]:
    """Return the events that a fork of a run begins with: those up to a checkpoint, and what has become of its merges since.

    Raises InvalidArguments, LogDamaged.
    """
    source = history_at(reading, checkpoint)
    junction = EventDraft(
        "run_forked", {"run_id": run_id, "checkpoint": checkpoint, "seq": source[-1].seq}
    )
    facts = [junction, *undone_since(reading.events, source)]
    return [*source, *as_events(facts, source, environment)]


def undone_in_sources(
    store: RunStore, events: Sequence[Event], environment: RunEnvironment
) -> list[Event]:
    """Return merges of a fork's history that the runs they come from have undone since, and that its log does not know of."""
    facts: list[EventDraft] = []
    merges = [event.data for event in well_formed(events, "merge_applied")]
    known = {merge.get("undoes") for merge in merges}
    for event in well_formed(events, "run_forked"):
        with suppress(UnknownRun, StateUnusable):  # deleted, or never here: nobody undoes there
            source = store.read(event.data["run_id"]).events
            facts += undone_since(source, events[: event.data["seq"]])
    new = {fact.data["undoes"]: fact for fact in facts if fact.data["undoes"] not in known}
    # Named as merges of this log: one that the fork has made itself may have the name that it has in its source.
    named = [
        EventDraft("merge_applied", cast("MergeApplied", {**fact.data, "merge": f"m{number}"}))
        for number, fact in enumerate(new.values(), len(merges) + 1)
    ]
    return as_events(named, events, environment)


def undone_since(events: Sequence[Event], history: Sequence[Event]) -> list[EventDraft]:
    """Return merges of the history that were undone later, and not done again: the user's files do not contain them now."""
    standing = {event.data["merge"]: event for event in well_formed(history, "merge_applied")}
    later = well_formed(events[len(history) :], "merge_applied")
    undone = {event.data.get("undoes"): event for event in later}
    brought = [_brought(event.data) for event in later if event.data["merge"] not in undone]
    return [
        EventDraft("merge_applied", cast("MergeApplied", {**event.data, "request_id": None}))
        for merge, event in undone.items()
        if merge in standing and _brought(standing[merge].data) not in brought
    ]


def _brought(merge: JsonObject) -> tuple[object, ...]:
    """Return what a merge has brought, to compare."""
    return (merge.get("undoes"), merge["step"], merge["attempts"], merge.get("solved"))


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
