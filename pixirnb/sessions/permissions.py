"""What an agent may do: its mode, its sets, its tools, and what a person has allowed it. Pure.

    deny     whatever the mode: a tool it was not given, a path in none of its sets, a secret, the user's history or ours
    by mode  what would change something: `read_only` denies, `ask` asks unless a person has allowed this very call,
             `auto` allows

Paths are those of `runners.agents.tools.confinement`: with links resolved, relative to the workspace, or to a repository
(`repos.cloud:src/a.py`), or absolute below one of the additional paths, where an agent may read and never write.
Source: contract.md §1 (sets), §7 (permissions).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal

from pixirnb.planning.digest import text_digest
from pixirnb.planning.globs.pattern import REPO, Pattern, matches, overlap
from pixirnb.planning.globs.segment import RESERVED
from pixirnb.planning.roots import WORKSPACE, Roots
from pixirnb.planning.secret_names import is_secret

Verdict = Literal["allow", "ask", "deny"]
Mode = Literal["read_only", "ask", "auto"]


@dataclass(frozen=True, slots=True)
class ToolRule:
    """What the rules have to know of a tool."""

    reads: tuple[str, ...] = ()
    """Arguments that are paths it reads."""
    looks: tuple[str, ...] = ()
    """Arguments that are folders it looks through: what it shows of them is judged entry by entry."""
    writes: tuple[str, ...] = ()
    """Arguments that are paths it changes."""
    mutates: bool = False
    """Whether it may change anything at all; then the mode decides."""


TOOLS: Final[Mapping[str, ToolRule]] = {
    "read": ToolRule(reads=("path",)),
    "list": ToolRule(looks=("path",)),
    "search": ToolRule(looks=("path",)),
    "write": ToolRule(writes=("path",), mutates=True),
    "edit": ToolRule(reads=("path",), writes=("path",), mutates=True),
    "shell": ToolRule(mutates=True),
}
"""The tools of our own agents."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What becomes of a call."""

    verdict: Verdict
    code: str = ""
    """Why not, stable; empty where it is allowed."""
    message: str = ""
    """The same for the agent: what, and what to do instead."""


_ALLOWED: Final = Ruling("allow")


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds one attempt of an agent."""

    mode: Mode = "ask"
    read_set: tuple[str, ...] = ("**/*",)
    """Globs; what may be written may be read as well."""
    write_set: tuple[str, ...] = ()
    tools: frozenset[str] = frozenset()
    """Names; empty: all of them."""
    granted: frozenset[str] = frozenset()
    """Digests of the calls that a person has allowed this step."""
    additional: tuple[str, ...] = ()
    """Folders outside the workspace, absolute, that may be read: additional paths, and the one it works in."""
    roots: Roots = field(default_factory=lambda: Roots.of("", {}), compare=False)
    """The workspace and the repositories that sets may name."""

    @classmethod
    def of(cls, work: Mapping[str, Any]) -> Limits:
        """The limits of an agent's `work`. What is not understood bounds more, never less."""
        session = work["session"]
        mode = session.get("permission_mode")
        if session.get("posture") != "writer" or mode not in ("read_only", "ask", "auto"):
            mode = "read_only"
        roots = roots_of(work)
        read_set = [str(glob) for glob in session.get("read_set") or ("**/*",)]
        outside = []
        cwd = [work["cwd"]] if work.get("cwd") else []
        for folder in map(str, (*(work.get("additional_paths") or ()), *cwd)):
            try:
                root, inner = roots.located(folder)
            except ValueError:
                outside.append(folder)
                continue
            if folder not in map(str, cwd) and (inner or root.name != WORKSPACE):
                read_set.append(_glob_of(roots.shown(root.name, inner)))
        return cls(
            mode=mode,
            read_set=tuple(read_set),
            write_set=tuple(session.get("write_set") or ()),
            tools=frozenset(session.get("tools") or ()),
            granted=frozenset(work.get("granted") or ()),
            additional=tuple(dict.fromkeys(outside)),
            roots=roots,
        )

    def read_refusal(self, path: str) -> Ruling | None:
        """Why a file may not be read; None where it may."""
        if (kept := _kept(path)) is not None:
            return kept
        is_readable = _is_below(path, self.additional) or self._is_in(
            path, (*self.read_set, *self.write_set)
        )
        if is_readable:
            return None
        sets = _listed((*self.read_set, *self.write_set))
        return _deny("outside_read_set", f"`{_shown(path)}` may not be read: read only {sets}.")

    def look_refusal(self, path: str) -> Ruling | None:
        """Why a folder may not be looked through; None where something in it may be read. `""`: the workspace."""
        if (kept := _kept(path)) is not None:
            return kept
        globs = (*self.read_set, *self.write_set)
        is_open = path == "" or _is_below(path, self.additional) or self._may_hold(path, globs)
        if is_open:
            return None
        sets = _listed(globs)
        return _deny(
            "outside_read_set", f"Nothing in `{_shown(path)}` may be read: read only {sets}."
        )

    def write_refusal(self, path: str) -> Ruling | None:
        """Why a file may not be changed by anybody's leave; None where the mode decides."""
        if (kept := _kept(path)) is not None:
            return kept
        if self._is_in(path, self.write_set):
            return None
        sets = _listed(self.write_set)
        told = f"write only {sets}" if self.write_set else "this step writes no files"
        return _deny(
            "outside_write_set",
            f"`{_shown(path)}` is not in the write set, and no permission changes that: {told}.",
        )

    def by_mode(self, digest: str | None = None) -> Ruling:
        """What the mode says to a call that would change something. `digest`: of the call, for what was allowed before."""
        if self.mode == "read_only":
            return _deny(
                "read_only", "This session only reads: say in your report what should change."
            )
        if self.mode == "auto" or (digest is not None and digest in self.granted):
            return _ALLOWED
        return Ruling("ask", "permission_required", "A person has to allow this.")

    def _is_in(self, path: str, globs: Iterable[str]) -> bool:
        """By whichever of its names: a file in a repository within the workspace has two."""
        name, inner = self._split(path)
        patterns = [pattern for pattern in map(_pattern, globs) if pattern is not None]
        spelled = () if path.startswith("/") else self.roots.spellings(name, inner)
        return any(matches(pattern, each) for each in spelled for pattern in patterns)

    def _may_hold(self, path: str, globs: Iterable[str]) -> bool:
        """Whether some path at or below `path` is in the sets."""
        if path.startswith("/"):
            return False
        name, inner = self._split(path)
        if _pattern(glob := _glob_of(self.roots.shown(name, inner))) is None:
            return False
        place = self.roots.pattern(glob)
        readable = (self.roots.pattern(each) for each in globs if _pattern(each) is not None)
        return any(overlap(place, pattern) for pattern in readable)

    def _split(self, path: str) -> tuple[str, str]:
        """A path as the name of its root and the way from there. A file may be called like a repository that is none."""
        found = REPO.match(path)
        if found is not None and f"repos.{found[1]}" in self.roots.names:
            return f"repos.{found[1]}", path[found.end() :]
        return WORKSPACE, path


