"""What a plan may know of the world: plain answers about paths, surveyed beforehand, so that planning touches nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pixirnb.planning.roots import Roots

OLDEST_GIT: Final = (2, 38)
"""The git that copies and merges take: `merge-tree --write-tree` came with it."""


@dataclass(frozen=True, slots=True)
class PathFact:
    """One path a workflow names, looked up."""

    exists: bool
    is_directory: bool
    is_writable: bool
    is_git: bool
    """Whether it is, or lies in, a git repository."""
    is_inside: bool
    """Whether it stays in the workspace, or in the repository it begins with, once symbolic links are followed."""
    resolved: str
    """Absolute, links followed."""


@dataclass(frozen=True, slots=True)
class Environment:
    """Everything a plan asks about the world outside the spec."""

    workspace: str = ""
    """Absolute path of the workspace; empty when nothing was surveyed."""
    paths: Mapping[str, PathFact] = field(default_factory=dict)
    """Folders that steps work in, by the path as written, looked up from the workspace; `repos.NAME/sub` from that repository.

    A path that is not here, or in the two below, was not surveyed and is not complained about.
    """
    beside: Mapping[str, PathFact] = field(default_factory=dict)
    """What agents work in and who may look at what, by the path as written, looked up from `origin`."""
    repos: Mapping[str, PathFact] = field(default_factory=dict)
    """Repositories by name, looked up from `origin`."""
    origin: str = ""
    """Absolute folder of the spec's file; the workspace where there is no file. Empty when nothing was surveyed."""
    functions: frozenset[str] | None = None
    """Known notebook functions as called (`:name`); None when nobody looked."""
    environment: frozenset[str] | None = None
    """Names among those that agents are passed (`pass_env`) which are set, never their values; None when nobody looked."""
    carried: Mapping[str, PathFact] = field(default_factory=dict)
    """What is to be carried into copies, by the path as written, looked up from the workspace or from the repository."""
    has_git: bool = True
    """Whether there is a git that is new enough to give steps copies of the files, and to merge them."""
    tells_children: bool = True
    """Whether processes that a step starts in a thread can be told from what others start, so that they end with it."""

    @property
    def roots(self) -> Roots:
        """The folders a run works on, as far as they were surveyed."""
        return Roots.of(self.workspace, {name: fact.resolved for name, fact in self.repos.items()})
