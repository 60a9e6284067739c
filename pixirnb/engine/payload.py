"""A step's declared `output`: the typed payload, and whether what the step left is one. Source: contract.md §1, §4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from pixirnb.engine.readings import declared_text
from pixirnb.history.codec import canonical
from pixirnb.machine.fingerprint import digest
from pixirnb.planning.plan import PlannedStep
from pixirnb.ports import Offload
from pixirnb.runners.checks import (
    JSON_PROBLEMS,
    NOT_READ,
    Nested,
    find_schema_problems,
    problems_found,
    too_large,
)
from pixirnb.runners.printed import Printed
from pixirnb.work import PythonWork

_PROVENANCE = {"shell": "harness_projection", "python": "tool_result", "agent": "model_declared"}


@dataclass(frozen=True, slots=True)
class Payload:
    """The verdict on a declared output."""

    schema_id: str
    provenance: str
    problems: list[str]
    value: Any
    is_parsed: bool
    """The value was read out of text, and is stored in its stead; NOT_READ: the text, which is stored as JSON."""

    def record(self) -> dict[str, Any]:
        """For `attempt_ended.payload`."""
        return {
            "schema_id": self.schema_id,
            "provenance": self.provenance,
            "validation": {"passed": not self.problems, "errors": self.problems},
        }


async def check_payload(
    step: PlannedStep, value: Any, printed: Printed, nested: Nested, offload: Offload
) -> Payload | None:
    """Look at what a step left with its declared output in hand; None where it declares none.

    `value`: NOT_READ for what was printed. Text that fits an event is read here, all other in a process that can be ended.
    """
    declared = step.spec.output
    if declared is None:
        return None
    schema_id = declared if isinstance(declared, str) else digest("schema", declared)
    provenance = _PROVENANCE.get(step.kind, "event_fold")
    is_parsed = False
    if value is NOT_READ:
        if not printed.is_offered:
            return Payload(schema_id, provenance, [too_large(printed)], value, is_parsed)
        if printed.path is not None:
            found = await problems_found(
                JSON_PROBLEMS, {"printed": printed.argument, **_declared(declared)}, nested
            )
            return Payload(schema_id, provenance, found, value, is_parsed=not found)
        text = printed.text or ""
        said = declared_text(text) if step.kind == "agent" else text
        try:
            value = from_json(said, allow_inf_nan=False)
            canonical(value)  # 1e400 reads as infinity, which no log can hold
            is_parsed = True
        except (ValueError, RecursionError) as error:
            return Payload(schema_id, provenance, [f"it is not JSON: {error}"], text, is_parsed)
    if isinstance(declared, str):
        problems = await _model_problems(declared, value, nested)
    else:
        problems = await find_schema_problems(value, dict(declared), nested, offload)
    return Payload(schema_id, provenance, problems, value, is_parsed)


def _declared(declared: Any) -> dict[str, Any]:
    return {"model": declared} if isinstance(declared, str) else {"schema": dict(declared)}


async def _model_problems(model: str, value: Any, nested: Nested) -> list[str]:
    """The user's model is imported and called where the user's code runs: as a step's function, not as ours."""
    arguments = {"model": model, "value": value}
    work = PythonWork("pixirnb.runners.models:problems", arguments, None, process=False)
    ended, _ = await nested(work)
    if ended.status != "completed":
        return [ended.message or f"checking it against {model} ended as {ended.status}"]
    found = None if ended.value is None else ended.value.get("value")
    return list(found or [])
