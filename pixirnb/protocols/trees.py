"""Trees of files as values: snapshots, their differences, merges, and the protocols of their stores.

A *root* is a folder that a run works on: the workspace (`.`) or a repository of `repos` (`repos.NAME`). A *tree* is
the content of a root at one time; its id can be read only by the store that made it. Paths here are relative to their
root, POSIX, and hold surrogate escapes for names that are not UTF-8. Source: contract.md §8;
docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, Protocol, TypedDict

from msgspec import Struct, field
from msgspec.structs import replace

from pixirnb.errors import Cannot
from pixirnb.history.conflict_hunks import HunkChoice
from pixirnb.history.file_events import FileChange, MergeApplied, WorkspaceCaptured
from pixirnb.planning.globs.pattern import Pattern

FILE: Final = "100644"
EXECUTABLE: Final = "100755"
LINK: Final = "120000"

MOST_FILES: Final = 200_000
MOST_BYTES: Final = 4 * 1024**3
LARGEST_FILE: Final = 2 * 1024**3


class TreeEntry(Struct, frozen=True):
    """One file of a tree."""

    mode: str
    """Git mode `100644`, `100755`, or `120000` for a link, whose content is its target."""
    digest: str
    """Digest of its content in the store of the tree."""


class TreeChange(Struct, frozen=True):
    """One file that differs between two trees."""

    path: str
    before: TreeEntry | None
    """The old entry; None if it did not exist."""
    after: TreeEntry | None
    """The new entry; None if it was deleted."""
    added: int | None = None
    """Number of added lines; None if not text."""
    deleted: int | None = None


ConflictKind = Literal["content", "both_added", "changed_and_deleted", "not_text", "kind"]
"""Kinds of conflict: both changed the same lines · both made it · one changed and one deleted it · both changed a
file that is not text · a file on one side is a folder or a link on the other.
"""


class FileConflict(Struct, frozen=True):
    """One file with different changes on two sides."""

    path: str
    kind: ConflictKind
    base: TreeEntry | None
    ours: TreeEntry | None
    theirs: TreeEntry | None
    marked: bytes | None = None
    """Both sides of a text with conflict markers, for people; None without such a text."""


class Merged(Struct, frozen=True):
    """The result of a three-way merge."""

    tree: str | None
    """The merged tree; None if there are conflicts."""
    conflicts: tuple[FileConflict, ...] = ()


class Belonging(Struct, frozen=True):
    """The rules, in addition to the ignore rules, for the files of a snapshot."""

    never_copy: tuple[str, ...] = ()
    """Globs of files that are never included: a glob without `/` is for names at any depth."""
    nested: tuple[str, ...] = ()
    """Folders below this root that are roots themselves and not part of it."""
    claimed: tuple[Pattern, ...] = ()
    """Patterns, relative to this root, whose files are included although they are ignored."""
    also: frozenset[str] = field(default=frozenset())
    """Files that are included if they exist, whatever the rules except `never_copy`."""
    carried: tuple[str, ...] = ()
    """Files and folders that were carried along: changes in them are dropped without a report, except for secrets."""


class TreeStore(Protocol):
    """Store of trees of one root. Blocking; safe to call from several threads and processes at once.

    All methods raise Cannot with a stable code if they cannot keep a promise: `snapshot_limit`,
    `snapshot_unreadable`, `repository_broken`, `tree_missing` (the store lost contents of a tree),
    `tree_store_unusable`.
    """

    root: Path

    def snapshot(self, belonging: Belonging) -> str:
        """Take a tree of the root as it is now. The root, its repository and its index are not touched."""
        ...

    def marks(self, belonging: Belonging) -> dict[str, object]:
        """Return every file of a snapshot with a value that changes when the file is written. Reads no content."""
        ...

    def give(self, tree: str, folder: Path) -> None:
        """Write the files of `tree` into `folder`, which must not exist, as a working copy.

        It is a repository: the user's history and one more commit. Files are copies, never shared.
        """
        ...

    def capture(self, folder: Path, base: str, belonging: Belonging) -> str:
        """Take a tree of a folder that was given `base`; its own commits and index do not matter."""
        ...

    def left_behind(self, folder: Path, base: str, belonging: Belonging) -> list[str]:
        """Return new or changed files of such a folder that belong to no snapshot: ignored, or secrets. At most 1,000."""
        ...

    def entries(self, tree: str) -> dict[str, TreeEntry]:
        """Return every file of a tree by path."""
        ...

    def diff(self, before: str, after: str) -> list[TreeChange]:
        """Return the differences of two trees, by path; a rename is a deleted and an added file."""
        ...

    def patch(self, before: str, after: str, paths: Iterable[str] | None = None) -> bytes:
        """Return the differences as a patch for `git apply`, binary files included. Empty for equal trees."""
        ...

    def merge(self, base: str, ours: str, theirs: str) -> Merged:
        """Merge two trees that both come from `base`. Deterministic; no configuration of the user matters."""
        ...

    def edited(self, tree: str, files: Mapping[str, TreeEntry | None]) -> str:
        """Return `tree` with some files added, replaced or removed (None)."""
        ...

    def put(self, content: bytes) -> str:
        """Store the bytes of a file; return their digest."""
        ...

    def content(self, digest: str) -> bytes:
        """Return all bytes of a file."""
        ...

    def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """Return the bytes of contents, by digest, without lost ones. Reads no content."""
        ...

    def write_content(self, digest: str, descriptor: int) -> None:
        """Write the bytes of a file to a descriptor, without holding them in memory."""
        ...

    def digest_of(self, path: Path) -> TreeEntry | None:
        """Return the entry of the file at `path`, without keeping it; None if there is no file."""
        ...

    def keep(self, name: str, trees: Sequence[str]) -> None:
        """Keep trees as long as `name` (`RUN/…`, no blanks) is kept: durable before this returns."""
        ...

    def forget(self, owner: str) -> None:
        """Release everything kept under names that begin with `owner/`."""
        ...


class Layer(Struct, frozen=True):
    """The changes of one attempt in one root."""

    step: str
    attempt: int
    root: str
    """`.` or `repos.NAME`."""
    base: str
    left: str


Solved = Mapping[tuple[str, str], tuple[TreeEntry | None, TreeEntry | None]]
"""By full name, and the digest of the text whose hunks were chosen (empty for a whole file): a person's resolution of a
conflict, and the user's file at that time; valid while that file is unchanged."""


