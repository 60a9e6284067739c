"""Folders of any depth, removed and walked without recursion: a step may nest more of them than Python calls.

A removal holds one folder open at a time and asks for names in it: no path is too long for it, and it follows no link.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from pixirnb.system.system_calls import retry_eintr

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_FOLDER: Final = frozenset({errno.ENOTDIR, errno.ELOOP, errno.EMLINK})
_OWNER: Final = stat.S_IRWXU


class _Level(Struct):
    """A folder on the way down."""

    name: str
    identity: tuple[int, int]
    waiting: list[str]
    """Names in it that are not removed yet."""


def remove_whole(path: Path) -> list[OSError]:
    """Remove a folder with all in it, also what its owner may not enter or change; or a file or link.

    Return what refused, the innermost first, each with its path as `filename`; all else is gone. Nothing there: nothing.
    """
    # What the disk refuses for a moment is asked for again.
    return _refused(path) and _refused(path)


def _refused(path: Path) -> list[OSError]:
    refused: list[OSError] = []
    try:
        at = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    except OSError as error:
        return [error]
    levels = [_Level(str(path.parent), _identity_of(at), [path.name])]

    def note(error: OSError, *names: str) -> None:
        if not isinstance(error, FileNotFoundError):  # gone: another removal was at it too
            error.filename = os.path.join(*(level.name for level in levels), *names)  # noqa: PTH118 - of any length
            refused.append(error)

    try:
        while True:
            if levels[-1].waiting:
                name = levels[-1].waiting.pop()
                try:
                    inner = _opened_or_removed(name, at)
                    if inner is None:
                        continue
                    os.close(at)
                    at = inner
                    levels.append(_Level(name, _identity_of(at), os.listdir(at)))  # noqa: PTH208 - of a descriptor
                except OSError as error:
                    note(error, name)
                    if _identity_of(at) != levels[-1].identity:
                        return refused
                continue
            done = levels.pop()
            if not levels:
                return refused
            try:
                outer = os.open("..", _FOLDER, dir_fd=at)
                os.close(at)
                at = outer
                if (
                    _identity_of(at) != levels[-1].identity
                ):  # moved meanwhile: what is around it is not ours
                    raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
                retry_eintr(os.rmdir, done.name, dir_fd=at)
            except OSError as error:
                note(error, done.name)
                if _identity_of(at) != levels[-1].identity:
                    return refused
    finally:
        os.close(at)


def walk(
    top: str | Path, on_error: Callable[[OSError], object] = lambda _error: None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each folder from `top` down with the names of its folders and its other entries, as `os.walk`; follows no link.

    Folders that are taken out of the list are left out. `on_error` gets what cannot be listed, also for too long a path.
    """
    waiting = [os.fspath(top)]
    while waiting:
        current = waiting.pop()
        folders: list[str] = []
        names: list[str] = []
        links: set[str] = set()
        try:
            with os.scandir(current) as entries:
                for entry in entries:
                    (folders if _is_folder(entry) else names).append(entry.name)
                    if entry.is_symlink():
                        links.add(entry.name)
        except OSError as error:
            on_error(error)
            continue
        yield current, folders, names
        waiting += [f"{current}/{name}" for name in reversed(folders) if name not in links]


def _opened_or_removed(name: str, at: int) -> int | None:
    """Return a descriptor of a folder that its owner may change; None where something else was there, and is removed."""
    try:
        inner = os.open(name, _FOLDER, dir_fd=at)
    except PermissionError:
        _let_in(name, at)
        inner = os.open(name, _FOLDER, dir_fd=at)
    except OSError as error:
        if error.errno not in _NO_FOLDER:
            raise
        retry_eintr(os.unlink, name, dir_fd=at)
        return None
    try:
        mode = os.fstat(inner).st_mode
        if mode & _OWNER != _OWNER:
            os.fchmod(inner, stat.S_IMODE(mode) | _OWNER)
    except OSError:  # another's: its removal says whether that matters
        pass
    return inner


def _let_in(name: str, at: int) -> None:
    """Let its owner into a folder, and never into what a link leads to."""
    if sys.platform != "linux":
        os.chmod(name, _OWNER, dir_fd=at, follow_symlinks=False)
        return
    folder = os.open(name, os.O_PATH | _FOLDER, dir_fd=at)
    try:
        os.chmod(f"/proc/self/fd/{folder}", _OWNER)  # noqa: PTH101 - no path
    finally:
        os.close(folder)


def _identity_of(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
