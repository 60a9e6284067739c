"""Values of references, as the run's state has them: the input of a step."""

from __future__ import annotations

from typing import Any, Final

from pixirnb.history.bundles import stored_output
from pixirnb.history.run_state import RunState
from pixirnb.json_types import JsonMapping
from pixirnb.spec.expressions.references import Reference, pick

NOTHING: Final[JsonMapping] = {}


class ValueNotLoaded(LookupError):
    """Raised for a value that lies in a blob the engine has not handed over."""


class ValueNotOffered(LookupError):
    """Raised for printed text that is too large to be handed on as a value."""


def value_of(
    run: RunState,
    reference: Reference,
    *,
    inputs: JsonMapping,
    values: JsonMapping = NOTHING,
) -> Any:
    """Return the value a reference stands for. `values`: large outputs that were loaded from blobs.

    Raises LookupError where there is no value, ValueNotLoaded where it lies in a blob, ValueNotOffered where it is too large.
    """
    if reference.source == "input":
        return pick(inputs.get(reference.name), reference)
    if reference.source == "run":
        return run.run_id
    step = run.steps.get(reference.name)
    if step is None:
        raise LookupError(f"{reference.text}: unknown step")
    if reference.part == "summary":
        return "" if step.ended is None else step.ended["summary"]
    stored = stored_output(step)
    if "printed" in stored:
        raise ValueNotOffered(
            f"{reference.text}: {stored['printed']} bytes are too many for a value; use output_path"
        )
    if "blob" in stored:
        if reference.name not in values:
            raise ValueNotLoaded(reference.name)
        return pick(values[reference.name], reference)
    return pick(stored.get("value"), reference)
