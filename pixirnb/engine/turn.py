"""One turn of a run's loop, in memory: what arrived is applied to the board, then the machine decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pixirnb.engine.messages import hide
from pixirnb.engine.services import advance_undisturbed
from pixirnb.history.codec import storable
from pixirnb.history.event_draft import EventDraft
from pixirnb.history.events import Event
from pixirnb.machine.board import Board
from pixirnb.machine.instructions import Instruction
from pixirnb.machine.seams import number_seam


class Turn:
    """The events and instructions of one turn; nothing of it is on disk."""

    def __init__(self, board: Board, now: float, at: str) -> None:
        """Begin. `now`: monotonic time in seconds; `at`: the time of its events."""
        self._board = board
        self._now = now
        self._at = at
        self.events: list[Event] = []
        self.instructions: dict[Instruction, None] = {}
        """In order, each once."""

    def record(self, drafts: Iterable[EventDraft]) -> None:
        """Apply drafts to the board, as the next events."""
        run = self._board.run
        for each in drafts:
            draft = number_seam(self._board.plan, run, each)
            event = Event(run.seq + 1, self._at, draft.kind, storable(draft.data))
            self._board.apply(event, self._now)
            self.events.append(event)

    def decide(self, prepare: Callable[[], object]) -> float | None:
        """Let the machine decide until nothing follows; return the time at which it is to decide again.

        `prepare` is called before each decision.
        """
        while True:
            prepare()
            answer = advance_undisturbed(self._board.plan, self._board, self._now)
            self.instructions.update(dict.fromkeys(answer.instructions))
            if not answer.events:
                return answer.wake_at
            self.record(hide(answer.events))
