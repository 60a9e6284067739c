"""The plan joined with the history: a course of the run, the operator's stops, and what the engine has loaded for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

from msgspec.structs import replace

from pixirnb.history.run_state import RunState
from pixirnb.json_types import JsonObject
from pixirnb.machine.reference_values import value_of
from pixirnb.machine.step_progress import Running, StepProgress, after
from pixirnb.planning.claims import Claim
from pixirnb.planning.plan import Plan
from pixirnb.spec.expressions.references import Reference

RunStop = Literal["cancel", "drain", "interrupt"]
_MERGE: Final = -1
"""Key of the claim of a merge that a person asked for; a step's is its index in the plan."""


class Board(StepProgress):
    """One run as the machine sees it. Not thread-safe: it belongs to the run's loop."""

    def __init__(self, plan: Plan, run: RunState, now: float) -> None:
        super().__init__(plan, run, now)
        self.stop: RunStop | None = None
        """The operator's stop of the whole run."""
        self.cancelled: set[int] = set()
        """Steps the operator cancelled one by one."""
        self.values: JsonObject = {}
        """Outputs too large for the log that a `when` or a question refers to, loaded by the engine: step to value."""
        self.paths: JsonObject = {}
        """Files of outputs that these refer to by `output_path`, from the engine: step to path."""
        self.touched: dict[str, frozenset[str]] = {}
        """Files that steps changed, where their list is too long for the log, loaded by the engine."""
        self.unread: set[int] = set()
        """Steps that wait for values or digests which the engine is about to load."""

    def lookup(self, reference: Reference) -> Any:
        """Return the value of a reference. Raises LookupError where there is none, ValueNotLoaded where it was not loaded."""
        return value_of(
            self.run, reference, inputs=self.run.inputs, values=self.values, paths=self.paths
        )

    # --- stimuli that are not events ----------------------------------------------------------------------------

    def begun(self, index: int, now: float) -> None:
        """Start an attempt's time-out: it counts from the handover to its runner, not from the intent."""
        known = self.running[index]
        self.running[index] = Running(known.attempt, now, after(now, self.state(index).timeout_ms))

    def queued(self, index: int) -> None:
        """Suspend an attempt's time-out while it waits for its turn in the engine."""
        self.running[index] = replace(self.running[index], deadline=None)

    @property
    def is_merging(self) -> bool:
        """Return whether a merge that a person asked for is under way: the run does not come to rest before it is recorded."""
        return _MERGE in self.claims

    def begin_merge(self, steps: Iterable[int]) -> None:
        """Claim the files of a person's merge of these steps: no step that may touch them starts while it is under way."""
        self.reads.clear()
        claims = [claim for index in steps if (claim := self.claim(index)) is not None]
        self.claims.add(_MERGE, Claim(writes=tuple(p for claim in claims for p in claim.writes)))

    def end_merge(self) -> None:
        """Release the claim of a person's merge."""
        self.claims.remove(_MERGE)

    def cancel(self, step: str) -> None:
        """Take the operator's cancel of a step, and of its items."""
        self.cancelled |= {self.plan.index[name] for name in (step, *self.plan.carriers(step))}

    def detach(self, step: str, attempt: int) -> None:
        """Take a python thread of an earlier course that goes on."""
        if step in self.plan.index:
            self.detached[self.plan.index[step]] = attempt
        else:
            self.threads[step] = attempt

    def release(self, step: str) -> None:
        """Release the claims of a detached thread that returned."""
        self.threads.pop(step, None)
        index = self.plan.index.get(step, -1)
        if self.detached.pop(index, None) is not None and index in self.claims:
            self.claims.remove(index)
