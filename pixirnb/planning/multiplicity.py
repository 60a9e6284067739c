"""How many items each `for_each` of a workflow has, as far as that is known before a run, and what decides it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from pixirnb.json_types import JsonMapping
from pixirnb.spec.expressions.references import BadReference, Reference, parse_references, pick
from pixirnb.spec.steps import Step
from pixirnb.spec.workflow import Workflow


class Multiplicity(Struct, frozen=True):
    """The number of items of a step."""

    count: int | None
    """None if only a run knows it."""
    source: str | None
    """Source of the list: `inputs.files`, `steps.find.output`; None for a written list."""


def multiplicities(workflow: Workflow, inputs: JsonMapping) -> dict[str, Multiplicity]:
    """Return the number of items of each step with `for_each`, by its id. Other inputs have their default."""
    steps = {step.id: step for step in workflow.steps if step.for_each is not None}
    defaults = {name: declared.default for name, declared in workflow.inputs.items()}
    return {name: _of(step, steps, {**defaults, **inputs}) for name, step in steps.items()}


def _of(step: Step, steps: Mapping[str, Step], inputs: JsonMapping) -> Multiplicity:
    written, passed = step.for_each, {step.id}
    while written is not None and written.same_as is not None:
        leader = steps.get(written.same_as)
        if leader is None or leader.id in passed:
            return Multiplicity(None, f"same_as {written.same_as}")
        passed.add(leader.id)
        written = leader.for_each
    items = None if written is None else written.items
    if not isinstance(items, str):
        return Multiplicity(_size(items), None)
    try:
        [reference] = parse_references(items)
    except (BadReference, ValueError):
        return Multiplicity(None, items)
    source = reference.text.strip("{} ")
    return Multiplicity(_given(inputs, reference), source)


def _given(inputs: JsonMapping, reference: Reference) -> int | None:
    if reference.source != "input":
        return None
    try:
        return _size(pick(inputs[reference.name], reference))
    except LookupError:
        return None


def _size(value: Any) -> int | None:
    return len(value) if isinstance(value, list | tuple | Mapping) else None
