"""The store of trees on git: snapshots of a root, folders that steps work in, and merges of trees.

Trees are git's, in a repository of ours next to the runs (`store_folder.py`); the user's is read and never written to. This
file has the order of steps and their locks; each part of the work has a file: `listing` (which files), `index` (files to
trees), `working_copy` (trees to files), `diff`, `merge`, `borrow_objects`. Source: docs/adr/0015-files-flow.md;
`protocols.trees.TreeStore`.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

from pixirnb.errors import Cannot
from pixirnb.protocols.trees import Belonging, Merged, TreeChange, TreeEntry, mark_of
from pixirnb.system.atomic_files import let_go, make_new_folder, put
from pixirnb.system.deep_folders import remove_whole
from pixirnb.system.system_calls import retry_eintr
from pixirnb.workspace.errors import unusable
from pixirnb.workspace.folder_identity import Identity, hold_folder, identity_of, key_of
from pixirnb.workspace.folder_walk import special_files
from pixirnb.workspace.git import refs
from pixirnb.workspace.git.borrow_objects import borrow
from pixirnb.workspace.git.command import Git
from pixirnb.workspace.git.diff import changes_between, entries_of, patch_between
from pixirnb.workspace.git.index import IndexSnapshot, begin_at, edited_tree, record_tree
from pixirnb.workspace.git.listing import Asker, FolderListing
from pixirnb.workspace.git.merge import merge_trees
from pixirnb.workspace.git.read_objects import Write, digest_of, reading
from pixirnb.workspace.git.store_folder import GitStore, disk_time_ns
from pixirnb.workspace.git.user_repository import (
    Repository,
    find_repository,
    identity,
    ignore_rules,
)
from pixirnb.workspace.git.working_copy import lay_out, make_repository
from pixirnb.workspace.rules import Rules

MOST_LEFT: Final = 1000


class GitTrees:
    """A store of the trees of one root in `folder`, which is made with the first of them."""

    def __init__(self, folder: Path, root: Path) -> None:
        """Prepare the store. `folder` is `<state>/trees/<key>`; `root` need not be in a repository."""
        self.root = Path(os.path.realpath(root))
        self._store = GitStore(folder, self.root)
        self._seen: IndexSnapshot | None = None
        self._format = ""

    # --- from files to trees ---

    def snapshot(self, belonging: Belonging) -> str:
        """Return the present content of the root as a tree. Raises Cannot."""
        repository = find_repository(self.root)
        store = self._made(repository)
        index = store.indexes / "root"
        with store.shared() as held, store.index_held(index) as alone:
            git = store.git(index=index, files=self.root).holding(held, alone)
            began = disk_time_ns(held)
            files = self._listing(repository, belonging).of_what_belongs()
            if self._seen is not None and self._seen.is_as(files):
                tree = self._seen.tree
                if refs.renew(store, tree) or self._seen.is_borrowed or refs.has(git, tree):
                    return tree
            tree = self._recorded(repository, git, files)
            is_borrowed = not refs.renew(store, tree)
            self._seen = IndexSnapshot.of(tree, files, began, is_borrowed=is_borrowed)
            return tree

    def marks(self, belonging: Belonging) -> dict[str, object]:
        """Return every file that a snapshot would hold, with a value that changes when it is written. Raises Cannot."""
        repository = find_repository(self.root)
        self._made(repository)
        files = self._listing(repository, belonging).of_what_belongs()
        return {path: mark_of(status) for path, status in files.items()}

    def capture(self, folder: Path, base: str, belonging: Belonging) -> str:
        """Return the present content of a folder that was given `base`, as a tree. Raises Cannot."""
        with self._given(folder) as real, self._folder_index(real, base) as git:
            files = self._listing_of(real, git, belonging).of_what_belongs()
            tree = record_tree(git, real, files)
            refs.renew(self._store, tree)
            return tree

    def left_behind(self, folder: Path, base: str, belonging: Belonging) -> list[str]:
        """Return the new or changed files of such a folder that belong to no snapshot, 1,000 at most; special files too."""
        with self._given(folder) as real, self._folder_index(real, base) as git:
            special = special_files(real, Rules(belonging), MOST_LEFT)
            left = self._listing_of(real, git, belonging).of_what_is_left(MOST_LEFT)
            return sorted({*left, *special})[:MOST_LEFT]

    def edited(self, tree: str, files: Mapping[str, TreeEntry | None]) -> str:
        """Return `tree` with some files put in or taken out (None)."""
        with self._trees(tree) as git, self._passing_index(git) as passing:
            edited = edited_tree(passing, tree, files)
            refs.renew(self._store, edited)
            return edited

    def merge(self, base: str, ours: str, theirs: str) -> Merged:
        """Merge two trees that both come from `base`; renames are a file gone and one made."""
        with self._trees(base, ours, theirs) as git, self._passing_index(git) as passing:
            merged = merge_trees(passing, base, ours, theirs)
            if merged.tree is not None:
                refs.renew(self._store, merged.tree)
            return merged

    # --- from trees to files ---

    def give(self, tree: str, folder: Path) -> None:
        """Lay the files of `tree` out in `folder`, which must not exist, with a repository of its own. Raises Cannot."""
        note = self._note_of(folder)
        folder = Path(os.path.realpath(folder.parent), folder.name)
        with self._trees(tree):
            repository = find_repository(self.root)
            self._borrow_history(repository)
            self._learn_rules(repository)
            try:
                make_new_folder(folder)
            except OSError as error:
                raise unusable(folder, error) from error
            try:
                put(note, json.dumps(identity_of(folder)).encode())
                self._give(tree, folder, repository)
            except BaseException as error:
                remove_whole(folder)
                if isinstance(error, OSError):
                    raise unusable(folder, error) from error
                raise

    def _give(self, tree: str, folder: Path, repository: Repository | None) -> None:
        index = self._index_of(folder, tree)
        with self._store.shared() as held, self._store.index_held(index) as alone:
            retry_eintr(index.unlink, missing_ok=True)
            lay_out(self._store.git(index=index, files=folder).holding(held, alone), tree)
            shallow = b""
            if repository is not None and (repository.common / "shallow").is_file():
                shallow = (repository.common / "shallow").read_bytes()
            make_repository(
                self._store,
                folder,
                tree,
                index=index,
                parent=self._parent(repository),
                shallow=shallow,
                user={} if repository is None else identity(self.root),
            )

    # --- what a tree holds ---

    def entries(self, tree: str) -> dict[str, TreeEntry]:
        """Return every file of a tree by path."""
        with self._trees(tree) as git:
            return entries_of(git, tree)

    def diff(self, before: str, after: str) -> list[TreeChange]:
        """Return the differences of two trees, by path."""
        with self._trees(before, after) as git:
            return changes_between(git, before, after)

    def patch(self, before: str, after: str, paths: Iterable[str] | None = None) -> bytes:
        """Return the differences as a patch that `git apply` takes; of `paths` alone where they are given."""
        if paths is not None:
            left = self.entries(after)
            after = self.edited(before, {path: left.get(path) for path in paths})
        with self._trees(before, after) as git:
            return patch_between(git, before, after)

    def put(self, content: bytes) -> str:
        """Store the bytes of a file, without any filter; return their digest."""
        with self._trees() as git:
            return git.run("hash-object", "-w", "--stdin", given=content).out.decode().strip()

    def content(self, digest: str) -> bytes:
        """Return the bytes of a file, whole."""
        with self._trees(digest, kind="blob") as git:
            return git.run("cat-file", "blob", digest).out

    def sizes(self, digests: Sequence[str]) -> dict[str, int]:
        """Return the sizes of contents, by digest; missing ones are left out. Raises Cannot."""
        with self._trees() as git:
            given = "".join(f"{digest}\n" for digest in digests).encode()
            output = git.run("cat-file", "--batch-check=%(objectsize) %(objectname)", given=given)
        rows = (row.split(" ") for row in output.out.decode().splitlines())
        return {name: int(size) for size, name in rows if name != "missing"}

    def write_content(self, digest: str, descriptor: int) -> None:
        """Write the bytes of a file to a descriptor. Raises Cannot, OSError."""
        with self.contents() as write:
            write(digest, descriptor)

    @contextmanager
    def contents(self) -> Iterator[Write]:
        """Yield a function that writes files to descriptors, by one git, for one thread. It raises as `write_content`."""
        with self._trees() as git, reading(git, self.root) as write:
            yield write

    def digest_of(self, path: Path) -> TreeEntry | None:
        """Return the entry that the file at `path` would have; None where nothing, or no file, is there. Raises Cannot."""
        if not self._format:
            made = self._store.is_made
            store = self._store if made else self._made(find_repository(self.root))
            self._format = store.object_format
        return digest_of(path, self.root, self._format)

    # --- how long ---

    def keep(self, name: str, trees: Sequence[str]) -> None:
        """Keep trees for as long as `name` is kept: on disk before this returns. Raises Cannot."""
        with self._trees(*trees) as git:
            refs.keep(self._store, git, name, trees)

    def forget(self, owner: str) -> None:
        """Release all trees kept under names that begin with `owner/`, and objects that have no other ref."""
        if self._store.is_made:
            refs.forget(self._store, owner)

    # --- the store ---

    def _made(self, repository: Repository | None) -> GitStore:
        self._store.make("sha1" if repository is None else repository.object_format)
        return self._store

    def _recorded(
        self, repository: Repository | None, git: Git, files: Mapping[str, os.stat_result]
    ) -> str:
        """Return the tree of the root's files. Damage to the index (a kill, a full disk, a lost object) costs the index, not
        the snapshot: it is only a cache and is made again, at last without the user's history, which may have holes."""
        index = self._store.indexes / "root"
        for _ in range(2):
            try:
                self._follow(repository, git, index)
                return record_tree(git, self.root, files)
            except Cannot as error:
                if error.code != "tree_store_unusable":
                    raise
                retry_eintr(index.unlink, missing_ok=True)
        return record_tree(git, self.root, files)

    def _follow(self, repository: Repository | None, git: Git, index: Path) -> None:
        """Begin at the present HEAD of the user's repository: link its objects, and read its tree."""
        if repository is None or repository.tree is None:
            return
        seed = index.with_name("seed")
        known = seed.read_text() if seed.exists() and index.exists() else ""
        if known != repository.tree and self._borrow_history(repository):
            begin_at(git, repository.tree)
            put(seed, repository.tree.encode())

    def _learn_rules(self, repository: Repository | None) -> None:
        """Write the ignore rules that do not lie in the root, for folders that are given."""
        rules = b"" if repository is None else ignore_rules(self.root, repository)
        exclude = self._store.exclude
        if rules != (exclude.read_bytes() if exclude.exists() else b""):
            put(exclude, rules)

    def _borrow_history(self, repository: Repository | None) -> bool:
        """Link the objects of the user's HEAD in, unless they are here; return whether they are now."""
        commit = None if repository is None else repository.commit
        if repository is None or commit is None or repository.is_partial:
            return False
        if repository.object_format != self._store.object_format:
            return False
        git = self._store.git()
        if not refs.has(git, commit):
            try:
                borrow(repository.common / "objects", self._store.borrowed)
            except OSError as error:
                raise unusable(self._store.borrowed, error) from error
        return refs.has(git, commit)

    def _parent(self, repository: Repository | None) -> str | None:
        """Return the parent commit of a given folder's own commit. The commit of a bigger repository has other paths in it."""
        if repository is None or repository.commit is None or repository.top != self.root:
            return None
        is_here = not repository.is_partial and refs.has(self._store.git(), repository.commit)
        return repository.commit if is_here else None

    def _listing(self, repository: Repository | None, belonging: Belonging) -> FolderListing:
        plain = self._asker(self.root)
        if repository is None:
            ask = plain
        else:

            def ask(folder: Path) -> Git:
                return Git.theirs(folder, is_top=folder != self.root)

        return FolderListing(self.root, ask, plain, Rules(belonging))

    def _listing_of(self, folder: Path, git: Git, belonging: Belonging) -> FolderListing:
        plain = self._asker(folder)
        return FolderListing(
            folder,
            lambda inner: git if inner == folder else plain(inner),
            plain,
            Rules(belonging),
        )

    def _asker(self, root: Path) -> Asker:
        """Return our git, with an index that does not exist: every file is unknown to it."""
        nothing = self._store.indexes / "nothing"

        def ask(folder: Path) -> Git:
            is_within = folder != root
            return self._store.git(index=nothing, files=folder if is_within else root)

        return ask

    def _index_of(self, folder: Path, base: str) -> Path:
        name = blake2b(os.fsencode(folder) + b"\0" + base.encode(), digest_size=16).hexdigest()
        return self._store.indexes / f"given-{name}"

    def _note_of(self, folder: Path) -> Path:
        return self._store.indexes / f"place-{key_of(folder)}"

    @contextmanager
    def _given(self, folder: Path) -> Iterator[Path]:
        """Yield the real path of a given folder. Raises Cannot (`snapshot_unreadable`) where another is in its place."""
        known: Identity | None = None
        with suppress(OSError, ValueError):  # given by a release that left no note
            device, inode = json.loads(self._note_of(folder).read_bytes())
            known = device, inode
        with hold_folder(folder, known) as real:
            yield real

    @contextmanager
    def _folder_index(self, folder: Path, base: str) -> Iterator[Git]:
        """Yield a temporary index for a folder that was given `base`, as `give` left it: it holds `base`, and nothing else."""
        with self._trees(base) as git, self._passing_index(git, files=folder) as passing:
            if not self._has_copied(self._index_of(folder, base), passing, base):
                passing.run("read-tree", base)
            yield passing

    @staticmethod
    def _has_copied(given: Path, passing: Git, base: str) -> bool:
        """Return whether the index that `give` left could be copied, and holds `base`."""
        copy = Path(passing.environment["GIT_INDEX_FILE"])
        try:
            # With its dates: one that looks younger would make git trust files that changed in the same instant.
            shutil.copy2(given, copy)
        except OSError:
            return False
        output = passing.run("write-tree", accepted=(0, 1, 128))
        if output.code == 0 and output.out.decode().strip() == base:
            return True
        retry_eintr(copy.unlink)
        return False

    @contextmanager
    def _passing_index(self, git: Git, files: Path | None = None) -> Iterator[Git]:
        index = self._store.passing_index()
        try:
            yield self._store.git(index=index, files=files).holding(*git.held)
        finally:
            let_go(index)
            let_go(index.with_name(f"{index.name}.lock"))

    @contextmanager
    def _trees(self, *digests: str, kind: str = "tree") -> Iterator[Git]:
        """Yield git on the store for use of the digests. Raises Cannot (`tree_missing`) where one, or a part of it, is lost."""
        if not self._store.is_made:
            raise refs.missing(digests[0] if digests else "", self.root)
        with self._store.shared() as held:
            git = self._store.git().holding(held)
            refs.require(git, digests, kind, self.root)
            try:
                yield git
            except Cannot as error:
                if refs.tells_of_loss(error):
                    raise refs.missing(digests[0], self.root) from error
                raise
