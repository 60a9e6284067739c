"""Trees of files as values: what a snapshot holds, how two differ, what a merge comes to, and what keeps them.

A *root* is a folder that a run works on: the workspace (`.`) or a repository of `repos` (`repos.NAME`). A *tree* is what a root
held at a time, named by an id that only the store which made it can read. Paths here are relative to their root, POSIX, and
hold surrogate escapes where a file's name is no UTF-8. Source: contract.md §8; docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from pixirnb.errors import Cannot
from pixirnb.planning.globs.pattern import Pattern

FILE: Final = "100644"
EXECUTABLE: Final = "100755"
LINK: Final = "120000"

MOST_FILES: Final = 200_000
MOST_BYTES: Final = 4 * 1024**3
LARGEST_FILE: Final = 2 * 1024**3


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file of a tree."""

    mode: str
    """`100644`, `100755`, or `120000` for a link, whose content is where it leads."""
    digest: str
    """Names its content in the store of the tree."""


@dataclass(frozen=True, slots=True)
class TreeChange:
    """One file that two trees do not agree on."""

    path: str
    before: TreeEntry | None
    """None: it was not there."""
    after: TreeEntry | None
    """None: it is gone."""
    added: int | None = None
    """Lines; None for what is not text."""
    deleted: int | None = None


ConflictKind = Literal["content", "both_added", "changed_and_deleted", "not_text", "kind"]
"""Both changed the same lines · both made it · one changed and one deleted it · both changed what is no text · a file on one
side is a folder or a link on the other."""


@dataclass(frozen=True, slots=True)
class FileConflict:
    """One file that two sides want otherwise."""

    path: str
    kind: ConflictKind
    base: TreeEntry | None
    ours: TreeEntry | None
    theirs: TreeEntry | None
    marked: bytes | None = None
    """Both sides of a text in one, with markers, for people to read; None where there is no such text."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What a three-way merge comes to."""

    tree: str | None
    """None where there are conflicts."""
    conflicts: tuple[FileConflict, ...] = ()


@dataclass(frozen=True, slots=True)
class Belonging:
    """Which files of a root belong to a snapshot, beside what the ignore rules say."""

    never_copy: tuple[str, ...] = ()
    """Globs of files that are never taken along: one without `/` is for names at any depth."""
    nested: tuple[str, ...] = ()
    """Folders below this root that are roots themselves: not part of it."""
    claimed: tuple[Pattern, ...] = ()
    """Patterns, relative to this root, whose files are taken along though they are ignored."""
    also: frozenset[str] = field(default=frozenset())
    """Files that are taken along where they exist, whatever any rule but `never_copy` says."""
    carried: tuple[str, ...] = ()
    """Files and folders that were carried along: what changes there goes nowhere and is not told, but for secrets."""


class TreeStore(Protocol):
    """Keeps trees of one root. Blocking; safe to call from several threads and processes at once.

    Everything raises Cannot with a stable code where it cannot keep a promise: `snapshot_limit`, `snapshot_unreadable`,
    `repository_broken`, `tree_missing` (the store lost what a tree names), `tree_store_unusable`.
    """

    root: Path

    def snapshot(self, belonging: Belonging) -> str:
        """What the root holds now, as a tree. Nothing in the root, its repository or its index is touched."""
        ...

    def marks(self, belonging: Belonging) -> dict[str, object]:
        """Every file that a snapshot would hold, with something that changes when it is written. No content is read."""
        ...

    def give(self, tree: str, folder: Path) -> None:
        """Lay the files of `tree` out in `folder`, which must not exist, as a working copy of its own.

        It is a repository: the user's history and one commit more. Files are copies, never shared.
        """
        ...

    def capture(self, folder: Path, base: str, belonging: Belonging) -> str:
        """What a folder that was given `base` holds now, as a tree; its own commits and index play no part."""
        ...

    def left_behind(self, folder: Path, base: str, belonging: Belonging) -> list[str]:
        """Files of such a folder that are new or changed and belong to no snapshot: ignored, or secrets. Bounded at 1,000."""
        ...

    def entries(self, tree: str) -> dict[str, TreeEntry]:
        """Every file of a tree by path."""
        ...

    def diff(self, before: str, after: str) -> list[TreeChange]:
        """How two trees differ, by path, renames as a file gone and one made."""
        ...

    def patch(self, before: str, after: str, paths: Iterable[str] | None = None) -> bytes:
        """The same as a patch that `git apply` takes, binary files included. Empty for equal trees."""
        ...

    def merge(self, base: str, ours: str, theirs: str) -> Merged:
        """Merge two trees that both come from `base`. Deterministic; no configuration of the user plays a part."""
        ...

    def edited(self, tree: str, files: Mapping[str, TreeEntry | None]) -> str:
        """`tree` with some files put in or taken out (None)."""
        ...

    def content(self, digest: str) -> bytes:
        """The bytes of a file, whole."""
        ...

    def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """Bytes of contents, by digest; those that the store lost are left out. No content is read."""
        ...

    def write_content(self, digest: str, descriptor: int) -> None:
        """Write the bytes of a file to a descriptor, without holding them in memory."""
        ...

    def digest_of(self, path: Path) -> TreeEntry | None:
        """What an entry for the file at `path` would be, without keeping it; None where nothing, or a folder, is there."""
        ...

    def keep(self, name: str, trees: Sequence[str]) -> None:
        """Keep trees for as long as `name` (`RUN/…`, no blanks) is kept: durable before this returns."""
        ...

    def forget(self, owner: str) -> None:
        """Let go of everything kept under names that begin with `owner/`."""
        ...


