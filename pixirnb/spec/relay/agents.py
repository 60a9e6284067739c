"""The agents of a relay file as agents of ours: `cli` is a command that runner `cli` knows, `permissions.access` a posture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.relay.folders import Folders, where
from pixirnb.spec.relay.keys import AGENT, CONSTRAINTS
from pixirnb.spec.relay.parser import Draft, RelayParser
from pixirnb.spec.relay.permissions import Permissions, RelayPermission
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
"""What is passed on to each: its own runner hands agents all of its environment, here they get what they usually need."""


@dataclass(frozen=True, slots=True)
class Hand:
    """What the steps of an agent take from it."""

    name: str
    """Its name here."""
    preface: str = ""
    """Its own `task`, which stands before those of its steps."""
    leave: RelayPermission = field(default_factory=RelayPermission)
    """What it may do."""
    cwd: str | None = None


@dataclass(slots=True)
class Team:
    """The agents of one file."""

    reading: RelayParser
    folders: Folders
    permissions: Permissions
    retry: Mapping[str, Any]
    """What `errorHandling` says of retries, without a number of attempts."""
    native: dict[str, dict[str, Any]] = field(default_factory=dict)
    hands: dict[str, Hand] = field(default_factory=dict)
    """By the name in the file."""

    def read(self, top: Mapping[str, Any]) -> None:
        """Read the agents of a file."""
        for name, safe, parts, item in self.reading.named(top, "agents", AGENT, "an agent"):
            self.reading.renamed((*parts, "name"), name, safe)
            self.reading.moved["agents", safe] = parts
            draft = Draft(self.reading, ("agents", safe), {"runner": "cli"})
            self.hands[name] = self._hand(safe, item, parts, draft)
            self.native[safe] = draft.native

    def _hand(self, name: str, item: Mapping[str, Any], parts: PathParts, draft: Draft) -> Hand:
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
        reading.wrong(
            "relay_unsupported",
            parts,
            "`cli: api` asks a model by itself, which a relay file cannot say how to do here",
            "name a coding agent, or convert the file and write `runner: llm` with `model: provider:name`",
        )
    elif cli not in COMMANDS:
        reading.note(
            "relay_differs",
            parts,
            f"pixirnb brings no way to call `{cli:.60}`: it must be in your agents.toml, as [cli.{cli:.60}]",
            did_you_mean(cli, COMMANDS, otherwise="write how it is called there"),
        )
    return COMMANDS.get(cli, cli)
