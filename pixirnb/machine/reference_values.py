"""Values of references, as the run's state has them: the input of a step."""

from __future__ import annotations

from typing import Any, Final

from pixirnb.history.bundles import stored_output
from pixirnb.history.run_state import RunState
from pixirnb.json_types import JsonMapping
from pixirnb.spec.expressions.references import Reference, pick

NOTHING: Final[JsonMapping] = {}


class ValueNotLoaded(LookupError):
    """Raised for a value that lies in a blob, or the path of one, that the engine has not handed over."""


class ValueNotOffered(LookupError):
    """Raised for printed text that is too large to be handed on as a value."""


def value_of(
    run: RunState,
    reference: Reference,
    *,
    inputs: JsonMapping,
    values: JsonMapping = NOTHING,
    paths: JsonMapping = NOTHING,
) -> Any:
    """Return the value a reference stands for. `values`: large outputs that were loaded from blobs; `paths`: files of outputs.

    Raises LookupError where there is no value, ValueNotLoaded where it was not loaded, ValueNotOffered where it is too large.
    """
    if reference.source == "input":
        return pick(inputs.get(reference.name), reference)
    if reference.source == "run":
        return run.run_id
    if reference.source == "item":
        raise LookupError(f"{reference.text}: no item")
    step = run.steps.get(reference.name)
    if step is None:
        raise LookupError(f"{reference.text}: unknown step")
    if reference.part == "summary":
        return "" if step.ended is None else step.ended["summary"]
    if reference.part == "output_path":
        if reference.name not in paths:
            raise ValueNotLoaded(reference.name)
        return paths[reference.name]
    stored = stored_output(step)
    if "printed" in stored:
        raise ValueNotOffered(
            f"{reference.text}: {stored['printed']} bytes are too many for a value; use output_path"
        )
    if "blob" in stored:
        if reference.name not in values:
            raise ValueNotLoaded(reference.name)
        return pick_output(run, values[reference.name], reference)
    return pick_output(run, stored.get("value"), reference)


_PARSED: Final = {
    "run": "; declare `output: {type: object}` to parse JSON",
    "task": "; declare `output: {type: object}` to parse JSON",
    "call": "; return a mapping",
}
"""Key of a step to what gives its output fields."""


def pick_output(run: RunState, value: Any, reference: Reference) -> Any:
    """Return a field of a step's output. Raises LookupError; for text it names the way to get fields."""
    if not reference.fields or not isinstance(value, str):
        return pick(value, reference)
    step = reference.name.partition("@")[0]
    written = [each for each in run.spec["steps"] if each["id"] == step]
    fix = next((fix for key, fix in _PARSED.items() for each in written if key in each), "")
    raise LookupError(f"{reference.text}: the output of `{reference.name}` is text{fix}")
