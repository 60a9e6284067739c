"""The environment of a plan: facts about paths, surveyed beforehand, so that planning reads no disk; and the names
of secrets: files and variables that are not read, copied, carried or shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final

from pixirnb.planning.globs.pattern import Pattern
from pixirnb.planning.roots import Roots

STARS: Final = "***"
"""Replacement of a secret in all that is shown."""
SHORTEST: Final = 8
"""Minimum length of a secret: masking `yes` or `1` would garble every log and protect nothing."""
_SECRET_NAMES: Final = (
    *(".env*", "*.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore", "*.kdbx"),
    *("id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".netrc", "_netrc", ".pgpass", ".pypirc"),
    *(".npmrc", ".git-credentials", ".htpasswd", ".ssh", ".gnupg", ".aws", "credentials*"),
    *("secrets.json", "secrets.toml", "secrets.yaml", "secrets.yml"),
)
_SECRET_VARIABLE: Final = re.compile("KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SOURCES: Final = (
    *(".py", ".pyi", ".js", ".jsx", ".mjs", ".ts", ".tsx", ".go", ".rs", ".rb", ".java", ".kt"),
    *(".c", ".h", ".cc", ".cpp", ".cs", ".ex", ".exs", ".php", ".swift", ".scala"),
    *(".md", ".rst", ".html", ".css"),
)
"""Suffixes of source files: a module called `credentials` is code, not a secret."""
_PUBLIC: Final = frozenset({"cacert.pem"})
"""Public certificate authorities, which environments need to connect at all."""


@lru_cache(maxsize=4096)
def is_secret_variable(name: str) -> bool:
    """Return whether a variable's name contains KEY TOKEN SECRET PASSWORD or CREDENTIAL. Cached: names repeat in every step."""
    return _SECRET_VARIABLE.search(name) is not None


def shown_input(name: str, value: Any) -> Any:
    """Return the value of an input; of a secret, by its name, only stars."""
    is_long = isinstance(value, str) and len(value) >= SHORTEST
    return STARS if is_long and is_secret_variable(name) else value


def is_secret(path: str) -> bool:
    """Return whether a path names what is usually a secret: a key, a token file, an `.env`."""
    return any(_is_secret_name(name) for name in path.casefold().split("/"))


def _is_secret_name(name: str) -> bool:
    if name in _PUBLIC:
        return False
    if name.startswith("credentials") and name.endswith(_SOURCES):
        return False
    return any(fnmatchcase(name, pattern) for pattern in _SECRET_NAMES)


def never_copied(text: str) -> Pattern:
    """Return the pattern of one of `never_copy`: without a slash it matches names at any depth. Raises ValueError."""
    return Pattern.parse(text if "/" in text.strip("/") else f"**/{text}")


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
    """Requirement of an agent that was not found."""

    code: str
    """Error code, as at run time: `extra_missing`, `agent_missing_binary`, `agent_command_unknown`, `prompt_nowhere` …"""
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class Environment:
    """Facts that a plan needs beyond the spec."""

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
