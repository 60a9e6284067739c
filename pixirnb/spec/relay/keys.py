"""Keys of an agent-relay v1 file: those that are read here, and the reasons why others change nothing.

A table a mapping. The text next to inert keys ends the sentence "`key` is ignored: …".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct


class Keys(Struct, frozen=True):
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
    """Return a table of keys: `read` are keys with blanks between, `inert` such keys by the reason that they share."""
    reasons = {key: why for why, keys in (inert or {}).items() for key in keys.split()}
    return Keys(what, frozenset(read.split()), reasons)


_BROKER: Final = "pixirnb has no message broker"
_NUDGE: Final = "a step without output is shown as stalled and ends at its timeout"
_BUDGET: Final = "usage is recorded, not limited"
_HUMAN: Final = "pixirnb uses `ask` steps and permissions"
_CREDENTIALS: Final = "credentials come from environment variables"

TOP: Final = _keys(
    "workflow file",
    "version name description swarm agents workflows paths permission_profiles permissions errorHandling",
    {
        "the order of steps comes from `dependsOn`": "coordination",
        "a run is recorded in its log": "state trajectories",
        "external events are not supported": "integrations",
    },
)
SWARM: Final = _keys(
    "swarm",
    "maxConcurrency timeoutMs",
    {
        "the order of steps comes from `dependsOn`": "pattern",
        _BUDGET: "tokenBudget",
        _BROKER: "channel",
        _CREDENTIALS: "credentialProxy",
        _NUDGE: "idleNudge",
        _HUMAN: "humanAssistance",
        "a step ends with its process": "completionGracePeriodMs",
    },
)
AGENT: Final = _keys(
    "agent",
    "name cli role task constraints cwd workdir additionalPaths permissions",
    {
        "permissions come from `permissions.access`": "preset",
        _BROKER: "channels watch subscriptions",
        "an agent is started for each step and ends with it": "interactive",
        _CREDENTIALS: "credentials",
        "agents use their own skills": "skills",
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
        "permissions are not inherited": "inherit",
        "pixirnb has no message broker": "scopes",
        "network access is not restricted": "network",
        "programs are restricted in the settings of the agent": "exec",
    },
)
FILES: Final = _keys("files", "write", {"reading is not restricted": "read deny"})
PATH: Final = _keys("path", "name path description required")
ERRORS: Final = _keys(
    "errorHandling",
    "strategy maxRetries retryDelayMs",
    {
        _BROKER: "notifyChannel",
        "failed attempts are not repaired by an agent": "repairAgent repairRetries",
        "a step fails after its last attempt": "onExhaustion",
    },
)
WORKFLOW: Final = _keys("workflow", "name description preflight steps onError")
PREFLIGHT: Final = _keys("preflight check", "command failIf successIf description")
STEP: Final = _keys(
    "step",
    "name type agent task command dependsOn timeoutMs retries verification cwd workdir use failOnError captureOutput "
    "branch baseBranch path createBranch permissions description integration action params waitFor",
    {"the agent decides when it is done": "maxIterations", _HUMAN: "humanAssistance"},
)
VERIFICATION: Final = _keys(
    "verification",
    "type value timeoutMs description",
    {"the output of a check is kept as evidence": "diagnosticAgent diagnosticTimeout"},
)
