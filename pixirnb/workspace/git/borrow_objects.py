"""Linking of the objects of the user's repository into a store: nothing is compressed again, and a `gc` of theirs takes nothing
from us.

A link is a second name for a file: objects that their git removes stay here, and neither writes into an object that exists.
Where the disk cannot link, the file is copied. Objects of a partial clone are left where they are, for they may be fetched only
there: the history of such a repository is not handed on, its files are.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pixirnb.system.atomic_files import make_folders, sync_folder
from pixirnb.system.system_calls import retry_eintr
from pixirnb.workspace.git.store_folder import disk_time_ns

_DEEPEST: Final = 8
_PASSES: Final = 3
_RECENT_NS: Final = 120 * 10**9
"""Nanoseconds after which the system has written a file to disk by itself, with room to spare."""
_MOST_SYNCS: Final = 100
_PACKED: Final = (".pack", ".rev", ".mtimes", ".idx")
"""Parts of a pack in the order in which they must appear: git finds a pack by its index."""
_HEX: Final = frozenset("0123456789abcdef")


def borrow(objects: Path, into: Path) -> None:
    """Link everything below `objects`, and below the folders it borrows from itself, into `into`. Raises OSError."""
    fresh: list[Path] = []
    for _ in range(_PASSES):
        folders = list(_object_folders(objects))
        for folder in folders:
            fresh += _loose(folder, into)
        # Loose objects go into packs, never back: whoever looks at packs last misses none.
        before = [_packs(folder) for folder in folders]
        for folder, names in zip(folders, before, strict=True):
            fresh += _packed(folder, names, into)
        if [_packs(folder) for folder in folders] == before:
            break
    _settle(fresh, into)


def _object_folders(objects: Path, depth: int = 0) -> Iterator[Path]:
    yield objects
    try:
        listed = (objects / "info" / "alternates").read_bytes()
    except OSError:
        return
    for line in listed.splitlines():
        if line and not line.startswith(b"#") and depth < _DEEPEST:
            yield from _object_folders(objects / os.fsdecode(line), depth + 1)


def _loose(objects: Path, into: Path) -> Iterator[Path]:
    for folder in _names(objects):
        if len(folder) == 2 and _HEX.issuperset(folder):
            target = into / folder
            make_folders(target)
            there = set(_names(target))
            for name in _names(objects / folder):
                if name not in there and _HEX.issuperset(name):
                    yield from _linked(objects / folder / name, target / name)


def _packs(objects: Path) -> list[str]:
    return sorted(name for name in _names(objects / "pack") if name.endswith(".idx"))


def _packed(objects: Path, names: list[str], into: Path) -> Iterator[Path]:
    there = set(_names(into / "pack"))
    for name in names:
        stem = name.removesuffix(".idx")
        if name in there or (objects / "pack" / f"{stem}.promisor").exists():
            continue
        for suffix in _PACKED:
            target = into / "pack" / (stem + suffix)
            yield from _linked(objects / "pack" / (stem + suffix), target)


def _linked(source: Path, target: Path) -> Iterator[Path]:
    """Give a file a second name; a file that has gone meanwhile is met again in another pack."""
    try:
        retry_eintr(os.link, source, target)
    except (FileExistsError, FileNotFoundError):
        return
    except OSError as error:
        if error.errno not in {errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP}:
            raise
        aside = target.with_name(f"tmp_{target.name}.{os.getpid()}")
        try:
            shutil.copyfile(source, aside)
        except FileNotFoundError:
            return
        os.utime(aside)
        retry_eintr(aside.rename, target)
    yield target


def _settle(fresh: list[Path], into: Path) -> None:
    """Put what was linked on disk: their git does not wait for the disk with every object, and we promise to."""
    now = disk_time_ns(into)
    young = [path for path in fresh if now - path.stat().st_mtime_ns < _RECENT_NS]
    if len(young) > _MOST_SYNCS:
        os.sync()
        return
    for path in young:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    for folder in {path.parent for path in fresh} | ({into} if fresh else set()):
        sync_folder(folder)


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - thousands of names
    except (FileNotFoundError, NotADirectoryError):
        return []