@dataclass(frozen=True, slots=True)
class Layer:
    """What one attempt changed in one root."""

    step: str
    attempt: int
    root: str
    """`.` or `repos.NAME`."""
    base: str
    left: str


Solved = Mapping[str, tuple[TreeEntry | None, TreeEntry | None]]
"""By full name: a person's solution of a conflict, and the user's file then: while that is so, so is the solution."""


@dataclass(frozen=True, slots=True)
class MergeConflict:
    """A merge that cannot be done without a person."""

    root: str
    between: tuple[str, str]
    """The two sides: a step's id, or `workspace` for the user's own files."""
    conflicts: tuple[FileConflict, ...]
    seen: str
    """The tree of the user's files that was merged into."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Bytes of the contents of both sides, by digest; as far as they are known."""
    looked_at: Mapping[str, str] = field(default_factory=dict)
    """By root: the user's files of every root that was merged into on the way."""
    solved: Solved = field(default_factory=dict)
    """Files in conflict that a person had solved, this time or before."""


def mark_of(status: os.stat_result) -> object:
    """What changes when a file is written: times, size, place and mode, but not when it was read."""
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode)


def facts_of(changes: Sequence[TreeChange], prefix: str = "") -> list[dict[str, Any]]:
    """Changes as the log holds them: `{path, change, added, deleted}`, and modes where they differ. `prefix`: `repos.NAME:`."""
    return [_fact(change, prefix) for change in changes]


def _fact(change: TreeChange, prefix: str) -> dict[str, Any]:
    before, after = change.before, change.after
    kind = "added" if before is None else "deleted" if after is None else "modified"
    fact: dict[str, Any] = {
        "path": prefix + change.path,
        "change": kind,
        "added": change.added,
        "deleted": change.deleted,
    }
    modes = [None if entry is None else entry.mode for entry in (before, after)]
    if modes[0] != modes[1] and not (None in modes and set(modes) <= {None, FILE}):
        fact["mode"] = modes
    return fact


@dataclass(frozen=True, slots=True)
class MergeInput:
    """What is wanted of files for one attempt or one merge."""

    run_id: str
    name: str
    """Of the attempt, `step.2`, or of the merge, `m1`."""
    roots: tuple[str, ...]
    layers: tuple[Layer, ...] = ()
    """Changes to merge in, those that others build on first."""
    sides: str | Mapping[str, str] | None = None
    """Which side counts for files in conflict: for all, or by the file's full name; `workspace`, or a step."""
    seen: Mapping[str, str] = field(default_factory=dict)
    """By root: the user's files as a conflict before found them. What differs since was solved by a person."""
    solved: Solved = field(default_factory=dict)
    """What was solved before, when something else conflicted still."""
    said_of: Mapping[str, str] | None = None
    """By root: the user's files that `sides` was said of: a file that is another by now is asked about again. None: of now."""
    held: Mapping[str, str] | None = None
    """By root: what an edit since `seen` has to have come to, to count as solved. None: what it is now."""
    claimed: tuple[str, ...] = ()
    """The step's written `write_set`."""
    carry: tuple[str, ...] = ()
    """Ignored files and folders that are copied along, `sub/folder` or `repos.NAME:folder`."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """Folders of its own that an attempt works in, laid out as the roots lie to each other."""

    order: MergeInput
    workspace: Path
    """Stands for the workspace; empty where the step does not use it."""
    folders: Mapping[str, Path]
    """By root."""
    seen: Mapping[str, str]
    """By root: the user's files as they were."""
    base: Mapping[str, str]
    """By root: what was given."""
    missing: tuple[str, ...] = ()
    """Full names of pipes, sockets and devices among the user's files: no copy has them."""


