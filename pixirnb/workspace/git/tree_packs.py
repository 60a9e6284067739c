"""Trees of whole folders, packed for another machine: implements `protocols.trees.TreePacks` by a bare repository of our own.

A step elsewhere finds what it would find here, and what it leaves is found here: ignored files, links and modes too. Left out
are empty folders, pipes and sockets, and the repositories in the folders: each side makes those itself.
Source: docs/adr/0041-copies-travel-as-packs.md.
"""

from __future__ import annotations

import os
import secrets
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from pixirnb.protocols.trees import CopyFolders
from pixirnb.system.atomic_files import make_new_folder
from pixirnb.system.deep_folders import remove_whole, walk
from pixirnb.system.system_calls import retry_eintr
from pixirnb.workspace.errors import unreadable, unusable
from pixirnb.workspace.git.command import AS_IT_IS, CALLER, Git, GitCaller
from pixirnb.workspace.git.index import record_tree
from pixirnb.workspace.git.store_folder import GitStore
from pixirnb.workspace.git.working_copy import lay_out, make_repository
from pixirnb.workspace.remove_copies import remove_folder
from pixirnb.workspace.rules import is_reserved

_KNOWN: Final = 20
"""Number of trees that are named to the other side."""
_LOOSE: Final = 1024 * 1024
"""Maximum bytes of a pack that does not stay one."""


class GitTreePacks:
    """Trees of whole folders in `folder`, which is made with the first of them. See `TreePacks`."""

    def __init__(self, folder: Path) -> None:
        self._store = GitStore(folder, folder)
        self._lock = threading.Lock()
        self._known: dict[str, None] = {}

    def known(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(self._known)[-_KNOWN:]

    def record(self, top: Path, is_over: Callable[[], bool]) -> str:
        # What a step has left can keep git busy for ever.
        token = CALLER.set(GitCaller({}, lambda _: None, is_over))
        try:
            with self._index(top) as git:
                return self._noted(record_tree(git, top, _files_in(top)))
        finally:
            CALLER.reset(token)

    def pack(self, tree: str, known: Sequence[str]) -> Path:
        git, file = self._git(), self.incoming()
        listed = git.run("cat-file", "--batch-check", given="\n".join(known).encode()).out.decode()
        here = [line.split(" ")[0] for line in listed.splitlines() if " tree " in line]
        given = "\n".join([tree, *(f"^{name}" for name in here)]).encode()
        with file.open("wb") as output:
            git.write(output.fileno(), "pack-objects", "--revs", "--stdout", "-q", given=given)
        return file

    def incoming(self) -> Path:
        self._git()
        file = self._packs / f"tmp-{secrets.token_hex(8)}"
        file.touch(mode=0o600)
        return file

    def add(self, pack: Path, tree: str) -> None:
        # Thousands of packs would be slow to search. Git finds one by its index, which is made last.
        if pack.stat().st_size <= _LOOSE:
            self._git().run("unpack-objects", "-q", given=pack.read_bytes())
            pack.unlink()
        else:
            named = pack.rename(pack.with_name(f"pack-{pack.name.removeprefix('tmp-')}.pack"))
            self._git().run("index-pack", str(named))
        self._noted(tree)

    def lay_out(self, tree: str, copies: CopyFolders) -> None:
        try:
            make_new_folder(copies.top)
        except OSError as error:
            raise unusable(copies.top, error) from error
        with self._index(copies.top) as git:
            lay_out(git, tree)
        retry_eintr(copies.workspace.mkdir, parents=True, exist_ok=True)
        for root in copies.roots:
            retry_eintr(root.mkdir, parents=True, exist_ok=True)
            self._make_repository(tree, copies.top, root)

    def update(self, top: Path, before: str, after: str) -> None:
        if before != after:
            with self._index(top) as git:
                replace(git, umask=AS_IT_IS).run("read-tree", "-m", "-u", before, after)
        self._forget(top)

    def remove(self, top: Path) -> None:
        self._forget(top)
        remove_folder(top)

    def close(self) -> None:
        remove_whole(self._store.folder)

    def _make_repository(self, tree: str, top: Path, root: Path) -> None:
        """Make a folder a repository, as every isolated step finds one: one commit with what it was given."""
        index = self._store.passing_index()
        git = self._store.git(index=index, files=root)
        inner = root.relative_to(top)
        name = f"{tree}:{inner}" if inner.parts else tree
        digest = git.run("rev-parse", "--verify", "-q", name, accepted=(0, 1)).out.decode().strip()
        own = digest or git.run("mktree").out.decode().strip()
        git.run("read-tree", own)
        git.run("update-index", "-q", "--refresh", accepted=(0, 1))
        make_repository(self._store, root, own, index=index, parent=None, shallow=b"", user={})
        index.unlink()

    def _forget(self, top: Path) -> None:
        index = self._index_of(top)
        for path in (index, index.with_name(f"{index.name}.held")):
            path.unlink(missing_ok=True)

    def _noted(self, tree: str) -> str:
        with self._lock:
            self._known.pop(tree, None)
            self._known[tree] = None
        return tree

    def _git(self) -> Git:
        with self._lock:
            self._store.make("sha1")
        return self._store.git()

    @property
    def _packs(self) -> Path:
        return self._store.directory / "objects" / "pack"

    @contextmanager
    def _index(self, top: Path) -> Iterator[Git]:
        """Yield git with the index of a folder, which holds what was last recorded or laid out there."""
        self._git()
        index = self._index_of(top)
        with self._store.index_held(index):
            yield self._store.git(index=index, files=top)

    def _index_of(self, top: Path) -> Path:
        return self._store.indexes / blake2b(os.fsencode(top), digest_size=16).hexdigest()


def _files_in(top: Path) -> dict[str, os.stat_result]:
    """Return the files and links of a folder, by path. Raises Cannot (`snapshot_unreadable`)."""

    def refuse(error: OSError) -> None:
        path = os.path.relpath(os.fspath(error.filename or top), top)
        raise unreadable(path, top, error.strerror or str(error)) from error

    files: dict[str, os.stat_result] = {}
    for current, folders, names in walk(top, refuse):
        inner = current[len(str(top)) :].lstrip("/")
        folders[:] = [name for name in folders if not is_reserved(name)]
        links = [name for name in folders if os.path.islink(f"{current}/{name}")]  # noqa: PTH114 - thousands of files
        for name in names + links:
            path = f"{inner}/{name}" if inner else name
            try:
                status = os.lstat(f"{current}/{name}")
            except FileNotFoundError:
                continue
            if not is_reserved(name) and _is_file(status):
                files[path] = status
    return files


def _is_file(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)
