"""All that is known of one step: what the fold of `history.run_state` fills in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

from pixirnb.history.events import (
    AttemptEnded,
    CheckpointStatus,
    CheckResult,
    DecisionRecorded,
    DecisionRequested,
    ErrorData,
    HeldBy,
    RetryPlanned,
    SubagentStatus,
)
from pixirnb.history.file_events import MergeApplied, MergeConflicted, WorkspaceCaptured

Stage = Literal["idle", "scheduled", "running", "ended", "retrying", "asking", "settled"]
"""Where a step stands: idle (nothing yet, or to be done again) → scheduled → running → ended → settled.
`retrying` waits for its next attempt, `asking` for a human."""


class PastError(TypedDict):
    """How one ended attempt was not ready, as the fold remembers it."""

    attempt: int
    kind: str
    message: str
    tail: str
    """The last of what it printed."""


@dataclass(slots=True, eq=False)
class StepState:
    """All that is known of one step."""

    stage: Stage = "idle"
    attempt: int = 0
    """Last attempt scheduled; counts on over resumes."""
    tried_before: int = 0
    """Attempts made before the present course (start or last resume): the retry budget is new after each."""
    wave: int | None = None
    subagent_status: SubagentStatus = "queued"
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
    ended: AttemptEnded | None = None
    """The last."""
    checks: list[CheckResult] = field(default_factory=list)
    checkpoint_status: CheckpointStatus | None = None
    error: ErrorData | None = None
    limitations: list[str] = field(default_factory=list)
    digest: str | None = None
    held_by: HeldBy | None = None
    retry: RetryPlanned | None = None
    request: DecisionRequested | None = None
    """The open (or answered) one."""
    decision: DecisionRecorded | None = None
    """`decided` says whether the checkpoint followed."""
    decided: bool = False
    reason: str | None = None
    """Why the last resume looks at it again."""
    is_selected: bool = True
    """False: left out of the present course by the person; not run again."""
    kept: CheckpointStatus | None = None
    """Checkpoint status before it was set back, of a step that keeps it if its fingerprint turns out unchanged."""
    kept_subagent: SubagentStatus = "queued"
    """Its subagent status before a hold, of a step that may keep what it had."""
    is_lost: bool = False
    """Its last attempt was under way at a death, and it has neither begun again nor been settled since."""
    open_requests: list[str] = field(default_factory=list)
    """Ids of the permissions its present attempt asked for that wait for a person's word; kept while it is parked for them."""
    is_permitted: bool = False
    """A person has allowed what it came to rest for want of, and it has not run since."""
    captured: WorkspaceCaptured | None = None
    """Of the last attempt; None where it worked in the user's files."""
    brought: MergeApplied | None = None
    """What this merge step did, and what stands."""
    merged_by: str | None = None
    """The merge that brought those changes into the user's files, and stands."""
    clash: MergeConflicted | None = None
    """The last that kept it from going on; what was solved stays solved, in later courses too."""
    clash_seq: int = 0
    """Its sequence number."""
    solution: DecisionRecorded | None = None
    """A person's word on that conflict, for the attempt to come, and for later ones while both sides stay so."""
    solved_at: dict[str, str] | None = None
    """By root: the user's files as the first attempt with that solution found them; None where none was captured."""
    errors: list[PastError] = field(default_factory=list)
    """One entry an ended attempt that was not ready."""

    @property
    def error_kind(self) -> str | None:
        """Kind of the error it settled with."""
        return None if self.error is None else self.error["kind"]

    @property
    def hold(self) -> str | None:
        """Kind of what holds it."""
        return None if self.held_by is None else self.held_by["kind"]

    @property
    def holder(self) -> str | None:
        """The step that is to blame for its hold, if one is."""
        return None if self.held_by is None else self.held_by["step"]

    @property
    def built_on(self) -> list[str]:
        """Steps whose changes its files were given with."""
        return [] if self.captured is None else self.captured["built_on"]

    @property
    def choices(self) -> list[Any]:
        """The values that a person may accept it with; empty: any."""
        return [] if self.request is None else self.request["choices"]

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


def reset(step: StepState, reason: str, *, may_keep: bool) -> None:
    """Back to idle, remembering what an equal fingerprint would let the step keep."""
    if step.stage in {"settled", "asking"} and step.checkpoint_status != "held":
        has_worth = step.checkpoint_status == "checkpoint_ready" or step.decision is not None
        step.kept = step.checkpoint_status if may_keep and has_worth else None
    elif may_keep and step.stage == "settled":
        step.subagent_status = step.kept_subagent
    elif not may_keep or step.stage != "idle":
        step.kept = None  # set back by a course that did not come to it, or held it, it may still keep what it had
    step.is_lost = step.is_lost or step.stage in {"scheduled", "running"}
    step.reason = reason
    step.stage = "idle"
    step.checkpoint_status = None
    step.held_by = None
    step.retry = None
    step.open_requests = []
    step.is_permitted = False
    if step.kept is None:
        forget(step)


def forget(step: StepState) -> None:
    """Drop all an earlier course left but the count of attempts, errors, the last fingerprint, and a conflict's solution."""
    step.kept = None
    step.subagent_status = "queued"
    step.error = None
    step.ended = None
    step.checks = []
    step.limitations = []
    step.digest = None
    step.request = None
    step.decision = None
    step.decided = False
    step.captured = None
    step.merged_by = None
