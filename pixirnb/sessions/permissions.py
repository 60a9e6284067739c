"""The permissions of an agent: its mode, its sets, its tools, and earlier approvals of a person. Pure.

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
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct, field

from pixirnb.json_types import JsonMapping
from pixirnb.planning.digest import text_digest
from pixirnb.planning.environment import is_secret
from pixirnb.planning.globs.pattern import REPO, Pattern, matches, overlap
from pixirnb.planning.globs.segment import RESERVED
from pixirnb.planning.roots import WORKSPACE, Roots
from pixirnb.spec.agent_commands import PERMISSION_MODES, PermissionMode
from pixirnb.wording import cut

Verdict = Literal["allow", "ask", "deny"]


class ToolRule(Struct, frozen=True):
    """The effects of a tool, for the rules."""

    reads: tuple[str, ...] = ()
    """Arguments that are paths it reads."""
    looks: tuple[str, ...] = ()
    """Arguments that are folders it lists; each listed entry is judged on its own."""
    writes: tuple[str, ...] = ()
    """Arguments that are paths it changes."""
    mutates: bool = False
    """True if it may change anything; then the mode decides."""


TOOLS: Final[Mapping[str, ToolRule]] = {
    "read": ToolRule(reads=("path",)),
    "list": ToolRule(looks=("path",)),
    "search": ToolRule(looks=("path",)),
    "write": ToolRule(writes=("path",), mutates=True),
    "edit": ToolRule(reads=("path",), writes=("path",), mutates=True),
    "shell": ToolRule(mutates=True),
}
"""The tools of our own agents."""


class Ruling(Struct, frozen=True):
    """The decision about a call."""

    verdict: Verdict
    code: str = ""
    """Stable code of a refusal; empty if allowed."""
    message: str = ""
    """The refusal for the agent: the reason, and the alternative."""


_ALLOWED: Final = Ruling("allow")


class Limits(Struct, frozen=True):
    """The limits of one attempt of an agent."""

    mode: PermissionMode = "ask"
    read_set: tuple[str, ...] = ("**/*",)
    """Globs; files that may be written may be read as well."""
    write_set: tuple[str, ...] = ()
    tools: frozenset[str] = frozenset()
    """Names; empty means all tools."""
    granted: frozenset[str] = frozenset()
    """Digests of the calls that a person has allowed for this step."""
    additional: tuple[str, ...] = ()
    """Absolute folders outside the workspace that may be read: additional paths, and the working folder."""
    roots: Roots = field(default_factory=lambda: Roots.of("", {}))
    """The workspace and the repositories that sets may name."""

    @classmethod
    def of(cls, work: JsonMapping) -> Limits:
        """Return the limits of an agent's `work`. Unknown values make them stricter, never looser."""
        session = work["session"]
        mode = session.get("permission_mode")
        if session.get("posture") != "writer" or mode not in PERMISSION_MODES:
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
        """Return why a file may not be read; None if it may."""
        if (kept := _kept(path)) is not None:
            return kept
        is_readable = _is_below(path, self.additional) or self._is_in(
            path, (*self.read_set, *self.write_set)
        )
        if is_readable:
            return None
        sets = _listed((*self.read_set, *self.write_set))
        return _deny("outside_read_set", f"`{_shown(path)}` must not be read: read only {sets}.")

    def look_refusal(self, path: str) -> Ruling | None:
        """Return why a folder may not be listed; None if something in it may be read. `""` is the workspace."""
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
        """Return why a file may not be changed, even with approval; None if the mode decides."""
        if (kept := _kept(path)) is not None:
            return kept
        if self._is_in(path, self.write_set):
            return None
        sets = _listed(self.write_set)
        limit = f"write only {sets}" if self.write_set else "this step must not write files"
        return _deny(
            "outside_write_set",
            f"`{_shown(path)}` is not in the write set, and approval cannot change that: {limit}.",
        )

    def by_mode(self, digest: str | None = None) -> Ruling:
        """Return the mode's decision about a call that would change something.

        `digest` of the call finds earlier approvals.
        """
        if self.mode == "read_only":
            return _deny(
                "read_only", "This session is read-only: state in your report what should change."
            )
        if self.mode == "auto" or (digest is not None and digest in self.granted):
            return _ALLOWED
        return Ruling("ask", "permission_required", "A person must approve this.")

    def _is_in(self, path: str, globs: Iterable[str]) -> bool:
        """Return whether any name of the file matches: a file in a repository within the workspace has two."""
        name, inner = self._split(path)
        patterns = [pattern for pattern in map(_pattern, globs) if pattern is not None]
        spelled = () if path.startswith("/") else self.roots.spellings(name, inner)
        return any(matches(pattern, each) for each in spelled for pattern in patterns)

    def _may_hold(self, path: str, globs: Iterable[str]) -> bool:
        """Return whether some path at or below `path` is in the sets."""
        if path.startswith("/"):
            return False
        name, inner = self._split(path)
        if _pattern(glob := _glob_of(self.roots.shown(name, inner))) is None:
            return False
        target = self.roots.pattern(glob)
        readable = (self.roots.pattern(each) for each in globs if _pattern(each) is not None)
        return any(overlap(pattern, target) for pattern in readable)

    def _split(self, path: str) -> tuple[str, str]:
        """Return a path as the name of its root and the rest. A file name may look like a repository that does not exist."""
        match = REPO.match(path)
        if match is not None and f"repos.{match[1]}" in self.roots.names:
            return f"repos.{match[1]}", path[match.end() :]
        return WORKSPACE, path


