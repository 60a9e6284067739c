"""What the files of a folder were when they were last read, so that those which are the same are not read again.

A file counts as the same while its inode, size and times are. The time of its last change of status cannot be set back, so an
edit that restores size and modification time is seen. Two edits within one tick of the disk's clock look alike: a file that
changed in the tick in which it was read, or later, is not remembered.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from pixirnb.workspace.copies.objects import ObjectWriter

Stamp = tuple[int, int, int, int]
"""Inode, size, nanoseconds of modification and of change."""

_STRANGE_CLOCK: Final = 2_000_000_000
"""Nanoseconds by which the clock of another disk may tick more coarsely than that of the store."""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """One file as it was."""

    stamp: Stamp
    digest: str


def stamp_of(status: os.stat_result) -> Stamp:
    """What tells whether a file is still the same."""
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def settled_before(writer: ObjectWriter, store: Path, folder: Path) -> int:
    """A file of `folder` whose last change lies before this can change no more without its stamp showing it."""
    is_same_disk = store.stat().st_dev == folder.stat().st_dev
    return writer.stamp() - (0 if is_same_disk else _STRANGE_CLOCK)


def known_path(store: Path, folder: Path) -> Path:
    """Where the store remembers the files of a folder."""
    name = blake2b(os.fsencode(os.path.realpath(folder)), digest_size=16).hexdigest()
    return store / "known" / name


def load_known(path: Path) -> dict[str, KnownFile]:
    """What is remembered; nothing where that cannot be read."""
    try:
        document = json.loads(path.read_bytes())
        return {
            name: KnownFile((row[0], row[1], row[2], row[3]), row[4])
            for name, row in document["files"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        # It only saves time: whatever became of it, the files themselves are read.
        return {}


def known_document(folder: Path, files: Mapping[str, KnownFile]) -> dict[str, Any]:
    """What `load_known` reads back."""
    return {
        "folder": os.path.realpath(folder),
        "files": {name: [*known.stamp, known.digest] for name, known in files.items()},
    }
