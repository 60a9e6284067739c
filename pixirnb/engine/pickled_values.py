"""Parts of pickled values as plain data, for texts and conditions: loaded in a process of the step, never in the kernel.

A pickle runs code as the process or thread that loads it. Functions get it as it is and load it themselves
(`runners.python.functions`).
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from pixirnb import value_codec
from pixirnb.engine.attempt_result import bytes_of
from pixirnb.engine.run_context import Attempt, RunContext
from pixirnb.errors import Cannot
from pixirnb.protocols.ports import Job, Offload
from pixirnb.protocols.work import Ended, PythonWork, UnloadedValue, WorkRefused
from pixirnb.runners.python.functions import load
from pixirnb.spec.expressions.references import Reference

Perform = Callable[[PythonWork], Awaitable[Ended]]
_FUNCTION: Final = "pixirnb.runners.python.functions:plain"


class PartRequired(Exception):
    """Raised by a lookup for a part of a pickled value that has not been read yet."""

    def __init__(self, pickled: UnloadedValue) -> None:
        super().__init__()
        self.pickled = pickled


class PlainParts(Struct):
    """The parts of pickled values that one attempt has read."""

    lookup: Callable[[Reference], Any]
    perform: Perform
    offload: Offload
    _parts: dict[tuple[str, tuple[str, ...]], Any] = field(default_factory=dict)

    def plain(self, reference: Reference) -> Any:
        """Return the value of a reference as plain data. Raises what `lookup` raises, and PartRequired."""
        key = reference.name, reference.fields
        if reference.part == "output" and key in self._parts:
            return self._parts[key]
        value = self.lookup(reference)
        if not isinstance(value, UnloadedValue):
            return value
        if value.stored["format"] == "pickle":
            raise PartRequired(value)
        try:
            return load(value)
        except LookupError as error:
            raise WorkRefused("reference_missing", str(error)) from error

    async def resolve(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a blocking call that looks up with `plain`, called again for each part it requires."""
        while True:
            try:
                return await self.offload(call, *arguments)
            except PartRequired as required:
                reference = required.pickled.reference
                assert reference is not None
                part = await read_part(required.pickled, self.perform, self.offload)
                self._parts[reference.name, reference.fields] = part


async def read_part(pickled: UnloadedValue, perform: Perform, offload: Offload) -> Any:
    """Return the part that a pickled value refers to as plain data. Raises WorkRefused."""
    work = PythonWork(_FUNCTION, {"value": pickled}, None, process=True, holds_unloaded=True)
    how = await perform(work)
    if how.status != "completed" or how.value is None:
        raise WorkRefused(how.error_kind or how.status, how.message)
    if how.value["format"] not in {"none", "text", "json"}:
        raise WorkRefused("value_unreadable", "a part of a pickled value is not plain data")
    data = await offload(bytes_of, how.payload)
    if how.payload is not None and not isinstance(how.payload, bytes):
        await offload(how.payload.drop)
    try:
        return value_codec.decode(how.value, data)
    except Cannot as error:
        raise WorkRefused(error.code, error.one_line()) from error


async def read_pickled(
    work: PythonWork, attempt: Attempt, context: RunContext, workspace: Path
) -> Ended:
    """Perform work on a pickled value in a process of an attempt."""
    job = Job(
        run_id=context.run.run_id,
        step=attempt.step.id,
        attempt=attempt.number,
        work=work,
        cwd=workspace,
        workspace=workspace,
        env=dict(os.environ),
        stop=attempt.stop,
        emit=lambda _: attempt.stir(context.clock.now()),
        grace_s=context.grace_s,
        limit_s=attempt.limit_s,
        draft=context.log.blobs.draft,
    )
    return await context.runners.here["python"].perform(job)


async def read_parts(
    pickled: UnloadedValue, references: Iterable[Reference], perform: Perform, offload: Offload
) -> Any:
    """Return a value that has the parts which the references name; parts that cannot be read are missing in it.

    The pickled value itself where it is named whole and cannot be read.
    """
    known: Any = {}
    # Outer parts last: they hold the inner ones.
    for reference in sorted(references, key=lambda each: -len(each.fields)):
        try:
            part = await read_part(replace(pickled, reference=reference), perform, offload)
        except WorkRefused:
            if not (reference.fields or known):
                return pickled
            continue
        if not reference.fields:
            return part
        inner = known
        for name in reference.fields[:-1]:
            inner = inner.setdefault(name, {})
        inner[reference.fields[-1]] = part
    return known
