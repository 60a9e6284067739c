"""What an agent-relay v1 file may say, key by key: which keys are read here, and why the others change nothing.

A table a mapping. The text beside an inert key ends the sentence "`key` changes nothing here: …".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one mapping of the format."""

    what: str
    """What the mapping is, for people."""
    read: frozenset[str]
    inert: Mapping[str, str] = field(default_factory=dict)
    """Accepted and without effect: key to reason."""

    @property
    def known(self) -> list[str]:
        """All of them, for a near miss."""
        return sorted({*self.read, *self.inert})


_BROKER: Final = "it is for the messages that agents exchange through its broker"
_NUDGE: Final = "a step that goes quiet is shown as stalled, and ends at its time-out"
_BUDGET: Final = "spending is recorded and not limited"
_HUMAN: Final = "questions to a person are `ask` steps and permissions"
_CREDENTIALS: Final = "credentials come from the environment, by name"

TOP: Final = Keys(
    "workflow file",
    frozenset(
        (
            "version",
            "name",
            "description",
            "swarm",
            "agents",
            "workflows",
            "paths",
            "permission_profiles",
            "permissions",
            "errorHandling",
        )
    ),
    {
        "coordination": "order comes from `dependsOn` alone",
        "state": "a run is kept in its log",
        "trajectories": "a run is kept in its log",
        "integrations": "it is for events from outside",
    },
)
SWARM: Final = Keys(
    "swarm",
    frozenset(("maxConcurrency", "timeoutMs")),
    {
        "pattern": "order comes from `dependsOn` alone, as with its own runner",
        "tokenBudget": _BUDGET,
        "channel": _BROKER,
        "credentialProxy": _CREDENTIALS,
        "idleNudge": _NUDGE,
        "humanAssistance": _HUMAN,
        "completionGracePeriodMs": "a step has ended when its process has",
    },
)
AGENT: Final = Keys(
    "agent",
    frozenset(
        (
            "name",
            "cli",
            "role",
            "task",
            "constraints",
            "cwd",
            "workdir",
            "additionalPaths",
            "permissions",
        )
    ),
    {
        "preset": "what an agent may do is said by `permissions.access`",
        "channels": _BROKER,
        "interactive": "every agent is started for one step and ends with it",
        "credentials": _CREDENTIALS,
        "skills": "an agent brings its own",
        "watch": _BROKER,
        "subscriptions": _BROKER,
    },
)
CONSTRAINTS: Final = Keys(
    "constraints",
    frozenset(("timeoutMs", "retries", "model")),
    {"maxTokens": _BUDGET, "idleThresholdSecs": _NUDGE},
)
PERMISSIONS: Final = Keys(
    "permissions",
    frozenset(("access", "files", "profile", "description", "why")),
    {
        "inherit": "an agent has the permissions that are written for it",
        "scopes": "they are for its broker",
        "network": "the network is not fenced off",
        "exec": "which programs an agent may run is for its own settings",
    },
)
FILES: Final = Keys(
    "files",
    frozenset(("write",)),
    {
        "read": "an agent may read what its user may",
        "deny": "an agent may read what its user may",
    },
)
PATH: Final = Keys("path", frozenset(("name", "path", "description", "required")))
ERRORS: Final = Keys(
    "errorHandling",
    frozenset(("strategy", "maxRetries", "retryDelayMs")),
    {
        "notifyChannel": _BROKER,
        "repairAgent": "no agent repairs between attempts",
        "repairRetries": "no agent repairs between attempts",
        "onExhaustion": "a step without a further attempt has failed",
    },
)
WORKFLOW: Final = Keys(
    "workflow", frozenset(("name", "description", "preflight", "steps", "onError"))
)
PREFLIGHT: Final = Keys(
    "preflight check", frozenset(("command", "failIf", "successIf", "description"))
)
STEP: Final = Keys(
    "step",
    frozenset(
        (
            "name",
            "type",
            "agent",
            "task",
            "command",
            "dependsOn",
            "timeoutMs",
            "retries",
            "verification",
            "cwd",
            "workdir",
            "use",
            "failOnError",
            "captureOutput",
            "branch",
            "baseBranch",
            "path",
            "createBranch",
            "permissions",
            "description",
            "integration",
            "action",
            "params",
            "waitFor",
        )
    ),
    {
        "maxIterations": "an agent ends its own turns",
        "humanAssistance": _HUMAN,
    },
)
VERIFICATION: Final = Keys(
    "verification",
    frozenset(("type", "value", "timeoutMs", "description")),
    {
        "diagnosticAgent": "what a check saw is kept as its evidence",
        "diagnosticTimeout": "what a check saw is kept as its evidence",
    },
)
