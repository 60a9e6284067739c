"""Folded state of a run: a function of its events and nothing else.

`fold(events)` is total: unknown kinds are passed over, an event without the shape of its kind is named in `unread` and changes
nothing else, and no event raises. `RunState.apply` is the same fold one event at a time, for the engine and for live followers.
Nothing here knows the plan: the machine decides what an event means for steps that no event has named yet. Source: contract.md
§3, §4, §6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec import field

from pixirnb.history import file_state, items
from pixirnb.history.agent_events import PERMISSION_REQUIRED
from pixirnb.history.events import (
    AttemptEnded,
    AttemptStarted,
    CheckpointDecided,
    CheckpointSaved,
    DecisionRecorded,
    DecisionRequested,
    Event,
    Parent,
    ResumeFlags,
    RetryPlanned,
    RunFinished,
    RunForked,
    RunOwner,
    RunResumed,
    RunStarted,
    SavedCheckpoint,
    StepHeld,
    StepScheduled,
    SubagentEvent,
    VerificationRecorded,
    WarningRaised,
)
from pixirnb.history.file_events import CONFLICT
from pixirnb.history.file_state import drop_seams
from pixirnb.history.items import ItemLists
from pixirnb.history.permission_state import (
    PermissionRequest,
    Permissions,
    end_grants,
    take_permission,
)
from pixirnb.history.step_state import forget, remember, reset
from pixirnb.history.validation import fits
from pixirnb.json_types import JsonObject


class RunState(ItemLists, eq=False):
    """The folded state of a run."""

    run_id: str = ""
    workflow: str = ""
    spec_digest: str = ""
    inputs: JsonObject = field(default_factory=dict)
    name: str | None = None
    """Name that a person gave to the run."""
    tags: list[str] = field(default_factory=list)
    workspace: str = ""
    source: str | None = None
    sources: dict[str, str] = field(default_factory=dict)
    owners: list[RunOwner] = field(default_factory=list)
    """The process of each start and resume."""
    started_at: str | None = None
    ended_at: str | None = None
    finished: RunFinished | None = None
    """The event that ended the present course; None while the course is open."""
    elapsed_ms: int = 0
    """Duration of all courses together that have ended."""
    courses: int = 0
    """1 for the start, 1 more for each resume."""
    resumed_seq: int = 0
    """Sequence number of the last resume."""
    flags: ResumeFlags = field(default_factory=ResumeFlags)
    """Selection of the last resume."""
    checkpoints: list[SavedCheckpoint] = field(default_factory=list)
    warnings: list[WarningRaised] = field(default_factory=list)
    decided_after_end: bool = False
    """A decision was recorded since the run came to rest, and no resume followed."""
    permissions: Permissions = field(default_factory=dict)
    """The requests of agents for permissions."""
    repos: dict[str, str] = field(default_factory=dict)
    """Location of each of `repos`, from the workspace."""
    parent: Parent | None = None
    """The agent that started it by its tool surface; None for a run that a person started."""
    forked: RunForked | None = None
    """The run and the checkpoint that this run was forked from."""
    at: str | None = None
    """Time of the last event."""
    unread: list[int] = field(default_factory=list)
    """Sequence numbers of events whose data could not be read."""

    @property
    def depth(self) -> int:
        """Return the depth of delegation: 0 for a run that a person started."""
        return 0 if self.parent is None else self.parent["depth"] + 1

    def open_permissions(self, step_id: str | None = None) -> list[PermissionRequest]:
        """Return the requests for permissions that wait for a person's decision, oldest first; of one step, or of all."""
        return [
            self.permissions[request]
            for name, step in self.steps.items()
            if step_id in {None, name}
            for request in step.open_requests
        ]

    def apply(self, event: Event) -> bool:
        """Fold one more event. Return False where the data has not the shape of its kind: then only `unread` grew."""
        self.seq = event.seq
        self.at = event.at
        handler = _HANDLERS.get(event.kind)
        if handler is None:
            return True
        if not fits(event.kind, event.data):
            self.unread.append(event.seq)
            return False
        handler(self, event.data, event)
        return True


def fold(events: Iterable[Event]) -> RunState:
    """Return the state after `events`, from nothing."""
    state = RunState()
    for event in events:
        state.apply(event)
    return state


def _run_started(run: RunState, data: RunStarted, event: Event) -> None:
    run.run_id = data["run_id"]
    run.workflow = data["workflow"]
    run.workspace = data["workspace"]
    run.source = data["source"]
    run.started_at = event.at
    run.parent = data.get("parent")
    run.name, run.tags = data.get("name"), data.get("tags") or []
    for left_out in data.get("not_selected") or ():
        run.step(left_out).is_selected = False
    _pin(run, data, event)


