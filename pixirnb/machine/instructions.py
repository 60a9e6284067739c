"""What the engine asks the machine, and what it is told to do: only after the events beside it are on disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pixirnb.history.event_draft import EventDraft
from pixirnb.machine.board import Board
from pixirnb.planning.plan import Plan


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What `advance` is asked about: a board at a time."""

    plan: Plan
    board: Board
    now: float

    @property
    def is_timed_out(self) -> bool:
        """Whether the whole run has used up its time-out."""
        return self.board.deadline is not None and self.now >= self.board.deadline

    @property
    def is_stopping(self) -> bool:
        """Whether nothing new may start and nothing may be tried again."""
        return self.board.stop is not None or self.is_timed_out

    @property
    def may_start(self) -> bool:
        """Whether a step that has not run yet may start."""
        fails_fast = self.plan.workflow.on_failure == "stop" and self.board.has_failed
        return not self.is_stopping and not fails_fast


@dataclass(frozen=True, slots=True)
class StartAttempt:
    """Start this attempt now; its intent is in the log."""

    step: str
    attempt: int
    timeout_ms: int | None


@dataclass(frozen=True, slots=True)
class StopAttempt:
    """End this attempt, whole process tree; asking again for one that is ending changes nothing."""

    step: str
    attempt: int
    reason: Literal["timed_out", "cancelled", "interrupted"]


Instruction = StartAttempt | StopAttempt


@dataclass(frozen=True, slots=True)
class Advance:
    """One answer of `advance`: facts to record, then things to do, and when to ask again at the latest."""

    events: tuple[EventDraft, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    wake_at: float | None = None
    """Monotonic seconds; None when only an input can change anything."""