def roots_of(work: JsonMapping) -> Roots:
    """Return the roots of an agent's sets: its `roots`, by name; else its workspace alone."""
    given = dict(work.get("roots") or {WORKSPACE: work.get("workspace") or "/"})
    workspace = str(given.pop(WORKSPACE, ""))
    return Roots.of(
        workspace, {name.removeprefix("repos."): str(folder) for name, folder in given.items()}
    )


def decide(limits: Limits, tool: str, args: JsonMapping) -> Ruling:
    """Decide a call of one of our TOOLS. Its path arguments are already resolved by the confinement."""
    rule = TOOLS.get(tool)
    if rule is None:
        return _deny("tool_unknown", f"Unknown tool `{cut(tool, 80)}`: use {_listed(TOOLS)}.")
    if limits.tools and tool not in limits.tools:
        given = _listed(name for name in TOOLS if name in limits.tools) or "none"
        return _deny(
            "tool_not_granted", f"`{tool}` is not available to this agent, which has {given}."
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


def digest_of(tool: str, args: JsonMapping) -> str:
    """Return `b2:<64 hex>` of one exact call: an approval covers this call and no similar one."""
    described = {
        "tool": tool,
        "args": {name: value for name, value in args.items() if value is not None},
    }
    return text_digest(json.dumps(described, sort_keys=True, separators=(",", ":"), default=str))


def _kept(path: str) -> Ruling | None:
    # `repos.cloud:.env` is one, and a file of the workspace that is called so is refused with it.
    inner = REPO.sub("", path, count=1)
    if any(name.casefold() in RESERVED for name in inner.split("/")):
        return _deny(
            "reserved_path",
            f"`{_shown(path)}` belongs to git or pixirnb and must not be changed.",
        )
    if is_secret(inner) or is_secret(path):
        return _deny(
            "kept_secret",
            f"`{_shown(path)}` has the name of a secret: work without it, or state in your report that it is needed.",
        )
    return None


def _is_below(path: str, folders: Iterable[str]) -> bool:
    if not path.startswith("/") or ".." in path.split("/"):
        return False
    return any(path == folder or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _glob_of(shown: str) -> str:
    """Return the glob for this path and all below it; for a root all of it."""
    match = REPO.match(shown)
    root, inner = (match[0], shown[match.end() :]) if match else ("", shown)
    escaped = "".join(f"\\{char}" if char in "*?[]{},\\" else char for char in inner)
    return f"{root}{'' if root else './'}{escaped or '**'}"


@lru_cache(maxsize=4096)
def _pattern(glob: str) -> Pattern | None:
    """Return a parsed glob; None if it is invalid, which matches nothing."""
    try:
        return Pattern.parse(glob)
    except ValueError:
        return None


def _deny(code: str, message: str) -> Ruling:
    return Ruling("deny", code, message)


_NO_PATH: Final = _deny("path_invalid", "The path is missing: pass one, relative to the workspace.")


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _shown(path: str) -> str:
    """Return a path for a sentence: one line, limited in length."""
    text = path if path.isprintable() else json.dumps(path)
    return text if len(text) <= 200 else f"{text[:100]}…{text[-80:]}"
