"""What makes a step's result the result of *this* step: digests that a resume compares. Source: contract.md §6.

Static: what the step says it does. Dynamic: what it was given. Neither sees descriptions, phases, time-outs, retries, sets,
order, times, ids or summaries nobody refers to, so changing those repeats no work.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from pixirnb.history.bundles import produced
from pixirnb.history.state import StepState
from pixirnb.machine.board import Board
from pixirnb.planning.plan import PlannedStep
from pixirnb.spec.references import Reference
from pixirnb.spec.steps import PythonStep


def static(step: PlannedStep, sources: dict[str, str]) -> str:
    """Digest of what the step does: kind, payload or pinned source, agent, place, checks and declared output."""
    written = step.spec.model_dump(mode="json", by_alias=True, exclude_unset=True)
    seen: dict[str, Any] = {
        key: written[key]
        for key in ("run", "call", "with", "task", "ask", "merge", "cwd", "env", "output")
        if key in written
    }
    seen["verify"] = written.get("verify", [])
    seen["artifacts"] = written.get("artifacts", [])
    seen["workspace"] = step.workspace
    if isinstance(step.spec, PythonStep):
        seen["source"] = sources.get(step.spec.call)
    if step.agent is not None:
        agent = step.agent
        script = agent.script or {}
        seen["agent"] = {
            "role": agent.role,
            "runner": agent.runner,
            "model": agent.model,
            "command": agent.model_dump(mode="json")["command"],
            "tools": list(agent.tools),
            "script": script.get(step.id, script.get("*")),
        }
    return digest(step.kind, seen)


def dynamic(board: Board, index: int) -> str:
    """Digest of what the step would be given now: its references resolved, and what its dependencies left."""
    plan = board.plan
    step = plan.steps[index]
    given = {plan.steps[i].id: board.state(i).digest for i in step.depends_on}
    resolved = {reference.text: _seen(board, reference) for reference in step.references}
    return digest("given", {"dependencies": given, "references": resolved})


def of_result(step: StepState) -> str:
    """Digest of produced, payload and changes: all that dependents can see of a result."""
    made = produced(step)
    payload = (step.ended or {}).get("payload")
    schema = None if payload is None else payload.get("schema_id")
    return digest("result", {"produced": made, "schema": schema})


# `json.dumps` makes an encoder a call; a step has three digests.
_encode: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def digest(tag: str, value: Any) -> str:
    """Digest of plain data, tagged by what it is of so that equal data of two kinds never meet."""
    text = _encode(value)
    return "b2:" + hashlib.blake2b(f"{tag}\n{text}".encode(), digest_size=16).hexdigest()


def _seen(board: Board, reference: Reference) -> Any:
    if reference.source == "step" and reference.part == "output_path":
        return board.run.step(reference.name).digest
    try:
        return board.lookup(reference)
    except LookupError:
        # In a blob, or not there at all: then it changes only when the whole result does.
        return [board.run.step(reference.name).digest, list(reference.fields)]
