"""The roots of a run, and the names of files in them: `src/a.py`, `repos.cloud:src/a.py`. Pure text.

A *root* is the workspace (`.`) or a repository of `repos` (`repos.NAME`). Roots may be nested, and one folder may
have two names. A file belongs to the innermost root that holds it, and may be claimed by its name from any root
around it. So that two names for one folder never hide a conflict, patterns are compared in the spelling of the
outermost root:

    repos: {cloud: libs/cloud}
    canonical("repos.cloud:src/**") ──▶ "libs/cloud/src/**"

Files in the `.git` or `.pixirnb` of their root are in no set. A pattern that reaches there by way of an outer root
(`libs/cloud/.git/x`) claims nothing there, and still overlaps patterns that contain it.

Source: contract.md §1, §2, §8; docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Self

from pixirnb.planning.globs.pattern import LONGEST, REPO, Pattern, literal, matches
from pixirnb.planning.globs.segment import RESERVED

WORKSPACE: Final = "."

_FOLDER: Final = re.compile(r"repos\.([^/:]*)(?:/(.*))?", re.DOTALL)
_LONGEST_CANONICAL: Final = 4 * LONGEST


@dataclass(frozen=True, slots=True)
class Root:
    """A folder that a run works on."""

    name: str
    """`.` or `repos.NAME`."""
    folder: str
    """Absolute, links resolved; empty for a workspace without a survey."""


class Roots:
    """The roots of one run. Two names for one folder are one root: the workspace wins, then the name declared first."""

    __slots__ = ("_bases", "_by_name", "_is_plain", "_names", "roots")

    roots: tuple[Root, ...]
    """The workspace first, then repositories as declared."""

    def __init__(self, roots: tuple[Root, ...], names: Mapping[str, Root]) -> None:
        self.roots = roots
        self._by_name = dict(names)
        self._names = tuple((name, root.folder) for name, root in names.items())
        self._bases = {name: self._base(root) for name, root in names.items()}
        self._is_plain = all(base == (name, "") for name, base in self._bases.items())

    @classmethod
    def of(cls, workspace: str, repos: Mapping[str, str]) -> Self:
        """Return the roots of a workspace and its repositories, `{name: folder}`; folders are absolute with links resolved."""
        names: dict[str, Root] = {WORKSPACE: Root(WORKSPACE, _tidy(workspace))}
        by_folder = {root.folder: root for root in names.values()}
        for name, written in repos.items():
            folder = _tidy(written)
            root = by_folder.setdefault(folder, Root(f"repos.{name}", folder))
            names[f"repos.{name}"] = root
        return cls(tuple(by_folder.values()), names)

    def __repr__(self) -> str:
        return f"<Roots {', '.join(f'{root.name}={root.folder}' for root in self.roots)}>"

    @property
    def is_plain(self) -> bool:
        """Return whether no root is inside another and no folder has two names: every pattern is canonical as written."""
        return self._is_plain

    @property
    def names(self) -> Mapping[str, Root]:
        """Return every name that a set may use, second names too, and its root."""
        return MappingProxyType(self._by_name)

    def named(self, name: str) -> Root:
        """Return the root of that name, `.` or `repos.NAME`; also by a second name. Raises KeyError."""
        return self._by_name[name]

    def nested(self, name: str) -> tuple[str, ...]:
        """Return the folders below that root which are roots themselves, at any depth, relative to it. Raises KeyError."""
        folder = self.named(name).folder
        inside = (_relative(folder, root.folder) for root in self.roots)
        return tuple(path for path in inside if path)

    def shown(self, name: str, path: str) -> str:
        """Return a file's name for people, logs and sets: `path` is relative to the root `name`. Raises KeyError.

        A path below a nested root gets the name of that root.
        """
        root, inside = self._innermost(_joined(self.named(name).folder, path))
        return _spelled(root.name, inside)

    def located(self, shown: str) -> tuple[Root, str]:
        """Return the root of a named file, and its path there (empty for the root itself).

        Accepts what `shown` returns, a path from the workspace, or an absolute path; `..` is followed. Raises
        KeyError for an unknown repository, ValueError for a path in no root.
        """
        match = REPO.match(shown)
        if match:
            folder, path = self.named(f"repos.{match[1]}").folder, shown[match.end() :]
        else:
            folder, path = self.named(WORKSPACE).folder, shown
        return self._innermost(_followed(_joined(folder, path)))

    def spellings(self, name: str, path: str) -> tuple[str, ...]:
        """Return every name by which a set may claim a file; `path` is relative to the root `name`. Raises KeyError.

        Empty for a file in the `.git` or `.pixirnb` of its root.
        """
        whole = _joined(self.named(name).folder, path)
        if _is_reserved(self._innermost(whole)[1]):
            return ()
        spelled: list[str] = []
        for each, folder in self._names:
            inside = _relative(folder, whole)
            if inside and not _is_reserved(inside):
                spelled.append(_spelled(each, inside))
        return tuple(spelled)

    def canonical(self, text: str) -> str:
        """Return a readable glob in the spelling of the outermost root that may claim its paths.

        Two globs overlap exactly if their canonical spellings do. The glob is unchanged if nothing is nested and no
        folder has two names, and if its repository is unknown.
        """
        if self._is_plain:
            return text
        match = REPO.match(text)
        base = self._bases.get(f"repos.{match[1]}" if match else WORKSPACE)
        if base is None:
            return text
        name, prefix = base
        glob = text[match.end() :] if match else text
        whole = f"{literal(prefix)}/{glob}" if prefix else glob
        return _spelled(name, whole)

    def pattern(self, text: str) -> Pattern:
        """Return a glob, parsed in canonical spelling, with the text as written. Raises ValueError with a sentence."""
        pattern = Pattern.parse(text)
        if self._is_plain:
            return pattern
        canonical = self.canonical(text)
        if canonical == text:
            return pattern
        # A folder's path may be as long as a pattern may be.
        return replace(Pattern.parse(canonical, longest=_LONGEST_CANONICAL), text=text)

    def claims(self, globs: Iterable[str]) -> Callable[[str, str], bool]:
        """Return a predicate: whether any of the globs claims a file, by root name and path.

        Raises ValueError for an invalid glob.

        A glob of an unknown repository claims nothing; an unknown root is a KeyError.
        """
        patterns = [Pattern.parse(text) for text in dict.fromkeys(globs)]

        def claimed(name: str, path: str) -> bool:
            spelled = self.spellings(name, path)
            return any(matches(pattern, each) for each in spelled for pattern in patterns)

        return claimed

    def _innermost(self, whole: str) -> tuple[Root, str]:
        best: tuple[Root, str] | None = None
        for root in self.roots:
            inside = "" if root.folder == whole else _relative(root.folder, whole)
            if inside is not None and (best is None or len(inside) < len(best[1])):
                best = root, inside
        if best is None:
            raise ValueError(f"`{whole}` is not in a folder of this run")
        return best

    def _base(self, root: Root) -> tuple[str, str]:
        """Return the outermost root that may claim the files of `root`, and the position of `root` in it."""
        best = root.name, ""
        for outer in self.roots:
            inside = _relative(outer.folder, root.folder)
            if inside and not _is_reserved(inside) and len(inside) > len(best[1]):
                best = outer.name, inside
        return best


def in_repo(folder: str) -> tuple[str, str] | None:
    """Return name and rest of a folder written `repos.NAME` or `repos.NAME/sub`; None for any other."""
    match = _FOLDER.fullmatch(folder)
    return None if match is None else (match[1], match[2] or "")


def repo_of(glob: str) -> str | None:
    """Return the repository that a glob or a file's name begins with; None for the workspace."""
    match = REPO.match(glob)
    return match[1] if match else None


