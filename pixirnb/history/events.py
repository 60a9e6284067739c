"""The contents of a log: the envelope of an event, and the data of each kind.

An event is a fact that happened. It is never changed, only followed by others. `Event` is the envelope; `data` is one
of the TypedDicts below, or of those in `file_events` and `agent_events`, named after its kind. Unknown kinds are kept as
they are: old logs open for ever, and so do logs of a newer pixirnb. Source: contract.md §3.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict

from msgspec import Struct

from pixirnb.history.agent_events import SubagentEvent as SubagentEvent  # noqa: PLC0414 - one place for all kinds
from pixirnb.history.file_events import ArtifactData, OutputLog, PathList
from pixirnb.json_types import JsonObject, deep_copy

LOG_VERSION: Final = 1

Kind = Literal[
    "run_started",
    "run_resumed",
    "run_forked",
    "step_expanded",
    "step_scheduled",
    "attempt_started",
    "attempt_ended",
    "retry_planned",
    "verification_recorded",
    "checkpoint_decided",
    "step_held",
    "decision_requested",
    "decision_recorded",
    "checkpoint_saved",
    "workspace_captured",
    "merge_applied",
    "merge_conflicted",
    "seam_opened",
    "seam_resolved",
    "subagent_event",
    "warning_raised",
    "run_finished",
]
"""The canonical kinds: closed for writers, open for readers."""

SubagentStatus = Literal[
    "queued",
    "running",
    "completed",
    "failed",
    "timed_out",
    "interrupted",
    "cancelled",
    "detached",
    "not_applicable",
]
CheckpointStatus = Literal["checkpoint_ready", "partial", "failed", "held", "needs_orchestrator"]
RunStatus = Literal[
    "running",
    "completed",
    "interrupted",
    "needs_orchestrator",
    "partial",
    "timed_out",
    "failed",
]
HeldKind = Literal["dependency", "when", "run_stopped", "run_timeout", "cancelled", "not_selected"]
NO_ITEM: Final = "no item"
"""In place of the values of a false `when`: all items of the list are skipped."""
OTHER_LIST: Final = "another list"
"""The mark of a list that was not selected and is another one now: the items that it had do not make it skipped."""
ResumeAction = Literal["reuse", "rerun", "hold"]
ResumeReason = Literal[
    "ready",
    "decided",
    "failed",
    "partial",
    "held",
    "waiting",
    "in_flight",
    "spec_changed",
    "input_changed",
    "never",
    "upstream_changed",
    "value_not_trusted",
    "blob_missing",
    "blob_damaged",
    "selected",
    "not_selected",
    "gone",
]
"""Reasons of a resume; `gone`, of an item that is not in its list any more, is only in previews."""


class Event(Struct, frozen=True):
    """One fact. `seq` is contiguous from 1; `at` is UTC wall time for people, never used to order or measure."""

    seq: int
    at: str
    kind: str
    data: JsonObject
    """Data of the event's kind, once `validation.fits` has accepted it: the fold passes it to its readers as that TypedDict."""

    def copy(self) -> Event:
        """Return the event for a reader that may change what it gets: its data is the reader's own."""
        return Event(self.seq, self.at, self.kind, deep_copy(self.data))


class Owner(TypedDict):
    """The process that wrote the following events."""

    host: str
    pid: int
    instance: str
    born: NotRequired[str]
    """Birth of the process, which no clock moves (`system/process_life.py`); older releases and macOS record none."""


class RunOwner(Owner):
    """A process that drove the run from one start or resume to the next rest, or death."""

    at: str
    """Time at which this process took the run."""


class ErrorData(TypedDict):
    """The reason why an attempt is not ready. `kind` is closed per cause: see contract.md §4 and the glossary."""

    kind: str
    message: str
    details: JsonObject
    """Details known to the work itself: numbers and texts for people."""


class HeldBy(TypedDict):
    """The reason why a step will not start, and the step that is to blame, if one is."""

    kind: str
    """A HeldKind."""
    step: str | None
    seen: NotRequired[str]
    """A false `when` with the values it was asked about, secrets masked; or `no item`, `another list`. Older logs lack it."""
    also: NotRequired[list[str]]
    """In an outcome, and never logged: the other steps that would hold it if that one were ready."""


class Validation(TypedDict):
    """The result of checking a value against its declaration, with the errors."""

    passed: bool
    errors: NotRequired[list[str]]


class PayloadRecord(TypedDict):
    """Metadata of a declared `output`, without its value."""

    schema_id: str | None
    provenance: str
    validation: Validation


class StoredValue(TypedDict):
    """A step's output as it lies in the log or a blob; `format` says how to read it back."""

    format: Literal["none", "text", "json", "jsonl", "npy", "parquet", "pickle"]
    value: NotRequired[Any]
    """The value itself, for text, json and jsonl up to the inline limit (16 KiB)."""
    blob: NotRequired[str]
    """Otherwise the blob that holds its bytes."""
    bytes: NotRequired[int]
    printed: NotRequired[int]
    """Bytes that were printed, where these are more than is handed on as a value: it is for `output_path` alone."""
    signature: NotRequired[str]
    """For pickles: keyed digest of the bytes, under this user's key."""
    type: NotRequired[str]
    """For people: the Python type of a pickle."""
    glance: NotRequired[str]
    """For people: `20 × 2 DataFrame`, `90`, `Figure`; of a value that is neither text nor JSON."""


