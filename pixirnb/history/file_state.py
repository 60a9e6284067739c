"""Folded state of files: changes, merges and seams."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, Literal, NotRequired, TypedDict, cast

from msgspec import Struct, field

from pixirnb.history.file_events import (
    MergeApplied,
    MergeConflicted,
    SeamOpened,
    SeamResolved,
    WorkspaceCaptured,
)
from pixirnb.history.step_state import UNDONE, StepState, forget, reset
from pixirnb.ids import attempt_name
from pixirnb.json_types import JsonObject


class Seam(SeamOpened):
    """A seam and its resolution."""

    state: Literal["open", "resolved"]
    resolved_by: str | None
    resolution: str
    merge: NotRequired[str | None]
    """The merge that resolved it."""


class DoneMerge(MergeApplied):
    """A merge, and whether it was taken back since."""

    undone: bool


class Obligation(TypedDict):
    """A seam as an outcome names it."""

    id: str
    between: list[str]
    paths: list[str]
    state: str
    note: str
    """The reason why it fits, of a resolved seam; otherwise the declared or reported text."""
    reason: str


Seams = dict[str, Seam]
"""Seams by id, in order of opening."""
Merges = list[DoneMerge]
"""All merges, in order."""


class FileState(Struct, eq=False):
    """The part of a run's state that events about files change."""

    spec: JsonObject = field(default_factory=dict)
    """The pinned workflow."""
    steps: dict[str, StepState] = field(default_factory=dict)
    requests: set[str] = field(default_factory=set)
    """Ids of the requests that were handled: a second one with such an id changes nothing."""
    seams: Seams = field(default_factory=dict)
    seams_opened: int = 0
    """Number of the last seam: no name is given twice."""
    merges: Merges = field(default_factory=list)
    own_merges: dict[str, DoneMerge] = field(default_factory=dict)
    """The last merge that each merge step has made, also if it was taken back."""
    inherited: frozenset[str] = frozenset()
    """The merges that the runs before a fork have made."""
    clash: MergeConflicted | None = None
    """The last conflict of a merge that a person asked for, until a merge succeeds."""
    seq: int = 0
    """Sequence number of the last event."""

    def step(self, step_id: str) -> StepState:
        """Return the state of a step, idle if no event has named it yet."""
        state = self.steps.get(step_id)
        if state is None:
            state = self.steps[step_id] = StepState()
        return state


def last_merge(merges: Merges) -> DoneMerge | None:
    """Return the merge that can be taken back: the last that stands, also where it left every file as it was."""
    standing = [m for m in merges if not m["undone"] and m.get("undoes") is None]
    return standing[-1] if standing else None


def undone_merge(merges: Merges, step: str, attempt: int) -> str | None:
    """Return the name of the merge that an attempt of a merge step did, if it was taken back; otherwise None."""
    name = attempt_name(step, attempt)
    return name if any(m["merge"] == name and m["undone"] for m in merges) else None


def open_seams(seams: Seams) -> list[Seam]:
    """Return the seams that are not resolved, oldest first."""
    return [seam for seam in seams.values() if seam["state"] == "open"]


def last_of(seam: Seam) -> str:
    """Return the last of the steps that a seam lies between; empty where a foreign log names none."""
    return seam["between"][-1] if seam["between"] else ""


def drop_seams(seams: Seams, step: str) -> None:
    """Drop the open seams of a step that begins again: its next attempt opens them again, or not at all."""
    for name, seam in list(seams.items()):
        if step in seam["between"] and step != seam.get("step"):
            del seams[name]


def obligations(seams: Seams) -> list[Obligation]:
    """Return the seams of an outcome."""
    return [
        {
            "id": seam["id"],
            "between": seam["between"],
            "paths": seam["paths"],
            "state": seam["state"],
            "note": seam["resolution"] if seam["state"] == "resolved" else seam["note"],
            "reason": seam["reason"],
        }
        for seam in seams.values()
    ]


def paths_of(captured: WorkspaceCaptured | None) -> frozenset[str]:
    """Return the files an attempt changed, as far as its event names them."""
    files = [] if captured is None else captured["changes"]["files"]
    return frozenset(file["path"] for file in files)


def is_standing(run: FileState, merge: MergeApplied) -> bool:
    """Return whether the changes a merge brought are still the last of its steps: an attempt after it has nothing to bring.

    They are not those of an item that is skipped, or no longer on its list.
    """
    return all(
        (state.attempt, state.merged_by) == (attempt, merge["merge"])
        and (state.stage, state.checkpoint_status) == ("settled", "checkpoint_ready")
        for state, attempt in (
            (run.step(name), attempt) for name, attempt in merge["attempts"].items()
        )
    )


def still_brought(run: FileState, step: str) -> MergeApplied | None:
    """Return the last merge that a merge step has made, if it stands: as the result of another attempt, too."""
    own = run.own_merges.get(step)
    return own if own is not None and not own["undone"] and is_standing(run, own) else None


def take(run: FileState, kind: str, data: Any) -> None:
    """Fold one event of `KINDS`."""
    _HANDLERS[kind](run, data)
    if data.get("request_id") is not None:
        run.requests.add(data["request_id"])


