"""Columns of a graph: each step stands behind the last step that it waits for.

Waves are no columns: they say what starts together, and a plan of 150 parallel parts of which 16 run at once has ten of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence


def columns_of(steps: Sequence[str], pairs: Iterable[tuple[str, str]]) -> list[list[str]]:
    """Return the steps by the longest chain of `(earlier, later)` that leads to each, in their order."""
    later: dict[str, list[str]] = {step: [] for step in steps}
    missing = dict.fromkeys(steps, 0)
    for a, b in pairs:
        if a in later and b in later:
            later[a].append(b)
            missing[b] += 1
    column = dict.fromkeys(steps, 0)
    free = deque(step for step, count in missing.items() if not count)
    while free:
        step = free.popleft()
        for each in later[step]:
            column[each] = max(column[each], column[step] + 1)
            missing[each] -= 1
            if not missing[each]:
                free.append(each)
    columns: list[list[str]] = [[] for _ in range(max(column.values(), default=-1) + 1)]
    for step, number in column.items():
        columns[number].append(step)
    return [each for each in columns if each]
