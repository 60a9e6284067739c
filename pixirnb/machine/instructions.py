"""Input and output of `advance`: a snapshot in; events and instructions out, to carry out only after the events are on disk."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from pixirnb.history.event_draft import EventDraft
from pixirnb.machine.board import Board
from pixirnb.planning.plan import Plan


class Snapshot(Struct, frozen=True):
    """A plan and its board at one time: the input of `advance`."""

    plan: Plan
    board: Board
    now: float

    @property
    def is_timed_out(self) -> bool:
        """Return whether the whole run has used up its time-out."""
        return self.board.deadline is not None and self.now >= self.board.deadline

    @property
    def is_stopping(self) -> bool:
        """Return whether nothing new may start and nothing may be tried again."""
        return self.board.stop is not None or self.is_timed_out

    @property
    def may_start(self) -> bool:
        """Return whether a step that has not run yet may start."""
        return not self.is_stopping and not (self.fails_fast and self.board.has_failed)

    @property
    def fails_fast(self) -> bool:
        """Return whether nothing may start once a step has failed."""
        return self.plan.workflow.on_failure == "stop"


class StartAttempt(Struct, frozen=True):
    """Instruction to start this attempt now; its intent is in the log."""

    step: str
    attempt: int
    timeout_ms: int | None


class StopAttempt(Struct, frozen=True):
    """Instruction to end this attempt and its whole process tree; repeating it for an attempt that is ending is harmless."""

    step: str
    attempt: int
    reason: Literal["timed_out", "cancelled", "interrupted"]


class DigestReads(Struct, frozen=True):
    """Instruction to digest the files that a step reads: nothing else keeps it from starting now."""

    step: str


Instruction = StartAttempt | StopAttempt | DigestReads


class Advance(Struct, frozen=True):
    """The output of `advance`: events to record, then instructions to carry out, and the latest time to call it again."""

    events: tuple[EventDraft, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    wake_at: float | None = None
    """Monotonic seconds; None when only an input can change anything."""
