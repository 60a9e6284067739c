"""Confinement of an agent: a path of the agent, resolved to a location known to the rules, and opened there only.

A path is resolved once, with all links. The rules judge both the result and the original name. The result is then
opened folder by folder from its root without following links: one created in between leads nowhere. Linux is the
platform; macOS has the same calls. Source: contract.md §1 (sets, `.git`, `.pixirnb`), §7.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct

from pixirnb.json_types import JsonMapping
from pixirnb.planning.environment import is_secret
from pixirnb.planning.globs.pattern import REPO
from pixirnb.planning.globs.segment import RESERVED
from pixirnb.planning.roots import WORKSPACE
from pixirnb.sessions.permissions import Limits, Ruling

_LONGEST: Final = 4096
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LINKED: Final = frozenset({errno.ELOOP, errno.ENOTDIR, errno.EMLINK})


@dataclass(eq=False)
class Refused(Exception):
    """Raised when a request of the agent is refused. `message`: the reason and the alternative, for the agent."""

    code: str
    message: str

    def __str__(self) -> str:
        return self.message


class ConfinedRoot(Struct, frozen=True):
    """A folder through which agents reach files."""

    name: str
    """Prefix of its paths: empty for the workspace, `repos.NAME:` for a repository, else the folder as it was given."""
    folder: str
    """The resolved folder."""


class ConfinedPath(Struct, frozen=True):
    """A path within a root, all links resolved."""

    root: ConfinedRoot
    parts: tuple[str, ...]

    @property
    def path(self) -> str:
        """Return the path for rules and people: `src/a.py`, `repos.cloud:src/a.py`, or absolute in an additional folder."""
        inner = "/".join(self.parts)
        if not self.root.name:
            # A folder may be called like a repository.
            return f"./{inner}" if REPO.match(inner) else inner
        if not self.root.name.startswith("/"):
            return f"{self.root.name}{inner}"
        return f"{self.root.name.rstrip('/')}/{inner}" if inner else self.root.name

    @property
    def shown(self) -> str:
        """Return the path for a sentence: on one line, never empty."""
        return shown(self.path or ".")

    def below(self, name: str) -> ConfinedPath:
        """Return the path of `name` in this folder."""
        return ConfinedPath(self.root, (*self.parts, name))

    @contextmanager
    def opened_parent(self, *, make: bool = False) -> Iterator[int]:
        """Open the folder that contains it, the root itself for the root, as a descriptor. Raises Refused.

        `make`: create missing folders.
        """
        with _walked(self.root, self.parts[:-1], make=make) as descriptor:
            yield descriptor

    @contextmanager
    def opened_folder(self) -> Iterator[int]:
        """Open this folder as a descriptor. Raises Refused."""
        with _walked(self.root, self.parts) as descriptor:
            yield descriptor

    def is_folder(self) -> bool:
        """Return whether it is a folder now; False if it does not exist. Raises Refused."""
        if not self.parts:
            return True
        try:
            with self.opened_parent() as parent:
                status = os.stat(self.parts[-1], dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return False
        except Refused as refused:
            if refused.code == "file_missing":
                return False
            raise
        return stat.S_ISDIR(status.st_mode)

    def open_file(self, parent: int) -> int:
        """Open this regular file for reading; never waits for a pipe or a device. Raises Refused."""
        if not self.parts:
            raise Refused("not_a_file", f"`{self.shown}` is a folder: use `list`.")
        name = self.parts[-1]
        with errors_as_refusals(self):
            regular(self, os.stat(name, dir_fd=parent, follow_symlinks=False))
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
            descriptor = os.open(name, flags, dir_fd=parent)
        try:
            regular(self, os.fstat(descriptor))
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor


class Confinement:
    """The confinement of one agent's work. Used from any thread."""

    def __init__(self, work: JsonMapping) -> None:
        """Read the folders of an agent's `work`, with `workspace roots cwd additional_paths session granted`."""
        self.cwd = os.path.realpath(work["cwd"])
        given = dict(work.get("roots") or {WORKSPACE: work["workspace"]})
        resolved = {name: os.path.realpath(folder) for name, folder in given.items()}
        self.limits = Limits.of({**work, "roots": resolved})
        self._repos = {name: resolved[name] for name in resolved if name != WORKSPACE}
        roots = [
            ConfinedRoot("" if root.name == WORKSPACE else f"{root.name}:", root.folder)
            for root in self.limits.roots.roots
            if root.folder
        ]
        roots += [ConfinedRoot(path, os.path.realpath(path)) for path in self.limits.additional]
        # A file belongs to the innermost folder that holds it.
        self._roots = sorted(roots, key=lambda root: -len(root.folder))

    def readable(self, path: Any) -> ConfinedPath:
        """Return the location of a file that may be read. Raises Refused."""
        location = self.location(path)
        _obey(self.limits.read_refusal(location.path))
        return location

    def writable(self, path: Any) -> ConfinedPath:
        """Return the location of a file that the sets allow to change; the mode is checked elsewhere.

        Raises Refused, also if the session only reads.
        """
        location = self.location(path)
        if self.limits.mode == "read_only":
            _obey(self.limits.by_mode())
        _obey(self.limits.write_refusal(location.path))
        return location

    def location(self, path: Any) -> ConfinedPath:
        """Return the location of a path, existing or not. Raises Refused if it is outside, or no path.

        A ConfinedPath never changes: the judged location is the one that is opened.
        """
        if isinstance(path, ConfinedPath):
            return path
        text = _plain(path)
        base, rest = self._begun(text)
        named = os.path.normpath(os.path.join(base, rest))  # noqa: PTH118 - text: a Path would drop `//` and `.`
        try:
            real = os.path.realpath(named)
            # `a/../b` is not `b` if `a` is a link: the path is resolved as the system would open it.
            meant = os.path.realpath(os.path.join(base, rest))  # noqa: PTH118 - as above
        except (OSError, ValueError) as error:
            raise Refused(
                "path_invalid", f"`{shown(text)}` cannot be resolved: {error}."
            ) from error
        for root in self._roots:
            parts = _inside(meant, root.folder)
            if parts is None:
                continue
            self._refuse_names(text, named, real)
            return ConfinedPath(root, parts)
        raise Refused(
            "outside_workspace",
            f"`{shown(text)}` leads outside the workspace: use a path inside it, relative to your working folder.",
        )

    def _begun(self, text: str) -> tuple[str, str]:
        """Return the folder that a path is relative to, and the rest. Raises Refused for an unknown repository."""
        match = REPO.match(text)
        if match is None or not self._repos:
            return self.cwd, text
        folder = self._repos.get(f"repos.{match[1]}")
        if folder is None:
            known = ", ".join(f"`{name}:`" for name in self._repos)
            raise Refused(
                "unknown_repo",
                f"`{shown(text)}` names no repository of this step; available: {known}.",
            )
        return folder, f"./{text[match.end() :]}"

    def _refuse_names(self, text: str, *paths: str) -> None:
        """Refuse secret names: a link called `.env` counts as one, wherever it leads."""
        for path in paths:
            inner = next((p for r in self._roots if (p := _inside(path, r.folder)) is not None), ())
            if any(name.casefold() in RESERVED for name in inner):
                raise Refused(
                    "reserved_path",
                    f"`{shown(text)}` belongs to git or pixirnb and must not be changed.",
                )
            if is_secret("/".join(inner)):
                raise Refused(
                    "kept_secret",
                    f"`{shown(text)}` has the name of a secret: work without it, or state in your report that it is needed.",
                )


