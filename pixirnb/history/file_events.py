"""Events about files: what isolated attempts changed, what was brought back, and which seams are open.

A change lies in the store of trees it was captured in; the log names the trees, and keeps the changes as a patch.
Source: contract.md §8; docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

from typing import Final, Literal, NotRequired, TypedDict

METHOD: Final = "git"
"""What keeps the trees of a root. The log of an earlier release, which did without git, may say `copy`."""
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
    """What keeps its trees: `git`, or `copy` in the log of an earlier release, which did without."""
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


class ConflictSide(TypedDict):
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
    sides: list[ConflictSide]
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
