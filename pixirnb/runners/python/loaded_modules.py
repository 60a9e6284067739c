"""Modules that this process has loaded for its steps, and whether they are what a step means.

A process loads a module once, by its name: a thread of it calls the code that was on disk then, and where two folders
have a module of one name, the code of the folder that came first. A child loads what is there now, from its own
folders. So a step whose modules have changed, or come from another folder, is run in a child.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader, SourcelessFileLoader
from pathlib import Path
from types import ModuleType
from typing import Final

from msgspec import Struct

from pixirnb.runners.python.source_loader import (
    Stamp,
    has_read,
    is_library,
    is_settled,
    stamp_of,
    stamp_when_read,
)

_lock: Final = threading.RLock()
_added: Final[set[str]] = set()
"""Folders that are in `sys.path` for a step."""
_names: Final[set[str]] = set()
"""Modules that were looked at."""
_newest: str = ""
"""The module that had been loaded last by then: one that is loaded later, in the place of one that is gone, is behind it."""


class _Loaded(Struct, frozen=True):
    """A module of an author's, as it was loaded."""

    name: str
    file: str
    spec: ModuleSpec | None
    """A reload makes a new one."""
    stamp: Stamp | None
    """None if the file had changed by the first look, or may have."""


_loaded: Final[dict[str, _Loaded]] = {}

Mark = tuple[int, int, int]
"""A folder's device, number and time of change, in ns."""

_PATHS: Final = 8
_locations: Final[dict[tuple[str, ...], tuple[tuple[Mark | None, ...], dict[str, str | None]]]] = {}
"""Files of modules found in a path, and the marks of its folders then; at most `_PATHS` paths."""


def add_to_path(folders: Iterable[str]) -> None:
    """Append missing folders to `sys.path`: what could be imported before does not change its meaning."""
    with _lock:
        for folder in folders:
            if folder not in sys.path:
                sys.path.append(folder)
                _added.add(folder)


def path_without(entries: Iterable[str]) -> list[str]:
    """Return entries of a `sys.path` without those that are there for steps: a child adds its own."""
    return [entry for entry in entries if entry not in _added]


def is_current(call: str, folder: str) -> bool:
    """Return whether a thread would call what a child in this folder would, as far as modules of authors go."""
    with _lock:
        _note_loaded()
        prefix = f"{folder}{os.sep}"
        own = [each for each in _loaded.values() if each.file.startswith(prefix)]
        return not any(map(_has_changed, own)) and not _is_elsewhere(call, folder, own)


def _note_loaded() -> None:
    """Note the modules that were loaded since the last look, and those loaded again."""
    global _newest
    again = [name for name, each in _loaded.items() if _spec(name) is not each.spec]
    for name in again:
        del _loaded[name]
    _names.difference_update(again)
    newest = next(reversed(sys.modules))
    if (len(sys.modules), newest) == (len(_names), _newest):
        return
    _newest = newest
    for name in list(sys.modules):
        if name in _names:
            continue
        _names.add(name)
        file = _attribute(name, "__file__")
        # A child has a `__main__` of its own.
        if not isinstance(file, str) or not file.endswith(".py") or name == "__main__":
            continue
        if not is_library(file):
            _loaded[name] = _Loaded(name, file, _spec(name), _stamp_when_loaded(name, file))
    _names.intersection_update(sys.modules)


def _spec(name: str) -> ModuleSpec | None:
    spec = _attribute(name, "__spec__")
    return spec if isinstance(spec, ModuleSpec) else None


def _attribute(module: str, name: str) -> object:
    """Return what a module holds, without asking it: some load others when they are asked, or raise."""
    loaded = sys.modules.get(module)
    return vars(loaded).get(name) if isinstance(loaded, ModuleType) else None


def _stamp_when_loaded(name: str, file: str) -> Stamp | None:
    """Return the stamp of a module's file; None if it may have changed since it was compiled, which loading does."""
    spec, stamp, cached = _spec(name), stamp_of(file), _attribute(name, "__cached__")
    if spec is not None and has_read(spec.loader):
        return stamp_when_read(spec.loader)
    if stamp is not None and isinstance(cached, str) and not _is_compiled_from(file, stamp, cached):
        return None
    return stamp if stamp is not None and is_settled(stamp) else None


def _is_compiled_from(file: str, stamp: Stamp, cached: str) -> bool:
    """Return whether a compiled file is of this source. Python asks only for the source's second and size."""
    compiled = stamp_of(cached)
    # Not written, as with PYTHONDONTWRITEBYTECODE, or after the source's last change.
    if compiled is None or compiled[0] > max(stamp[:2]):
        return True
    try:
        source = SourceFileLoader("", file).source_to_code(Path(file).read_bytes(), file)
        return SourcelessFileLoader("", cached).get_code("") == source
    except (OSError, ImportError, EOFError, ValueError, TypeError, SyntaxError):
        return False


def _has_changed(module: _Loaded) -> bool:
    return module.stamp is None or stamp_of(module.file) != module.stamp


def _is_elsewhere(call: str, folder: str, own: Sequence[_Loaded]) -> bool:
    """Return whether a module was loaded, or would be, from elsewhere than a child in this folder loads it."""
    origin_of = _search((*path_without(sys.path), folder))
    called = call.partition(":")[0].partition(".")[0]
    for each in _loaded.values():
        if "." in each.name or each in own:
            continue
        origin = origin_of(each.name)
        if origin != each.file and (origin or (each.name == called and _is_of_step(each))):
            return True
    is_new = called != "" and called not in sys.modules
    return is_new and _search((*sys.path, folder))(called) != origin_of(called)


def _is_of_step(module: _Loaded) -> bool:
    return module.file.startswith(tuple(f"{added}{os.sep}" for added in _added))


def _search(path: tuple[str, ...]) -> Callable[[str], str | None]:
    """Return a function that returns the file of a top-level module as an import with this path finds it, if any.

    What it has found holds until a folder of the path changes: otherwise each step would search each folder for each module.
    """
    marks = tuple(map(_mark, path))
    if _locations.get(path, (None,))[0] != marks:
        if len(_locations) >= _PATHS:
            _locations.clear()
        _locations[path] = (marks, {})
    files = _locations[path][1]

    def origin(name: str) -> str | None:
        if name not in files:
            spec = PathFinder.find_spec(name, path)
            if spec is not None and spec.origin is None:
                return None  # a folder: what is put into it does not change those of the path
            files[name] = None if spec is None else spec.origin
        return files[name]

    return origin


def _mark(folder: str) -> Mark | None:
    try:
        status = os.stat(folder or os.curdir)  # noqa: PTH116 - as `stamp_of`
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns
