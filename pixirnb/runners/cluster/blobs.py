"""Large arguments of functions: left out of packets, sent once to each worker, and kept there by digest.

without_blobs(work)  the work without them, and their bytes by digest
with_blobs(work, …)  the work with them, read by digest
WorkerBlobs          those that drivers have sent to a worker
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from pixirnb.ids import digest_of
from pixirnb.protocols.work import PythonWork, UnloadedValue, Work

LARGE: Final = 1024 * 1024
"""Bytes from which an argument is left out of a packet."""
_KEPT: Final = 1024 * 1024 * 1024
"""Maximum bytes that a worker keeps."""


class LeftOut(Struct, frozen=True):
    """A large argument in a packet."""

    digest: str
    value: UnloadedValue | None
    """The value without its bytes; None: a text."""


def without_blobs(work: Work) -> tuple[Work, dict[str, bytes]]:
    """Return the work without its large arguments, and their bytes by digest."""
    blobs: dict[str, bytes] = {}

    def change(value: Any) -> Any:
        if isinstance(value, str) and len(value) >= LARGE:
            data, like, digest = value.encode("utf-8", "surrogatepass"), None, None
        elif isinstance(value, UnloadedValue) and len(value.data) >= LARGE:
            data, like, digest = value.data, replace(value, data=b""), value.stored.get("blob")
        else:
            return value
        digest = digest or digest_of(data)
        blobs[digest] = data
        return LeftOut(digest, like)

    return _with_arguments(work, change), blobs


def with_blobs(work: Work, read: Callable[[str], bytes]) -> Work:
    """Return the work with its large arguments."""

    def change(value: Any) -> Any:
        if not isinstance(value, LeftOut):
            return value
        data = read(value.digest)
        if value.value is None:
            return data.decode("utf-8", "surrogatepass")
        return replace(value.value, data=data)

    return _with_arguments(work, change)


def _with_arguments(work: Work, change: Callable[[Any], Any]) -> Work:
    if not isinstance(work, PythonWork):
        return work

    def changed(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: changed(each) for name, each in value.items()}
        return [changed(each) for each in value] if isinstance(value, list) else change(value)

    return replace(work, arguments=changed(work.arguments))


class WorkerBlobs:
    """Blobs in a folder of a worker's own; the least recently used make room. Used on any thread."""

    def __init__(self, folder: Path, *, kept: int = _KEPT) -> None:
        self._folder, self._kept = folder, kept
        self._lock = threading.Lock()
        self._held: dict[str, int] = {}
        """Bytes of those that are on their way, by digest."""

    def lacking(self, digests: tuple[str, ...]) -> tuple[str, ...]:
        """Return those that are not here."""
        return tuple(digest for digest in digests if not self._file(digest).exists())

    def take(self, digest: str, offset: int, piece: bytes, size: int) -> int:
        """Take a piece; return the number of bytes that are here: the next piece begins there."""
        file = self._file(digest)
        part = file.with_suffix(".part")
        with self._lock:
            if file.exists():
                return size
            held = self._held.get(digest, 0)
            if offset == held:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                with part.open("ab" if held else "wb") as opened:
                    opened.write(piece)
                held += len(piece)
            self._held[digest] = held
            if held < size:
                return held
            del self._held[digest]
            with part.open("rb") as opened:
                if f"b2:{file_digest(opened, _hash).hexdigest()}" != digest:
                    return 0
            self._make_room(size)
            part.replace(file)
            return size

    def read(self, digest: str) -> bytes:
        """Return a blob. Raises FileNotFoundError where it had to make room."""
        file = self._file(digest)
        data = file.read_bytes()
        with suppress(FileNotFoundError):
            os.utime(file)
        return data

    def _make_room(self, size: int) -> None:
        whole = [file for file in self._folder.iterdir() if not file.suffix]
        whole.sort(key=lambda file: file.stat().st_mtime)
        held = size + sum(file.stat().st_size for file in whole)
        for file in whole:
            if held <= self._kept:
                break
            held -= file.stat().st_size
            file.unlink()

    def _file(self, digest: str) -> Path:
        return self._folder / digest.removeprefix("b2:")


def _hash() -> blake2b:
    return blake2b(digest_size=32)