class MergeConflict(Struct, frozen=True):
    """A merge that needs a person."""

    root: str
    between: tuple[str, str]
    """The two sides: a step's id, or `workspace` for the user's own files."""
    conflicts: tuple[FileConflict, ...]
    seen: str
    """The tree of the user's files that was merged into."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Bytes of the contents of both sides, by digest, as far as known."""
    looked_at: Mapping[str, str] = field(default_factory=dict)
    """By root: the user's files of every root that was merged into on the way."""
    solved: Solved = field(default_factory=dict)
    """Conflicting files that a person had resolved, this time or before."""


class Rollback(TypedDict):
    """An incomplete merge that was rolled back."""

    run_id: str | None
    merge: str | None
    files: int
    """Number of files that the merge had changed."""
    edited: list[str]
    """Files edited since the merge; they are left as they are."""


def mark_of(status: os.stat_result) -> object:
    """Return a value that changes when a file is written: times, size, inode and mode, but not the access time."""
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode)


def facts_of(changes: Sequence[TreeChange], prefix: str = "") -> list[FileChange]:
    """Return changes in their log form. `prefix`: `repos.NAME:`."""
    return [_fact(change, prefix) for change in changes]


def _fact(change: TreeChange, prefix: str) -> FileChange:
    before, after = change.before, change.after
    kind = "added" if before is None else "deleted" if after is None else "modified"
    fact: FileChange = {
        "path": prefix + change.path,
        "change": kind,
        "added": change.added,
        "deleted": change.deleted,
    }
    modes = [None if entry is None else entry.mode for entry in (before, after)]
    if modes[0] != modes[1] and not (None in modes and set(modes) <= {None, FILE}):
        fact["mode"] = modes
    return fact