@dataclass(frozen=True, slots=True)
class CheckoutResult:
    """What an attempt left, or a merge brought."""

    trees: Mapping[str, str]
    """By root: what is there at its end."""
    changes: Mapping[str, Sequence[TreeChange]]
    """By root, from what was given."""
    patch: bytes
    """All of it, paths from the root; several roots one after the other, each with a line that names it."""
    left_behind: tuple[str, ...] = ()
    """Full names of files that it changed and that go nowhere."""
    leading_out: Mapping[str, str] = field(default_factory=dict)
    """By full name, where each new or changed link leads that leads out of the roots, or into what is git's or ours."""


@dataclass(frozen=True, slots=True)
class Merging:
    """A merge that can be done: by root, the user's files as they are and as they shall be."""

    before: Mapping[str, str]
    after: Mapping[str, str]
    taken: CheckoutResult
    solved: tuple[str, ...] = ()
    """Full names of files in conflict that a person had solved."""


class Files(Protocol):
    """What the engine asks of the files of one run. Blocking. Raises Cannot where a promise cannot be kept."""

    def give(self, order: MergeInput) -> Checkout | MergeConflict:
        """Folders for an isolated attempt, with the layers merged in; the user's files are not touched."""
        ...

    def take(self, given: Checkout) -> CheckoutResult:
        """What the attempt left in its folders; kept durably before this returns."""
        ...

    def drop(self, given: Checkout) -> None:
        """Delete the folders of an attempt. Raises Cannot; nothing else is the worse for it."""
        ...

    def set_aside(self, given: Checkout) -> Path:
        """Keep the folders of an attempt whose files could not be taken, for a person: where they lie."""
        ...

    def sweep(self, run_id: str) -> list[Cannot]:
        """Delete what dead owners of the run left of such folders, but what was set aside; what could not be is told."""
        ...

    def adopt(self, run_id: str, trees: Mapping[str, Sequence[str]]) -> None:
        """Keep trees that another run made, by root, for this one too: a fork stands alone."""
        ...

    def preview(self, order: MergeInput) -> Merging | MergeConflict:
        """What merging the layers into the user's files would come to."""
        ...

    def merge(
        self, order: MergeInput, describe: Callable[[Merging], dict[str, Any]]
    ) -> tuple[dict[str, Any], Merging] | MergeConflict:
        """Merge the layers into the user's files, whole or not at all.

        `describe` makes the data of `merge_applied`, kept beside the files until `recorded`; see `unrecorded`.
        """
        ...

    def undo(
        self,
        order: MergeInput,
        merge: Mapping[str, Any],
        describe: Callable[[Merging], dict[str, Any]],
    ) -> tuple[dict[str, Any], Merging] | MergeConflict:
        """Take a merge, `merge_applied`, out of the user's files again; what was changed since stays. As `merge`."""
        ...

    def preview_undo(self, order: MergeInput, merge: Mapping[str, Any]) -> Merging | MergeConflict:
        """What taking a merge, `merge_applied`, out of the user's files would come to."""
        ...

    def recorded(self, run_id: str, merge: str) -> None:
        """The log has a merge: what was kept beside the files may go, and need not."""
        ...

    def unrecorded(self, run_id: str) -> list[dict[str, Any]]:
        """The data of merges that were done and may not be in the log; ones that were not finished are rolled back first."""
        ...

    def taken_back(self) -> list[dict[str, Any]]:
        """Half-done merges, of any run, that were put back since this was asked last: `{run_id, merge, files, edited}`."""
        ...

    def marks(self, roots: Sequence[str]) -> Mapping[tuple[str, str], object]:
        """Every file of the roots, `(root, path)`, with something that changes when it is written. No content is read."""
        ...


def layers_of(step: str, captured: Mapping[str, Any]) -> list[Layer]:
    """The layers of a `workspace_captured`; roots that it left as they were are none."""
    return [
        _layer(step, captured["attempt"], root, "base", "left")
        for root in captured["roots"]
        if root["base"] != root["left"]
    ]


def backwards(order: MergeInput, merge: Mapping[str, Any]) -> MergeInput:
    """The order to take a merge, `merge_applied`, back: its changes the other way round, as one layer named like it."""
    layers = (_layer(str(merge["merge"]), 0, root, "after", "before") for root in merge["roots"])
    return replace(order, layers=tuple(layers))


def _layer(name: str, attempt: int, root: Mapping[str, Any], base: str, left: str) -> Layer:
    return Layer(name, attempt, root["root"], root[base], root[left])
