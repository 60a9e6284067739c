"""All that is known of one step: what the fold of `history.state` fills in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Stage = Literal["idle", "scheduled", "running", "ended", "retrying", "asking", "settled"]
"""Where a step stands: idle (nothing yet, or to be done again) → scheduled → running → ended → settled.
`retrying` waits for its next attempt, `asking` for a human."""


@dataclass(slots=True, eq=False)
class StepState:
    """All that is known of one step."""

    stage: Stage = "idle"
    attempt: int = 0
    """Last attempt scheduled; counts on over resumes."""
    tried_before: int = 0
    """Attempts made before the present course (start or last resume): the retry budget is new after each."""
    wave: int | None = None
    subagent_status: str = "queued"
    timeout_ms: int | None = None
    pid: int | None = None
    scheduled_seq: int = 0
    """Sequence number of the last `step_scheduled`."""
    ended_seq: int = 0
    """Sequence number of the last `attempt_ended`; 0 where none followed."""
    settled_seq: int = 0
    """Sequence number of the last `checkpoint_decided` that was no reuse."""
    confirmed_seq: int = 0
    """Sequence number at which its dependencies were last known to have left what it builds on: an intent, or a reuse."""
    fingerprint: dict[str, str] | None = None
    """Of the last scheduled attempt or request."""
    ended: dict[str, Any] | None = None
    """Data of the last `attempt_ended`."""
    checks: list[dict[str, Any]] = field(default_factory=list)
    checkpoint_status: str | None = None
    error: dict[str, Any] | None = None
    limitations: list[str] = field(default_factory=list)
    digest: str | None = None
    held_by: dict[str, Any] | None = None
    retry: dict[str, Any] | None = None
    request: dict[str, Any] | None = None
    """The open (or answered) `decision_requested`."""
    decision: dict[str, Any] | None = None
    """A `decision_recorded`; `decided` says whether the checkpoint followed."""
    decided: bool = False
    reason: str | None = None
    """Why the last resume looks at it again."""
    is_selected: bool = True
    """False: left out of the present course by the person; not run again."""
    kept: str | None = None
    """Checkpoint status before it was set back, of a step that keeps it if its fingerprint turns out unchanged."""
    kept_subagent: str = "queued"
    """Its subagent status before a hold, of a step that may keep what it had."""
    is_lost: bool = False
    """Its last attempt was under way at a death, and it has neither begun again nor been settled since."""
    open_requests: list[str] = field(default_factory=list)
    """Ids of the permissions its present attempt asked for that wait for a person's word; kept while it is parked for them."""
    is_permitted: bool = False
    """A person has allowed what it came to rest for want of, and it has not run since."""
    errors: list[dict[str, Any]] = field(default_factory=list)
    """One entry an ended attempt that was not ready: `{attempt, kind, message, tail}`."""

    @property
    def recheck(self) -> bool:
        """Whether it is reused after all if its fingerprint turns out unchanged."""
        return self.kept is not None

    @property
    def awaits_human(self) -> bool:
        """Whether a person's word on it would mean something now."""
        if (self.decision is not None and not self.decided) or self.is_permitted:
            return False
        if self.stage == "settled":
            return self.checkpoint_status in {"partial", "needs_orchestrator"}
        return self.stage == "asking"
