"""What the machine asks of the engine. Instructions are carried out only after the events beside them are on disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pixirnb.history.events import Draft


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

    events: tuple[Draft, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    wake_at: float | None = None
    """Monotonic seconds; None when only an input can change anything."""
