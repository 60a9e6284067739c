"""What a plan may know of the world: plain answers about paths, surveyed beforehand, so that planning touches nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PathFact:
    """One path a workflow names, looked up from the workspace."""

    exists: bool
    is_directory: bool
    is_writable: bool
    is_git: bool
    """Whether it is, or lies in, a git repository."""
    is_inside: bool
    """Whether it stays in the workspace once symbolic links are followed."""
    resolved: str
    """Absolute, links followed."""


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a plan asks about the world outside the spec."""

    workspace: str = ""
    """Absolute path of the workspace; empty when nothing was surveyed."""
    paths: Mapping[str, PathFact] = field(default_factory=dict)
    """By the path as written. A path that is not here was not surveyed and is not complained about."""
    functions: frozenset[str] | None = None
    """Known notebook functions as called (`:name`); None when nobody looked."""
    environment: frozenset[str] | None = None
    """Names among those that agents are passed (`pass_env`) which are set, never their values; None when nobody looked."""