def _spelled(name: str, path: str) -> str:
    if name != WORKSPACE:
        return f"{name}:{path}"
    # A folder may be named like a repository; the dot tells them apart and is dropped again in a pattern.
    return f"./{path}" if REPO.match(path) else path


def _tidy(folder: str) -> str:
    return folder.rstrip("/") or folder[:1]


def _relative(folder: str, whole: str) -> str | None:
    """Return `whole` relative to `folder`; None if it is not below it. Nothing is below a workspace without a survey."""
    if folder == "/":
        return whole[1:] or None
    if not folder:
        return None if whole.startswith("/") else whole or None
    return whole[len(folder) + 1 :] or None if whole.startswith(folder + "/") else None


def _joined(folder: str, path: str) -> str:
    if path.startswith("/"):
        return path
    names = "/".join(name for name in path.split("/") if name not in ("", "."))
    if not names:
        return folder
    return f"{folder.rstrip('/')}/{names}" if folder else names


def _followed(path: str) -> str:
    """Return the path without `..`, `.` and doubled slashes."""
    names: list[str] = []
    for name in path.split("/"):
        if name == ".." and names and names[-1] != "..":
            names.pop()
        elif name not in ("", ".") and not (name == ".." and path.startswith("/")):
            names.append(name)
    return ("/" if path.startswith("/") else "") + "/".join(names)


def _is_reserved(path: str) -> bool:
    return path.partition("/")[0] in RESERVED
