"""All points of chosen shapes and faults: N = 1, 2, … until the run passes without reaching N.

A stride tries every so-manieth only. The sum is told in a table; a breach bears the name that replays it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from harness.crash_points.points import DOUBLE, Bench, Found, Point

_MOST: Final = 5_000
"""Operations no run here comes near: beyond, the counting has gone wrong."""

_COLUMNS: Final = ("lost", "doubled", "differing", "dishonest")


@dataclass(slots=True)
class Tally:
    """What one shape under one fault came to."""

    shape: str
    fault: str
    points: int = 0
    words: Counter[str] = field(default_factory=Counter)
    """Points with a breach, by its word."""
    seconds: float = 0.0
    failures: list[Found] = field(default_factory=list)
    struck: Counter[str] = field(default_factory=Counter)
    """Kinds of the operations that failed."""

    def add(self, found: Found) -> None:
        """Count one point; a run that passed without reaching it is no point, unless it broke something."""
        if found.is_reached or found.breaches:
            self.points += 1
        self.words.update({breach.word for breach in found.breaches})
        self.struck.update(name.partition(" ")[0] for name in found.struck)
        if found.breaches:
            self.failures.append(found)

    def line(self) -> str:
        """A line of the table."""
        return f"{self.shape:<9}{self.fault:<14}" + _cells(self)

    def document(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "shape": self.shape,
            "fault": self.fault,
            "points": self.points,
            "breaches": dict(self.words),
            "struck": dict(self.struck),
            "seconds": round(self.seconds, 1),
            "failures": [
                {"point": f.point.name, "struck": f.struck, "said": [str(b) for b in f.breaches]}
                for f in self.failures
            ],
        }


HEADING: Final = f"{'shape':<9}{'fault':<14}" + "".join(
    f"{name:>10}" for name in ("points", *_COLUMNS, "other", "seconds")
)


def total(tallies: Sequence[Tally]) -> str:
    """The last line of the table."""
    whole = Tally("all", f"{len(tallies)} sweeps")
    for tally in tallies:
        whole.points += tally.points
        whole.words += tally.words
        whole.seconds += tally.seconds
    return whole.line()


def over(bench: Bench, points: Iterable[Point], on_found: Callable[[Found], None]) -> list[Tally]:
    """Try chosen points, summed up by fault."""
    tallies: dict[str, Tally] = {}
    for point in points:
        tally = tallies.setdefault(point.fault, Tally("some", point.fault))
        began = time.monotonic()
        found = bench.tried(point)
        tally.add(found)
        on_found(found)
        tally.seconds += time.monotonic() - began
    return list(tallies.values())


def sweep(  # noqa: PLR0917 - what, and how densely
    bench: Bench,
    shape: str,
    fault: str,
    stride: int = 1,
    double_stride: int = 1,
    on_found: Callable[[Found], None] = lambda _: None,
) -> Tally:
    """Try the points of a shape under a fault; `double_stride` applies to both numbers of a double fault."""
    tally = Tally(shape, fault)
    began = time.monotonic()
    tries = (
        _doubles(bench, shape, fault, double_stride)
        if fault in DOUBLE
        else _singles(bench, shape, fault, stride)
    )
    for found in tries:
        tally.add(found)
        on_found(found)
    tally.seconds = time.monotonic() - began
    return tally


def _singles(bench: Bench, shape: str, fault: str, stride: int) -> Iterator[Found]:
    for number in range(1, _MOST, stride):
        found = bench.tried(Point(shape, fault, number))
        yield found
        if not found.is_reached:
            return
    raise RuntimeError(f"{shape}/{fault} never passes")


def _doubles(bench: Bench, shape: str, fault: str, stride: int) -> Iterator[Found]:
    for number in range(1, _MOST, stride):
        for second in range(1, _MOST, stride):
            found = bench.tried(Point(shape, fault, number, second))
            yield found
            if not found.struck:
                return  # the first process passed: there is nothing to recover from
            if not found.is_reached:
                break
    raise RuntimeError(f"{shape}/{fault} never passes")


def _cells(tally: Tally) -> str:
    named = [tally.words[word] for word in _COLUMNS]
    others = sum(tally.words.values()) - sum(named)
    numbers = (tally.points, *named, others, round(tally.seconds))
    return "".join(f"{number:>10}" for number in numbers)
