"""JSON of the outcomes of runs and steps, and of the rows of a list of runs. Source: docs/reference/json.md."""

from __future__ import annotations

from typing import Any, Final, Literal, NotRequired, TypedDict

from pixirnb.history.bundles import CheckpointBundle
from pixirnb.history.events import ErrorData, HeldBy, Reason, RetryPlanned, WarningRaised
from pixirnb.history.file_state import Obligation
from pixirnb.json_types import JsonObject

FAILED_AS: Final = frozenset({"timed_out", "cancelled", "interrupted", "detached"})
"""Ends of attempts by which people name a `failed` step."""
Action = Literal[
    "retry_failed_steps",
    "rerun_step",
    "resume_run",
    "raise_timeout",
    "decide_step",
    "approve_request",
    "merge_changes",
    "resolve_seam",
    "inspect_session",
    "synthesize_from_partial",
    "abort",
]


class NextAction(TypedDict):
    """An action of a person, and the cell or the shell command that does it."""

    action: Action
    step: str | None
    cell: str
    command: NotRequired[str]
    """Written by every `offer`; older documents have the cell alone."""


class RunRow(TypedDict):
    """A run in a list of runs."""

    run_id: str
    workflow: str | None
    status: str
    """Status of its outcome; `never_began` where it died before its first event, `unreadable` where it cannot be read."""
    started_at: str | None
    ended_at: str | None
    counts: dict[str, int]
    failed_as: NotRequired[dict[str, int]]
    """How many of the `failed` ones were stopped and did not fail by themselves, by the end of their attempt."""
    name: NotRequired[str | None]
    tags: NotRequired[list[str]]
    error: NotRequired[str]
    """Why it has no outcome, or none that is to be trusted."""


class OpenRequest(TypedDict):
    """An open permission request of an agent: the call as it stands in the log, long texts cut."""

    request_id: str
    tool: str | None
    args: Any


class StepDocument(TypedDict, total=False):
    """The JSON of a `StepOutcome`. Views read it as it comes: no member is guaranteed."""

    step_id: str
    title: str
    kind: str
    agent_id: str | None
    child_session_id: str | None
    wave: int | None
    attempt: int
    subagent_status: str
    checkpoint_status: str | None
    summary: str
    elapsed_ms: int | None
    timeout_ms: int | None
    error: ErrorData | None
    checkpoint: CheckpointBundle | None
    next_actions: list[NextAction]
    posture: str
    read_set: list[str]
    write_set: list[str]
    workspace: str
    held_by: HeldBy | None
    depends_on: list[str]
    started_at: str | None
    ended_at: str | None
    exit_code: int | None
    output_path: str | None
    output_age_ms: int
    retry: RetryPlanned
    recheck: bool
    starting: bool
    skipped: bool
    undone: bool
    worker: str
    requests: list[OpenRequest]


class RunDocument(TypedDict, total=False):
    """The JSON of a `RunOutcome`. Views read it as it comes: no member is guaranteed."""

    schema_version: int
    ok: bool
    run_id: str
    name: str | None
    tags: list[str]
    workflow: str
    workflow_title: str
    workspace: str
    inputs: JsonObject
    status: str
    started_at: str | None
    ended_at: str | None
    reasons: list[Reason]
    steps: list[StepDocument]
    usable_checkpoints: list[str]
    failed_steps: list[str]
    partial_steps: list[str]
    timed_out_steps: list[str]
    held_steps: list[str]
    skipped_steps: list[str]
    needs_orchestrator_steps: list[str]
    held_dependents: dict[str, list[str]]
    seam_obligations: list[Obligation]
    next_actions: list[NextAction]
    proof_states: list[str]
    summary: str
    counts: dict[str, int]
    warnings: list[WarningRaised]
    elapsed_ms: int | None
