"""Trees of files as values: what a snapshot holds, how two differ, what a merge comes to, and what keeps them.

A *root* is a folder that a run works on: the workspace (`.`) or a repository of `repos` (`repos.NAME`). A *tree* is what a root
held at a time, named by an id that only the store which made it can read. Paths here are relative to their root, POSIX, and
hold surrogate escapes where a file's name is no UTF-8. Source: contract.md §8; docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from pixirnb.planning.paths import Pattern

FILE: Final = "100644"
EXECUTABLE: Final = "100755"
LINK: Final = "120000"

MOST_FILES: Final = 200_000
MOST_BYTES: Final = 4 * 1024**3
LARGEST_FILE: Final = 2 * 1024**3


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a tree."""

    mode: str
    """`100644`, `100755`, or `120000` for a link, whose content is where it leads."""
    digest: str
    """Names its content in the store of the tree."""


@dataclass(frozen=True, slots=True)
class Change:
    """One file that two trees do not agree on."""

    path: str
    before: Entry | None
    """None: it was not there."""
    after: Entry | None
    """None: it is gone."""
    added: int | None = None
    """Lines; None for what is not text."""
    deleted: int | None = None


ConflictKind = Literal["content", "both_added", "changed_and_deleted", "not_text", "kind"]
"""Both changed the same lines · both made it · one changed and one deleted it · both changed what is no text · a file on one
side is a folder or a link on the other."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """One file that two sides want otherwise."""

    path: str
    kind: ConflictKind
    base: Entry | None
    ours: Entry | None
    theirs: Entry | None
    marked: bytes | None = None
    """Both sides of a text in one, with markers, for people to read; None where there is no such text."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What a three-way merge comes to."""

    tree: str | None
    """None where there are conflicts."""
    conflicts: tuple[Conflict, ...] = ()


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


class TreeStore(Protocol):
    """Keeps trees of one root. Blocking; safe to call from several threads and processes at once.

    Everything raises Cannot with a stable code where it cannot keep a promise: `snapshot_limit`, `snapshot_unreadable`,
    `repository_broken`, `tree_missing` (the store lost what a tree names), `tree_store_unusable`.
    """

    root: Path
    method: Literal["git", "copy"]

    def snapshot(self, belonging: Belonging) -> str:
        """What the root holds now, as a tree. Nothing in the root, its repository or its index is touched."""
        ...

    def give(self, tree: str, folder: Path) -> None:
        """Lay the files of `tree` out in `folder`, which must not exist, as a working copy of its own.

        With git: with a repository of its own, whose history is the user's with one commit more. Files are copies: writing
        to one alters no other.
        """
        ...

    def capture(self, folder: Path, base: str, belonging: Belonging) -> str:
        """What a folder that was given `base` holds now, as a tree; its own commits and index play no part."""
        ...

    def left_behind(self, folder: Path, base: str, belonging: Belonging) -> list[str]:
        """Files of such a folder that are new or changed and belong to no snapshot: ignored, or secrets. Bounded at 1,000."""
        ...

    def entries(self, tree: str) -> dict[str, Entry]:
        """Every file of a tree by path."""
        ...

    def diff(self, before: str, after: str) -> list[Change]:
        """How two trees differ, by path, renames as a file gone and one made."""
        ...

    def patch(self, before: str, after: str, paths: Iterable[str] | None = None) -> bytes:
        """The same as a patch that `git apply` takes, binary files included. Empty for equal trees."""
        ...

    def merge(self, base: str, ours: str, theirs: str) -> Merged:
        """Merge two trees that both come from `base`. Deterministic; no configuration of the user plays a part."""
        ...

    def edited(self, tree: str, files: Mapping[str, Entry | None]) -> str:
        """`tree` with some files put in or taken out (None)."""
        ...

    def content(self, digest: str) -> bytes:
        """The bytes of a file, whole."""
        ...

    def write_content(self, digest: str, descriptor: int) -> None:
        """Write the bytes of a file to a descriptor, without holding them in memory."""
        ...

    def digest_of(self, path: Path) -> Entry | None:
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


@dataclass(frozen=True, slots=True)
class Clash:
    """A merge that cannot be done without a person."""

    root: str
    between: tuple[str, str]
    """The two sides: a step's id, or `workspace` for the user's own files."""
    conflicts: tuple[Conflict, ...]
    seen: str
    """The tree of the user's files that was merged into."""


def facts_of(changes: Sequence[Change], prefix: str = "") -> list[dict[str, Any]]:
    """Changes as the log holds them: `{path, change, added, deleted}`, and modes where they differ. `prefix`: `repos.NAME:`."""
    return [_fact(change, prefix) for change in changes]


def _fact(change: Change, prefix: str) -> dict[str, Any]:
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