class Reason(TypedDict):
    """A reason why a run ended as it did; `code` is of a closed set."""

    code: str
    """One of a closed set."""
    step: NotRequired[str | None]
    """The step to blame."""
    seam: NotRequired[str]
    """Id of the open seam."""


class CheckResult(TypedDict):
    """One declared check, its evidence, and whether it passed."""

    check: JsonObject
    passed: bool
    evidence: JsonObject
    """The evidence: keys by the kind of check."""


class ResumeStep(TypedDict):
    """The action of a resume on one step, and its reason."""

    step_id: str
    title: NotRequired[str]
    """In a preview, and never logged: the name of the step for people."""
    action: ResumeAction
    reason: ResumeReason
    because: list[str]
    asks: NotRequired[bool]
    """True in a preview, and never logged, where a person is asked before the step runs again."""
    skipped: NotRequired[bool]
    """True in a preview, and never logged, of a held step that a resume skips."""
    awaits: NotRequired[list[str]]
    """In a preview, and never logged: steps whose `when` or question is open, on which it depends whether this one runs."""
    new: NotRequired[bool]
    """True in a preview, and never logged, of a step that an edit of the workflow added."""
    was: NotRequired[str]
    """In a preview, and never logged: `interrupted`, `cancelled`, `timed_out` (it failed), `not_selected` (held), `rejected`
    (reused)."""


class Parent(TypedDict):
    """The agent that started a run by its tool surface."""

    run_id: str
    step: str
    attempt: int
    session_id: str
    depth: int
    """Depth of the agent's own run."""


PathText = Annotated[str, "path"]
"""A path: a text without NUL."""
OPEN: Final = "open"
"""Marker of an object whose members are not validated: logs hold, and held, other ones."""


class RunStarted(TypedDict):
    """The pinned workflow and everything a later process needs to go on with it."""

    run_id: str
    workflow: str
    spec: JsonObject
    spec_digest: str
    inputs: JsonObject
    workspace: PathText
    source: PathText | None
    sources: dict[str, str]
    """Pinned source of each notebook function called: `{":name": text}`."""
    owner: Owner
    pixirnb: str
    repos: NotRequired[dict[str, PathText]]
    """Location of each of the spec's `repos`, from the workspace; absent where it names none."""
    parent: NotRequired[Parent | None]
    """Absent for a run that a person started."""
    name: NotRequired[str]
    """Name that a person gave to the run."""
    tags: NotRequired[list[str]]
    """Labels that a person gave to the run, for `runs --tag`."""
    not_selected: NotRequired[list[str]]
    """Steps that a person left out: they are no targets of the run, and no target needs them."""


ResumeFlags = TypedDict(
    "ResumeFlags",
    {"from": str, "only": str, "until": str, "decided": bool},
    total=False,
)
"""Selection of a resume; `decided` when a decision continued a parked run."""


class RunResumed(TypedDict):
    """A later process took the run up again; `steps` is the whole plan of the resume."""

    owner: Owner
    flags: Annotated[ResumeFlags, OPEN]
    """`from`, `only`, `until` where given; `decided: true` when a decision continued a parked run."""
    steps: list[ResumeStep]
    spec: NotRequired[JsonObject]
    """The edited workflow, when the resume was given one; else the pinned one goes on."""
    spec_digest: str
    inputs: JsonObject
    sources: NotRequired[dict[str, str]]
    repos: NotRequired[dict[str, PathText]]
    """Location of each of the edited spec's `repos`, where these differ from before."""
    unfinished_ms: NotRequired[int]
    """The length of the invocation before, from its first to its last event, if its process died."""


class RunForked(TypedDict):
    """The origin of a fork: all events before this one are the history of another run, up to one of its checkpoints."""

    run_id: str
    """The other run."""
    checkpoint: str
    seq: int
    """Sequence number of that run's `checkpoint_saved`, and of its copy here: the event before this one."""


class ItemData(TypedDict):
    """One item of a step with `for_each`; its step is `ID@number`."""

    number: int
    """Its number, which a resume finds by the key: not its position in the list."""
    key: str
    """Its name in the list: no other item has it."""
    value: Any
    """The item itself: `{{ item }}`."""


class StepExpanded(TypedDict):
    """The list of a step with `for_each`, in its order: each item is a step of its own."""

    step: str
    items: list[ItemData]
    """Empty where `same_as` names the step that has them."""
    reused: list[int]
    """Numbers of the items whose results stand: nothing that they are made from has changed."""
    same_as: NotRequired[str]
    """The step whose list it shares."""


