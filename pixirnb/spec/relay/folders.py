"""Folders of a relay file: named `paths`, and the `cwd` and `workdir` of agents and steps, as repositories and folders of ours.

What lies outside the workspace becomes one of `repos`, so that sets and working folders can name it; what lies inside stays
a path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field

from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.relay.keys import PATH
from pixirnb.spec.relay.parser import RelayParser, safe_names
from pixirnb.spec.source_map import PathParts

_VARIABLE: Final = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


class Folders(Struct):
    """The folders of one file."""

    reading: RelayParser
    variables: Mapping[str, str]
    """Values of `$NAME` in a path."""
    repos: dict[str, str] = field(default_factory=dict)
    """By name: a path relative to the workspace."""
    _named: dict[str, str] = field(default_factory=dict)
    """Name of a path in the file to that of its repository; an optional one is there once something uses it."""
    _optional: dict[str, tuple[str, PathParts]] = field(default_factory=dict)

    def declare(self, top: Mapping[str, Any]) -> None:
        """Read the `paths` of the file."""
        reading = self.reading
        for name, safe, parts, item in reading.named(top, "paths", PATH, "a path"):
            path = reading.needed(item, "path", parts)
            self._named[name] = safe
            reading.renamed((*parts, "name"), name, safe)
            if path is None:
                continue
            expanded = self._expanded(path, (*parts, "path"))
            reading.moved["repos", safe] = (*parts, "path")
            if reading.flag(item, "required", parts):
                self.repos[safe] = expanded
            else:
                self._optional[safe] = (expanded, parts)

    def folder(self, mapping: Mapping[str, Any], parts: PathParts) -> str | None:
        """Return the folder that `cwd` or `workdir` of an agent or step names: `sub`, `repos.NAME`, `repos.NAME/sub`."""
        reading = self.reading
        cwd, workdir = (reading.text(mapping, key, parts) for key in ("cwd", "workdir"))
        if cwd is not None and workdir is not None:
            message = "`cwd` and `workdir` cannot be combined"
            reading.wrong("wrong_value", (*parts, "workdir"), message, "remove one of them")
        if workdir is not None:
            return self._of_name(workdir, (*parts, "workdir"))
        return None if cwd is None else self._of_path(cwd, (*parts, "cwd"))

    def note_unused(self) -> None:
        """Note the optional paths that nothing uses."""
        for name, (path, parts) in self._optional.items():
            if name not in self.repos:
                message = f"the optional path `{name}` ({path}) is not used"
                self.reading.note("relay_inert", parts, message, "remove it")

    def _of_name(self, name: str, parts: PathParts) -> str | None:
        known = self._named.get(name)
        if known is None:
            message = f"unknown path `{name}`"
            fix = did_you_mean(name, self._named, otherwise=f"declare `{name}` under `paths`")
            self.reading.wrong("repo_unknown", parts, message, fix)
            return None
        if known in self._optional:
            self.repos.setdefault(known, self._optional[known][0])
        return f"repos.{known}"

    def _of_path(self, path: str, parts: PathParts) -> str:
        steps = normal(path)
        for name, root in self.repos.items():
            base = normal(root)
            if base and steps[: len(base)] == base:
                return "/".join([f"repos.{name}", *steps[len(base) :]])
        if not is_outside(path):
            return "/".join(steps) or "."
        name = safe_names([steps[-1]], {*self.repos, *self._named.values()})[steps[-1]]
        number = 1
        while name in self.repos or name in self._named.values():
            number += 1
            name = f"{name[:56]}-{number}"
        self.repos[name] = path
        self.reading.moved.setdefault(("repos", name), parts)
        return f"repos.{name}"

    def _expanded(self, path: str, parts: PathParts) -> str:
        names = [match[1] or match[2] for match in _VARIABLE.finditer(path)]
        missing = [name for name in names if not self.variables.get(name)]
        for name in dict.fromkeys(missing):
            message = f"`${name}` in `{path}` is not set"
            fix = f"set {name}, or write the path out"
            self.reading.wrong("relay_variable", parts, message, fix)
        if missing:
            return "."  # where nothing is missed: the mistake is told
        expanded = _VARIABLE.sub(lambda match: self.variables[match[1] or match[2]], path)
        if expanded != path:
            message = f"`{path}` is expanded to `{expanded}`, which is recorded in the run"
            self.reading.note("relay_differs", parts, message, "write the path out")
        return expanded


def where(mapping: Mapping[str, Any], parts: PathParts) -> PathParts:
    """Return the path of the key by which an agent or step names its folder."""
    return (*parts, "workdir" if "workdir" in mapping else "cwd")


def normal(path: str) -> list[str]:
    """Return the segments of a path, `.` and what `..` undoes taken out; an absolute one begins with an empty segment."""
    segments: list[str] = [""] if path.startswith("/") else []
    for segment in path.split("/"):
        if segment == ".." and segments and segments[-1] not in {"", ".."}:
            segments.pop()
        elif segment not in {"", "."}:
            segments.append(segment)
    return segments


def is_outside(path: str) -> bool:
    """Return whether a path, as written, leaves the folder it is relative to."""
    steps = normal(path)
    return bool(steps) and (steps[0] in {"", ".."} or steps[0].startswith("~"))
