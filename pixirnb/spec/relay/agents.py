"""The agents of a relay file as agents of ours, and what they may do.

`cli` is a command that runner `cli` knows, `permissions.access` a posture; permissions are spelled out or named by a profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct, field

from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.relay.folders import Folders, where
from pixirnb.spec.relay.keys import AGENT, CONSTRAINTS, FILES, PERMISSIONS
from pixirnb.spec.relay.parser import RelayDraft, RelayParser
from pixirnb.spec.source_map import PathParts

COMMANDS: Final[dict[str, str]] = {
    "agent": "cursor",
    "claude": "claude",
    "codex": "codex",
    "copilot": "copilot",
    "cursor": "cursor",
    "cursor-agent": "cursor",
    "gemini": "gemini",
    "goose": "goose",
    "opencode": "opencode",
    "qwen": "qwen",
}
"""`cli` in the file to the command that runner `cli` knows by name."""
PASSED: Final[dict[str, tuple[str, ...]]] = {
    "claude": ("ANTHROPIC_API_KEY",),
    "codex": ("OPENAI_API_KEY", "CODEX_API_KEY"),
    "copilot": ("COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"),
    "cursor": ("CURSOR_API_KEY",),
    "gemini": ("GEMINI_API_KEY",),
    "goose": ("GOOSE_PROVIDER", "GOOSE_MODEL", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"),
    "opencode": ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"),
    "qwen": ("OPENAI_API_KEY", "DASHSCOPE_API_KEY"),
}
"""Variables passed on to each agent: its own runner hands agents all of its environment, here they get a usual set."""


ACCESS: Final = ("readonly", "readwrite", "restricted", "full")


class RelayPermission(Struct, frozen=True):
    """Permissions of an agent or a step."""

    posture: Literal["read_only", "writer"] | None = None
    """None where the file does not say."""
    is_unasked: bool = False
    """True if it may write without a request each time."""
    writes: tuple[str, ...] = ()
    """Globs it may write, relative to the folder it works in."""
    access_at: PathParts = ()
    writes_at: PathParts = ()

    def write_set(self, cwd: str | None) -> list[str]:
        """Return the globs as claims of a step that works in `cwd`."""
        if cwd is None or cwd == ".":
            return list(self.writes)
        if not cwd.startswith("repos."):
            return [f"{cwd}/{glob}" for glob in self.writes]
        repo, _, below = cwd.partition("/")
        return [f"{repo}:{below}/{glob}" if below else f"{repo}:{glob}" for glob in self.writes]


class Permissions(Struct):
    """The profiles of one file, and what is read with them."""

    reading: RelayParser
    _profiles: dict[str, dict[str, Any]] = field(default_factory=dict)
    _default: object = None
    """Default of agents without permissions: a kind of access, or a profile."""

    def declare(self, top: Mapping[str, Any]) -> None:
        """Read the profiles of the file, in the new spelling and the old."""
        old = self.reading.mapping(top, "permissions", ())
        profiles = {
            **self.reading.mapping(old, "profiles", ("permissions",)),
            **self.reading.mapping(top, "permission_profiles", ()),
        }
        self._profiles = {
            str(name): value for name, value in profiles.items() if isinstance(value, dict)
        }
        self._default = self.reading.text(old, "default", ("permissions",))

    def of(
        self, item: Mapping[str, Any], parts: PathParts, *, is_step: bool = False
    ) -> RelayPermission:
        """Return the `permissions` of an agent or a step."""
        at: PathParts = (*parts, "permissions")
        written = item.get("permissions")
        if written is None and not is_step and self._default is not None:
            written, at = self._default, ("permissions", "default")
        profile_at = access_at = at
        if isinstance(written, str):
            is_access = written not in self._profiles and written in ACCESS
            own: dict[str, Any] = {"access" if is_access else "profile": written}
        else:
            own = self.reading.mapping(item, "permissions", parts)
            profile_at, access_at = (*at, "profile"), (*at, "access")
            self.reading.keys(own, at, PERMISSIONS)
        profile = self.reading.text(own, "profile", at)
        if profile is not None and profile not in self._profiles:
            otherwise = "declare it under `permission_profiles`"
            message = f"unknown permission profile `{profile:.80}`"
            fix = did_you_mean(profile, self._profiles, otherwise=otherwise)
            self.reading.wrong("relay_profile_unknown", profile_at, message, fix)
        merged = {**self._profiles.get(profile or "", {}), **own}
        access_at = access_at if "access" in own else profile_at
        files_at = (*at, "files") if "files" in own else profile_at
        return self._leave(merged, at, access_at, files_at)

    def _leave(
        self,
        permissions: Mapping[str, Any],
        at: PathParts,
        access_at: PathParts,
        files_at: PathParts,
    ) -> RelayPermission:
        access = self.reading.text(permissions, "access", at)
        if access is not None and access not in ACCESS:
            self.reading.no_choice(access_at, access, "access", ACCESS)
            access = None
        files = self.reading.mapping(permissions, "files", at)
        self.reading.keys(files, files_at, FILES)
        writes = self.reading.texts(files, "write", files_at)
        if access == "readonly":
            return RelayPermission("read_only", access_at=access_at)
        where = (*files_at, "write") if files_at[-1] == "files" else files_at
        return RelayPermission(
            None if access is None else "writer",
            # That it may is written: nobody needs to be asked each time.
            access in {"readwrite", "full"},
            tuple(glob.removeprefix("./") for glob in writes),
            access_at,
            where,
        )


class Hand(Struct, frozen=True):
    """Values that the steps of an agent take from it."""

    name: str
    """Its name here."""
    preface: str = ""
    """Its own `task`, which stands before those of its steps."""
    leave: RelayPermission = field(default_factory=RelayPermission)
    """Permissions of the agent."""
    cwd: str | None = None


class Team(Struct):
    """The agents of one file."""

    reading: RelayParser
    folders: Folders
    permissions: Permissions
    retry: Mapping[str, Any]
    """Retry policy of `errorHandling`, without a number of attempts."""
    native: dict[str, dict[str, Any]] = field(default_factory=dict)
    hands: dict[str, Hand] = field(default_factory=dict)
    """By the name in the file."""

    def read(self, top: Mapping[str, Any]) -> None:
        """Read the agents of a file."""
        for name, safe, parts, item in self.reading.named(top, "agents", AGENT, "an agent"):
            self.reading.renamed((*parts, "name"), name, safe)
            self.reading.moved["agents", safe] = parts
            draft = RelayDraft(self.reading, ("agents", safe), {"runner": "cli"})
            self.hands[name] = self._hand(safe, item, parts, draft)
            self.native[safe] = draft.native

    def _hand(
        self, name: str, item: Mapping[str, Any], parts: PathParts, draft: RelayDraft
    ) -> Hand:
        reading, at, limits = self.reading, (*parts, "cli"), (*parts, "constraints")
        cli = reading.needed(item, "cli", parts)
        # Without one it is a mistake, and told: any does for looking further.
        command = "claude" if cli is None else _command(reading, cli, at)
        draft.put("command", command, at)
        draft.came("runner", at=at)
        passed = PASSED.get(command, ())
        draft.put("pass_env", list(passed))
        for position in range(len(passed)):
            draft.came("pass_env", position, at=at)
        draft.put("role", reading.text(item, "role", parts) or None)
        constraints = reading.mapping(item, "constraints", parts)
        reading.keys(constraints, limits, CONSTRAINTS)
        draft.put("model", reading.text(constraints, "model", limits) or None)
        draft.policies(constraints, limits, self.retry)
        cwd = self.folders.folder(item, parts)
        if cwd != ".":
            draft.put("cwd", cwd, where(item, parts))
        paths = reading.texts(item, "additionalPaths", parts)
        draft.put("additional_paths", paths, (*parts, "additionalPaths"))
        leave = self.permissions.of(item, parts)
        draft.put("posture", leave.posture, leave.access_at)
        if leave.is_unasked:
            draft.put("permission_mode", "auto")
        return Hand(name, reading.text(item, "task", parts) or "", leave, cwd)


def _command(reading: RelayParser, cli: str, parts: PathParts) -> str:
    if cli == "api":
        message = "`cli: api` calls a model directly, which is not supported in relay files"
        fix = "name a coding agent, or convert the file and use `runner: llm`"
        reading.wrong("relay_unsupported", parts, message, fix)
    elif cli not in COMMANDS:
        message = f"unknown coding agent `{cli:.60}`: it must be declared in your agents.toml as [cli.{cli:.60}]"
        fix = did_you_mean(cli, COMMANDS, otherwise="declare its command there")
        reading.note("relay_differs", parts, message, fix)
    return COMMANDS.get(cli, cli)
