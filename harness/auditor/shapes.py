"""Which data an event of each kind has, as the auditor knows it: member to the types it may have, nested lists and dicts below.

A tuple of types is a choice; a dict says the members of a mapping; a list of one says what its items are.
"""

from __future__ import annotations

from typing import Any, Final

_NONE: Final = type(None)
_TEXT_OR_NONE: Final = (str, _NONE)
_ERROR: Final = {"kind": str, "message": str, "details": dict}
_WHOLE_OR_NONE: Final = (int, _NONE)
_CHANGES: Final = {
    "patch": _TEXT_OR_NONE,
    "files": [{"path": str, "change": str}],
    "count": int,
    "more": _TEXT_OR_NONE,
}

SHAPES: Final[dict[str, dict[str, Any]]] = {
    "run_started": {
        "run_id": str, "workflow": str, "spec": dict, "spec_digest": str, "inputs": dict,
        "workspace": str, "sources": dict, "owner": dict,
    },
    "run_resumed": {
        "owner": dict, "flags": dict, "spec_digest": str, "inputs": dict,
        "steps": [{"step_id": str, "action": str, "reason": str, "because": [str]}],
    },
    "run_forked": {"run_id": str, "checkpoint": str, "seq": int},
    "step_expanded": {
        "step": str, "items": [{"number": int, "key": str, "value": None}], "reused": [int],
    },
    "step_scheduled": {
        "step": str, "attempt": int, "timeout_ms": _WHOLE_OR_NONE, "workspace": str,
        "fingerprint": dict,
    },
    "attempt_started": {"step": str, "attempt": int, "pid": _WHOLE_OR_NONE},
    "attempt_ended": {
        "step": str, "attempt": int, "status": str, "error": (_ERROR, None), "elapsed_ms": int,
        "summary": str,
    },
    "retry_planned": {
        "step": str, "attempt": int, "delay_ms": int, "timeout_ms": _WHOLE_OR_NONE,
        "retry_class": str, "error": _ERROR,
    },
    "verification_recorded": {
        "step": str, "attempt": int, "checks": [{"check": dict, "passed": bool, "evidence": dict}],
    },
    "checkpoint_decided": {
        "step": str, "attempt": int, "status": str, "subagent_status": str,
        "error": (_ERROR, None), "limitations": [str], "digest": _TEXT_OR_NONE,
    },
    "step_held": {"step": str, "held_by": {"kind": str, "step": _TEXT_OR_NONE}},
    "subagent_event": {"event": str, "step": str, "attempt": int, "session_id": str},
    "decision_requested": {
        "step": str, "attempt": int, "reason": str, "question": str, "choices": list,
        "timeout_ms": _WHOLE_OR_NONE,
    },
    "decision_recorded": {
        "step": str, "attempt": int, "verdict": str, "value": None, "note": str, "by": str,
        "request_id": str,
    },
    "workspace_captured": {
        "step": str, "attempt": int, "built_on": [str], "changes": _CHANGES,
        "roots": [{"root": str, "seen": str, "base": str, "left": str}],
    },
    "merge_applied": {
        "merge": str, "step": _TEXT_OR_NONE, "by": str, "steps": [str], "attempts": dict,
        "roots": [{"root": str, "before": str, "after": str}], "changes": _CHANGES,
    },
    "merge_conflicted": {
        "step": _TEXT_OR_NONE, "attempt": _WHOLE_OR_NONE, "steps": [str], "between": [str],
        "files": [{"path": str, "kind": str}], "count": int,
    },
    "seam_opened": {
        "id": str, "reason": str, "between": [str], "paths": [str], "count": int, "note": str,
    },
    "seam_resolved": {"id": str, "by": str, "note": str},
    "checkpoint_saved": {"name": str, "reason": str, "ready": [str], "note": str},
    "warning_raised": {"code": str, "message": str},
    "run_finished": {
        "status": str, "reasons": [{"code": str, "step": _TEXT_OR_NONE}], "elapsed_ms": int,
        "counts": dict,
    },
}  # fmt: skip
"""A choice with None in it may also be null; a member that is None here may be anything."""


def misfit(kind: str, data: dict[str, Any]) -> str | None:
    """The first member of an event's data that is not as its kind has it; None where all are, or nobody knows the kind."""
    shape = SHAPES.get(kind)
    return None if shape is None else _misfit(data, shape, "data")


def _misfit(value: Any, shape: Any, place: str) -> str | None:
    if shape is None:
        return None
    if isinstance(shape, tuple) and None in shape:
        return None if value is None else _misfit(value, shape[0], place)
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return place
        for name, each in shape.items():
            if name not in value:
                return f"{place}.{name}"
            wrong = _misfit(value[name], each, name)
            if wrong is not None:
                return f"{place}.{wrong}"
        return None
    if isinstance(shape, list):
        if not isinstance(value, list):
            return place
        for item in value:
            wrong = _misfit(item, shape[0], place)
            if wrong is not None:
                return wrong
        return None
    return None if isinstance(value, shape) else place
