"""Imports of a step: an author's module is compiled from its source.

A compiled file (`__pycache__`) names its source's second of change and size. It may be of a source that was changed within that
second, or replaced with its time kept, and a step could plant one that decides the step's own check.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from functools import cache
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Final

from pixirnb.runners.processes.thread_children import children_of_this_thread

Stamp = tuple[int, int, int]
"""A file's times of change of its content and of its entry, in ns, and its size."""

_PACKAGE: Final = Path(__file__).parents[2]
_INSTALLED: Final = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
_CLOCK: Final = 5 if sys.platform == "linux" else time.CLOCK_REALTIME
"""The clock that a kernel takes the times of files from: `CLOCK_REALTIME_COARSE`, for which Python has no name."""
_STAMP: Final = "_pixirnb_stamp"
_lock: Final = threading.Lock()
_original: Callable[[SourceFileLoader, str], CodeType | None] | None = None
_is_for_all_threads = False


def install(*, is_for_all_threads: bool = False) -> None:
    """Load modules of authors from their source in threads of steps, or in all threads of this process.

    It changes the loader itself, so that it holds for modules loaded by their path and for threads that a step starts.
    """
    global _original, _is_for_all_threads
    with _lock:
        _is_for_all_threads = _is_for_all_threads or is_for_all_threads
        if _original is None:
            _original = SourceFileLoader.get_code
            setattr(SourceFileLoader, "get_code", _get_code)  # noqa: B010 - a method, to mypy


def _get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
    assert _original is not None
    path = loader.get_filename(fullname)
    is_step = _is_for_all_threads or children_of_this_thread() is not None
    if not is_step or is_library(path):
        return _original(loader, fullname)
    stamp = stamp_of(path)
    source = loader.get_data(path)
    vars(loader)[_STAMP] = stamp if stamp is not None and is_settled(stamp) else None
    code: CodeType = loader.source_to_code(source, path)
    return code


def has_read(loader: object) -> bool:
    """Return whether a loader has read its module's source, as steps have it do."""
    return isinstance(loader, SourceFileLoader) and _STAMP in vars(loader)


def stamp_when_read(loader: object) -> Stamp | None:
    """Return the stamp of a source as it was read; None if a later change might not alter it."""
    stamp: Stamp | None = vars(loader)[_STAMP]
    return stamp


def is_library(file: str) -> bool:
    """Return whether a file is no work of the author's: of Python, installed, or of this package."""
    return file.startswith(_prefixes()) or any(folder in file for folder in _INSTALLED)


@cache
def _prefixes() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return ("<frozen ", *(f"{folder}{os.sep}" for folder in [*folders, str(_PACKAGE)]))


def stamp_of(file: str) -> Stamp | None:
    try:
        status = os.stat(file)  # noqa: PTH116 - a Path costs three times the call
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size


def is_settled(stamp: Stamp) -> bool:
    """Return whether a change from now on alters the stamp: files' times go in ticks of some milliseconds."""
    return time.clock_gettime_ns(_CLOCK) > max(stamp[:2])