class MergeInput(Struct, frozen=True):
    """A request about the files of one attempt or one merge."""

    run_id: str
    name: str
    """Name of the attempt, `step.2`, or of the merge, `m1`."""
    roots: tuple[str, ...]
    layers: tuple[Layer, ...] = ()
    """Changes to merge, in order of dependency."""
    sides: str | Mapping[str, str | HunkChoice] | None = None
    """The side that counts for conflicting files: for all, or by the file's full name; `workspace`, a step, or one by hunk."""
    seen: Mapping[str, str] = field(default_factory=dict)
    """By root: the user's files as an earlier conflict recorded them. A person resolved the files that differ since."""
    solved: Solved = field(default_factory=dict)
    """Earlier resolutions, from when something else still conflicted."""
    decided_on: Mapping[str, str] | None = None
    """By root: the user's files when `sides` was chosen; a file changed since then is asked about again. None: as of now."""
    held: Mapping[str, str] | None = None
    """By root: the required content of an edit since `seen` to count as a resolution. None: its content now."""
    claimed: tuple[str, ...] = ()
    """The step's written `write_set`."""
    carry: tuple[str, ...] = ()
    """Ignored files and folders to copy along, `sub/folder` or `repos.NAME:folder`."""
    spell: Callable[[str], str] = str
    """Function that returns the full name of a file as the log, `sides` and `solved` have it: without secrets."""


class Checkout(Struct, frozen=True):
    """Separate folders for an attempt, arranged like the roots."""

    order: MergeInput
    top: Path
    """The folder that holds them all."""
    workspace: Path
    """The copy of the workspace; empty if the step does not use it."""
    folders: Mapping[str, Path]
    """Folders by root."""
    seen: Mapping[str, str]
    """By root: the user's files at that time."""
    base: Mapping[str, str]
    """By root: the tree that was given."""
    missing: tuple[str, ...] = ()
    """Full names of pipes, sockets and devices among the user's files: no copy has them."""


class CopyFolders(Struct, frozen=True):
    """The folders of an isolated attempt, as a worker elsewhere makes them again: under the same path."""

    top: Path
    workspace: Path
    """The copy of the workspace in it, empty or not."""
    roots: tuple[Path, ...]
    """Folders in it that are repositories of their own."""


class CheckoutResult(Struct, frozen=True):
    """The changes of an attempt, or of a merge."""

    trees: Mapping[str, str]
    """By root: the tree at its end."""
    changes: Mapping[str, Sequence[TreeChange]]
    """By root: the changes since the tree that was given."""
    patch: bytes
    """All changes as a patch, paths from the root; several roots in sequence, each with a line that names it."""
    left_behind: tuple[str, ...] = ()
    """Full names of changed files that are dropped."""
    leading_out: Mapping[str, str] = field(default_factory=dict)
    """By full name: targets of new or changed links that lead out of the roots, or into git's or our folders."""


class Merging(Struct, frozen=True):
    """A merge without conflicts: by root, the user's files before and after."""

    before: Mapping[str, str]
    after: Mapping[str, str]
    taken: CheckoutResult
    solved: tuple[str, ...] = ()
    """Full names of conflicting files that a person had resolved."""


class TreePacks(Protocol):
    """Trees of whole folders, packed for another machine. Blocking; safe to call from several threads.

    A tree here has every file of a folder, ignored or not, but git's own. All methods raise Cannot.
    """

    def known(self) -> tuple[str, ...]:
        """Return the last trees that are here: a pack for here may leave out what is in them."""
        ...

    def record(self, top: Path, is_over: Callable[[], bool]) -> str:
        """Take a tree of a folder. Where `is_over` gets true, it is given up."""
        ...

    def pack(self, tree: str, known: Sequence[str]) -> Path:
        """Return a new file with a tree, without what is in the `known` trees; the caller deletes it."""
        ...

    def incoming(self) -> Path:
        """Return a new file for the pack of another machine; `add` takes it."""
        ...

    def add(self, pack: Path, tree: str) -> None:
        """Take a pack that has a tree."""
        ...

    def lay_out(self, tree: str, copies: CopyFolders) -> None:
        """Write the files of a tree into the folders of an attempt, which must not exist."""
        ...

    def update(self, top: Path, before: str, after: str) -> None:
        """Turn a folder of which `before` was recorded into `after`, once."""
        ...

    def remove(self, top: Path) -> None:
        """Delete the folders of an attempt."""
        ...

    def close(self) -> None:
        """Delete everything here. Safe to call twice."""
        ...