def roots_of(work: Mapping[str, Any]) -> Roots:
    """The folders that an agent's sets name: its `roots`, by name; without them its workspace alone."""
    given = dict(work.get("roots") or {WORKSPACE: work.get("workspace") or "/"})
    workspace = str(given.pop(WORKSPACE, ""))
    return Roots.of(
        workspace, {name.removeprefix("repos."): str(folder) for name, folder in given.items()}
    )


def decide(limits: Limits, tool: str, args: Mapping[str, Any]) -> Ruling:
    """What becomes of a call of one of our TOOLS. Its path arguments are those that the confinement has resolved."""
    rule = TOOLS.get(tool)
    if rule is None:
        return _deny("tool_unknown", f"There is no tool `{tool[:80]}`: use {_listed(TOOLS)}.")
    if limits.tools and tool not in limits.tools:
        given = _listed(name for name in TOOLS if name in limits.tools) or "none"
        return _deny(
            "tool_not_granted", f"`{tool}` was not given to this agent, which has {given}."
        )
    if rule.mutates and limits.mode == "read_only":
        return limits.by_mode()
    for names, refusal in (
        (rule.writes, limits.write_refusal),
        (rule.reads, limits.read_refusal),
        (rule.looks, limits.look_refusal),
    ):
        for name in names:
            path = args.get(name)
            refused = refusal(path) if isinstance(path, str) else _NO_PATH
            if refused is not None:
                return refused
    return limits.by_mode(digest_of(tool, args)) if rule.mutates else _ALLOWED


def digest_of(tool: str, args: Mapping[str, Any]) -> str:
    """`b2:<64 hex>` of one exact call: what a person allows is this, and nothing like it."""
    said = {
        "tool": tool,
        "args": {name: value for name, value in args.items() if value is not None},
    }
    return text_digest(json.dumps(said, sort_keys=True, separators=(",", ":"), default=str))


def _kept(path: str) -> Ruling | None:
    # `repos.cloud:.env` is one, and a file of the workspace that is called so is refused with it.
    inner = REPO.sub("", path, count=1)
    if any(name.casefold() in RESERVED for name in inner.split("/")):
        return _deny(
            "reserved_path",
            f"`{_shown(path)}` belongs to git or to pixirnb and is in no set: leave it.",
        )
    if is_secret(inner) or is_secret(path):
        return _deny(
            "kept_secret",
            f"`{_shown(path)}` is kept secret by its name: work without it, or say in your report that it is needed.",
        )
    return None


def _is_below(path: str, folders: Iterable[str]) -> bool:
    if not path.startswith("/") or ".." in path.split("/"):
        return False
    return any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _glob_of(shown: str) -> str:
    """The glob that means this path and all below it; of a root itself, all of it."""
    found = REPO.match(shown)
    root, inner = (found[0], shown[found.end() :]) if found else ("", shown)
    escaped = "".join(f"\\{char}" if char in "*?[]{},\\" else char for char in inner)
    return f"{root}{'' if root else './'}{escaped or '**'}"


@lru_cache(maxsize=4096)
def _pattern(glob: str) -> Pattern | None:
    """None for what is no pattern: it holds nothing."""
    try:
        return Pattern.parse(glob)
    except ValueError:
        return None


def _deny(code: str, message: str) -> Ruling:
    return Ruling("deny", code, message)


_NO_PATH: Final = _deny("path_invalid", "A path is missing: name one, relative to the workspace.")


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _shown(path: str) -> str:
    """A path in a sentence: one line, bounded."""
    text = path if path.isprintable() else json.dumps(path)
    return text if len(text) <= 200 else f"{text[:100]}…{text[-80:]}"
