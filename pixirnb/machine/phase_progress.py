"""Phases of a run: which are complete, and have no checkpoint yet."""

from __future__ import annotations

from pixirnb.history.run_state import RunState
from pixirnb.planning.plan import Plan


class PhaseProgress:
    """The phases of a plan, by the steps in them that are ready."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._of = {i: p for p, (_, members) in enumerate(plan.phases) for i in members}
        self._left = [len(members) for _, members in plan.phases]
        self.done: list[int] = []
        """Phases that became complete and have no checkpoint yet."""

    def mark(self, index: int) -> None:
        """Note that a step became ready."""
        phase = self._of.get(index)
        if phase is not None:
            self._left[phase] -= 1
            if self._left[phase] == 0:
                self.done.append(phase)

    def unmark(self, index: int) -> None:
        """Note that a step is ready no more."""
        phase = self._of.get(index)
        if phase is not None:
            self._left[phase] += 1
            self.done = [done for done in self.done if done != phase]

    def saved(self, name: str) -> None:
        """Note that the phase of that name has its checkpoint."""
        self.done = [phase for phase in self.done if self._plan.phases[phase][0] != name]

    def drop_saved(self, run: RunState) -> None:
        """Drop the phases that were saved since a step of theirs last settled."""
        self.done = [phase for phase in self.done if not self._is_saved(run, phase)]

    def _is_saved(self, run: RunState, phase: int) -> bool:
        name, members = self._plan.phases[phase]
        phases = [each for each in run.checkpoints if each["reason"] == "phase"]
        saved = max((each["seq"] for each in phases if each["name"] == name), default=0)
        return all(run.step(self._plan.steps[i].id).settled_seq < saved for i in members)
