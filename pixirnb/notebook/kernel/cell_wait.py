"""A cell that stays with its run: it ends when the run does, and is an error unless the run ended as it should."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pixirnb.errors import RunInterrupted
from pixirnb.notebook.kernel import event_loop
from pixirnb.notebook.kernel.cell_guards import honest
from pixirnb.notebook.kernel.cell_output import CellOutput
from pixirnb.notebook.kernel.line_args import Stay
from pixirnb.operations.outcome_errors import not_completed
from pixirnb.operations.run import Run


@dataclass(frozen=True, slots=True)
class Staying:
    """One cell with one run."""

    run: Run
    stay: Stay
    tail: CellOutput
    show: Callable[[], None]
    """Shows how it ended."""
    is_attended: bool = False
    """True if a person sees what is shown; the log of a program has the error alone."""

    async def attend(self) -> None:
        """For a cell that is awaited. Raises RunNotCompleted, RunInterrupted."""
        with honest():
            self._conclude(is_interrupted=await event_loop.attend(self.run, self.tail.tell))

    def attend_blocking(self) -> None:
        """For a cell that cannot be awaited. Raises as `attend`."""
        with honest():
            self._conclude(is_interrupted=event_loop.attend_blocking(self.run, self.tail.tell))

    def _conclude(self, *, is_interrupted: bool) -> None:
        self.tail.finish()
        self.show()
        outcome = self.run.wait(timeout=0)
        if is_interrupted and outcome.status != "interrupted":
            raise RunInterrupted(
                f"the cell was interrupted when {outcome.run_id} was {outcome.status}: {outcome.summary}",
                fix=f"see it with %pixir show {outcome.run_id}",
                details={"run_id": outcome.run_id, "status": outcome.status},
            )
        if not outcome.ok and (is_interrupted or outcome.status not in self.stay.expect):
            raise not_completed(outcome, is_shown=self.is_attended)
