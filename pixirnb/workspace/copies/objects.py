"""Contents and trees on disk, each a file named by its bytes: what the store without git keeps.

    objects/<2 hex>/<62 hex>   a content: what a file holds, or where a link leads
    trees/<2 hex>/<62 hex>     a tree: JSON, a sorted list of [path, mode, digest]
    kept/<owner>/<name>        trees that are not to be dropped
    known/<folder>             what the files of a folder were when they were last read
    tmp/                       what is being written
    lock                       shared by those who write, alone for those who drop

A file gets its name when it is whole and on the disk, so that whoever is killed leaves nothing that is half true.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from pixirnb.errors import Cannot
from pixirnb.protocols.trees import LARGEST_FILE, TreeEntry
from pixirnb.system.atomic_files import let_go, make_folders
from pixirnb.system.retry_interrupted import retry_eintr
from pixirnb.workspace.errors import refusing, unusable
from pixirnb.workspace.missing_trees import tree_missing

CHUNK: Final = 1024 * 1024
_MANY: Final = 100

_CONTENT: Final = re.compile(r"b2:([0-9a-f]{2})([0-9a-f]{62})")
_TREE: Final = re.compile(r"tree:([0-9a-f]{2})([0-9a-f]{62})")


def content_digest(data: bytes) -> str:
    """The name of a content."""
    return "b2:" + blake2b(data, digest_size=32).hexdigest()


class PlainObjects:
    """Reads what is in the folder of a store. Everything it reads it checks."""

    def __init__(self, folder: Path) -> None:
        """`folder` is made with the first thing that is written."""
        self.folder = folder

    def entries(self, tree: str) -> dict[str, TreeEntry]:
        """Every file of a tree by path. Raises Cannot(code=`tree_missing`)."""
        found = _TREE.fullmatch(tree)
        if found is None:
            raise missing(tree)
        try:
            data = (self.folder / "trees" / found[1] / found[2]).read_bytes()
        except FileNotFoundError:
            raise missing(tree) from None
        except OSError as error:
            raise unusable(self.folder, error) from error
        if blake2b(data, digest_size=32).hexdigest() != found[1] + found[2]:
            raise missing(tree)
        return {path: TreeEntry(mode, digest) for path, mode, digest in json.loads(data)}

    def path(self, digest: str) -> Path:
        """The file of a content, there or not. Raises Cannot(code=`tree_missing`) for what is no digest."""
        found = _CONTENT.fullmatch(digest)
        if found is None:
            raise missing(digest)
        return self.folder / "objects" / found[1] / found[2]

    def size(self, digest: str) -> int | None:
        """Bytes of a content; None where it is not there."""
        try:
            return self.path(digest).lstat().st_size
        except OSError:
            return None

    def beginning(self, digest: str, size: int) -> bytes:
        """The first bytes of a content, unchecked."""
        with self._opened(digest) as descriptor:
            return os.read(descriptor, size)

    def content(self, digest: str) -> bytes:
        """A content, whole."""
        return b"".join(self.chunks(digest))

    def chunks(self, digest: str) -> Iterator[bytes]:
        """A content in pieces.

        Raises Cannot(code=`tree_missing`); behind the last piece where the bytes are not those of its name.
        """
        hashed = blake2b(digest_size=32)
        with self._opened(digest) as descriptor:
            while chunk := os.read(descriptor, CHUNK):
                hashed.update(chunk)
                yield chunk
        if "b2:" + hashed.hexdigest() != digest:
            raise missing(digest)

    @contextlib.contextmanager
    def _opened(self, digest: str) -> Iterator[int]:
        try:
            descriptor = os.open(self.path(digest), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            raise missing(digest) from None
        except OSError as error:
            raise unusable(self.folder, error) from error
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def writing(self) -> Iterator[ObjectWriter]:
        """Hold the store open for writing, beside others who write. Raises Cannot(code=`tree_store_unusable`)."""
        with self.locked(fcntl.LOCK_SH):
            writer = ObjectWriter(self)
            try:
                yield writer
            finally:
                writer.discard()

    @contextlib.contextmanager
    def locked(self, kind: int) -> Iterator[bool]:
        """Hold the lock; `LOCK_SH` waits for it, `LOCK_EX` does not: whether it was got."""
        with refusing(self.folder):
            for name in ("", "objects", "trees", "kept", "known", "tmp"):
                make_folders(self.folder / name)
            descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            with refusing(self.folder):
                is_held = self._lock(descriptor, kind)
            yield is_held
        finally:
            os.close(descriptor)

    def _lock(self, descriptor: int, kind: int) -> bool:
        is_alone = True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_alone = False
        if is_alone:
            # Nobody else writes: what lies here was left by someone who was killed.
            for path in (self.folder / "tmp").iterdir():
                retry_eintr(path.unlink, missing_ok=True)
        if kind == fcntl.LOCK_SH:
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        return is_alone or kind == fcntl.LOCK_SH


class ObjectWriter:
    """Puts contents and trees into a store; those who get a name from it get one that outlives a power cut."""

    def __init__(self, objects: PlainObjects) -> None:
        """Only `PlainObjects.writing` makes one: the lock is held."""
        self._objects = objects
        self._temporary = objects.folder / "tmp"
        self._unnamed: dict[str, Path] = {}
        self._places: set[Path] = set()

    def put(self, data: bytes) -> str:
        """Keep a content; it is durable once a tree is."""
        digest = content_digest(data)
        if not self._is_there(digest, len(data)):
            with refusing(self._temporary):
                self._unnamed[digest] = self._written(data)
        return digest

    def put_open(self, descriptor: int) -> str:
        """Keep what an open file holds, read from its beginning.

        Raises OSError where it cannot be read, `EFBIG` where it grows past what a snapshot takes.
        """
        first = os.pread(descriptor, CHUNK, 0)
        if len(first) < CHUNK:
            return self.put(first)
        hashed = blake2b(digest_size=32)
        with refusing(self._temporary):
            target, name = tempfile.mkstemp(dir=self._temporary)
        try:
            at = 0
            while chunk := os.pread(descriptor, CHUNK, at):
                at += len(chunk)
                if at > LARGEST_FILE:
                    raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
                hashed.update(chunk)
                with refusing(self._temporary):
                    write_whole(target, chunk)
        except BaseException:
            let_go(Path(name))
            raise
        finally:
            os.close(target)
        digest = "b2:" + hashed.hexdigest()
        if self._is_there(digest, at):
            let_go(Path(name))
        else:
            self._unnamed[digest] = Path(name)
        return digest

    def put_tree(self, entries: Mapping[str, TreeEntry]) -> str:
        """Keep a tree, durable with all that this writer put before this returns."""
        assert not any(part in {"", ".", ".."} for path in entries for part in path.split("/"))
        rows = sorted((path, entry.mode, entry.digest) for path, entry in entries.items())
        data = json.dumps(rows, separators=(",", ":")).encode()
        name = blake2b(data, digest_size=32).hexdigest()
        with refusing(self._objects.folder):
            self._name_all()
            path = self._objects.folder / "trees" / name[:2] / name[2:]
            if not self._is_kept(path, len(data)):
                self._renamed(self._written(data), path)
            self._sync_places()
        return "tree:" + name

    def replace(self, path: Path, document: Any, *, is_durable: bool) -> None:
        """Put a JSON document in place of another."""
        with refusing(path):
            temporary = self._written(json.dumps(document, separators=(",", ":")).encode())
            if is_durable:
                self._renamed(temporary, path)
                self._sync_places()
            else:
                retry_eintr(temporary.rename, path)

    def stamp(self) -> int:
        """Now, in nanoseconds, as the disk tells it."""
        with refusing(self._temporary):
            descriptor, name = tempfile.mkstemp(dir=self._temporary)
            os.close(descriptor)
            at = Path(name).stat().st_ctime_ns
            let_go(Path(name))
        return at

    def discard(self) -> None:
        """Throw away what got no name."""
        for temporary in self._unnamed.values():
            let_go(temporary)
        self._unnamed.clear()

    def _is_there(self, digest: str, size: int) -> bool:
        return digest in self._unnamed or self._is_kept(self._objects.path(digest), size)

    def _is_kept(self, path: Path, size: int) -> bool:
        try:
            if path.lstat().st_size != size:
                return False
            # It is wanted again: whoever drops what is old and in no tree shall see that.
            os.utime(path)
        except OSError:
            return False
        # It may stem from a process that died before it had made the name durable.
        self._places.add(path.parent)
        return True

    def _written(self, data: bytes) -> Path:
        descriptor, name = tempfile.mkstemp(dir=self._temporary)
        try:
            write_whole(descriptor, data)
        finally:
            os.close(descriptor)
        return Path(name)

    def _name_all(self) -> None:
        # One flush for all takes seconds less than one for each of many. Linux waits for it to end, and says nothing of errors:
        # what such a disk lost is found when it is read, as each content is checked.
        is_flushed = len(self._unnamed) > _MANY and sys.platform == "linux"
        if is_flushed:
            os.sync()
        for digest, temporary in list(self._unnamed.items()):
            self._renamed(temporary, self._objects.path(digest), is_flushed=is_flushed)
            del self._unnamed[digest]
        self._sync_places()

    def _renamed(self, temporary: Path, path: Path, *, is_flushed: bool = False) -> None:
        if not is_flushed:
            sync(temporary)
        retry_eintr(path.parent.mkdir, mode=0o700, exist_ok=True)
        retry_eintr(temporary.rename, path)
        self._places.add(path.parent)

    def _sync_places(self) -> None:
        for place in {*self._places, *(place.parent for place in self._places)}:
            sync(place)
        self._places.clear()


def write_whole(descriptor: int, data: bytes) -> None:
    """Write all of `data`. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync(path: Path) -> None:
    """Make a file, or the names in a folder, durable. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def missing(name: str) -> Cannot:
    """The Cannot for a tree or a content that the store does not have, or not as it was."""
    return tree_missing(name[:80], {"tree": name[:80]})