def _captured(run: FileState, data: WorkspaceCaptured) -> None:
    step = run.step(data["step"])
    if step.attempt == data["attempt"]:
        step.captured = data
        step.merged_by = None
        if step.solution is not None and step.solved_at is None:
            step.solved_at = {root["root"]: root["seen"] for root in data["roots"]}


def _merged(run: FileState, data: MergeApplied) -> None:
    undone = data.get("undoes")
    done: DoneMerge = {**data, "undone": False}
    run.merges.append(done)
    if data["step"] is None:
        run.clash = None
    if undone is None:
        if data["step"] is not None:
            step = run.step(data["step"])
            step.brought = data
            run.own_merges[data["step"]] = done
            # Where a damaged log has lost the attempt, the merge is the proof of it: no other has its name.
            name, _, number = data["merge"].rpartition(".")
            if name == data["step"] and re.fullmatch("[0-9]{1,9}", number):
                step.attempt = max(step.attempt, int(number))
        for name, attempt in data["attempts"].items():
            if name in run.steps and run.steps[name].attempt == attempt:
                run.steps[name].merged_by = data["merge"]
        return
    for merge in run.merges:
        if merge["merge"] != undone:
            continue
        merge["undone"] = True
        _reopen(run, merge["merge"])
        for step in run.steps.values():
            if step.merged_by == undone:
                step.merged_by = None
        if merge["step"] is not None:
            undo_step(run.step(merge["step"]))
    for name, attempt in data["attempts"].items():
        later = run.steps.get(name)
        if later is not None and later.attempt > attempt and has_result(later):
            undo_step(later)  # it began with the files that this merge had left
            drop_seams(run.seams, name)
    # An attempt that a damaged log has lost had no part in what the log still tells of.
    back = {
        name.partition("@")[0]
        for name, attempt in data["attempts"].items()
        if name in run.steps and attempt <= run.steps[name].attempt
    }
    # A merge step that found them merged would be ready without them, also where a torn log lacks its verdict.
    for name, state in run.steps.items():
        if has_result(state) and not back.isdisjoint(_merged_by(run.spec, name)):
            undo_step(state)


def has_result(step: StepState) -> bool:
    """Return whether a step is ready, was when a course set it back, or has ended and may have lost its verdict."""
    return step.stage == "ended" or "checkpoint_ready" in {step.checkpoint_status, step.kept}


def _merged_by(spec: JsonObject, step: str) -> list[str]:
    """Return what a step merges; nothing where it is no merge step. A foreign log may hold anything for a workflow."""
    steps = spec.get("steps")
    for written in steps if isinstance(steps, list) else ():
        if isinstance(written, dict) and written.get("id") == step:
            named = written.get("merge")
            return (
                [each for each in named if isinstance(each, str)] if isinstance(named, list) else []
            )
    return []


_UNRESOLVED: Final = {"state": "open", "resolved_by": None, "resolution": ""}


def _reopen(run: FileState, merge: str) -> None:
    """Open the seams again that a merge had resolved, as it is taken back."""
    for name, seam in run.seams.items():
        if seam["state"] == "resolved" and seam.get("merge") == merge:
            run.seams[name] = cast("Seam", {**seam, **_UNRESOLVED, "merge": None})


def undo_step(step: StepState) -> None:
    """Set a merge step back because its merge was taken back, also where a later attempt found nothing to merge."""
    step.clash = step.solution = step.solved_at = (
        None  # a person may want it otherwise: it asks again
    )
    if step.stage in {"ended", "settled"}:  # a torn log may lack its verdict
        reset(step, UNDONE, may_keep=False)
    elif step.kept is not None:
        forget(
            step
        )  # set back by a course and not come to yet: an equal fingerprint keeps nothing any more
    step.brought = None


def _conflicted(run: FileState, data: MergeConflicted) -> None:
    if data["step"] is None:
        run.clash = data
    else:
        step = run.step(data["step"])
        step.clash, step.clash_seq = data, run.seq
        step.solution = step.solved_at = None


def _opened(run: FileState, data: SeamOpened) -> None:
    # A workflow may have steps called like seams: numbers are passed over, and none is given twice.
    number = data["id"].removeprefix("s")
    last = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
    run.seams_opened = max(run.seams_opened + 1, last)
    run.seams[data["id"]] = cast("Seam", {**data, **_UNRESOLVED})


def _resolved(run: FileState, data: SeamResolved) -> None:
    seam = run.seams.get(data["id"])
    if seam is not None and seam["state"] == "open":
        run.seams[data["id"]] = {
            **seam,
            "state": "resolved",
            "resolved_by": data["by"],
            "resolution": data["note"],
            "merge": data.get("merge"),
        }


_HANDLERS: Final[dict[str, Callable[[FileState, Any], None]]] = {
    "workspace_captured": _captured,
    "merge_applied": _merged,
    "merge_conflicted": _conflicted,
    "seam_opened": _opened,
    "seam_resolved": _resolved,
}
KINDS: Final = tuple(_HANDLERS)
"""Kinds of the events about files."""
