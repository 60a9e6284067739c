"""Keys of an agent-relay v1 file: those that are read here, and the reasons why others change nothing.

A table a mapping. The text next to inert keys ends the sentence "`key` changes nothing here: …".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one mapping of the format."""

    what: str
    """Name of the mapping, for people."""
    read: frozenset[str]
    inert: Mapping[str, str]
    """Accepted and without effect: key to reason."""

    @property
    def known(self) -> list[str]:
        """All of them, for a near miss."""
        return sorted({*self.read, *self.inert})


def _keys(what: str, read: str, inert: Mapping[str, str] | None = None) -> Keys:
    """`read` are keys with blanks between, `inert` such keys by the reason that they share."""
    reasons = {key: why for why, keys in (inert or {}).items() for key in keys.split()}
    return Keys(what, frozenset(read.split()), reasons)


_BROKER: Final = "it is for the messages that agents exchange through its broker"
_NUDGE: Final = "a step that goes quiet is shown as stalled, and ends at its time-out"
_BUDGET: Final = "spending is recorded and not limited"
_HUMAN: Final = "questions to a person are `ask` steps and permissions"
_CREDENTIALS: Final = "credentials come from the environment, by name"

TOP: Final = _keys(
    "workflow file",
    "version name description swarm agents workflows paths permission_profiles permissions errorHandling",
    {
        "order comes from `dependsOn` alone": "coordination",
        "a run is kept in its log": "state trajectories",
        "it is for events from outside": "integrations",
    },
)
SWARM: Final = _keys(
    "swarm",
    "maxConcurrency timeoutMs",
    {
        "order comes from `dependsOn` alone, as with its own runner": "pattern",
        _BUDGET: "tokenBudget",
        _BROKER: "channel",
        _CREDENTIALS: "credentialProxy",
        _NUDGE: "idleNudge",
        _HUMAN: "humanAssistance",
        "a step has ended when its process has": "completionGracePeriodMs",
    },
)
AGENT: Final = _keys(
    "agent",
    "name cli role task constraints cwd workdir additionalPaths permissions",
    {
        "what an agent may do is said by `permissions.access`": "preset",
        _BROKER: "channels watch subscriptions",
        "every agent is started for one step and ends with it": "interactive",
        _CREDENTIALS: "credentials",
        "an agent brings its own": "skills",
    },
)
CONSTRAINTS: Final = _keys(
    "constraints",
    "timeoutMs retries model",
    {_BUDGET: "maxTokens", _NUDGE: "idleThresholdSecs"},
)
PERMISSIONS: Final = _keys(
    "permissions",
    "access files profile description why",
    {
        "an agent has the permissions that are written for it": "inherit",
        "they are for its broker": "scopes",
        "the network is not fenced off": "network",
        "which programs an agent may run is for its own settings": "exec",
    },
)
FILES: Final = _keys("files", "write", {"an agent may read what its user may": "read deny"})
PATH: Final = _keys("path", "name path description required")
ERRORS: Final = _keys(
    "errorHandling",
    "strategy maxRetries retryDelayMs",
    {
        _BROKER: "notifyChannel",
        "no agent repairs between attempts": "repairAgent repairRetries",
        "a step without a further attempt has failed": "onExhaustion",
    },
)
WORKFLOW: Final = _keys("workflow", "name description preflight steps onError")
PREFLIGHT: Final = _keys("preflight check", "command failIf successIf description")
STEP: Final = _keys(
    "step",
    "name type agent task command dependsOn timeoutMs retries verification cwd workdir use failOnError captureOutput "
    "branch baseBranch path createBranch permissions description integration action params waitFor",
    {"an agent ends its own turns": "maxIterations", _HUMAN: "humanAssistance"},
)
VERIFICATION: Final = _keys(
    "verification",
    "type value timeoutMs description",
    {"what a check saw is kept as its evidence": "diagnosticAgent diagnosticTimeout"},
)
