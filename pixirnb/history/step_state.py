"""Folded state of one step: the fold of `history.run_state` fills it in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

from msgspec import Struct, field

if TYPE_CHECKING:
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
    from pixirnb.json_types import JsonMapping

Stage = Literal["idle", "scheduled", "running", "ended", "retrying", "asking", "settled"]
"""Stage of a step: idle (nothing yet, or to be done again) → scheduled → running → ended → settled. `retrying` waits for its
next attempt, `asking` for a human."""
UNDONE: Final = "merge_undone"
"""Reason of a merge step to run again that no resume has given: its merge was undone."""
Doubt = Literal["in_flight", "unrecorded"]
"""Its process died while it ran · it may have run in the part of a damaged log that is no longer read."""


class PastError(TypedDict):
    """The error of one ended attempt that was not ready, as the fold remembers it."""

    attempt: int
    kind: str
    message: str
    tail: str
    """The end of the printed output."""


class StepState(Struct, eq=False):
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
    worker: str | None = None
    """Address of the cluster's worker that runs or ran the last attempt; None at home."""
    started_at: str | None = None
    """Time at which the last attempt was scheduled, or the question was asked: the start itself is recorded later."""
    ended_at: str | None = None
    """Time at which that attempt ended, or the question was decided."""
    scheduled_seq: int = 0
    """Sequence number of the last `step_scheduled`."""
    ended_seq: int = 0
    """Sequence number of the last `attempt_ended`; 0 where none followed."""
    settled_seq: int = 0
    """Sequence number of the last `checkpoint_decided` that was no reuse."""
    confirmed_seq: int = 0
    """Sequence number at which its dependencies last were known to have left the results it builds on."""
    fingerprint: dict[str, str] | None = None
    """Fingerprint of the last scheduled attempt or request."""
    repos: dict[str, str] = field(default_factory=dict)
    """The run's `repos` when that attempt was scheduled."""
    inputs: JsonMapping = field(default_factory=dict)
    """The run's inputs when that attempt was scheduled, or the question was asked."""
    ended: AttemptEnded | None = None
    """Data of the last `attempt_ended`."""
    checks: list[CheckResult] = field(default_factory=list)
    checkpoint_status: CheckpointStatus | None = None
    error: ErrorData | None = None
    limitations: list[str] = field(default_factory=list)
    digest: str | None = None
    held_by: HeldBy | None = None
    retry: RetryPlanned | None = None
    request: DecisionRequested | None = None
    """The open (or answered) question."""
    decision: DecisionRecorded | None = None
    """The last decision; `decided` says whether the checkpoint followed."""
    decided_at: str | None = None
    """Time of the last decision."""
    decided: bool = False
    reason: str | None = None
    """The reason of the last resume to run it again."""
    is_selected: bool = True
    """False: left out of the present course by the person; not run again."""
    kept: CheckpointStatus | None = None
    """Checkpoint status before it was set back, of a step that keeps it if its fingerprint turns out unchanged."""
    kept_subagent: SubagentStatus = "queued"
    """Subagent status before a hold, of a step that may keep its result."""
    doubt: Doubt | None = None
    """Why it may have done work that no result shows; it has neither begun again, nor been settled or decided, since."""
    open_requests: list[str] = field(default_factory=list)
    """Ids of the open requests for permissions of its present attempt; kept while the step is parked for them."""
    is_permitted: bool = False
    """True if a person has given the permission for want of which it came to rest, and it has not run since."""
    captured: WorkspaceCaptured | None = None
    """Capture of the last attempt; None where it worked in the user's files."""
    brought: MergeApplied | None = None
    """The merge of this merge step that stands."""
    merged_by: str | None = None
    """The merge that brought its changes into the user's files, and stands."""
    clash: MergeConflicted | None = None
    """The last conflict that kept it from going on; solved files stay solved, after a resume too."""
    clash_seq: int = 0
    """Sequence number of that conflict."""
    solution: DecisionRecorded | None = None
    """A person's decision on that conflict, for the attempt to come, and for later ones while both sides stay so."""
    solved_at: dict[str, str] | None = None
    """The user's files, by root, when the first attempt with that solution began; None where none was captured."""
    errors: list[PastError] = field(default_factory=list)
    """One entry for each ended attempt that was not ready."""

    @property
    def is_undone(self) -> bool:
        """Return whether a person has undone its merge, and no resume has followed."""
        return self.stage == "idle" and self.reason == UNDONE

    @property
    def has_open_decision(self) -> bool:
        """Return whether a person has decided it, and nothing has followed that."""
        return self.decision is not None and not self.decided

    @property
    def is_lost(self) -> bool:
        """Return whether its last attempt was under way at a death, and nothing has followed it."""
        return self.doubt == "in_flight"

    @property
    def error_kind(self) -> str | None:
        """Return the kind of the error it settled with."""
        return None if self.error is None else self.error["kind"]

    @property
    def failed_before(self) -> ErrorData | None:
        """Return the error of the last attempt of a step that a person has left out since: that mends nothing."""
        past = self.errors[-1] if self.errors and self.hold == "not_selected" else None
        if past is None or past["attempt"] != self.attempt:
            return None
        return {"kind": past["kind"], "message": past["message"], "details": {}}

    @property
    def hold(self) -> str | None:
        """Return the kind of its hold."""
        return None if self.held_by is None else self.held_by["kind"]

    @property
    def holder(self) -> str | None:
        """Return the step that is to blame for its hold, if one is."""
        return None if self.held_by is None else self.held_by["step"]

    @property
    def built_on(self) -> list[str]:
        """Return the steps whose changes were merged into its files."""
        return [] if self.captured is None else self.captured["built_on"]

    @property
    def choices(self) -> list[Any]:
        """Return the values that a person may accept it with; empty: any."""
        return [] if self.request is None else self.request["choices"]

    @property
    def recheck(self) -> bool:
        """Return whether it is reused after all if its fingerprint turns out unchanged."""
        return self.kept is not None

    @property
    def awaits_human(self) -> bool:
        """Return whether a person can decide it now."""
        if self.has_open_decision or self.is_permitted:
            return False
        if self.stage == "settled":
            return self.checkpoint_status in {"partial", "needs_orchestrator"}
        return self.stage == "asking"


