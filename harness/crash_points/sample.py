"""A few points that meet every fault with every kind of operation: what a test has the time for.

Where an operation is to be found is read from the journal of a run, so that the sample needs no numbers and does not age.
The next run may make its operations in another order: those of the sample are counted among their own kind.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import cast

from harness.crash_points.faults import KINDS, ONLY_WRITES, Fault, Kind
from harness.crash_points.points import DOUBLE, Bench, Point, single
from harness.crash_points.shapes import SHAPES


def sample(bench: Bench, shapes: Sequence[str], faults: Sequence[str]) -> Iterator[Point]:
    """One point for each fault and kind that can meet, the shapes taken in turns."""
    journals = {name: bench.journal(SHAPES[name]) for name in shapes}
    turns = itertools.cycle(shapes)
    for fault in faults:
        if fault in DOUBLE:
            # One after the other, so that a recovery's journal tells where the next recovery's operations are.
            yield from _doubles(bench, shapes[0], fault, journals)
            continue
        for salt, kind in enumerate(KINDS):
            shape = next(turns)
            count = len(_numbers(journals[shape], single(fault, 1), kind))
            if count:
                yield Point(shape, fault, _one(count, salt + len(fault)), kind=kind)
        if fault in ONLY_WRITES:
            for salt, shape in enumerate(shapes):
                count = len(_numbers(journals[shape], single(fault, 1), "write"))
                yield Point(shape, fault, _one(count, salt))


def _doubles(
    bench: Bench, shape: str, fault: str, journals: dict[str, list[str]]
) -> Iterator[Point]:
    name, again = DOUBLE[fault]
    appends = _numbers(journals[shape], Fault(name, 1), "write", "log.jsonl")
    number = appends[
        1
    ]  # the first is the run's beginning; what follows the second may come in another order
    recovery = bench.journal(SHAPES[shape], Fault(name, number))
    for salt, kind in enumerate(KINDS):
        count = len(_numbers(recovery, Fault(again, 1), kind))
        if count:
            yield Point(shape, fault, number, _one(count, salt), kind)


def _numbers(journal: Sequence[str], fault: Fault, kind: Kind, name: str = "") -> list[int]:
    """Numbers of the operations of a kind, as the fault counts them."""
    befallen = [entry for entry in journal if fault.befalls(cast("Kind", entry.partition(" ")[0]))]
    return [
        number
        for number, entry in enumerate(befallen, 1)
        if entry.startswith(f"{kind} ") and entry.endswith(name)
    ]


def _one(count: int, salt: int) -> int:
    """One of so many, but the last, which the next run may not come to."""
    return (salt * 5) % max(1, count - 1) + 1
