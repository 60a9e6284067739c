"""Items of expanded steps as a run goes on: which are open, and which wait because as many run as may at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from pixirnb.planning.plan import Plan


class ItemProgress:
    """The items of all expanded steps, each named by its index in the plan."""

    def __init__(self) -> None:
        self._open: dict[int, set[int]] = {}
        """Items that have not settled, by the step that collects them."""
        self._busy: dict[int, set[int]] = {}
        """Items that could start or are running, of steps that limit how many are."""
        self._parked: dict[int, list[int]] = {}
        """Items that could start but for that limit."""

    def expand(self, parent: int, items: set[int], max_parallel: int | None) -> None:
        """Take the items of a step: the open ones."""
        self._open[parent] = items
        if max_parallel is not None:
            self._busy[parent], self._parked[parent] = set(), []

    def settle(self, parent: int, item: int) -> bool:
        """Note that an item has settled; return whether it was the last open one."""
        items = self._open.get(parent)
        if items is None or item not in items:
            return False
        items.remove(item)
        return not items

    def reopen(self, parent: int, item: int) -> None:
        """Note that an item that had settled goes on."""
        if parent in self._open:
            self._open[parent].add(item)

    def is_settled(self, parent: int) -> bool:
        """Return whether the list of a step is known, and none of its items is open."""
        return parent in self._open and not self._open[parent]

    def admit(self, plan: Plan, item: int) -> bool:
        """Return whether an item may be among those that could start; else it is parked."""
        parent, limit = _limit(plan, item)
        busy = self._busy.get(parent)
        if limit is None or busy is None or item in busy:
            return True
        if len(busy) >= limit:
            heappush(self._parked[parent], item)
            return False
        busy.add(item)
        return True

    def occupy(self, plan: Plan, item: int) -> None:
        """Note that an item runs."""
        parent, _ = _limit(plan, item)
        if parent in self._busy:
            self._busy[parent].add(item)

    def vacate(self, plan: Plan, item: int, is_waiting: Callable[[int], bool]) -> int | None:
        """Note that an item runs no more; return the parked one that takes its place."""
        parent, limit = _limit(plan, item)
        busy = self._busy.get(parent)
        if limit is None or busy is None or item not in busy:
            return None
        busy.remove(item)
        parked = self._parked[parent]
        while parked and len(busy) < limit:
            following = heappop(parked)
            if is_waiting(following):
                busy.add(following)
                return following
        return None

    def is_full(
        self, plan: Plan, item: int, beginning: Iterable[int], may_start: Callable[[int], bool]
    ) -> bool:
        """Return whether an item that is tried again has to wait for others of its step, those included that begin with it.

        `may_start` tells of an item that could start whether it may: a step that failed may have ended all beginnings.
        """
        parent, limit = _limit(plan, item)
        busy = self._busy.get(parent)
        if limit is None or busy is None or item in busy:
            return False
        taken = {each for each in busy if may_start(each)}
        return len(taken.union(i for i in beginning if plan.steps[i].parent == parent)) >= limit


def _limit(plan: Plan, item: int) -> tuple[int, int | None]:
    """Return the step that collects an item, and how many of its items may run at once."""
    parent = plan.steps[item].parent
    if parent is None:
        return -1, None
    written = plan.steps[parent].spec.for_each
    return parent, None if written is None else written.max_parallel
