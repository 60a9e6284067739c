"""The list of steps that could start: sorted by place, which for items is that of the list they came with.

A plan without items is sorted by position alone, which costs a step nothing.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable

from pixirnb.machine.expansion import Order, order
from pixirnb.planning.plan import Plan


def insert(plan: Plan, ready: list[int], index: int) -> None:
    """Add a step at its place."""
    if plan.items:
        insort(ready, index, key=_key(plan))
    else:
        insort(ready, index)


def find(plan: Plan, ready: list[int], index: int) -> int | None:
    """Return the position of a step in the list; None where it is not in it."""
    at = (
        bisect_left(ready, order(plan, index), key=_key(plan))
        if plan.items
        else bisect_left(ready, index)
    )
    return at if at < len(ready) and ready[at] == index else None


def remove(plan: Plan, ready: list[int], index: int) -> bool:
    """Take a step off the list; return whether it was on it."""
    at = find(plan, ready, index)
    if at is not None:
        del ready[at]
    return at is not None


def _key(plan: Plan) -> Callable[[int], Order]:
    return lambda index: order(plan, index)