def other_roots(work: JsonMapping) -> list[str]:
    """Return folders of an agent's roots outside its working folder; empty if the workspace is the only root."""
    roots = {name: str(folder) for name, folder in (work.get("roots") or {}).items()}
    if not roots.keys() - {WORKSPACE}:
        return []
    return [folder for folder in roots.values() if _inside(folder, str(work["cwd"])) is None]


def shown(text: str, limit: int = 200) -> str:
    """Return an agent's text for a sentence: one line of harmless characters, limited in length."""
    safe = text if text.isprintable() else ascii(text)[1:-1]
    return safe if len(safe) <= limit else f"{safe[: limit // 2]}…{safe[-limit // 2 + 10 :]}"


def regular(location: ConfinedPath, status: os.stat_result) -> None:
    """Raise Refused unless it is a regular file."""
    if stat.S_ISREG(status.st_mode):
        return
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    kind = kinds.get(stat.S_IFMT(status.st_mode), "a device")
    if stat.S_ISLNK(status.st_mode):
        raise Refused("path_changed", f"`{location.shown}` has become a link: look again.")
    raise Refused("not_a_file", f"`{location.shown}` is {kind}, not a file.")


@contextmanager
def errors_as_refusals(location: ConfinedPath) -> Iterator[None]:
    """Convert the system's errors to refusals."""
    try:
        yield
    except FileNotFoundError as error:
        raise Refused("file_missing", f"`{location.shown}` does not exist: use `list`.") from error
    except OSError as error:
        if error.errno == errno.ELOOP:
            message = f"`{location.shown}` has become a link: look again."
            raise Refused("path_changed", message) from error
        reason = error.strerror or str(error)
        raise Refused("file_refused", f"`{location.shown}`: {reason}.") from error


