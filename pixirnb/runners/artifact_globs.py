"""Files of a step, selected by the globs of its author: for `artifacts` and for the check `file_exists`.

Globs are the usual ones: `*`, `?`, `[ab]`, `{a,b}`, `**`; a backslash makes the next character an ordinary one. Files of
pixirnb and git never match, nor does a link to a path outside the workspace, or to itself.
"""

from __future__ import annotations

import errno
import fnmatch
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from pixirnb.planning.globs.pattern import spellings
from pixirnb.planning.globs.segment import RESERVED
from pixirnb.planning.roots import WORKSPACE, repo_of
from pixirnb.system.deep_folders import walk

_WILD: Final = re.compile(r"[*?\[]")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_LISTED: Final = frozenset("*?[{")
_SHOWN: Final = 20
_SHOWN_CHARACTERS: Final = 8_000
"""Maximum length of the shown names: they return from a child as a short value."""


class Ground(Struct, frozen=True):
    """The folders in which an attempt's files are searched."""

    folder: Path
    """The folder of globs without a repository."""
    root: Path
    """The workspace or repository around that folder, links resolved: files outside never match."""
    name: str = ""
    """Prefix `repos.NAME:` if it is a repository."""
    repos: Mapping[str, Path] = field(default_factory=dict)
    """Folders of the repositories that the step uses, by NAME."""

    def within(self, changed: Mapping[str, Sequence[str]], repo: str | None) -> list[str]:
        """Return those changed paths, given by root, that lie in a repository; None: in the root around `folder`, below it."""
        if repo is not None:
            return list(changed.get(f"repos.{repo}", ()))
        roots = {self.name.removesuffix(":") or WORKSPACE: self.root}
        roots |= {f"repos.{name}": folder for name, folder in self.repos.items()}
        holding = [each for each in roots.items() if self.folder.is_relative_to(each[1])]
        name, root = max(holding, key=lambda each: len(each[1].parts))
        inner = self.folder.relative_to(root).as_posix()
        start = "" if inner == "." else f"{inner}/"
        return [path for path in changed.get(name, ()) if path.startswith(start)]

    def find(self, pattern: str) -> list[tuple[str, Path]]:
        """Return the matches of a glob, with names from the root: `src/a`, `repos.NAME:src/a`.

        Raises ValueError for an invalid glob.
        """
        repo = repo_of(pattern)
        if repo is None:
            matches = paths_matching(pattern, self.folder, self.root)
            return [(self.name + path.relative_to(self.root).as_posix(), path) for path in matches]
        if repo not in self.repos:
            raise ValueError(f"`repos.{repo}` is not a repository of this step")
        root = self.repos[repo]
        matches = paths_matching(pattern.partition(":")[2], root, root)
        return [(f"repos.{repo}:{path.relative_to(root).as_posix()}", path) for path in matches]


def is_single(pattern: str) -> bool:
    """Return whether a glob names one path: no folder is listed for it."""
    return _LISTED.isdisjoint(pattern)


def search(ground: Ground, pattern: str) -> str:
    """Return whether a glob has a match, and the evidence, as JSON. Blocking: a child walks through a large tree."""
    try:
        files = ground.find(pattern)
    except (ValueError, OSError) as error:
        return json.dumps([False, {"saw": f"invalid pattern: {error}"}])
    names: list[str] = []
    for name, path in files[:_SHOWN]:
        is_below = path.is_relative_to(ground.folder)
        names.append(str(path.relative_to(ground.folder)) if is_below else name)
    while len(json.dumps(names)) > _SHOWN_CHARACTERS:
        names.pop()
    return json.dumps([bool(files), {"saw": f"{len(files)} found", "files": names}])


