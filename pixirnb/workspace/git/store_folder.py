"""The folder of a store of trees on git: its parts, its creation, and its locks.

    git/        a bare repository of ours; trees are kept by its refs below `refs/pixirnb/`
    borrowed/   objects of the user's repository, linked in; never pruned
    index/      one index for the root, one for each folder that was given, and those of a moment
    lock        held shared to make objects that have no ref yet, alone to prune
    root        the root, for people

Files that we write here are put in place by a rename: a kill leaves the old or the new.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from pixirnb.system.atomic_files import keep_names, make_folders, put
from pixirnb.system.system_calls import retry_eintr
from pixirnb.workspace.errors import unusable
from pixirnb.workspace.git.command import Git, require_time

_FIRST_PAUSE_S: Final = 0.0005
_LAST_PAUSE_S: Final = 0.02
ATTRIBUTES: Final = (
    b"* -text !eol -ident -filter -working-tree-encoding !diff !merge !conflict-marker-size !crlf\n"
)
"""Rules by which bytes are bytes, whatever a `.gitattributes` of the tree says: the strongest rules of all, for every file."""

_CONFIG: Final = """[core]
	repositoryFormatVersion = {version}
	bare = true
	fileMode = true
	symlinks = true
	ignoreCase = false
	precomposeUnicode = false
	protectHFS = false
	protectNTFS = false
	autocrlf = false
	safecrlf = false
	hooksPath = /dev/null
	fsync = objects,reference
	fsyncMethod = batch
[gc]
	auto = 0
[maintenance]
	auto = false
[merge]
	renames = false
	directoryRenames = false
	conflictStyle = merge
[diff]
	renames = false
	algorithm = myers
[index]
	threads = false
	version = 2
"""
_FORMAT: Final = "[extensions]\n\tobjectFormat = sha256\n"


class GitStore(Struct, frozen=True):
    """Paths and locks of one store."""

    folder: Path
    root: Path

    @property
    def directory(self) -> Path:
        """Return the store's repository."""
        return self.folder / "git"

    @property
    def borrowed(self) -> Path:
        """Return the folder of the objects that are the user's."""
        return self.folder / "borrowed"

    @property
    def indexes(self) -> Path:
        """Return the folder of the indexes."""
        return self.folder / "index"

    @property
    def exclude(self) -> Path:
        """Return the file of ignore rules in addition to the `.gitignore` files of the root."""
        return self.directory / "info" / "exclude"

    @property
    def object_format(self) -> str:
        """Return the object format, `sha1` or `sha256`, as the store was made."""
        is_new = "sha256" in (self.directory / "config").read_text(encoding="utf-8")
        return "sha256" if is_new else "sha1"

    @property
    def is_made(self) -> bool:
        """Return whether the store can be used."""
        return (self.directory / "HEAD").exists()

    def make(self, object_format: str) -> None:
        """Make the missing parts; `HEAD` comes last and says that all exist. Raises Cannot (`tree_store_unusable`)."""
        if self.is_made:
            return
        try:
            for part in (
                *(self.indexes, self.borrowed / "pack"),
                *(self.directory / "objects" / name for name in ("info", "pack")),
                *(self.directory / name for name in ("info", "refs")),
            ):
                make_folders(part)
            is_old = object_format == "sha1"
            config = _CONFIG.format(version=0 if is_old else 1) + ("" if is_old else _FORMAT)
            put(self.folder / "root", os.fsencode(self.root) + b"\n")
            put(self.directory / "config", config.encode())
            put(self.directory / "info" / "attributes", ATTRIBUTES)
            # Relative, so that a state folder can be moved.
            put(self.directory / "objects" / "info" / "alternates", b"../../borrowed\n")
            put(self.directory / "HEAD", b"ref: refs/heads/pixirnb\n")
        except OSError as error:
            raise unusable(self.folder, error) from error
        keep_names.cache_clear()

    def git(self, *, index: Path | None = None, files: Path | None = None) -> Git:
        """Return git on this store."""
        return Git.ours(self.directory, index=index, files=files)

    def passing_index(self) -> Path:
        """Return a unique name for a temporary index."""
        return self.indexes / f"passing-{secrets.token_hex(8)}"

    @contextmanager
    def shared(self) -> Iterator[int]:
        """Hold off pruning; the descriptor is for a git that must not be outlived."""
        with _lock(self.folder / "lock", fcntl.LOCK_SH) as held:
            yield held

    @contextmanager
    def alone(self) -> Iterator[int | None]:
        """Lock out all others; yield None where another holds the lock."""
        try:
            descriptor = _opened(self.folder / "lock")
        except OSError as error:
            raise unusable(self.folder, error) from error
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield None
                return
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def index_held(self, index: Path) -> Iterator[int]:
        """Lock out all others from an index, and remove the lock of a git that was killed."""
        with _lock(index.with_name(f"{index.name}.held"), fcntl.LOCK_EX) as held:
            retry_eintr(index.with_name(f"{index.name}.lock").unlink, missing_ok=True)
            yield held


@contextmanager
def _lock(path: Path, how: int) -> Iterator[int]:
    try:
        descriptor = _opened(path)
    except OSError as error:
        raise unusable(path, error) from error
    try:
        pause = _FIRST_PAUSE_S
        while not _is_taken(descriptor, how):
            # Whoever has it may be stopped, or have a git that hangs: an attempt waits as long as it has time.
            require_time("lock the store of trees", "end what holds it, such as a stopped `prune`")
            time.sleep(pause)
            pause = min(2 * pause, _LAST_PAUSE_S)
        yield descriptor
    finally:
        # Closing is enough, and only then: a git of ours that lives on holds the same lock until it ends.
        os.close(descriptor)


def _is_taken(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def disk_time_ns(file: int | Path) -> int:
    """Return the time by the clock of a disk, as a file or folder of ours there gets it."""
    os.utime(file)
    return os.stat(file).st_mtime_ns  # noqa: PTH116 - a descriptor, too