@contextmanager
def _walked(root: ConfinedRoot, parts: tuple[str, ...], *, make: bool = False) -> Iterator[int]:
    """Walk down from the root without following a link."""
    descriptor = _entered(root, parts, make=make)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _entered(root: ConfinedRoot, parts: tuple[str, ...], *, make: bool) -> int:
    location = ConfinedPath(root, parts)
    with errors_as_refusals(location):
        descriptor = os.open(root.folder, _FOLDER)
    for name in parts:
        try:
            try:
                inner = os.open(name, _FOLDER, dir_fd=descriptor)
            except FileNotFoundError:
                if not make:
                    raise
                _make(name, descriptor)
                inner = os.open(name, _FOLDER, dir_fd=descriptor)
        except FileNotFoundError as error:
            message = f"The folder of `{location.shown}` does not exist: use `list`."
            raise Refused("file_missing", message) from error
        except OSError as error:
            if error.errno in _LINKED:
                message = f"`{location.shown}`: `{shown(name)}` is not a folder."
                raise Refused("not_a_folder", message) from error
            reason = error.strerror or str(error)
            raise Refused("file_refused", f"`{location.shown}`: {reason}.") from error
        finally:
            os.close(descriptor)
        descriptor = inner
    return descriptor


def _make(name: str, folder: int) -> None:
    try:
        os.mkdir(name, dir_fd=folder)
    except FileExistsError:
        pass  # another made it since we looked


def _inside(path: str, folder: str) -> tuple[str, ...] | None:
    if path == folder:
        return ()
    within = folder.rstrip("/") + "/"
    return tuple(path[len(within) :].split("/")) if path.startswith(within) else None


def _plain(path: Any) -> str:
    if not isinstance(path, str) or not path:
        raise Refused(
            "path_invalid", "The path is missing: pass one, relative to your working folder."
        )
    try:
        size = len(os.fsencode(path))
    except UnicodeEncodeError as error:
        raise Refused("path_invalid", "The path contains an invalid Unicode character.") from error
    if "\0" in path:
        raise Refused("path_invalid", "The path contains a NUL character, which is not allowed.")
    if size > _LONGEST or any(len(os.fsencode(name)) > 255 for name in path.split("/")):
        raise Refused("path_invalid", "The path is too long.")
    return path


def _obey(refused: Ruling | None) -> None:
    if refused is not None:
        raise Refused(refused.code, refused.message)
