"""What a run's log knows of files: what isolated attempts changed, what was brought back, and which seams are open.

    Seams     `{id: {…data of seam_opened, "state": "open" | "resolved", "resolved_by", "resolution"}}`, in order of opening
    Merges    every `merge_applied`, in order; one that was taken back says `undone: true`

A change lies in the store of trees it was captured in; the log names the trees, and keeps the changes as a patch.
Source: contract.md §8; docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Literal, NotRequired, TypedDict

from pixirnb.history.step_state import StepState, forget, reset
from pixirnb.ids import attempt_name

if TYPE_CHECKING:
    from pixirnb.history.state import RunState

Seams = dict[str, dict[str, Any]]
Merges = list[dict[str, Any]]

CONFLICT: Final = "merge_conflict"
"""Error kind of a step that cannot go on because two sides want a file otherwise."""
OUTSIDE: Final = "writes_outside_write_set"
"""Error kind of an isolated step that changed files it had not claimed; limitation of a shared one."""
UNCHECKED: Final = "writes_not_checked"
"""Limitation of a shared step beside whose claims nobody could look."""
LEADS_OUT: Final = "link_leads_out"
"""Limitation of a step that left links out of the run's folders, and warning of a merge that brings them."""


class FileChange(TypedDict):
    """One file that was changed."""

    path: str
    """From the workspace, `src/a.py`, or from a repository, `repos.cloud:src/a.py`."""
    change: str
    """`added`, `modified` or `deleted`."""
    added: int | None
    """Lines; null for what is not text."""
    deleted: int | None
    """Lines; null for what is not text."""
    mode: NotRequired[list[str | None]]
    """`[before, after]` where they differ: `100644`, `100755`, `120000` (a link), null for nothing."""


class Changes(TypedDict):
    """What changed, for people and for the bundle; the trees hold it exactly."""

    patch: str | None
    """Blob of a patch that `git apply` takes; null where nothing changed."""
    files: list[FileChange]
    """The first 200."""
    count: int
    """All of them."""
    more: str | None
    """Blob of the whole list as JSON where it is longer than what stands here."""
    added: NotRequired[int]
    """Lines added in all files, where `files` is not all of them."""
    deleted: NotRequired[int]
    """Lines deleted in all files, where `files` is not all of them."""
    leads_out: NotRequired[PathList]
    """`LINK -> TARGET` for links that lead out of the run's folders, or into what is git's or ours."""


class PathList(TypedDict):
    """Paths that need a person's eye."""

    paths: list[str]
    """The first 100."""
    count: int
    """All of them."""
    unchecked: NotRequired[str]
    """Why nobody could look, in one sentence; there are no paths then."""


class CapturedRoot(TypedDict):
    """One root of an isolated attempt. Trees are named by the store that keeps them."""

    root: str
    """`.` for the workspace, or `repos.NAME`."""
    folder: str
    """Where it lies."""
    method: str
    """Which store keeps its trees: `git` or `copy`."""
    seen: str
    """The user's files as the attempt began."""
    base: str
    """What the attempt was given: the same, with the changes it builds on merged in."""
    left: str
    """What was there at its end."""


class WorkspaceCaptured(TypedDict):
    """What an isolated attempt began from and what it left, whatever became of it."""

    step: str
    attempt: int
    roots: list[CapturedRoot]
    """The folders it had copies of."""
    built_on: list[str]
    """Steps whose changes were merged into what it was given."""
    changes: Changes
    """From what it was given to what it left."""
    outside: NotRequired[PathList]
    """Changes to files that it had not claimed."""
    left_behind: NotRequired[PathList]
    """Ignored files and secrets that it changed: they go nowhere."""


class MergedRoot(TypedDict):
    """One root of a merge."""

    root: str
    folder: str
    method: str
    before: str
    """The user's files as they were."""
    after: str
    """As they are since."""


