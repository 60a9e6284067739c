"""Events about files: changes of isolated attempts, merges and seams; and the files and paths that events name.

A change lies in the store of trees it was captured in; the log names the trees, and keeps the changes as a patch.
Source: contract.md §8; docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

from typing import Final, Literal, NotRequired, TypedDict

from pixirnb.wording import join_names

METHOD: Final = "git"
"""Tool that keeps the trees of a root. The log of an earlier release, which did without git, may say `copy`."""
CONFLICT: Final = "merge_conflict"
"""Error kind of a step that cannot go on because two sides want a file otherwise."""
OUTSIDE: Final = "writes_outside_write_set"
"""Error kind of an isolated step that changed files it had not claimed; limitation of a shared one."""
UNCHECKED: Final = "writes_not_checked"
CHECKED_LEFT: Final = "checked_file_left_behind"
"""Beginning of a limitation: a check passed on a file that is not part of the step's changes."""
CHECKS_NOT_RUN: Final = "checks_not_run"
"""Beginning of a limitation: a step was accepted, and its checks have not run."""
UNPROVEN: Final = frozenset({CHECKED_LEFT, CHECKS_NOT_RUN})
"""Beginnings of limitations that a reader of a ready step must see at once."""
"""Limitation of a shared step outside of whose claims changes could not be checked."""
LEADS_OUT: Final = "link_leads_out"
"""Limitation of a step that left links out of the run's folders, and warning of a merge that brings them."""


class ArtifactData(TypedDict):
    """A file that a step declared, as it is kept."""

    path: str
    """Path from the workspace, or `repos.NAME:path`."""
    blob: NotRequired[str]
    """Digest of the file's bytes."""
    bytes: NotRequired[int]
    """Number of bytes."""


class OutputLog(TypedDict):
    """The file that holds the printed output of an attempt."""

    path: str
    """Path from the run folder."""
    bytes: int
    """Number of bytes printed."""
    truncated: bool
    """True where a part of the output is not in the file."""


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
    """Changes to files, for people and for the bundle; the trees hold them exactly."""

    patch: str | None
    """Blob of a patch that `git apply` takes; null where nothing changed."""
    files: list[FileChange]
    """The first 200."""
    count: int
    """All of them."""
    more: str | None
    """Blob of the whole list as JSON where it is longer than `files`."""
    added: NotRequired[int]
    """Lines added in all files, where `files` is not all of them."""
    deleted: NotRequired[int]
    """Lines deleted in all files, where `files` is not all of them."""
    leads_out: NotRequired[PathList]
    """`LINK -> TARGET` for links that lead out of the run's folders, or into what is git's or ours."""


class PathList(TypedDict):
    """Paths that a person should look at."""

    paths: list[str]
    """The first 100."""
    count: int
    """All of them."""
    unchecked: NotRequired[str]
    """The reason why the paths could not be checked, in one sentence; there are no paths then."""


def list_paths(paths: PathList) -> str:
    """Return the first five of a `PathList`, and how many more."""
    return join_names(paths["paths"], 5, count=paths["count"])


class CapturedRoot(TypedDict):
    """One root of an isolated attempt. Trees are named by the store that keeps them."""

    root: str
    """`.` for the workspace, or `repos.NAME`."""
    folder: str
    """Location of the root."""
    method: str
    """Tool that keeps its trees: `git`, or `copy` in the log of an earlier release, which did without."""
    seen: str
    """The user's files as the attempt began."""
    base: str
    """The tree the attempt was given: `seen`, with the changes it builds on merged in."""
    left: str
    """The tree at the end of the attempt."""


class WorkspaceCaptured(TypedDict):
    """The trees an isolated attempt began from and left, whatever its outcome."""

    step: str
    attempt: int
    roots: list[CapturedRoot]
    """The folders that were copied for the attempt."""
    built_on: list[str]
    """Steps whose changes were merged into `base`."""
    changes: Changes
    """Changes from `base` to `left`."""
    outside: NotRequired[PathList]
    """Changes to files that the attempt had not claimed."""
    left_behind: NotRequired[PathList]
    """Ignored files and secrets that the attempt changed: they are not part of its changes."""


