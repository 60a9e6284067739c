"""How many items each `for_each` of a workflow has, as far as that is known before a run, and what decides it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from pixirnb.spec.expressions.references import BadReference, Reference, parse_references, pick
from pixirnb.spec.steps import Step
from pixirnb.spec.workflow import Workflow


class Multiplicity(Struct, frozen=True):
    """The number of items of a step."""

    count: int | None
    """None if only a run knows it."""
    source: str | None
    """Source of the list: `inputs.files`, `steps.find.output`; None for a written list."""


def multiplicities(workflow: Workflow) -> dict[str, Multiplicity]:
    """Return the number of items of each step with `for_each`, by its id. Inputs have their default."""
    steps = {step.id: step for step in workflow.steps if step.for_each is not None}
    return {name: _of(workflow, step, steps) for name, step in steps.items()}


def _of(workflow: Workflow, step: Step, steps: Mapping[str, Step]) -> Multiplicity:
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
    return Multiplicity(_given(workflow, reference), source)


def _given(workflow: Workflow, reference: Reference) -> int | None:
    declared = workflow.inputs.get(reference.name)
    if reference.source != "input" or declared is None:
        return None
    try:
        return _size(pick(declared.default, reference))
    except LookupError:
        return None


def _size(value: Any) -> int | None:
    return len(value) if isinstance(value, list | tuple | Mapping) else None