class MergeApplied(TypedDict):
    """Changes were brought into the user's files, or taken out again, whole."""

    merge: str
    """Names this merge in its run: `m1`, `m2` … where a person asked, `land.1` for the attempt of a step."""
    step: str | None
    """The `merge` step that did it; null where a person asked."""
    by: str
    """The step, or the person."""
    steps: list[str]
    """Whose changes were brought, in order."""
    attempts: dict[str, int]
    """Which attempt of each."""
    roots: list[MergedRoot]
    """The folders that were changed."""
    changes: Changes
    """Of the user's files."""
    undoes: NotRequired[str | None]
    """The merge that was taken back by this one."""
    solved: NotRequired[list[str]]
    """Files in conflict that a person had solved."""
    request_id: NotRequired[str | None]
    """Of the person's request; null for a step."""


class Side(TypedDict):
    """A file as one side has it."""

    name: str
    """`workspace`, or a step."""
    mode: str | None
    """Null: it is not there."""
    bytes: int | None


class ConflictedFile(TypedDict):
    """One file that two sides want otherwise."""

    path: str
    kind: str
    """`content both_added changed_and_deleted not_text kind`."""
    sides: list[Side]
    marked: NotRequired[str | None]
    """Blob of both sides in one text, with markers; null where it is no text."""


class SeenRoot(TypedDict):
    """The user's files of a root as a conflict found them: a file that differs since was solved by a person."""

    root: str
    seen: str


class SolvedFile(TypedDict):
    """A file in conflict that a person had solved when another conflicted still."""

    path: str
    chosen: list[str] | None
    """`[mode, digest]` of the solution; null: no such file."""
    was: list[str] | None
    """The same of the user's file then: while it is so, the solution holds."""


class MergeConflicted(TypedDict):
    """A merge was not done: nothing changed."""

    step: str | None
    """The step that could not go on: a `merge`, or one that was to begin from merged files; null where a person asked."""
    attempt: int | None
    steps: list[str]
    """Whose changes were to be merged."""
    between: list[str]
    """The two sides that clash: steps, or `workspace`."""
    files: list[ConflictedFile]
    """The first 50."""
    count: int
    """All of them."""
    roots: list[SeenRoot]
    """Every folder that was looked at."""
    solved: NotRequired[list[SolvedFile]]
    """What a person had solved by then; it stays solved."""
    request_id: NotRequired[str | None]
    """Of the person's request; null for a step."""
    undoes: NotRequired[str | None]
    """The merge that was to be taken back; `between` names it as one of the sides."""


class SeamOpened(TypedDict):
    """Somebody has to say that the work of these steps fits together: until then the run is not completed."""

    id: str
    """`s1`, `s2` …: names it in its run; no step has the name."""
    reason: Literal["declared", "reported", "met", "conflict"]
    """A step declares it · its agent reported it · the changes of two steps touch one file · a merge conflicts."""
    between: list[str]
    """The steps whose work meets; the one that opened it last."""
    paths: list[str]
    """Files it is about; the first 50."""
    count: int
    """All of them."""
    note: str
    """What was declared or reported; empty for what was found."""
    step: NotRequired[str | None]
    """Of a conflict: the step that could not go on; it begins anew without this seam being another."""


class SeamResolved(TypedDict):
    """Somebody, or something, has said that it fits."""

    id: str
    """Of the seam."""
    by: str
    """`step`, `merge`, or the person."""
    step: NotRequired[str | None]
    """The step that resolved it."""
    merge: NotRequired[str | None]
    """The merge that brought both sides back."""
    note: str
    """Why it fits."""
    request_id: NotRequired[str | None]
    """Of the person's request."""


def last_merge(merges: Merges) -> dict[str, Any] | None:
    """The merge that can be taken back: the last that stands, also where it left every file as it was."""
    standing = [m for m in merges if not m["undone"] and m.get("undoes") is None]
    return standing[-1] if standing else None


def taken_back(merges: Merges, step: str, attempt: int) -> str | None:
    """The merge that an attempt of a merge step did, where somebody took it back."""
    name = attempt_name(step, attempt)
    return name if any(m["merge"] == name and m["undone"] for m in merges) else None