class Files(Protocol):
    """Operations of the engine on the files of one run. Blocking. Raises Cannot if a promise cannot be kept."""

    def give(self, order: MergeInput) -> Checkout | MergeConflict:
        """Create folders for an isolated attempt, with the layers merged in; the user's files are not touched."""
        ...

    def take(self, given: Checkout) -> CheckoutResult:
        """Take the changes of an attempt from its folders; they are durable before this returns."""
        ...

    def drop(self, given: Checkout) -> None:
        """Delete the folders of an attempt. Raises Cannot, which has no further consequences."""
        ...

    def set_aside(self, given: Checkout) -> Path:
        """Keep the folders of an attempt whose files could not be taken, for a person; return their location."""
        ...

    def sweep(self, run_id: str) -> list[Cannot]:
        """Delete folders of dead owners of the run, except those set aside; return the failures."""
        ...

    def adopt(self, run_id: str, trees: Mapping[str, Sequence[str]]) -> None:
        """Keep trees of another run, by root, for this one too: a fork is independent."""
        ...

    def preview(self, order: MergeInput) -> Merging | MergeConflict:
        """Return the result of merging the layers into the user's files, without doing it."""
        ...

    def merge(
        self, order: MergeInput, describe: Callable[[Merging], MergeApplied]
    ) -> tuple[MergeApplied, Merging] | MergeConflict:
        """Merge the layers into the user's files, completely or not at all.

        `describe` makes the data of `merge_applied`, kept next to the files until `recorded`; see `unrecorded`.
        """
        ...

    def undo(
        self,
        order: MergeInput,
        merge: MergeApplied,
        describe: Callable[[Merging], MergeApplied],
    ) -> tuple[MergeApplied, Merging] | MergeConflict:
        """Remove a merge, `merge_applied`, from the user's files again; later changes stay. Like `merge`."""
        ...

    def preview_undo(self, order: MergeInput, merge: MergeApplied) -> Merging | MergeConflict:
        """Return the result of removing a merge, `merge_applied`, from the user's files, without doing it."""
        ...

    def recorded(self, run_id: str, merge: str) -> None:
        """Report that the log has a merge: its data next to the files may be deleted."""
        ...

    def unrecorded(self, run_id: str) -> list[MergeApplied]:
        """Return the data of completed merges that may not be in the log; incomplete ones are rolled back first."""
        ...

    def rollbacks(self) -> list[Rollback]:
        """Return incomplete merges, of any run, rolled back since the last call."""
        ...

    def marks(self, roots: Sequence[str]) -> Mapping[tuple[str, str], object]:
        """Return every file of the roots, `(root, path)`, with a value that changes when it is written. Reads no content."""
        ...


def layers_of(step: str, captured: WorkspaceCaptured) -> list[Layer]:
    """Return the layers of a `workspace_captured`, without unchanged roots."""
    return [
        Layer(step, captured["attempt"], root["root"], root["base"], root["left"])
        for root in captured["roots"]
        if root["base"] != root["left"]
    ]


def undo_input(order: MergeInput, merge: MergeApplied) -> MergeInput:
    """Return the input to undo a merge, `merge_applied`: its changes reversed, as one layer with its name."""
    name = merge["merge"]
    layers = (
        Layer(name, 0, root["root"], root["after"], root["before"]) for root in merge["roots"]
    )
    return replace(order, layers=tuple(layers))