class MergedRoot(TypedDict):
    """One root of a merge."""

    root: str
    folder: str
    method: str
    before: str
    """The user's files before the merge."""
    after: str
    """The user's files after the merge."""


class MergeApplied(TypedDict):
    """Changes were brought into the user's files, or taken out again, whole."""

    merge: str
    """Name of the merge in its run: `m1`, `m2` … where a person asked, `land.1` for the attempt of a step."""
    step: str | None
    """The `merge` step that brought the changes; null where a person asked."""
    by: str
    """The step, or the person."""
    steps: list[str]
    """Steps whose changes were brought, in order."""
    attempts: dict[str, int]
    """The attempt of each step."""
    roots: list[MergedRoot]
    """The folders that were changed."""
    changes: Changes
    """Changes to the user's files."""
    undoes: NotRequired[str | None]
    """The merge that this one took back."""
    solved: NotRequired[list[str]]
    """Files in conflict that a person had solved."""
    request_id: NotRequired[str | None]
    """Id of the person's request; null for a step."""


class ConflictSide(TypedDict):
    """One side's version of a file."""

    name: str
    """`workspace`, or a step."""
    mode: str | None
    """File mode; null where the side has no such file."""
    bytes: int | None


class ConflictedFile(TypedDict):
    """One file with conflicting versions."""

    path: str
    kind: str
    """`content both_added changed_and_deleted not_text kind`."""
    sides: list[ConflictSide]
    marked: NotRequired[str | None]
    """Blob of both sides in one text, with markers; null where the file is no text."""


class SeenRoot(TypedDict):
    """The user's files of a root when a conflict was met: a file that differs since was solved by a person."""

    root: str
    seen: str


class SolvedFile(TypedDict):
    """A file in conflict that a person had solved when another conflicted still."""

    path: str
    chosen: list[str] | None
    """`[mode, digest]` of the solution; null: no such file."""
    was: list[str] | None
    """`[mode, digest]` of the user's file at that time: the solution holds while the file stays so."""
    of: NotRequired[str]
    """Digest of the text whose hunks were chosen: the solution holds for that text alone; empty for a whole file."""


class MergeConflicted(TypedDict):
    """A merge was not done: nothing changed."""

    step: str | None
    """The step that could not go on: a `merge`, or one that was to begin from merged files; null where a person asked."""
    attempt: int | None
    steps: list[str]
    """Steps whose changes were to be merged."""
    between: list[str]
    """The two sides in conflict: steps, or `workspace`."""
    files: list[ConflictedFile]
    """The first 50."""
    count: int
    """All of them."""
    roots: list[SeenRoot]
    """Every folder that was compared."""
    solved: NotRequired[list[SolvedFile]]
    """Files that a person had solved by then; they stay solved."""
    request_id: NotRequired[str | None]
    """Id of the person's request; null for a step."""
    undoes: NotRequired[str | None]
    """The merge that was to be taken back; `between` names it as one of the sides."""


class SeamOpened(TypedDict):
    """A question whether the work of these steps fits together: until somebody confirms it, the run is not completed."""

    id: str
    """Name of the seam in its run, `s1`, `s2` …; no step has the name."""
    reason: Literal["declared", "reported", "met", "conflict"]
    """A step declares it · its agent reported it · the changes of two steps touch one file · a merge conflicts."""
    between: list[str]
    """The steps whose work meets; the one that opened it last."""
    paths: list[str]
    """Files in question; the first 50."""
    count: int
    """All of them."""
    note: str
    """The declared or reported text; empty for a seam that was detected."""
    step: NotRequired[str | None]
    """The step that could not go on for a conflict; its next attempt opens no second seam."""


class SeamResolved(TypedDict):
    """A confirmation that the work fits together."""

    id: str
    """Id of the seam."""
    by: str
    """`step`, `merge`, or the person."""
    step: NotRequired[str | None]
    """The step that resolved it."""
    merge: NotRequired[str | None]
    """The merge that brought both sides back."""
    note: str
    """The reason why it fits."""
    request_id: NotRequired[str | None]
    """Id of the person's request."""
