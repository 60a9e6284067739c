"""Blobs without a disk: a dict that tests may look into and rob."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pixirnb.ids import digest_of
from pixirnb.store.blobs import (
    BLOB_LIMIT,
    blob_damaged,
    blob_missing,
    refuse_too_large,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class MemoryBlobs:
    """The blobs of one run, in a dict that tests may look into and rob."""

    stored: dict[str, bytes]

    def __init__(self) -> None:
        """Empty."""
        self.stored = {}

    def put(self, data: bytes) -> str:
        """Store `data` and return its digest. Twice is once. Raises Cannot(`limit_exceeded`)."""
        refuse_too_large(len(data), BLOB_LIMIT)
        digest = digest_of(data)
        self.stored[digest] = bytes(data)
        return digest

    def put_file(
        self, path: Path, before_piece: Callable[[], object] = lambda: None
    ) -> tuple[str, int]:
        """Store the bytes of a file, in one piece, and return their digest and number; the file itself stays."""
        before_piece()
        data = path.read_bytes()
        return self.put(data), len(data)

    def draft(self) -> MemoryDraft:
        """Return a blob that is written piece by piece."""
        return MemoryDraft(self.put)

    def get(self, digest: str) -> bytes:
        """Read and check a blob. Raises LogDamaged(code=`blob_missing` | `blob_damaged`)."""
        if digest not in self.stored:
            raise blob_missing(digest)
        if digest_of(self.stored[digest]) != digest:
            raise blob_damaged(digest)
        return self.stored[digest]

    def path(self, digest: str) -> Path | None:  # noqa: ARG002 - the protocol's
        """Return None: there is no file."""
        return None

    def has(self, digest: str) -> bool:
        """Return whether the blob is there (not whether it is intact)."""
        return digest in self.stored

    def is_whole(self, digest: str) -> bool:
        """Return whether the blob is there and is what was written."""
        return digest in self.stored and digest_of(self.stored[digest]) == digest


class MemoryDraft:
    """A blob on its way; made by MemoryBlobs."""

    path: Path | None = None

    def __init__(self, put: Callable[[bytes], str]) -> None:
        """Empty."""
        self._put = put
        self._data = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    @property
    def size(self) -> int:
        """Bytes so far."""
        return len(self._data)

    def write(self, data: bytes) -> None:
        """Add bytes. Raises Cannot(`limit_exceeded`)."""
        refuse_too_large(len(self._data) + len(data), BLOB_LIMIT)
        self._data += data

    def keep(self) -> str:
        """Make the bytes a blob; its digest."""
        return self._put(bytes(self._data))

    def drop(self) -> None:
        """Do nothing: there is no file."""
