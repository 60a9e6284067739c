"""Merges that a person asks of a live run: carried out beside the loop, one at a time, and answered when they are on disk.

Refused while something runs that may write the same files. Source: contract.md §8; docs/adr/0015-files-flow.md.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from pixirnb.engine.merge import Merger
from pixirnb.engine.run_context import Attempt
from pixirnb.errors import Cannot, PixirnbError
from pixirnb.history.event_draft import EventDraft
from pixirnb.machine.board import Board
from pixirnb.machine.merge_requests import MergeRequest
from pixirnb.planning.claims import ClaimIndex
from pixirnb.planning.plan import Plan
from pixirnb.protocols.ports import Offload, RequestReply
from pixirnb.protocols.trees import Files

Done = Callable[[list[EventDraft], RequestReply], None]
"""Told the facts of a merge that is over, and what to answer."""


@dataclass(frozen=True, slots=True)
class LiveMerges:
    """Of one live run. Belongs to the engine's thread."""

    plan: Plan
    board: Board
    attempts: Mapping[str, Attempt]
    merger: Callable[[Files], Merger]
    files: Files | None
    offload: Offload
    start: Callable[[Callable[[], Coroutine[Any, Any, None]]], object]
    """Has something done beside the loop."""

    def begin(self, wish: MergeRequest, done: Done) -> None:
        """Carry a wish out; `done` is called when it is over. Raises Cannot."""
        files = self.files
        if files is None:
            raise Cannot(
                "This run has no state folder, so nothing of it can be merged.",
                fix="Run it in a workspace that can be written to.",
                code="no_state_folder",
            )
        steps = self._steps(wish)
        self._require_room(steps)
        self.board.begin_merge(steps)
        for attempt in self.attempts.values():
            attempt.is_disturbed = True
        merger = self.merger(files)

        async def carry_out() -> None:
            try:
                facts = await self.offload(merger.of_wish, wish)
                reply: RequestReply = {"ok": True}
            except PixirnbError as error:
                facts, reply = [], error.document()
            done(facts, reply)

        self.start(carry_out)

    def _steps(self, wish: MergeRequest) -> list[int]:
        """Whose changes come or go; a step that an edit took out since claims nothing."""
        merges = self.board.run.merges
        back = [name for m in merges if m["merge"] == wish.undoes for name in m["steps"]]
        return [self.plan.index[name] for name in wish.steps or back if name in self.plan.index]

    def _require_room(self, steps: list[int]) -> None:
        """Raises Cannot (`merge_busy`) while the files that would change may be written by somebody else."""
        merging = [a.step.id for a in self.attempts.values() if a.step.kind == "merge"]
        if self.board.is_merging or merging:
            by = f": `{merging[0]}` does it" if merging else ""
            raise Cannot(
                f"Another merge of this run is under way{by}.",
                fix="Wait until it is done, then ask again.",
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
                other, name = self.plan.steps[busy[0]].id, self.plan.steps[index].id
                raise Cannot(
                    f"`{other}` is running and may touch the files that `{name}` changed.",
                    fix=f"Merge when `{other}` has ended.",
                    code="merge_busy",
                )
