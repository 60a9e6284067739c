"""Three-way merge of trees by whole files: a change of one side is taken, changes of both sides conflict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from msgspec import Struct

from pixirnb.protocols.trees import LINK, ConflictKind, TreeEntry

Entries = Mapping[str, TreeEntry]
T = TypeVar("T")


class Disagreement(Struct, frozen=True):
    """A file with conflicting versions on two sides."""

    path: str
    kind: ConflictKind
    base: TreeEntry | None
    ours: TreeEntry | None
    theirs: TreeEntry | None


def merge_entries(
    base: Entries, ours: Entries, theirs: Entries
) -> tuple[dict[str, TreeEntry], list[Disagreement]]:
    """Return every file both sides agree on, and by path the disagreements."""
    agreed: dict[str, TreeEntry] = {}
    against: dict[str, Disagreement] = {}
    folders = (_folders(ours), _folders(theirs))
    for path in sorted({*base, *ours, *theirs}):
        sides = (base.get(path), ours.get(path), theirs.get(path))
        entry, is_agreed = _entry(*sides)
        if not is_agreed:
            kind = "kind" if _is_folder(path, sides, folders) else _kind(*sides)
            against[path] = Disagreement(path, kind, *sides)
        elif entry is not None:
            agreed[path] = entry
    for path in _folders({**agreed, **dict.fromkeys(against, TreeEntry("", ""))}) & agreed.keys():
        # One side has a file where the other has a folder.
        sides = (base.get(path), ours.get(path), theirs.get(path))
        against[path] = Disagreement(path, "kind", *sides)
    return agreed, [against[path] for path in sorted(against)]


def _entry(
    base: TreeEntry | None, ours: TreeEntry | None, theirs: TreeEntry | None
) -> tuple[TreeEntry | None, bool]:
    entry, is_agreed = _chosen(base, ours, theirs)
    if is_agreed or base is None or ours is None or theirs is None:
        return entry, is_agreed
    if LINK in (base.mode, ours.mode, theirs.mode):
        return None, False
    # One side made it executable, the other changed what is in it.
    mode, is_mode_agreed = _chosen(base.mode, ours.mode, theirs.mode)
    digest, is_digest_agreed = _chosen(base.digest, ours.digest, theirs.digest)
    return TreeEntry(mode, digest), is_mode_agreed and is_digest_agreed


def _chosen(base: T, ours: T, theirs: T) -> tuple[T, bool]:
    if ours in (theirs, base):
        return theirs, True
    return ours, theirs == base


def _kind(base: TreeEntry | None, ours: TreeEntry | None, theirs: TreeEntry | None) -> ConflictKind:
    if ours is None or theirs is None:
        return "changed_and_deleted"
    if (ours.mode == LINK) != (theirs.mode == LINK):
        return "kind"
    if base is None:
        return "both_added"
    return "not_text" if ours.mode == LINK else "content"


def _is_folder(
    path: str, sides: tuple[TreeEntry | None, ...], folders: tuple[set[str], set[str]]
) -> bool:
    """Return whether a side that has no such file has a folder there."""
    return any(
        side is None and path in there for side, there in zip(sides[1:], folders, strict=True)
    )


def _folders(entries: Entries) -> set[str]:
    result: set[str] = set()
    for path in entries:
        while path := path.rpartition("/")[0]:
            if path in result:
                break
            result.add(path)
    return result