def open_seams(seams: Seams) -> list[dict[str, Any]]:
    """Seams that nobody has resolved, oldest first."""
    return [seam for seam in seams.values() if seam["state"] == "open"]


def drop_seams(seams: Seams, step: str) -> None:
    """A step begins anew: what was open of its last work is opened again by its next, or not at all."""
    for name, seam in list(seams.items()):
        if step in seam["between"] and step != seam.get("step"):
            del seams[name]


def obligations(seams: Seams) -> list[dict[str, Any]]:
    """The seams of an outcome: `{id, between, paths, state, note, reason}`."""
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


def paths_of(captured: dict[str, Any] | None) -> frozenset[str]:
    """The files an attempt changed, as far as its event names them."""
    files: Iterable[dict[str, Any]] = () if captured is None else captured["changes"]["files"]
    return frozenset(file["path"] for file in files)


def is_standing(run: RunState, merge: dict[str, Any] | None) -> bool:
    """Whether all that a merge brought is still what its steps left: an attempt after it has nothing to bring."""
    return merge is not None and all(
        run.step(name).attempt == attempt and run.step(name).merged_by == merge["merge"]
        for name, attempt in merge["attempts"].items()
    )


def take(run: RunState, kind: str, data: dict[str, Any]) -> None:
    """Fold one event of these kinds."""
    _HANDLERS[kind](run, data)
    if data.get("request_id") is not None:
        run.requests.add(data["request_id"])


def _captured(run: RunState, data: dict[str, Any]) -> None:
    step = run.step(data["step"])
    if step.attempt == data["attempt"]:
        step.captured = data
        step.merged_by = None
        if step.solution is not None and step.solved_at is None:
            step.solved_at = {root["root"]: root["seen"] for root in data["roots"]}


def _merged(run: RunState, data: dict[str, Any]) -> None:
    undone = data.get("undoes")
    run.merges.append({**data, "undone": False})
    if data["step"] is None:
        run.clash = None
    if undone is None:
        if data["step"] is not None:
            run.step(data["step"]).brought = data
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


def _reopen(run: RunState, merge: str) -> None:
    """What a merge had resolved lies apart again once it is taken back."""
    for name, seam in run.seams.items():
        if seam["state"] == "resolved" and seam.get("merge") == merge:
            opened = {"state": "open", "resolved_by": None, "resolution": "", "merge": None}
            run.seams[name] = {**seam, **opened}


def undo_step(step: StepState) -> None:
    """What a merge step did was taken back: it is to be done again, and says so, also where a later attempt found it done."""
    step.clash = step.solution = step.solved_at = (
        None  # a person may want it otherwise: it asks again
    )
    if step.stage == "settled":
        reset(step, "selected", may_keep=False)
    elif step.kept is not None:
        forget(
            step
        )  # set back by a course and not come to yet: an equal fingerprint keeps nothing any more
    step.brought = None


def _conflicted(run: RunState, data: dict[str, Any]) -> None:
    if data["step"] is None:
        run.clash = data
    else:
        step = run.step(data["step"])
        step.clash, step.clash_seq = data, run.seq
        step.solution = step.solved_at = None


def _opened(run: RunState, data: dict[str, Any]) -> None:
    # A workflow may have steps called like seams: numbers are passed over, and none is given twice.
    number = data["id"].removeprefix("s")
    last = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
    run.seams_opened = max(run.seams_opened + 1, last)
    run.seams[data["id"]] = {**data, "state": "open", "resolved_by": None, "resolution": ""}


def _resolved(run: RunState, data: dict[str, Any]) -> None:
    seam = run.seams.get(data["id"])
    if seam is not None and seam["state"] == "open":
        told = {
            "state": "resolved",
            "resolved_by": data["by"],
            "resolution": data["note"],
            "merge": data.get("merge"),
        }
        run.seams[data["id"]] = {**seam, **told}


_HANDLERS: Final[dict[str, Callable[[RunState, dict[str, Any]], None]]] = {
    "workspace_captured": _captured,
    "merge_applied": _merged,
    "merge_conflicted": _conflicted,
    "seam_opened": _opened,
    "seam_resolved": _resolved,
}
