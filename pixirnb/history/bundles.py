"""The Checkpoint Bundle of a step: the evidence that made it usable, folded from its attempt's events.

Bundles are not logged beside the events they repeat; they are read out of them, so they cannot disagree with the log.
Source: contract.md §4; the shape is in spellings.md. Large values are named by their blob, never copied.
"""

from __future__ import annotations

from typing import Any, Final

from pixirnb.history.step_state import StepState

BUNDLE_VERSION: Final = 1


def bundle(step_id: str, step: StepState, *, agent_id: str | None = None) -> dict[str, Any] | None:
    """The bundle of the step's last attempt, or None where nothing was produced that anyone could use."""
    if step.checkpoint_status not in {"checkpoint_ready", "partial", "needs_orchestrator"}:
        return None
    if step.ended is None and step.decision is None:
        return None
    ended = step.ended or {}
    artifacts = list(ended.get("artifacts") or [])
    return {
        "version": BUNDLE_VERSION,
        "step_id": step_id,
        "produced": describe_output(step),
        "verification": list(step.checks),
        "known_limitations": list(step.limitations),
        "dependent_safe": step.checkpoint_status == "checkpoint_ready",
        "source": {
            "agent_id": agent_id,
            "session_id": ended.get("session_id"),
            "attempt": step.attempt,
        },
        "payload": _payload(step),
        "changes": changes(step),
        "artifacts": artifacts,
    }


def changes(step: StepState) -> dict[str, Any]:
    """The files a step changed apart from the user's, or brought into them: `{patch, files}`, with `count` and `more`."""
    for event in (step.brought, step.captured):
        if event is not None:
            return dict(event["changes"])
    return {"patch": None, "files": []}


def stored_output(step: StepState) -> dict[str, Any]:
    """The StoredValue a step left: an attempt's output, or the value a human gave; format `none` if there is none."""
    if step.ended is not None:
        output = step.ended.get("output")
        if output is not None:
            return dict(output)
    if step.decision is not None and step.decision.get("verdict") == "accept":
        return {"format": "json", "value": step.decision.get("value")}
    return {"format": "none"}


def describe_output(step: StepState) -> dict[str, Any]:
    """What the step made: text, a value or files; `blob`, `bytes` and `format` where it does not fit the log.

    `printed`, in bytes, where it is more than is handed on as a value.
    """
    output = stored_output(step)
    artifacts = list((step.ended or {}).get("artifacts") or [])
    form = output["format"]
    kind = "text" if form == "text" else "files" if form == "none" and artifacts else "value"
    made: dict[str, Any] = {"kind": kind, "value": output.get("value"), "artifacts": artifacts}
    for extra in ("blob", "bytes", "printed", "type"):
        if extra in output:
            made[extra] = output[extra]
    if form not in {"text", "none"}:
        made["format"] = form
    return made


def _payload(step: StepState) -> dict[str, Any] | None:
    declared = (step.ended or {}).get("payload")
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