def paths_matching(pattern: str, folder: Path, workspace: Path) -> list[Path]:
    """Return files and folders below `folder` that match a glob, sorted.

    Raises ValueError for an invalid glob, OSError where folders lie too deep to be listed.
    """
    root = os.path.realpath(workspace)
    is_outside = not _is_within(folder, root)
    matched: dict[str, bool] = {}
    for choice in spellings(pattern.removeprefix("./").rstrip("/")):
        if choice.strip("./") == "":
            raise ValueError(f"`{pattern}` matches no file")
        if choice.startswith("/"):
            raise ValueError(f"`{pattern}` is not relative to its folder")
        matched |= _selected(str(folder), choice, is_linked=is_outside)
    return sorted(
        path
        for path, is_linked in (
            (Path(current), is_linked) for current, is_linked in matched.items()
        )
        if RESERVED.isdisjoint(path.relative_to(folder).parts)
        and not (is_linked and not _leads_within(path, root))
    )


def files_below(folder: Path) -> Iterator[tuple[str, list[Path]]]:
    """Yield each folder from `folder` down with its files, without links that lead out. Raises OSError as `paths_matching`."""
    root = os.path.realpath(folder)
    for current, folders, names in walk(folder, _pass_over):
        folders[:] = [name for name in folders if name not in RESERVED]
        paths = [Path(current, name) for name in names if name not in RESERVED]
        files = [path for path in paths if not path.is_symlink() or _leads_within(path, root)]
        yield current, [path for path in files if path.is_file()]


def _leads_within(path: Path, root: str) -> bool:
    """Return whether a path leads, by whatever links, into `root`, whose own links are resolved; links in a circle do not."""
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return False
    return _is_within(path, root)


def _is_within(path: Path, root: str) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(root)


def _selected(folder: str, glob: str, *, is_linked: bool) -> dict[str, bool]:
    """Return the paths below a folder, at any depth, that a glob without braces matches; `**` follows no link.

    With each: whether a link or `..` is on the way to it, so that it may lead elsewhere.
    """
    words = [word for word in glob.split("/") if word not in {"", "."}]
    if any("**" in _ESCAPED.sub("", word) and word != "**" for word in words):
        raise ValueError(f"`{glob}`: `**` matches whole folders only")
    selected: dict[str, bool] = {}
    waiting = [(folder, 0, is_linked)]
    seen: set[tuple[str, int]] = set()  # several `**` lead to one folder in many ways
    while waiting:
        current, at, is_linked = waiting.pop()
        if (current, at) in seen:
            continue
        seen.add((current, at))
        if at == len(words):
            selected[current] = is_linked
            continue
        word, is_last = words[at], at + 1 == len(words)
        if word == "**":
            waiting.append((current, at + 1, is_linked))
            inner = [each for each in _entries(current) if each.is_dir(follow_symlinks=False)]
            waiting += [(each.path, at, is_linked) for each in inner]
        elif _WILD.search(_ESCAPED.sub("", word)):
            is_match = re.compile(fnmatch.translate(_ESCAPED.sub(_as_ordinary, word))).match
            waiting += [
                (each.path, at + 1, is_linked or each.is_symlink())
                for each in _entries(current)
                if is_match(each.name) and (is_last or os.path.isdir(each.path))  # noqa: PTH112 - thousands
            ]
        else:
            name = _ESCAPED.sub(r"\1", word)
            path = os.path.join(current, name)  # noqa: PTH118 - thousands
            if os.path.exists(path):  # noqa: PTH110
                leaves = name == ".." or os.path.islink(path)  # noqa: PTH114
                waiting.append((path, at + 1, is_linked or leaves))
    return selected


def _as_ordinary(escaped: re.Match[str]) -> str:
    """Return the `fnmatch` of an escaped character; the others are ordinary there."""
    return f"[{escaped[1]}]" if escaped[1] in "*?[" else escaped[1]


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        _pass_over(error)
        return []


def _pass_over(error: OSError) -> None:
    """Raise all errors but those of a folder that is gone, is none, or may not be listed: it has no files."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError):
        raise error
