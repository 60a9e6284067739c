"""The agents of a relay file as agents of ours: `cli` is a command that runner `cli` knows, `permissions.access` a posture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pixirnb.spec.did_you_mean import did_you_mean
from pixirnb.spec.relay.folders import Folders
from pixirnb.spec.relay.keys import AGENT, CONSTRAINTS
from pixirnb.spec.relay.parser import RelayParser, safe_names
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

    native: dict[str, dict[str, Any]] = field(default_factory=dict)
    hands: dict[str, Hand] = field(default_factory=dict)
    """By the name in the file."""


def read_agents(
    reading: RelayParser,
    top: Mapping[str, Any],
    *,
    folders: Folders,
    permissions: Permissions,
    retry: Mapping[str, Any],
) -> Team:
    """The agents of a file. `retry` is what `errorHandling` says, without a number of attempts."""
    team = Team()
    found = reading.named(top, "agents", AGENT, "an agent")
    safe = safe_names(name for name, _, _ in found)
    for name, parts, item in found:
        reading.renamed((*parts, "name"), name, safe[name])
        reading.moved["agents", safe[name]] = parts
        agent, hand = _agent(
            reading,
            item,
            parts,
            name=safe[name],
            folders=folders,
            permissions=permissions,
            retry=retry,
        )
        team.native[safe[name]] = agent
        team.hands[name] = hand
    return team


def _agent(
    reading: RelayParser,
    item: Mapping[str, Any],
    parts: PathParts,
    *,
    name: str,
    folders: Folders,
    permissions: Permissions,
    retry: Mapping[str, Any],
) -> tuple[dict[str, Any], Hand]:
    moved, own = reading.moved, ("agents", name)
    agent: dict[str, Any] = {"runner": "cli"}
    cli = reading.needed(item, "cli", parts)
    # Without one it is a mistake, and told: any does for looking further.
    agent["command"] = "claude" if cli is None else _command(reading, cli, (*parts, "cli"))
    moved[*own, "command"] = moved[*own, "runner"] = (*parts, "cli")
    for position in range(len(PASSED.get(str(agent.get("command")), ()))):
        moved[*own, "pass_env", position] = (*parts, "cli")
    if passed := PASSED.get(str(agent.get("command"))):
        agent["pass_env"] = list(passed)
    role = reading.text(item, "role", parts)
    if role:
        agent["role"] = role
    constraints = reading.mapping(item, "constraints", parts)
    at = (*parts, "constraints")
    reading.keys(constraints, at, CONSTRAINTS)
    model = reading.text(constraints, "model", at)
    if model:
        agent["model"] = model
    timeout = reading.span(constraints, "timeoutMs", at)
    if timeout is not None:
        agent["timeout"] = timeout
        moved[*own, "timeout"] = (*at, "timeoutMs")
    retries = reading.count(constraints, "retries", at)
    if retries is not None:
        agent["retry"] = {"max_attempts": retries + 1, **retry}
        moved[*own, "retry"] = (*at, "retries")
    cwd = folders.folder(item, parts)
    if cwd is not None and cwd != ".":
        agent["cwd"] = cwd
        moved[*own, "cwd"] = (*parts, "workdir" if "workdir" in item else "cwd")
    paths = reading.texts(item, "additionalPaths", parts)
    if paths:
        agent["additional_paths"] = paths
        moved[*own, "additional_paths"] = (*parts, "additionalPaths")
    leave = permissions.of(item, parts)
    if leave.posture is not None:
        agent["posture"] = leave.posture
        moved[*own, "posture"] = leave.access_at
    if leave.is_unasked:
        agent["permission_mode"] = "auto"
    preface = reading.text(item, "task", parts) or ""
    return agent, Hand(name, preface, leave, cwd)


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
