"""Preloading for the board, which may not read a disk: digests of files that steps read, large outputs, lists of changes.

What may take long is loaded between the turns of the run, and the steps that need it wait for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import anyio

from pixirnb.engine.messages import Message
from pixirnb.engine.pickled_values import read_parts, read_pickled
from pixirnb.engine.run_context import Attempt, RunContext
from pixirnb.errors import PixirnbError
from pixirnb.history.bundles import stored_output
from pixirnb.history.events import Event
from pixirnb.json_types import JsonObject
from pixirnb.machine.admission import digest_of_reads
from pixirnb.machine.board import Board
from pixirnb.planning.items import leaders_of
from pixirnb.protocols.ports import Contents, Offload
from pixirnb.protocols.work import Ended, PythonWork, UnloadedValue, WorkRefused
from pixirnb.runners.processes.worker_threads import surely
from pixirnb.runners.python.functions import load
from pixirnb.spec.expressions.references import Reference
from pixirnb.workspace.read_digest import read_digest

PICKLED_LIMIT_S: Final = 10.0
"""Seconds that the parts of a pickled value may take that a `when` or a question names."""


@dataclass(slots=True, eq=False)
class BlobPreloader:
    """The preloading of one live run. Belongs to the engine's thread."""

    context: RunContext
    board: Board
    promptly: Offload
    contents: Contents
    start_task: Callable[[Callable[[], Coroutine[Any, Any, None]]], None]
    post: Callable[[Message], None]
    is_over: bool = False
    """True once the run needs nothing more."""
    _required: dict[str, list[Reference]] = field(init=False)
    """References of each `when` and question to a step."""
    _users: dict[str, list[int]] = field(init=False)
    """Steps that have these references, by the step they refer to."""
    _readers: tuple[int, ...] = field(init=False)
    """Steps whose reuse depends on the files they read."""
    _loading: dict[str, object] = field(default_factory=dict)
    """Steps whose outputs are being loaded, with the load that counts."""

    def __post_init__(self) -> None:
        self._readers = tuple(s.index for s in self.board.plan.steps if s.spec.reuse == "reads")
        self._required, self._users = {}, {}
        for step in self.board.plan.steps:
            for reference in step.references_before_start:
                if reference.source == "step" and reference.part != "summary":
                    self._required.setdefault(reference.name, []).append(reference)
                    self._users.setdefault(reference.name, []).append(step.index)

    def mark_unread(self) -> None:
        """Mark the steps that cannot be decided on yet."""
        board = self.board
        unread = {index for name in self._loading for index in self._waiting(name)}
        for index in self._readers:
            is_question = board.plan.steps[index].kind == "decision"
            if digest_of_reads(board, index) is not None or index not in board.ready:
                continue
            if is_question or board.state(index).kept is not None:
                unread.add(index)
            if is_question and index not in board.reads:
                self.digest(index)
        board.unread = unread

    def _waiting(self, name: str) -> list[int]:
        """Return the steps that wait for the output of a step; for an item's, the items of the same number that follow it."""
        plan, (step, _, number) = self.board.plan, name.partition("@")
        users = self._users[step]
        if not number:
            return users
        following = [
            each for each in (plan.steps[user] for user in users) if step in leaders_of(plan, each)
        ]
        items = (plan.index.get(f"{each.id}@{number}") for each in following)
        return [item for item in items if item is not None]

    async def load(self, events: Sequence[Event]) -> None:
        """Load lists of changes that these events name, and begin to load outputs; at a resume kept ones, too."""
        ended = {e.data["step"] for e in events if e.kind in {"attempt_ended", "decision_recorded"}}
        captured = {e.data["step"] for e in events if e.kind == "workspace_captured"}
        if any(event.kind == "run_resumed" for event in events):
            ended |= self.board.run.steps.keys()
            captured |= self.board.run.steps.keys()
        for name in sorted(name for name in ended if _written(name) in self._required):
            self.board.paths.pop(name, None)
            self.board.values.pop(name, None)
            stored = stored_output(self.board.run.step(name))
            parts = {each.part for each in self._required[_written(name)]}
            has_value = parts != {"output_path"} and "blob" in stored and "printed" not in stored
            if has_value or "output_path" in parts:
                load = self._loading[name] = object()
                self.start_task(partial(self._load_output, name, load, has_value=has_value))
            else:
                self._loading.pop(name, None)
        for name in sorted(captured):
            await self._load_changes(name)

    def digest(self, index: int) -> None:
        """Begin to digest the files that a step reads, unless a step that may change them began in this turn."""
        claim = self.board.claim(index)
        if claim is None or not self.board.claims.conflicts(claim):
            counts = self.board.reads[index] = object()
            self.start_task(partial(self._digest, index, counts))

    async def _digest(self, index: int, counts: object) -> None:
        reads, read_set = self.board.reads, self.board.plan.steps[index].read_set
        digest = await surely(self.context.offload)(
            read_digest,
            self.contents,
            self.context.folders.roots,
            read_set,
            lambda: self.is_over or reads.get(index) is not counts,
        )

        def note(board: Board) -> None:
            if board.reads.get(index) is counts:
                board.reads[index] = digest

        self.post(Message(note=note))

    async def _load_output(self, name: str, load: object, *, has_value: bool) -> None:
        paths: JsonObject = {}
        if any(each.part == "output_path" for each in self._required[_written(name)]):
            with suppress(PixirnbError, WorkRefused):  # the step that names it fails, and says so
                file = Reference("step", name, "output_path", (), "", 0, 0)
                paths[name] = await surely(self.context.offload)(self.context.lookup, file)
        values = await self._value(name) if has_value else {}

        def note(board: Board) -> None:
            if self._loading.get(name) is load:
                del self._loading[name]
                board.paths |= paths
                board.values |= values

        self.post(Message(note=note))

    async def _value(self, name: str) -> JsonObject:
        """Return `{name: value}`; empty where it cannot be loaded: the step that names it fails, and says so."""
        whole = Reference("step", name, "output", (), "", 0, 0)
        try:
            value = await surely(self.context.offload)(self.context.lookup, whole)
            if isinstance(value, UnloadedValue) and value.stored["format"] != "pickle":
                return {name: await surely(self.context.offload)(load, value)}
        except PixirnbError:
            return {}
        if isinstance(value, UnloadedValue):
            parts = [each for each in self._required[_written(name)] if each.part == "output"]
            with anyio.move_on_after(PICKLED_LIMIT_S):
                perform = partial(self._perform, name)
                value = await read_parts(value, parts, perform, self.context.offload)
        return {} if isinstance(value, UnloadedValue) else {name: value}

    async def _perform(self, name: str, work: PythonWork) -> Ended:
        """Perform work on a pickled value of an ended step, as a process of that step."""
        plan, context = self.board.plan, self.context
        attempt = Attempt(plan.steps[plan.index[name]], self.board.run.step(name).attempt, None)
        return await read_pickled(work, attempt, context, context.folders.workspace)

    async def _load_changes(self, name: str) -> None:
        captured = self.board.run.step(name).captured
        more = None if captured is None else captured["changes"]["more"]
        if more is None:
            self.board.touched.pop(name, None)
            return
        try:
            data = await surely(self.promptly)(self.context.log.blobs.get, more)
        except PixirnbError:
            return  # a list that is lost: the seams are those of the files the event names
        self.board.touched[name] = frozenset(file["path"] for file in json.loads(data))


def _written(name: str) -> str:
    """Return the step of the workflow that a step is, or is an item of."""
    return name.partition("@")[0]
