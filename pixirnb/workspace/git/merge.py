"""Three-way merges of trees: by whole files first, and lines within files by git; conflicts in words of ours.

Renames are not looked for: what git takes for a rename depends on how alike two files happen to be, and a conflict would then
lie at a path that one side never had. A file renamed here and edited there is a conflict with its name, not a guess. Before
2.49 no setting keeps git's merge from looking, so it gets nothing to find: of each file that both sides changed a blob, under a
number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from pixirnb.protocols.trees import LINK, FileConflict, Merged, TreeEntry
from pixirnb.workspace.git.command import Git
from pixirnb.workspace.git.diff import entries_of
from pixirnb.workspace.git.index import edited_tree
from pixirnb.workspace.three_way import Disagreement, merge_entries

OURS: Final = b"ours"
THEIRS: Final = b"theirs"
"""Labels of the two sides in the markers of `FileConflict.marked`."""
LARGEST_MARKED: Final = 256 * 1024
"""Maximum number of bytes of a marked text in conflict."""

_LABELLED: Final = re.compile(rb"^(?:<{7} ours|>{7} theirs)\r?$", re.MULTILINE)
_FIRST_BYTES: Final = 8000
"""Bytes in which git looks for a NUL, which makes a file no text."""


def merge_trees(git: Git, base: str, ours: str, theirs: str) -> Merged:
    """Merge two trees that come from a third, by way of the index of `git`. Raises Cannot (`tree_store_unusable`)."""
    if theirs in (ours, base):
        return Merged(ours)
    if base == ours:
        return Merged(theirs)
    was, one, two = (entries_of(git, tree) for tree in (base, ours, theirs))
    agreed, against = merge_entries(was, one, two)
    lines = _Lines(git, [meeting for meeting in against if _is_of_files(meeting)])
    conflicts = []
    for meeting in against:
        entry = lines.agreed(meeting)
        if entry is not None:
            agreed[meeting.path] = entry
        else:
            conflicts.append(lines.conflict(meeting))
    if conflicts:
        return Merged(None, tuple(conflicts))
    changed = {
        path: agreed.get(path)
        for path in sorted(one.keys() | agreed)
        if one.get(path) != agreed.get(path)
    }
    return Merged(edited_tree(git, ours, changed) if changed else ours)


def _is_of_files(meeting: Disagreement) -> bool:
    """Return whether two files meet, whose lines might be merged or shown."""
    return meeting.kind in ("content", "both_added") and LINK not in {
        side.mode for side in (meeting.ours, meeting.theirs) if side is not None
    }


class _Lines:
    """Git's merge of the lines of files that both sides changed."""

    def __init__(self, git: Git, meetings: Sequence[Disagreement]) -> None:
        self._git = git
        self._numbers = {meeting.path: str(number) for number, meeting in enumerate(meetings)}
        self._written: dict[str, TreeEntry] = {}
        self._unmerged: set[str] = set()
        self._labels: list[tuple[re.Pattern[bytes], bytes]] = []
        if meetings:
            self._merge(meetings)

    def _merge(self, meetings: Sequence[Disagreement]) -> None:
        bases = [meeting.base for meeting in meetings]
        start = _commit(
            self._git, self._tree([None if side and side.mode == LINK else side for side in bases])
        )
        sides = [
            _commit(self._git, self._tree(entries), "-p", start)
            for entries in ([one.ours for one in meetings], [one.theirs for one in meetings])
        ]
        arguments = ("merge-tree", "--write-tree", "-z", "--no-messages", *sides)
        words = self._git.run(*arguments, accepted=(0, 1)).out.split(b"\0")
        self._written = entries_of(self._git, words[0].decode())
        self._unmerged = {word.partition(b"\t")[2].decode() for word in words[1:] if b"\t" in word}
        self._labels = [
            (re.compile(rb"^(<{7}|>{7}) %s(?=\r?$)" % side.encode(), re.MULTILINE), rb"\1 " + label)
            for side, label in zip(sides, (OURS, THEIRS), strict=True)
        ]

    def _tree(self, entries: Sequence[TreeEntry | None]) -> str:
        # Modes have been merged already: here they would only be in the way.
        given = b"".join(
            b"100644 blob %s\t%d\0" % (entry.digest.encode(), number)
            for number, entry in enumerate(entries)
            if entry is not None
        )
        return self._git.run("mktree", "-z", given=given).out.decode().strip()

    def agreed(self, meeting: Disagreement) -> TreeEntry | None:
        """Return the file with the lines of both sides; None where these conflict."""
        base, ours, theirs = meeting.base, meeting.ours, meeting.theirs
        number = self._numbers.get(meeting.path)
        if number is None or number in self._unmerged:
            return None
        if base is None or base.mode == LINK or ours is None or theirs is None:
            return None
        mode = theirs.mode if ours.mode == base.mode else ours.mode
        return TreeEntry(mode, self._written[number].digest)

    def conflict(self, meeting: Disagreement) -> FileConflict:
        """Return the conflict, with both sides in one text where they are texts."""
        sides = (meeting.base, meeting.ours, meeting.theirs)
        marked = self._marked(self._numbers.get(meeting.path))
        kind = meeting.kind
        if kind == "content" and marked is None and self._has_no_text(*sides):
            kind = "not_text"
        return FileConflict(meeting.path, kind, *sides, marked)

    def _marked(self, number: str | None) -> bytes | None:
        if number is None or number not in self._unmerged:
            return None
        entry = self._written[number]
        if int(self._git.run("cat-file", "-s", entry.digest).out) > LARGEST_MARKED:
            return None
        text = self._content(entry)
        if b"\0" in text[:_FIRST_BYTES]:
            return None
        if not any(pattern.search(text) for pattern, _ in self._labels):
            return None
        if _LABELLED.search(text):
            return text  # with labels of ours, lines of the file would be taken for markers
        for pattern, label in self._labels:
            text = pattern.sub(label, text)
        return text

    def _has_no_text(self, *entries: TreeEntry | None) -> bool:
        return any(
            entry is not None
            and (entry.mode == LINK or b"\0" in self._content(entry)[:_FIRST_BYTES])
            for entry in entries
        )

    def _content(self, entry: TreeEntry) -> bytes:
        return self._git.run("cat-file", "blob", entry.digest).out


def _commit(git: Git, tree: str, *arguments: str) -> str:
    return git.run("commit-tree", *arguments, "-m", "pixirnb", tree).out.decode().strip()
