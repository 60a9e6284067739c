"""Preloading for the board, which may not read a disk: digests of files that steps read, large outputs, lists of changes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import anyio

from pixirnb.engine.pickled_values import read_parts
from pixirnb.errors import PixirnbError
from pixirnb.history.bundles import stored_output
from pixirnb.history.events import Event
from pixirnb.machine.board import Board
from pixirnb.planning.plan import Plan
from pixirnb.planning.roots import Roots
from pixirnb.protocols.ports import Blobs, Contents, Offload
from pixirnb.protocols.work import Ended, Pickled, PythonWork, WorkRefused
from pixirnb.runners.processes.worker_threads import surely
from pixirnb.spec.expressions.references import Reference
from pixirnb.workspace.read_digest import read_digest

PICKLED_LIMIT_S: Final = 10.0
"""Seconds that the parts of a pickled value may take that a `when` or a question names; the run decides nothing meanwhile."""


@dataclass(slots=True, eq=False)
class BlobPreloader:
    """The preloading of one live run. Belongs to the engine's thread."""

    plan: Plan
    board: Board
    blobs: Blobs
    lookup: Callable[[Reference], Any]
    offload: Offload
    contents: Contents
    roots: Roots
    perform: Callable[[str, PythonWork], Awaitable[Ended]]
    """Performs work in a process of a step."""
    _required: dict[str, list[Reference]] = field(init=False)
    """References of each `when` and question to a step."""
    _readers: tuple[int, ...] = field(init=False)
    """Steps whose reuse depends on the files they read."""

    def __post_init__(self) -> None:
        references = [each for step in self.plan.steps for each in step.references_before_start]
        self._readers = tuple(s.index for s in self.plan.steps if s.spec.reuse == "reads")
        self._required = {}
        for reference in references:
            if reference.source == "step" and reference.part != "summary":
                self._required.setdefault(reference.name, []).append(reference)

    async def look_at_reads(self) -> None:
        """Compute the digests of the files that ready steps with `reuse: reads` are about to read."""
        for index in self._readers:
            begins = index in self.board.ready or index in self.board.retrying
            if begins and index not in self.board.reads:
                read_set = self.plan.steps[index].read_set
                digest = await surely(self.offload)(
                    read_digest, self.contents, self.roots, read_set
                )
                self.board.reads[index] = digest

    async def load(self, events: Sequence[Event]) -> None:
        """Load the data that these events name and do not hold, and the machine may need; at a resume kept data, too."""
        ended = {e.data["step"] for e in events if e.kind in {"attempt_ended", "decision_recorded"}}
        captured = {e.data["step"] for e in events if e.kind == "workspace_captured"}
        if any(event.kind == "run_resumed" for event in events):
            ended |= self.board.run.steps.keys()
            captured |= self.board.run.steps.keys()
        for name in sorted(ended & self._required.keys()):
            for part in sorted({each.part for each in self._required[name]}):
                await (self._load_path if part == "output_path" else self._load_value)(name)
        for name in sorted(captured):
            await self._load_changes(name)

    async def _load_path(self, name: str) -> None:
        self.board.paths.pop(name, None)
        with suppress(PixirnbError, WorkRefused):  # the step that names it fails, and says so
            file = Reference("step", name, "output_path", (), "", 0, 0)
            self.board.paths[name] = await surely(self.offload)(self.lookup, file)

    async def _load_value(self, name: str) -> None:
        self.board.values.pop(name, None)
        stored = stored_output(self.board.run.step(name))
        if "blob" in stored and "printed" not in stored:
            whole = Reference("step", name, "output", (), "", 0, 0)
            try:
                value = await surely(self.offload)(self.lookup, whole)
            except PixirnbError:
                return  # the step that names it fails, and says so
            if isinstance(value, Pickled):
                parts = [each for each in self._required[name] if each.part == "output"]
                with anyio.move_on_after(PICKLED_LIMIT_S):
                    perform = partial(self.perform, name)
                    value = await read_parts(value, parts, perform, self.offload)
                if isinstance(value, Pickled):
                    return
            self.board.values[name] = value

    async def _load_changes(self, name: str) -> None:
        captured = self.board.run.step(name).captured
        more = None if captured is None else captured["changes"]["more"]
        if more is None:
            self.board.touched.pop(name, None)
            return
        try:
            data = await surely(self.offload)(self.blobs.get, more)
        except PixirnbError:
            return  # a list that is lost: the seams are those of the files the event names
        self.board.touched[name] = frozenset(file["path"] for file in json.loads(data))