class StepScheduled(TypedDict):
    """The durable intent to run an attempt: on disk before anything starts."""

    step: str
    attempt: int
    wave: int
    timeout_ms: int | None
    workspace: str
    """`shared` or `isolated`."""
    fingerprint: dict[str, str]
    """`{"static": digest, "dynamic": digest}`."""


class AttemptStarted(TypedDict):
    """The attempt has a process, or a thread. May be missing after a death: rides with the next group."""

    step: str
    attempt: int
    pid: int | None
    session_id: NotRequired[str | None]
    worker: NotRequired[str]
    """Address of the worker of a cluster that runs it; without it the attempt runs with the owner."""


class AttemptEnded(TypedDict):
    """The end of an attempt and all that it left, checks apart."""

    step: str
    attempt: int
    status: SubagentStatus
    error: ErrorData | None
    elapsed_ms: int
    summary: str
    exit_code: NotRequired[int | None]
    signal: NotRequired[int | None]
    output: NotRequired[StoredValue]
    report: NotRequired[JsonObject | None]
    """An agent's structured report: checkpoint_status summary output limitations seams. None is sure to be there."""
    artifacts: NotRequired[list[ArtifactData]]
    """Files that the step declared, as they are kept."""
    missing: NotRequired[list[str]]
    """The items of a `for_each` without a value: null in the output."""
    unmatched: NotRequired[list[str]]
    """Globs of `artifacts` that named no file, of an attempt that ended by itself and well."""
    output_log: NotRequired[OutputLog]
    """Location of the printed output, relative to the run folder."""
    payload: NotRequired[PayloadRecord | None]
    """Metadata of a declared `output`; the value is `output`."""
    strays: NotRequired[int]
    survivors: NotRequired[list[int]]
    """Ids of its processes that could not be ended; empty if it is unknown whether one is left."""
    overdue_ms: NotRequired[int]
    """Milliseconds by which a thread overran its time-out, because it held the interpreter and could not be ended."""
    outside: NotRequired[PathList]
    """Files outside all claims that changed while a shared step ran; or the reason why they could not be checked."""
    tail: NotRequired[str]
    """The end of the printed output, of an attempt that was not clean, or whose failure the next one hears of."""
    session_id: NotRequired[str | None]


class VerificationRecorded(TypedDict):
    """Every declared check of the attempt with its evidence."""

    step: str
    attempt: int
    checks: list[CheckResult]


class RetryPlanned(TypedDict):
    """The attempt failed in a class worth retrying; the next one starts after `delay_ms`."""

    step: str
    attempt: int
    """The attempt to come."""
    delay_ms: int
    timeout_ms: int | None
    retry_class: str
    error: ErrorData
    """Why the attempt before was not ready."""


class CheckpointDecided(TypedDict):
    """The only event that unlocks dependents, or says why they stay locked."""

    step: str
    attempt: int
    status: CheckpointStatus
    """Status that follows from the raw end, the checks and the output."""
    subagent_status: SubagentStatus
    error: ErrorData | None
    limitations: list[str]
    """Limitations that a reader of the bundle must know; the bundle itself is folded from this attempt's events."""
    digest: str | None
    """Digest of produced, payload and changes: the part that dependents' fingerprints see."""
    reused: NotRequired[bool]
    """True when a resume found the step's fingerprint unchanged and kept its result."""


class StepHeld(TypedDict):
    """A step that will not start between this start or resume and the next rest."""

    step: str
    held_by: HeldBy


class DecisionRequested(TypedDict):
    """A question to a human without whose answer this step cannot go on."""

    step: str
    attempt: int
    reason: str
    question: str
    choices: list[Any]
    timeout_ms: int | None
    fingerprint: dict[str, str]


class DecisionRecorded(TypedDict):
    """The answer of the human."""

    step: str
    attempt: int
    verdict: Literal["accept", "reject"]
    value: Any
    note: str
    by: str
    request_id: str
    permission: NotRequired[str]
    """The request for a permission that was denied, where the step had come to rest for want of it."""


class CheckpointSaved(TypedDict):
    """A named checkpoint to resume from."""

    name: str
    reason: Literal["phase", "manual", "end"]
    ready: list[str]
    note: str
    request_id: NotRequired[str]
    """Id of the person's request, where one asked for it."""
    sender: NotRequired[str]
    """The sender of that request, where it is no person."""


class SavedCheckpoint(CheckpointSaved):
    """A checkpoint, with the number and time of its event."""

    seq: int
    """Sequence number of its event."""
    at: str


class WarningRaised(TypedDict):
    """Fact that a reader of the outcome should know, and that changed no status."""

    code: str
    message: str
    step: NotRequired[str | None]
    details: NotRequired[JsonObject]
    unrecorded: NotRequired[list[str]]
    """The steps that may have run in the lines that are no longer read; only of `log_recovered`."""


class RunFinished(TypedDict):
    """The run came to rest. A later resume may follow it."""

    status: RunStatus
    reasons: list[Reason]
    elapsed_ms: int
    counts: dict[str, int]
