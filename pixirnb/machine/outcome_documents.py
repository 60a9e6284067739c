"""JSON of the outcomes of runs and steps, and of the rows of a list of runs. Source: docs/reference/json.md."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from pixirnb.history.bundles import CheckpointBundle
from pixirnb.history.events import ErrorData, HeldBy, Reason, RetryPlanned, WarningRaised
from pixirnb.history.file_state import Obligation
from pixirnb.history.run_state import RunState
from pixirnb.json_types import JsonObject
from pixirnb.machine.next_actions import NextAction
from pixirnb.machine.outcome_summary import failed_as


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


def run_row(run_id: str, run: RunState, status: str, counts: dict[str, int]) -> RunRow:
    """Return the row of a run in a list, with the status and counts of its outcome."""
    row: RunRow = {
        "run_id": run_id,
        "workflow": run.workflow,
        "status": status,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
        "counts": counts,
        "name": run.name,
        "tags": run.tags,
    }
    if stopped := failed_as(run.step(step["id"]) for step in run.spec.get("steps", [])):
        row["failed_as"] = stopped
    return row
