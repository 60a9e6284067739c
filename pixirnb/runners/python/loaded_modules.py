"""Modules that this process has loaded for its steps, and whether they are what a step means.

A process loads a module once, by its name: a thread of it calls the code that was on disk then, and where two folders
have a module of one name, the code of the folder that came first. A child loads what is there now, from its own
folders. So a step whose modules have changed, or come from another folder, is run in a child.
"""

from __future__ import annotations

import os
import struct
import sys
import sysconfig
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Final

Stamp = tuple[int, int]
"""A file's time of change, in ns, and size."""

_PACKAGE: Final = Path(__file__).parents[2]
_lock: Final = threading.RLock()
_added: Final[set[str]] = set()
"""Folders that are in `sys.path` for a step."""
_names: Final[set[str]] = set()
"""Modules that were looked at."""
_newest: str = ""
"""The module that had been loaded last by then: one that is loaded later, in the place of one that is gone, is behind it."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A module of an author's, as it was loaded."""

    name: str
    file: Path
    spec: ModuleSpec | None
    """A reload makes a new one."""
    stamp: Stamp | None
    """None if the file had changed by the first look."""


_loaded: Final[dict[str, _Loaded]] = {}


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
        note_loaded()
        prefix = f"{folder}{os.sep}"
        own = [each for each in _loaded.values() if str(each.file).startswith(prefix)]
        return not any(map(_has_changed, own)) and not _is_elsewhere(call, folder, own)


@cache
def library_prefixes() -> tuple[str, ...]:
    """Return how the names of all files begin that are no work of the author's."""
    paths = sysconfig.get_paths()
    folders = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    return ("<frozen ", *(f"{folder}{os.sep}" for folder in [*folders, str(_PACKAGE)]))


def note_loaded() -> None:
    """Note the modules that were loaded since the last look, and those loaded again: at once, before they change."""
    with _lock:
        _note_loaded()


def _note_loaded() -> None:
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
        if not file.startswith(library_prefixes()):
            path = Path(file)
            _loaded[name] = _Loaded(name, path, _spec(name), _stamp_when_loaded(name, path))
    _names.intersection_update(sys.modules)


def _spec(name: str) -> ModuleSpec | None:
    spec = _attribute(name, "__spec__")
    return spec if isinstance(spec, ModuleSpec) else None


def _attribute(module: str, name: str) -> object:
    """Return what a module holds, without asking it: some load others when they are asked, or raise."""
    loaded = sys.modules.get(module)
    return vars(loaded).get(name) if isinstance(loaded, ModuleType) else None


def _stamp(file: Path) -> Stamp | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _stamp_when_loaded(name: str, file: Path) -> Stamp | None:
    """Return the stamp of a module's file; None if it has changed since it was compiled, which loading does."""
    stamp, cached = _stamp(file), _attribute(name, "__cached__")
    if stamp is None or not isinstance(cached, str):
        return stamp
    try:
        with Path(cached).open("rb") as compiled:
            flags, changed_s, size = struct.unpack("<4xLLL", compiled.read(16))
    except (OSError, struct.error):
        return stamp  # not written, as with PYTHONDONTWRITEBYTECODE
    now = (stamp[0] // 1_000_000_000 & 0xFFFFFFFF, stamp[1] & 0xFFFFFFFF)
    return stamp if flags or (changed_s, size) == now else None


def _has_changed(module: _Loaded) -> bool:
    return module.stamp is None or _stamp(module.file) != module.stamp


def _is_elsewhere(call: str, folder: str, own: Sequence[_Loaded]) -> bool:
    """Return whether a module was loaded, or would be, from elsewhere than a child in this folder loads it."""
    meant = [*path_without(sys.path), folder]
    called = call.partition(":")[0].partition(".")[0]
    for each in _loaded.values():
        if "." in each.name or each in own:
            continue
        origin = _origin(each.name, meant)
        is_of_step = str(each.file).startswith(tuple(f"{added}{os.sep}" for added in _added))
        if origin != str(each.file) and (origin or (is_of_step and each.name == called)):
            return True
    is_new = called != "" and called not in sys.modules
    return is_new and _origin(called, [*sys.path, folder]) != _origin(called, meant)


def _origin(name: str, path: Sequence[str]) -> str | None:
    spec = PathFinder.find_spec(name, path)
    return None if spec is None else spec.origin
