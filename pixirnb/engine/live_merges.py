"""Merges that a person requests of a live run: carried out next to the loop, one at a time, and answered when they are on disk.

Refused while something runs that may write the same files. Source: contract.md §8; docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from msgspec import Struct, field

from pixirnb.engine.merge import Merger
from pixirnb.engine.run_context import Attempt
from pixirnb.errors import Cannot, LogWriteFailed, PixirnbError
from pixirnb.history.event_draft import EventDraft
from pixirnb.machine.board import Board
from pixirnb.machine.merge_requests import MergeRequest
from pixirnb.planning.claims import ClaimIndex
from pixirnb.protocols.ports import Offload, RequestReply
from pixirnb.protocols.trees import Files

Done = Callable[[list[EventDraft], RequestReply], None]
"""Function that takes the drafts of a merge that is over, and the answer to its request."""


class LiveMerges(Struct, frozen=True):
    """The merges of one live run. Belongs to the engine's thread."""

    board: Board
    attempts: Mapping[str, Attempt]
    merger: Callable[[Files], Merger]
    files: Files | None
    offload: Offload
    start: Callable[[Callable[[], Coroutine[Any, Any, None]]], object]
    """Function that starts a task next to the loop."""
    _granted: list[tuple[MergeRequest, Merger, Done]] = field(default_factory=list)

    def grant(self, request: MergeRequest, done: Done) -> None:
        """Claim the files of a request; `done` is called at the end of its merge. Raises Cannot."""
        files = self.files
        if files is None:
            raise Cannot(
                "this run has no state folder and cannot be merged",
                fix="run it in a writable workspace",
                code="no_state_folder",
            )
        steps = self._steps(request)
        self._require_room(steps)
        self.board.begin_merge(steps)
        for attempt in self.attempts.values():
            attempt.is_disturbed = True
        self._granted.append((request, self.merger(files), done))

    def perform(self, lost: LogWriteFailed | None) -> None:
        """Carry out what was granted, now that the events it rests on are on disk; `lost`: they are not."""
        for request, merger, done in self._granted:
            if lost is None:
                self.start(partial(self._carry_out, request, merger, done))
            else:
                done([], lost.document())
        self._granted.clear()

    async def _carry_out(self, request: MergeRequest, merger: Merger, done: Done) -> None:
        try:
            drafts = await self.offload(merger.of_request, request)
            reply: RequestReply = {"ok": True}
        except PixirnbError as error:
            drafts, reply = [], error.document()
        done(drafts, reply)

    def _steps(self, request: MergeRequest) -> list[int]:
        """Return the steps whose changes come or go; a step that an edit removed since claims nothing."""
        merges = self.board.run.merges
        back = [name for m in merges if m["merge"] == request.undoes for name in m["steps"]]
        plan = self.board.plan
        return [plan.index[name] for name in request.steps or back if name in plan.index]

    def _require_room(self, steps: list[int]) -> None:
        """Raise Cannot (`merge_busy`) while another step may write the files that would change."""
        merging = [a.step.id for a in self.attempts.values() if a.step.kind == "merge"]
        if self.board.is_merging or merging:
            by = f" (step `{merging[0]}`)" if merging else ""
            raise Cannot(
                f"another merge of this run is in progress{by}",
                fix="wait until it finishes, then merge again",
                code="merge_busy",
            )
        running = ClaimIndex()
        for attempt in self.attempts.values():
            claim = self.board.claim(attempt.step.index)
            if claim is not None and claim.shared:
                running.add(attempt.step.index, claim)
        for index in steps:
            claim = self.board.claim(index)
            busy = [] if claim is None else running.conflicting(claim)
            if busy:
                other, name = self.board.plan.steps[busy[0]].id, self.board.plan.steps[index].id
                raise Cannot(
                    f"`{other}` is running and may change the files that `{name}` changed",
                    fix=f"merge after `{other}` has finished",
                    code="merge_busy",
                )