def _run_forked(run: RunState, data: RunForked, event: Event) -> None:
    # What came before happened in another run: its time and its warnings are not this one's.
    run.forked = data
    run.inherited = frozenset(merge["merge"] for merge in run.merges)
    run.started_at = event.at
    run.finished = run.ended_at = None
    run.decided_after_end = False
    run.elapsed_ms = run.courses = 0
    run.warnings = []
    # What is open was asked of that run, and is answered there.
    run.permissions = {i: request for i, request in run.permissions.items() if request["verdict"]}
    end_grants(run.permissions)
    for step in run.steps.values():
        step.open_requests = []


def _run_resumed(run: RunState, data: RunResumed, event: Event) -> None:
    run.resumed_seq, run.flags = event.seq, data["flags"]
    run.elapsed_ms += data.get("unfinished_ms", 0)
    _pin(run, data, event)
    run.finished = run.ended_at = None
    run.decided_after_end = False
    for entry in data["steps"]:
        step = run.step(entry["step_id"])
        step.tried_before = step.attempt
        action, reason = entry["action"], entry["reason"]
        step.is_selected = reason != "not_selected"
        if reason == "selected":
            # A person wants it done anew: it asks again.
            end_grants(run.permissions, entry["step_id"])
        is_held = step.checkpoint_status == "held"
        step.reason = None
        if action == "rerun" or not step.is_selected or (action == "reuse" and is_held):
            reset(step, reason, may_keep=action == "reuse" or reason in _MAY_KEEP)
            if step.kept is None:
                drop_seams(run.seams, entry["step_id"])
    items.collapse(run, data)
    named = {entry["step_id"] for entry in data["steps"]}
    for name, step in run.steps.items():
        if name not in named and name.partition("@")[0] not in named:
            step.open_requests = []  # nobody is left to be allowed what it asked for


def _pin(run: RunState, data: RunStarted | RunResumed, event: Event) -> None:
    run.courses += 1
    run.spec = data.get("spec") or run.spec
    run.spec_digest = data["spec_digest"]
    run.inputs = data["inputs"]
    run.sources = data.get("sources") or run.sources
    run.repos = data.get("repos", run.repos)
    run.owners.append({**data["owner"], "at": event.at})


AGAIN: Final = frozenset({PERMISSION_REQUIRED, CONFLICT})
"""Classes of a retry that a person's decision brings about: the step had come to rest."""
_MAY_KEEP: Final = frozenset({"upstream_changed", "not_selected"})
"""Reasons of a rerun that an equal fingerprint ends."""


def _step_scheduled(run: RunState, data: StepScheduled, event: Event) -> None:
    step = run.step(data["step"])
    if step.recheck:
        forget(step)
    step.stage = "scheduled"
    step.started_at, step.ended_at = event.at, None
    step.doubt = None
    step.scheduled_seq = step.confirmed_seq = event.seq
    step.attempt = data["attempt"]
    step.wave = data["wave"]
    step.timeout_ms = data["timeout_ms"]
    step.fingerprint = data["fingerprint"]
    step.repos, step.inputs = run.repos, run.inputs
    step.subagent_status = "queued"
    step.checkpoint_status = step.ended = step.retry = step.held_by = step.pid = step.worker = None
    step.captured = step.merged_by = None
    step.checks = []
    step.open_requests = []
    step.is_permitted = False
    step.brought = file_state.still_brought(run, data["step"])
    drop_seams(run.seams, data["step"])


def _attempt_started(run: RunState, data: AttemptStarted, _: Event) -> None:
    step = run.step(data["step"])
    if step.stage == "scheduled" and step.attempt == data["attempt"]:
        step.stage = step.subagent_status = "running"
        step.pid, step.worker = data["pid"], data.get("worker")


def _attempt_ended(run: RunState, data: AttemptEnded, event: Event) -> None:
    step = run.step(data["step"])
    step.ended_seq = event.seq
    step.ended_at = event.at
    step.stage = "ended"
    step.ended = data
    step.subagent_status = data["status"]
    if data["error"] is None or data["error"]["kind"] != PERMISSION_REQUIRED:
        step.open_requests = []


def _verification_recorded(run: RunState, data: VerificationRecorded, _: Event) -> None:
    run.step(data["step"]).checks = data["checks"]


