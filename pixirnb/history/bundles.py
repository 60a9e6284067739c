"""The Checkpoint Bundle of a step: the evidence that made it usable, folded from its attempt's events.

Bundles are not logged in addition to the events they repeat; they are read out of the events, so they cannot disagree with the
log. Source: contract.md §4; the shape is in spellings.md. Large values are named by their blob, never copied.
"""

from __future__ import annotations

from typing import Any, Final, NotRequired, TypedDict

from pixirnb.history.events import CheckResult, StoredValue, Validation
from pixirnb.history.file_events import ArtifactData, FileChange, PathList
from pixirnb.history.step_state import StepState

BUNDLE_VERSION: Final = 1


class Produced(TypedDict, total=False):
    """The output of a step; `blob`, `bytes` and `format` where it does not fit the log."""

    kind: str
    """`text`, `value` or `files`."""
    value: Any
    artifacts: list[ArtifactData]
    blob: str
    bytes: int
    printed: int
    """Bytes printed, where these are more than is handed on as a value."""
    type: str
    glance: str
    """The value in a few words, where it is neither text nor JSON."""
    format: str


class BundleSource(TypedDict, total=False):
    """The attempt, agent and session that did the work."""

    agent_id: str | None
    session_id: str | None
    attempt: int


class BundlePayload(TypedDict):
    """A declared `output`, or the value a human gave."""

    schema_id: str | None
    provenance: str
    validation: Validation | None
    value: Any


class BundleChanges(TypedDict):
    """`Changes` of an event; without `count` and `more` where there are none."""

    patch: str | None
    files: list[FileChange]
    count: NotRequired[int]
    more: NotRequired[str | None]
    added: NotRequired[int]
    deleted: NotRequired[int]
    leads_out: NotRequired[PathList]


class CheckpointBundle(TypedDict, total=False):
    """The Checkpoint Bundle. Views read it as it comes: no member is guaranteed."""

    version: int
    step_id: str
    produced: Produced
    verification: list[CheckResult]
    known_limitations: list[str]
    dependent_safe: bool
    source: BundleSource
    payload: BundlePayload | None
    changes: BundleChanges
    artifacts: list[ArtifactData]


def bundle(
    step_id: str, step: StepState, *, agent_id: str | None = None
) -> CheckpointBundle | None:
    """Return the bundle of the step's last attempt, or None where it produced nothing usable."""
    if step.checkpoint_status not in {"checkpoint_ready", "partial", "needs_orchestrator"}:
        return None
    if step.ended is None and step.decision is None:
        return None
    return {
        "version": BUNDLE_VERSION,
        "step_id": step_id,
        "produced": _with_glance(step),
        "verification": list(step.checks),
        "known_limitations": list(step.limitations),
        "dependent_safe": step.checkpoint_status == "checkpoint_ready",
        "source": {
            "agent_id": agent_id,
            "session_id": None if step.ended is None else step.ended.get("session_id"),
            "attempt": step.attempt,
        },
        "payload": _payload(step),
        "changes": changes(step),
        "artifacts": _artifacts(step),
    }


def _with_glance(step: StepState) -> Produced:
    """Return the output with its value in a few words; these are for people and no part of the result's digest."""
    made = describe_output(step)
    if glance := stored_output(step).get("glance"):
        made["glance"] = glance
    return made


def changes(step: StepState) -> BundleChanges:
    """Return the files that a step changed apart from the user's, or brought into them."""
    for event in (step.brought, step.captured):
        if event is not None:
            return {**event["changes"]}
    return no_changes()


def no_changes() -> BundleChanges:
    """Return changes without any file."""
    return {"patch": None, "files": []}


def has_artifacts(step: StepState | None) -> bool:
    """Return whether a step left files that it had declared."""
    return step is not None and bool(_artifacts(step))


def _artifacts(step: StepState) -> list[ArtifactData]:
    return [] if step.ended is None else list(step.ended.get("artifacts") or [])


def stored_output(step: StepState) -> StoredValue:
    """Return the output of an attempt, or the value a human gave; format `none` where there is neither."""
    if step.ended is not None:
        output = step.ended.get("output")
        if output is not None:
            return output.copy()
    if step.decision is not None and step.decision.get("verdict") == "accept":
        return {"format": "json", "value": step.decision.get("value")}
    return {"format": "none"}


def describe_output(step: StepState) -> Produced:
    """Return the step's output: text, a value or files."""
    output = stored_output(step)
    artifacts = _artifacts(step)
    form = output["format"]
    kind = "text" if form == "text" else "files" if form == "none" and artifacts else "value"
    made: Produced = {"kind": kind, "value": output.get("value"), "artifacts": artifacts}
    if "blob" in output:
        made["blob"] = output["blob"]
    if "bytes" in output:
        made["bytes"] = output["bytes"]
    if "printed" in output:
        made["printed"] = output["printed"]
    if "type" in output:
        made["type"] = output["type"]
    if form not in {"text", "none"}:
        made["format"] = form
    return made


def _payload(step: StepState) -> BundlePayload | None:
    declared = None if step.ended is None else step.ended.get("payload")
    if declared is None:
        if step.request is not None and step.decision is not None and step.ended is None:
            value = step.decision.get("value")
            return {
                "schema_id": None,
                "provenance": "event_fold",
                "validation": None,
                "value": value,
            }
        return None
    return {**declared, "value": stored_output(step).get("value")}
