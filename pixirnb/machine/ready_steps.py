"""Steps that wait, and those of them that could start: all before them is ready, and as an item it is their turn."""

from __future__ import annotations

from pixirnb.history.run_state import RunState
from pixirnb.history.step_state import StepState
from pixirnb.machine.expansion import without_items
from pixirnb.machine.item_progress import ItemProgress
from pixirnb.machine.items import tally
from pixirnb.machine.phase_progress import PhaseProgress
from pixirnb.machine.ready_list import find, insert, remove
from pixirnb.planning.plan import Plan, PlannedStep


class ReadySteps:
    """The steps of a plan as far as they are ready, wait, or could start."""

    def __init__(self, plan: Plan, run: RunState) -> None:
        self._written = self.plan = without_items(plan)
        """The plan with the items of all lists that are known; a fold replaces it."""
        self.run = run

    def _clear(self) -> None:
        """Begin with all steps of the plan, none of which waits or is ready."""
        count = len(self.plan.steps)
        self.ready: list[int] = []
        """Steps that could start, in spec order; items by the list they came with."""
        self.slotless: set[int] = set()
        """Ready steps that may settle without running: a `when`, a question, a list, a result that may still hold."""
        self.idle = 0
        """Number of steps that have neither started nor settled."""
        self.fingerprints: dict[int, dict[str, str]] = {}
        """Fingerprints of ready steps, computed once: the input of a ready step no longer changes."""
        self.statics: dict[int, str] = {}
        """Static digests of definitions that items share, by the step that collects them."""
        self.items = ItemProgress()
        self.blocked: dict[int, int] = {}
        """Items that cannot start in this course, and the items before them that are to blame."""
        self.phases = PhaseProgress(self.plan)
        self._is_waiting = bytearray(count)
        self._is_ready = bytearray(count)
        self._unready = [0] * count

    def state(self, index: int) -> StepState:
        """Return the state of a step."""
        return self.run.step(self.plan.steps[index].id)

    def is_ready(self, index: int) -> bool:
        """Return whether dependents may start on this step's evidence."""
        return bool(self._is_ready[index])

    def has_lost(self, index: int) -> bool:
        """Return whether a step before one that had begun is not ready any more: what it had merged was undone."""
        return self._unready[index] > 0

    def is_waiting(self, index: int) -> bool:
        """Return whether a step has neither started nor settled in this course."""
        return bool(self._is_waiting[index])

    def waiting(self) -> list[int]:
        """Return every waiting step, in spec order."""
        return [index for index, waits in enumerate(self._is_waiting) if waits]

    def _gates(self, step: PlannedStep) -> list[int]:
        """Return the steps that must be ready before the list of a step is read."""
        return [each for each in step.depends_on if self.plan.steps[each].parent != step.index]

    def _may_begin(self, step: PlannedStep) -> bool:
        """Return whether nothing before a waiting step keeps it from starting, or its list from being read."""
        if step.template is None:
            return self._unready[step.index] == 0
        if step.index in self.plan.items:
            return self._may_collect(step.index)
        if step.leader is not None:
            return step.leader in self.plan.items
        return self._unready[step.index] == 0

    def _may_collect(self, index: int) -> bool:
        if not self.plan.items[index] and self._unready[index]:
            return False  # no item waits for what is before it
        return self.items.is_settled(index) and not tally(self.plan, self.run, index).is_open

    def _mark_ready(self, index: int, *, lists: bool = True) -> None:
        if self._is_ready[index]:
            return
        self._is_ready[index] = 1
        self.phases.mark(index)
        parent = self.plan.steps[index].parent
        for dependent in self.plan.steps[index].dependents:
            if dependent == parent or self.plan.steps[dependent].leader == index:
                continue  # it waits for all items, or for the list alone
            self._unready[dependent] -= 1
            if lists and self._unready[dependent] == 0 and self._is_waiting[dependent]:
                self._list_gated(self.plan.steps[dependent])

    def _list_gated(self, step: PlannedStep) -> None:
        """List a step before which all is ready; one with a list may be listed already, or wait for its items."""
        is_due = self._may_begin(step) and find(self.plan, self.ready, step.index) is None
        if step.template is None or is_due:
            self._list(step.index)

    def _take_back(self) -> None:
        """Unmark the steps that were set back with a merge: no step begins on them, and a resume runs them again."""
        for step in self.plan.steps:
            index = step.index
            if not self._is_ready[index] or self.state(index).stage != "idle":
                continue
            self._is_ready[index] = 0
            self.phases.unmark(index)
            for dependent in step.dependents:
                if dependent == step.parent or self.plan.steps[dependent].leader == index:
                    continue  # it never counted: see `_mark_ready`
                self._unready[dependent] += 1
                if self._is_waiting[dependent]:
                    self._leave_list(dependent)

    def _list(self, index: int) -> None:
        step = self.plan.steps[index]
        if step.parent is not None and not self.items.admit(self.plan, index):
            return
        state = self.state(index)
        is_question = step.kind in {"decision", "for_each"} or asks_of_death(step, state)
        if step.when is not None or is_question or state.recheck or not state.is_selected:
            self.slotless.add(index)
        insert(self.plan, self.ready, index)

    def _leave_list(self, index: int) -> None:
        if remove(self.plan, self.ready, index):
            self.slotless.discard(index)

    def _watch_items(self, index: int) -> None:
        written = self.plan.steps[index].spec.for_each
        settled = {i for i in self.plan.items[index] if self.state(i).stage == "settled"}
        limit = None if written is None else written.max_parallel
        self.items.expand(index, set(self.plan.items[index]) - settled, limit)

    def _settle_item(self, index: int, *, is_final: bool) -> None:
        """Note that an item has settled: perhaps as the last one, and perhaps so that others cannot start."""
        step = self.plan.steps[index]
        if step.parent is None:
            return
        if is_final and not self._is_ready[index]:
            for dependent in step.dependents:
                if dependent != step.parent and self._is_waiting[dependent]:
                    self.blocked[dependent] = index
        is_last = self.items.settle(step.parent, index)
        is_later = (
            self.items.is_settled(step.parent) and find(self.plan, self.ready, step.parent) is None
        )
        self.fingerprints.pop(step.parent, None)
        if (
            (is_last or is_later)
            and self._is_waiting[step.parent]
            and self._may_collect(step.parent)
        ):
            self._list(step.parent)

    def _vacate(self, index: int) -> None:
        """Let a parked item take the place of one that runs no more."""
        if self.plan.steps[index].parent is None:
            return
        following = self.items.vacate(self.plan, index, self.is_waiting)
        if following is not None:
            self._list(following)


def asks_of_death(step: PlannedStep, state: StepState) -> bool:
    """Return whether a person is asked before the step runs again: it may have run, and was not selected for a rerun."""
    may_have_run = state.doubt is not None or state.reason == "in_flight"
    return may_have_run and step.spec.rerun == "ask" and state.reason != "selected"
