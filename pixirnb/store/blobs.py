"""Bytes too large for a log line, stored next to it under their digest.

`blobs/<2 hex>/<64 hex>`, named `b2:<64 hex>` in the log: blake2b-256 of the bytes. A blob is on the
disk, name and all, before `put` returns, so that an event may name it, is read-only, and is checked when read.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, Self

from pixirnb.errors import Cannot, LogDamaged, LogWriteFailed
from pixirnb.ids import digest_of
from pixirnb.store.private_files import linked_error, make_private, open_private, unusable
from pixirnb.system.atomic_files import let_go, sync_folder
from pixirnb.system.system_calls import open_plain, retry_eintr

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BLOB_LIMIT: Final = 2 * 1024**3
"""Maximum number of bytes of one blob."""

_DIGEST: Final = re.compile(r"b2:[0-9a-f]{64}")
_CHUNK: Final = 1024 * 1024
_TEMPORARY: Final = "tmp."
_names = itertools.count()


def refuse_too_large(size: int, limit: int) -> None:
    """Raise Cannot(code=`limit_exceeded`) for more than `limit` bytes."""
    if size > limit:
        raise Cannot(
            f"{size} bytes exceed the blob limit of {limit}",
            fix="write a file in the workspace and return its path",
            code="limit_exceeded",
            details={"limit": "blob", "bytes": size, "most": limit},
        )


def blob_missing(digest: str) -> LogDamaged:
    """Return the LogDamaged for a missing blob."""
    return LogDamaged(
        f"blob {digest} is missing from the run folder",
        fix="restore it from a copy of the run folder, or rerun the step in a new run",
        code="blob_missing",
        details={"digest": digest},
    )


def blob_damaged(digest: str) -> LogDamaged:
    """Return the LogDamaged for a blob whose bytes do not match its name."""
    return LogDamaged(
        f"blob {digest} is damaged",
        fix="restore it from a copy of the run folder, or rerun the step in a new run",
        code="blob_damaged",
        details={"digest": digest},
    )


class FileBlobs:
    """The blobs of one run folder. One writer; any number of readers, in any process."""

    syncs: int
    """Number of disk syncs."""

    def __init__(
        self,
        folder: Path,
        *,
        limit: int = BLOB_LIMIT,
        require_hold: Callable[[], object] = lambda: None,
    ) -> None:
        """Create the blobs of a run: `folder` is its `blobs`, made with the first blob.

        `require_hold` raises if no blob may be written.
        """
        self._folder = folder
        self._require_hold = require_hold
        self._limit = limit
        self._durable: set[str] = set()
        """Digests, and names of folders, that outlast a power failure."""
        self.syncs = 0

    def put(self, data: bytes) -> str:
        """Store `data` durably and return its digest. Idempotent; a file of that name with other bytes is replaced.

        Raises Cannot(code=`limit_exceeded`), LogWriteFailed.
        """
        refuse_too_large(len(data), self._limit)
        digest = digest_of(data)
        if not (self._is_kept(digest, len(data)) and self._is_durable(digest)):
            with self.draft() as draft:
                draft.write(data)
                draft.keep()
        return digest

    def put_file(
        self, path: Path, before_piece: Callable[[], object] = lambda: None
    ) -> tuple[str, int]:
        """Store the bytes of a file without holding them in memory; return their digest and how many they were.

        The file itself stays, and may grow meanwhile.
        What `before_piece` raises ends it. Raises Cannot(code=`limit_exceeded`), LogWriteFailed, and OSError when the file
        cannot be read.
        """
        with open_plain(path) as source:
            refuse_too_large(os.fstat(source.fileno()).st_size, self._limit)
            with self.draft() as draft:
                before_piece()
                while chunk := source.read(_CHUNK):
                    draft.write(chunk)
                    before_piece()
                return draft.keep(), draft.size

    def draft(self) -> FileDraft:
        """Start a blob that is written piece by piece. Raises LogWriteFailed."""
        self._require_hold()
        temporary = self._folder / f"{_TEMPORARY}{os.getpid()}.{next(_names)}"
        try:
            make_private(self._folder)
            descriptor = open_private(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        except OSError as error:
            raise _write_failed(self._folder, error) from error
        return FileDraft(self, temporary, descriptor, self._limit)

    def get(self, digest: str) -> bytes:
        """Read and check a blob. Raises LogDamaged(code=`blob_missing` | `blob_damaged`)."""
        if _DIGEST.fullmatch(digest) is None:
            raise blob_missing(digest)
        path = self._path(digest)
        try:
            if path.parent.is_symlink():
                raise linked_error(path.parent)
            with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
                data = file.read()
        except OSError as error:
            if error.errno in {
                errno.ENOENT,
                errno.EISDIR,
                errno.ENXIO,
            }:  # or no file is in its place
                raise blob_missing(digest) from None
            raise unusable(path, error) from error
        if digest_of(data) != digest:
            raise blob_damaged(digest)
        return data

    def beginning(self, digest: str, limit: int) -> tuple[bytes, int]:
        """Return the first `limit` bytes of a blob, and its size; checked only if that is all of it. Raises like `get`."""
        path = self.path(digest)
        if path is None or path.parent.is_symlink():
            raise blob_missing(digest)
        try:
            with os.fdopen(open_private(path, os.O_RDONLY), "rb") as file:
                size = os.fstat(file.fileno()).st_size
                data = file.read(limit)
        except OSError as error:
            raise unusable(path, error) from error
        if size <= limit and digest_of(data) != digest:
            raise blob_damaged(digest)
        return data, size

    def path(self, digest: str) -> Path | None:
        """Return the file that holds a blob, for passing on by name; None when it is missing.

        Its bytes are not checked, and must not be changed.
        """
        return self._path(digest) if self.has(digest) else None

    def has(self, digest: str) -> bool:
        """Return whether the blob exists (not whether it is intact)."""
        return _DIGEST.fullmatch(digest) is not None and self._path(digest).is_file()

    def fault(self, digest: str) -> str | None:
        """Return the fault of a blob, read in pieces: `blob_missing`, `blob_damaged` or None."""
        if not self.has(digest):
            return "blob_missing"
        hashed = blake2b(digest_size=32)
        try:
            with os.fdopen(open_private(self._path(digest), os.O_RDONLY), "rb") as file:
                while chunk := file.read(_CHUNK):
                    hashed.update(chunk)
        except OSError:
            return "blob_damaged"
        return None if "b2:" + hashed.hexdigest() == digest else "blob_damaged"

    def is_whole(self, digest: str) -> bool:
        """Return whether the blob exists and is intact. Reads it in pieces."""
        path = self.path(digest)
        if path is None or path.parent.is_symlink():
            return False
        hashed = blake2b(digest_size=32)
        try:
            with os.fdopen(open_private(path, os.O_RDONLY), "rb", buffering=0) as file:
                while chunk := file.read(_CHUNK):
                    hashed.update(chunk)
        except OSError:
            return False
        return "b2:" + hashed.hexdigest() == digest

    def sweep(self) -> None:
        """Remove unfinished drafts of a dead writer. Only for the owner of the run."""
        for path in self._folder.glob(f"{_TEMPORARY}*"):
            let_go(path)

    def _path(self, digest: str) -> Path:
        return self._folder / digest[3:5] / digest[3:]

    def _is_kept(self, digest: str, size: int) -> bool:
        """Return whether these very bytes lie there: a damaged file of their size must not stand in for them."""
        try:
            return self._path(digest).lstat().st_size == size and self.is_whole(digest)
        except OSError:
            return False

    def _is_durable(self, digest: str) -> bool:
        if digest in self._durable:
            return True
        path = self._path(digest)
        try:
            # It may stem from a process that died before it had made the name durable.
            self._sync(path.parent)
            self._sync(self._folder)
        except OSError:
            return False
        self._durable.add(digest)
        return True

    def name(self, temporary: Path, digest: str) -> None:
        """Give a synced draft its name as a blob. For `FileDraft`. Raises LogWriteFailed."""
        self._require_hold()
        self.syncs += 1
        path = self._path(digest)
        try:
            if path.parent.is_symlink():
                raise linked_error(path.parent)
            make_private(path.parent)
            retry_eintr(temporary.rename, path)
            self._sync(path.parent)
            if path.parent.name not in self._durable:
                # Whoever made the folder may have died before its name was durable.
                self._sync(self._folder)
                self._durable.add(path.parent.name)
        except OSError as error:
            raise _write_failed(path, error) from error
        self._durable.add(digest)

    def _sync(self, folder: Path) -> None:
        sync_folder(folder)
        self.syncs += 1


class FileDraft:
    """A draft of a blob: bytes come in pieces, and are a blob once `keep` has returned. Belongs to one thread at a time."""

    path: Path | None
    """The file that holds the bytes now, for reading."""
    size: int

    def __init__(self, blobs: FileBlobs, path: Path, descriptor: int, limit: int) -> None:
        self.path = path
        self.size = 0
        self._blobs = blobs
        self._file = path
        self._descriptor: int | None = descriptor
        self._limit = limit
        self._hashed = blake2b(digest_size=32)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    def write(self, data: bytes) -> None:
        """Add bytes. Raises Cannot(code=`limit_exceeded`), LogWriteFailed."""
        assert self._descriptor is not None
        refuse_too_large(self.size + len(data), self._limit)
        _write_whole(self._descriptor, data, self._file)
        self._hashed.update(data)
        self.size += len(data)

    def keep(self) -> str:
        """Make the bytes a durable blob and return its digest. Raises LogWriteFailed."""
        assert self._descriptor is not None
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise _write_failed(self._file, error) from error
        digest = "b2:" + self._hashed.hexdigest()
        self._blobs.name(self._file, digest)
        os.close(self._descriptor)
        self._descriptor = None
        self.path = self._blobs.path(digest)
        return digest

    def drop(self) -> None:
        """Delete the draft unless it was kept. Safe to call twice."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
            let_go(self._file)


def _write_whole(descriptor: int, data: bytes, path: Path) -> None:
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except OSError as error:
        raise _write_failed(path, error) from error


def _write_failed(path: Path, error: OSError) -> LogWriteFailed:
    return LogWriteFailed(
        f"{path} could not be written: {error.strerror or error}",
        fix="free disk space or repair the disk, then resume the run",
        details={"path": str(path), "errno": error.errno},
    )