def _retry_planned(run: RunState, data: RetryPlanned, _: Event) -> None:
    step = run.step(data["step"])
    step.stage = "retrying"
    step.retry = data
    if data["retry_class"] not in AGAIN:
        remember(step, data["error"])
        return
    # It had settled, and begins anew because a person allowed what it needed, or solved what it clashed over: no failed try.
    step.tried_before = min(step.tried_before + 1, step.attempt)  # after a resume none was counted
    if data["retry_class"] == CONFLICT:
        step.solution, step.decision, step.decided = step.decision, None, False
        step.solved_at = None
    step.kept = None
    step.checkpoint_status = None
    step.request = None
    step.is_permitted = False


def _checkpoint_decided(run: RunState, data: CheckpointDecided, event: Event) -> None:
    step = run.step(data["step"])
    step.stage = "settled"
    step.kept = None
    step.held_by = None
    step.retry = None
    step.doubt = None
    step.decided = step.decision is not None
    step.checkpoint_status = data["status"]
    if data.get("reused"):
        step.confirmed_seq = event.seq
        return
    step.settled_seq = event.seq
    step.ended_at = step.ended_at or event.at
    step.subagent_status = data["subagent_status"]
    step.error = data["error"]
    step.limitations = data["limitations"]
    step.digest = data["digest"]
    remember(step, data["error"])


def _step_held(run: RunState, data: StepHeld, _: Event) -> None:
    step = run.step(data["step"])
    step.stage = "settled"
    step.checkpoint_status = "held"
    step.held_by = data["held_by"]
    step.kept_subagent = step.subagent_status
    if step.kept is None:
        # A word on what it was then is no word on what it will be.
        step.request = step.decision = None
        step.decided = False
    step.subagent_status = (
        "cancelled" if data["held_by"]["kind"] == "cancelled" else "not_applicable"
    )


def _decision_requested(run: RunState, data: DecisionRequested, event: Event) -> None:
    step = run.step(data["step"])
    if data["reason"] in {"ask", "in_flight"}:
        if step.recheck:
            forget(step)
        step.stage = "asking"
        step.started_at, step.ended_at = event.at, None
        step.confirmed_seq = event.seq
        step.timeout_ms = data["timeout_ms"]
        step.fingerprint, step.inputs = data["fingerprint"], run.inputs
        step.subagent_status, step.checkpoint_status = "not_applicable", "needs_orchestrator"
        drop_seams(run.seams, data["step"])  # as with a step that is scheduled anew
    step.request = data
    step.attempt = data["attempt"]


def _decision_recorded(run: RunState, data: DecisionRecorded, event: Event) -> None:
    run.requests.add(data["request_id"])
    step = run.step(data["step"])
    if not step.awaits_human:
        return  # said twice, or of a step that has gone on meanwhile: the first word stands
    step.decision = data
    step.decided_at = event.at
    step.decided = False
    step.open_requests = []
    step.doubt = None
    run.decided_after_end = run.finished is not None


def _checkpoint_saved(run: RunState, data: CheckpointSaved, event: Event) -> None:
    run.checkpoints.append({**data, "seq": event.seq, "at": event.at})
    if "request_id" in data:
        run.requests.add(data["request_id"])


def _warning_raised(run: RunState, data: WarningRaised, _: Event) -> None:
    run.warnings.append(data)
    for name in data.get("unrecorded") or ():
        run.step(name).doubt = run.step(name).doubt or "unrecorded"


def _subagent_event(run: RunState, data: SubagentEvent, _: Event) -> None:
    was_decided = take_permission(run.permissions, run.step(data["step"]), data)
    if "request" in data:
        run.requests.add(data["request"])
    run.decided_after_end = run.decided_after_end or (was_decided and run.finished is not None)


def _of_files(kind: str) -> Callable[[RunState, Any, Event], None]:
    return lambda run, data, _: items.take_files(run, kind, data)


def _run_finished(run: RunState, data: RunFinished, event: Event) -> None:
    run.finished = data
    run.ended_at = event.at
    run.elapsed_ms += data["elapsed_ms"]


_HANDLERS: Final[dict[str, Callable[[RunState, Any, Event], None]]] = {
    "run_started": _run_started,
    "run_resumed": _run_resumed,
    "run_forked": _run_forked,
    "step_expanded": lambda run, data, event: items.expand(run, data, event.seq),
    "step_scheduled": _step_scheduled,
    "attempt_started": _attempt_started,
    "attempt_ended": _attempt_ended,
    "verification_recorded": _verification_recorded,
    "retry_planned": _retry_planned,
    "checkpoint_decided": _checkpoint_decided,
    "step_held": _step_held,
    "decision_requested": _decision_requested,
    "decision_recorded": _decision_recorded,
    "checkpoint_saved": _checkpoint_saved,
    "subagent_event": _subagent_event,
    "warning_raised": _warning_raised,
    "run_finished": _run_finished,
    **{kind: _of_files(kind) for kind in file_state.KINDS},
}
