"""A store of trees without git: copies named by their bytes, merged by whole files.

For machines that have no git, and for tests. It keeps the promises of `pixirnb.protocols.trees.TreeStore` but for two things:
which files are ignored is a fixed list (`listing.py`), and two edits of one file always conflict.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

from pixirnb.protocols.trees import (
    EXECUTABLE,
    LINK,
    Belonging,
    FileConflict,
    Merged,
    TreeChange,
    TreeEntry,
    mark_of,
)
from pixirnb.system.atomic_files import make_folders
from pixirnb.system.retry_interrupted import retry_eintr
from pixirnb.workspace.copies.listing import PlainRules, listing, refuse_too_much
from pixirnb.workspace.copies.objects import PlainObjects, write_whole
from pixirnb.workspace.copies.patch import file_patch
from pixirnb.workspace.copies.read_file import mode_of, read_file, statuses_of
from pixirnb.workspace.copies.retention import forget_owner, keep_trees
from pixirnb.workspace.copies.stat_cache import (
    KnownFile,
    known_document,
    known_path,
    load_known,
    settled_before,
    stamp_of,
)
from pixirnb.workspace.errors import refusing
from pixirnb.workspace.folder_identity import Place, hold_folder, key_of, place_of
from pixirnb.workspace.line_diff import counts, is_text, mark_conflicts
from pixirnb.workspace.special_files import special_files
from pixirnb.workspace.three_way import Disagreement, merge_entries

MOST_LEFT_BEHIND: Final = 1000
MOST_MARKED: Final = 256 * 1024
"""Bytes of a text that is shown with both sides in one."""
MOST_COUNTED: Final = 1024 * 1024
"""Bytes of a text whose changed lines are counted."""
_SNIFFED: Final = 8000


class PlainTrees:
    """Keeps trees of one root, without git. Safe to use from several threads and processes at once."""

    root: Path
    method: Literal["git", "copy"]

    def __init__(self, folder: Path, root: Path) -> None:
        """What is kept lies in `folder`, which is made with the first snapshot."""
        self.root = root
        self.method = "copy"
        self._folder = folder
        self._objects = PlainObjects(folder)

    def snapshot(self, belonging: Belonging) -> str:
        """What the root holds now, as a tree. The root is only read.

        Raises Cannot(code=`snapshot_limit` | `snapshot_unreadable` | `tree_store_unusable`).
        """
        return self._taken(self.root, PlainRules(belonging))

    def marks(self, belonging: Belonging) -> dict[str, object]:
        """Every file that a snapshot would hold, with what changes when it is written. Raises as `snapshot`."""
        statuses = statuses_of(self.root, PlainRules(belonging))
        return {path: mark_of(status) for path, status in statuses.items()}

    def capture(self, folder: Path, base: str, belonging: Belonging) -> str:
        """What a folder that was given `base` holds now, as a tree. Raises as `snapshot`."""
        with self._given(folder) as real:
            return self._taken(real, PlainRules(belonging, exact=self.entries(base)))

    def left_behind(self, folder: Path, base: str, belonging: Belonging) -> list[str]:
        """Files of such a folder that belong to no snapshot and did not come with `base`; at most 1,000. Pipes too."""
        rules = PlainRules(belonging, exact=self.entries(base))
        left: list[str] = []
        with self._given(folder) as real:
            for found in listing(real, rules, is_whole=True):
                if not found.belongs and not rules.rules.is_carried(found.path):
                    left.append(found.path)
                    if len(left) == MOST_LEFT_BEHIND:
                        break
            left += special_files(real, rules.rules, MOST_LEFT_BEHIND)
        return sorted(left)[:MOST_LEFT_BEHIND]

    def give(self, tree: str, folder: Path) -> None:
        """Lay the files of `tree` out in `folder`, which must not exist; each file is a copy.

        Raises Cannot(code=`tree_missing` | `tree_store_unusable`); then there is no folder.
        """
        entries = self.entries(tree)
        with refusing(folder):
            make_folders(folder.parent)
            retry_eintr(folder.mkdir)
        try:
            with refusing(folder):
                for path, entry in entries.items():
                    self._laid_out(folder / path, entry)
            self._remember(folder, entries)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def entries(self, tree: str) -> dict[str, TreeEntry]:
        """Every file of a tree by path. Raises Cannot(code=`tree_missing`)."""
        return self._objects.entries(tree)

    def diff(self, before: str, after: str) -> list[TreeChange]:
        """How two trees differ, by path. Lines are not counted in texts over 1 MiB."""
        one, two = self.entries(before), self.entries(after)
        return [
            self._counted(TreeChange(path, one.get(path), two.get(path)))
            for path in sorted(one.keys() | two.keys())
            if one.get(path) != two.get(path)
        ]

    def patch(self, before: str, after: str, paths: Iterable[str] | None = None) -> bytes:
        """The same as a patch that `git apply` takes, of the files of `paths` alone where they are given."""
        one, two = self.entries(before), self.entries(after)
        chosen = one.keys() | two.keys()
        if paths is not None:
            chosen &= set(paths)
        return b"".join(
            file_patch(path, self._file(one.get(path)), self._file(two.get(path)))
            for path in sorted(chosen)
            if one.get(path) != two.get(path)
        )

    def merge(self, base: str, ours: str, theirs: str) -> Merged:
        """Merge two trees that both come from `base`, by whole files."""
        sides = [self.entries(tree) for tree in (base, ours, theirs)]
        agreed, against = merge_entries(sides[0], sides[1], sides[2], self._is_text)
        if against:
            return Merged(None, tuple(self._conflict(one) for one in against))
        return Merged(self._kept(agreed))

    def edited(self, tree: str, files: Mapping[str, TreeEntry | None]) -> str:
        """`tree` with some files put in or taken out (None). Raises Cannot(code=`tree_missing`) for contents it has not."""
        entries = self.entries(tree)
        for path, entry in files.items():
            if entry is None:
                entries.pop(path, None)
                continue
            if self._objects.size(entry.digest) is None:
                self.content(entry.digest)
            entries[path] = entry
        return self._kept(entries)

    def content(self, digest: str) -> bytes:
        """The bytes of a file, whole. Raises Cannot(code=`tree_missing`)."""
        return self._objects.content(digest)

    def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """Bytes of contents, by digest; those that are not there are left out."""
        found = {digest: self._objects.size(digest) for digest in digests}
        return {digest: size for digest, size in found.items() if size is not None}

    def write_content(self, digest: str, descriptor: int) -> None:
        """Write the bytes of a file to a descriptor, piece by piece. Raises Cannot(code=`tree_missing`), OSError."""
        for chunk in self._objects.chunks(digest):
            write_whole(descriptor, chunk)

    def digest_of(self, path: Path) -> TreeEntry | None:
        """What an entry for the file at `path` would be, without keeping it; None where there is no file or link."""
        read = read_file(None, path)
        return None if read is None else read.entry

    def keep(self, name: str, trees: Sequence[str]) -> None:
        """Keep trees for as long as `name` is kept: durable before this returns. Raises Cannot(code=`tree_missing`)."""
        for tree in trees:
            self.entries(tree)
        with self._objects.writing() as writer:
            keep_trees(writer, self._folder, name, trees)

    def forget(self, owner: str) -> None:
        """Let go of everything kept under names that begin with `owner/`."""
        forget_owner(self._objects, owner)

    def _taken(self, folder: Path, rules: PlainRules) -> str:
        with self._objects.writing() as writer:
            place = known_path(self._folder, folder)
            known = load_known(place)
            statuses = statuses_of(folder, rules)
            with refusing(self._folder):
                settled = settled_before(writer, self._folder, folder)
            same = {
                path: file
                for path, status in statuses.items()
                if (file := known.get(path)) is not None
                and file.stamp == stamp_of(status)
                and self._objects.size(file.digest) == status.st_size
            }
            sizes = {path: status.st_size for path, status in statuses.items()}
            refuse_too_much(sizes, sum(size for path, size in sizes.items() if path not in same))
            entries: dict[str, TreeEntry] = {}
            for path, status in statuses.items():
                if path in same:
                    entries[path] = TreeEntry(mode_of(status), same[path].digest)
                elif read := read_file(writer, folder / path):
                    entries[path] = read.entry
                    if read.stamp is not None and read.stamp[3] < settled:
                        same[path] = KnownFile(read.stamp, read.entry.digest)
            tree = writer.put_tree(entries)
            if same != known:
                writer.replace(place, known_document(folder, same), is_durable=False)
        return tree

    def _kept(self, entries: Mapping[str, TreeEntry]) -> str:
        with self._objects.writing() as writer:
            return writer.put_tree(entries)

    def _laid_out(self, path: Path, entry: TreeEntry) -> None:
        retry_eintr(path.parent.mkdir, parents=True, exist_ok=True)
        if entry.mode == LINK:
            path.symlink_to(os.fsdecode(self.content(entry.digest)))
            return
        allowed = 0o777 if entry.mode == EXECUTABLE else 0o666
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, allowed)
        try:
            self.write_content(entry.digest, descriptor)
        finally:
            os.close(descriptor)

    def _note_of(self, folder: Path) -> Path:
        return self._folder / "known" / f"place-{key_of(folder)}"

    @contextmanager
    def _given(self, folder: Path) -> Iterator[Path]:
        """A folder that was given, by its real path; raises Cannot (`snapshot_unreadable`) where another is in its place."""
        known: Place | None = None
        with suppress(OSError, ValueError, LookupError):  # given by a release that left no note
            device, inode = json.loads(self._note_of(folder).read_bytes())["place"]
            known = device, inode
        with hold_folder(folder, known) as real:
            yield real

    def _remember(self, folder: Path, entries: Mapping[str, TreeEntry]) -> None:
        """Know the folder, and the files just laid out, so that the first capture reads only what was changed since."""
        with self._objects.writing() as writer, refusing(self._folder):
            note = {"folder": str(folder), "place": place_of(folder)}
            writer.replace(self._note_of(folder), note, is_durable=True)
            settled = settled_before(writer, self._folder, folder)
            known = {}
            for path, entry in entries.items():
                stamp = stamp_of((folder / path).lstat())
                if entry.mode != LINK and stamp[3] < settled:
                    known[path] = KnownFile(stamp, entry.digest)
            writer.replace(
                known_path(self._folder, folder), known_document(folder, known), is_durable=False
            )

    def _is_text(self, digest: str) -> bool:
        return is_text(self._objects.beginning(digest, _SNIFFED))

    def _file(self, entry: TreeEntry | None) -> tuple[str, bytes] | None:
        return None if entry is None else (entry.mode, self.content(entry.digest))

    def _counted(self, change: TreeChange) -> TreeChange:
        digests = [side.digest for side in (change.before, change.after) if side is not None]
        if not all(self._is_text(digest) for digest in digests):
            return change
        if len(digests) == 2 and digests[0] == digests[1]:
            return replace(change, added=0, deleted=0)
        if any((self._objects.size(digest) or 0) > MOST_COUNTED for digest in digests):
            return change
        old, new = (
            b"" if side is None else self.content(side.digest)
            for side in (change.before, change.after)
        )
        found = counts(old, new)
        return change if found is None else replace(change, added=found[0], deleted=found[1])

    def _conflict(self, one: Disagreement) -> FileConflict:
        both = None
        if one.kind in ("content", "both_added") and one.ours and one.theirs:
            digests = (one.ours.digest, one.theirs.digest)
            if all(
                (self._objects.size(digest) or 0) <= MOST_MARKED and self._is_text(digest)
                for digest in digests
            ):
                both = mark_conflicts(self.content(digests[0]), self.content(digests[1]))
        return FileConflict(one.path, one.kind, one.base, one.ours, one.theirs, both)
