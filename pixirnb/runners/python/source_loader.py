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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Final

Stamp = tuple[int, int, int]
"""A file's times of change of its content and of its entry, in ns, and its size."""

_PACKAGE: Final = Path(__file__).parents[2]
_INSTALLED: Final = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
_CLOCK: Final = 5 if sys.platform == "linux" else time.CLOCK_REALTIME
"""The clock that a kernel takes the times of files from: `CLOCK_REALTIME_COARSE`, for which Python has no name."""
_here: Final = threading.local()
_lock: Final = threading.Lock()


class FromSource(SourceFileLoader):
    """Compiles a module from its source, and keeps no compiled file."""

    stamp: Stamp | None = None
    """The source's, as it was read; None if a later change might not alter it."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        stamp = stamp_of(path)
        source = self.get_data(path)
        self.stamp = stamp if stamp is not None and is_settled(stamp) else None
        code: CodeType = self.source_to_code(source, path)
        return code


class _Finder:
    """Finds what the finders behind it find, and has authors' modules loaded from their source."""

    is_for_all_threads = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not (self.is_for_all_threads or getattr(_here, "is_step", False)):
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            find_spec = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find_spec and find_spec(name, path, target)
            if spec is not None:
                loader = spec.loader
                if type(loader) is SourceFileLoader and not is_library(loader.path):
                    spec.loader = FromSource(loader.name, loader.path)
                return spec
        return None


_finder: Final = _Finder()


def load_from_source() -> None:
    """Load authors' modules from their source in this process from now on."""
    _finder.is_for_all_threads = True
    _install()


@contextmanager
def loading_from_source() -> Iterator[None]:
    """Load authors' modules from their source in this thread."""
    _install()
    _here.is_step = True
    try:
        yield
    finally:
        _here.is_step = False


def _install() -> None:
    """Put the finder before Python's own: hooks of the user that stand before those go on."""
    finders = sys.meta_path
    with _lock:
        if _finder not in finders:
            last = finders.index(PathFinder) if PathFinder in finders else len(finders)
            finders.insert(last, _finder)


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
