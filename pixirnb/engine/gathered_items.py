"""The value of a step with `for_each`: the values of its items in the order of its list, as JSON Lines.

Where an item's value is no JSON (a pickle, an array, a frame), the list is made by a function in a process of the step and is
a pickle: the engine loads none.
"""

from __future__ import annotations

from typing import Any, Final

from pixirnb.engine.attempt_result import Products, Results
from pixirnb.engine.pickled_values import read_pickled
from pixirnb.engine.run_context import Attempt, RunContext
from pixirnb.engine.step_outputs import Outputs, as_line
from pixirnb.history.bundles import stored_output
from pixirnb.history.events import StoredValue
from pixirnb.machine.items import NOT_READY, tally
from pixirnb.protocols.work import Ended, PythonWork
from pixirnb.runners.output.mask import Mask
from pixirnb.spec.expressions.references import Reference
from pixirnb.value_codec import INLINE_LIMIT
from pixirnb.wording import join_names

_PLAIN: Final = frozenset({"none", "text", "json", "jsonl"})
_FUNCTION: Final = "pixirnb.runners.python.functions:as_list"


async def gather(
    attempt: Attempt, context: RunContext, mask: Mask
) -> tuple[Ended, Products | None]:
    """Return the end of a step with items, and its value. Raises Cannot, LogDamaged, LogWriteFailed."""
    items = _Items(attempt, context, mask)
    if items.is_plain:
        output = await context.offload(items.as_lines)
    else:
        work = await context.offload(items.as_work)
        made = await read_pickled(work, attempt, context, context.folders.workspace)
        if made.status != "completed":
            return made, None
        results = Results(attempt.step, mask, None, context)
        output = await results.stored(made.value or {"format": "none"}, made.payload)
    return items.end(), Products(output, items=items.tally)


class _Items:
    """The items of a step, for one attempt to gather their values."""

    def __init__(self, attempt: Attempt, context: RunContext, mask: Mask) -> None:
        self.context = context
        self.mask = mask
        plan, run = context.plan, context.run
        index = attempt.step.index
        self.tally = tally(plan, run, index)
        self.names = [plan.steps[each].id for each in plan.items[index]]
        self.items = [run.step(name) for name in self.names]
        self.outputs = Outputs(run, context.log.blobs)

    @property
    def is_plain(self) -> bool:
        """Return whether all values are JSON or text."""
        return all(
            stored_output(state)["format"] in _PLAIN
            for state in self.items
            if state.checkpoint_status == "checkpoint_ready"
        )

    def as_lines(self) -> StoredValue:
        """Return the values, an item a line. Blocking. Raises Cannot, LogDamaged, LogWriteFailed."""
        values: list[Any] = []
        with self.context.log.blobs.draft() as draft:
            size = 0
            for state in self.items:
                is_ready = state.checkpoint_status == "checkpoint_ready"
                value = self.mask.value(self.outputs.value(state)) if is_ready else None
                line = as_line(value).encode()
                size += len(line)
                if size <= INLINE_LIMIT:
                    values.append(value)
                draft.write(line)
            if size <= INLINE_LIMIT:
                return {"format": "jsonl", "value": values}
            return {"format": "jsonl", "blob": draft.keep(), "bytes": size}

    def as_work(self) -> PythonWork:
        """Return the work that makes a list of the values. Blocking. Raises Cannot, LogDamaged."""
        values = [
            self.outputs.lookup(Reference("step", name, "output", (), name, 0, 0))
            if state.checkpoint_status == "checkpoint_ready"
            else None
            for name, state in zip(self.names, self.items, strict=True)
        ]
        return PythonWork(_FUNCTION, {"values": values}, None, process=True, holds_unloaded=True)

    def end(self) -> Ended:
        """Return the end of the attempt: whether enough of the items are ready."""
        items = self.tally
        if items.is_enough:
            return Ended("completed")
        details = {"ready": items.ready, "required": items.required}
        if not items.others:  # the list is too short
            return Ended("failed", NOT_READY, f"{items}, {items.required:,} required", details)
        names = join_names(items.others, 3, "`{}`".format)
        return Ended("failed", NOT_READY, f"{items}; not ready: {names}", details)