def reset(step: StepState, reason: str, *, may_keep: bool) -> None:
    """Set the step back to idle, and remember what an equal fingerprint would let it keep."""
    if step.stage in {"settled", "asking"} and step.checkpoint_status != "held":
        has_worth = step.checkpoint_status == "checkpoint_ready" or step.decision is not None
        step.kept = step.checkpoint_status if may_keep and has_worth else None
    elif may_keep and step.stage == "settled":
        step.subagent_status = step.kept_subagent
    elif not may_keep or step.stage != "idle":
        step.kept = None  # set back by a course that did not come to it, or held it, it may still keep what it had
    if step.stage in {"scheduled", "running"}:
        step.doubt = "in_flight"
    step.reason = reason
    step.stage = "idle"
    step.checkpoint_status = step.held_by = step.retry = None
    step.open_requests = []
    step.is_permitted = False
    if step.kept is None:
        forget(step)


def forget(step: StepState) -> None:
    """Drop all an earlier course left but the count of attempts, errors, the last fingerprint, and a conflict's solution."""
    step.subagent_status = "queued"
    step.kept = step.error = step.ended = step.digest = None
    step.checks = []
    step.limitations = []
    step.request = step.decision = None
    step.decided = False
    step.captured = step.merged_by = step.started_at = step.ended_at = None


def remember(step: StepState, error: ErrorData | None) -> None:
    """Record the error of an attempt that was not ready."""
    if error is not None:
        tail = "" if step.ended is None else step.ended.get("tail", "")
        kind, message = error["kind"], error["message"]
        step.errors.append(
            {"attempt": step.attempt, "kind": kind, "message": message, "tail": tail}
        )
