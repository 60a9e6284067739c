"""The environment of a plan: facts about paths, surveyed beforehand, so that planning reads no disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pixirnb.planning.roots import Roots

OLDEST_GIT: Final = (2, 38)
"""The git that copies and merges take: `merge-tree --write-tree` came with it."""


@dataclass(frozen=True, slots=True)
class PathFact:
    """One surveyed path of a workflow."""

    exists: bool
    is_directory: bool
    is_writable: bool
    is_git: bool
    """True if it is, or is in, a git repository."""
    is_inside: bool
    """True if it is inside the workspace, or the repository it begins with, after following symbolic links."""
    resolved: str
    """Absolute, links followed."""


@dataclass(frozen=True, slots=True)
class AgentLack:
    """Something that an agent needs to start, and that was not found."""

    code: str
    """Error code, as at run time: `extra_missing`, `agent_missing_binary`, `agent_command_unknown`, `prompt_nowhere` …"""
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class Environment:
    """Everything that a plan needs to know beyond the spec."""

    workspace: str = ""
    """Absolute path of the workspace; empty without a survey."""
    paths: Mapping[str, PathFact] = field(default_factory=dict)
    """Working folders of steps, by the path as written, looked up from the workspace; `repos.NAME/sub` from that repository.

    A path that is neither here nor in the two fields below was not surveyed and causes no mistake.
    """
    agent_paths: Mapping[str, PathFact] = field(default_factory=dict)
    """Working folders of agents and additional paths, by the path as written, looked up from `origin`."""
    repos: Mapping[str, PathFact] = field(default_factory=dict)
    """Repositories by name, looked up from `origin`."""
    origin: str = ""
    """Absolute folder of the spec's file; the workspace without a file. Empty without a survey."""
    functions: frozenset[str] | None = None
    """Known notebook functions as called (`:name`); None without a survey."""
    environment: frozenset[str] | None = None
    """Names of set variables among those passed to agents (`pass_env`), never their values; None without a survey."""
    carried: Mapping[str, PathFact] = field(default_factory=dict)
    """Files carried into copies, by the path as written, looked up from the workspace or from the repository."""
    agents: Mapping[str, AgentLack] = field(default_factory=dict)
    """Agents that could not start now, by name."""
    has_git: bool = True
    """True if git is new enough to give steps copies of the files, and to merge them."""
    tells_children: bool = True
    """True if child processes of a step in a thread can be recognised, so that they end with it."""
    is_pinned: bool = False
    """True for the workflow of a run: what only a later version calls a mistake is none in it, for logs open for ever."""

    @property
    def roots(self) -> Roots:
        """Return the folders a run works on, as far as they were surveyed."""
        return Roots.of(self.workspace, {name: fact.resolved for name, fact in self.repos.items()})
