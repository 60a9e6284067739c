"""The end of a step with `for_each`, as the engine would record it for the items of a rehearsal."""

from __future__ import annotations

from typing import Any

from pixirnb.history.bundles import stored_output
from pixirnb.machine.board import Board
from pixirnb.machine.items import NOT_READY, tally


def collected(board: Board, step: str) -> dict[str, Any]:
    """Return what `attempt_ended` has of a step that collects: status, error, output and what is missing."""
    index = board.plan.index[step]
    items = tally(board.plan, board.run, index)
    states = [board.state(item) for item in board.plan.items[index]]
    values = [
        stored_output(state).get("value") if state.checkpoint_status == "checkpoint_ready" else None
        for state in states
    ]
    data: dict[str, Any] = {"status": "completed", "summary": str(items), "error": None}
    data["output"] = {"format": "jsonl", "value": values}
    if items.others:
        data["missing"] = list(items.others)
    if not items.is_enough:
        details = {"ready": items.ready, "required": items.required}
        error = {"kind": NOT_READY, "message": str(items), "details": details}
        data |= {"status": "failed", "error": error}
    return data
