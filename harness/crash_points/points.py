"""One crash point from an empty folder to a verdict.

chain/die-before/17            shape, fault, the operation it befalls
chain/die-before/rename.2      the second of its renames
chain/double/17/4              killed after operation 17, then the recovery killed before its operation 4
chain/double-torn/3/4          half of write 3 reaches the disk, then killed; the recovery is killed after its operation 4
chain/double-lost/17/4         killed after 17, then power fails after the recovery's 4: what neither process synced is gone
"""

from __future__ import annotations

import importlib
import importlib.util
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, cast, get_args

from harness.crash_points.faults import KINDS, Fault, FaultName, Kind
from harness.crash_points.offspring import Errand, offspring, survivors
from harness.crash_points.session import World
from harness.crash_points.shapes import SHAPES, Shape
from harness.crash_points.tap import Tap
from harness.crash_points.verdict import (
    Breach,
    Sight,
    of_end,
    of_rest,
    of_words,
    plain,
    sight,
)
from pixirnb import api
from pixirnb.operations.locations import store_of

DOUBLE: Final[dict[str, tuple[FaultName, FaultName]]] = {
    "double": ("die-after", "die-before"),
    "double-torn": ("short-death", "die-after"),
    "double-lost": ("die-after", "lose-tail"),
}
"""Faults of two processes: what the first dies of, and what befalls its recovery."""

FAULTS: Final[tuple[str, ...]] = (*get_args(FaultName), *DOUBLE)


@dataclass(frozen=True, slots=True)
class Point:
    """Where to fail. `second` is the recovery's operation, of a double fault.

    Where a kind is named, the last number counts operations of that kind alone: how threads take turns cannot move it.
    """

    shape: str
    fault: str
    number: int
    second: int | None = None
    kind: Kind | None = None

    @property
    def name(self) -> str:
        """For replays."""
        numbers = [str(number) for number in (self.number, self.second) if number is not None]
        if self.kind is not None:
            numbers[-1] = f"{self.kind}.{numbers[-1]}"
        return "/".join([self.shape, self.fault, *numbers])

    @classmethod
    def named(cls, name: str) -> Point:
        """The point of a name. Raises ValueError."""
        shape, fault, *numbers = name.split("/")
        kind, dot, number = numbers[-1].rpartition(".") if numbers else ("", "", "")
        is_counted = not dot or kind in KINDS
        numbers[-1:] = [number]
        is_known = (
            is_counted
            and shape in SHAPES
            and fault in FAULTS
            and len(numbers) == 1 + (fault in DOUBLE)
        )
        if not is_known or not all(number.isdecimal() and int(number) for number in numbers):
            raise ValueError(f"{name!r} names no crash point: SHAPE/FAULT/N, or SHAPE/double/N/M")
        second = int(numbers[1]) if len(numbers) == 2 else None
        return cls(shape, fault, int(numbers[0]), second, cast("Kind | None", kind or None))


@dataclass(frozen=True, slots=True)
class Found:
    """What was found at one point."""

    point: Point
    breaches: list[Breach]
    struck: list[str]
    """The operations that failed, in both processes; empty where the run passed without reaching the point."""
    is_reached: bool = True
    """False where a process passed without reaching its operation: there are no points beyond."""


class Bench:
    """Tries points, one at a time, in folders of its own. Made in a process without threads."""

    def __init__(self, tap: Tap, place: Path, *, keeps: bool = False) -> None:
        """`place` is a folder for the worlds; `keeps` leaves those with breaches there."""
        self._tap = tap
        self._place = place
        self._keeps = keeps
        self._count = 0
        self._expected: dict[str, dict[str, Any]] = {}
        self._audit = _auditor()

    def expected(self, shape: Shape) -> dict[str, Any]:
        """The outcome of the uninterrupted run. Raises RuntimeError where it is not completed."""
        if shape.name not in self._expected:
            world = self._world()
            end = offspring(self._tap, world, shape, Errand())
            found = plain(end)
            if found.get("status") != "completed" or of_words(end):
                raise RuntimeError(f"{shape.name} does not complete by itself: {end}")
            self._expected[shape.name] = found
            shutil.rmtree(world.path)
        return self._expected[shape.name]

    def journal(self, shape: Shape, first: Fault | None = None) -> list[str]:
        """The operations of an uninterrupted run, as `kind name`; or those of the recovery from `first`."""
        world = self._world()
        end = offspring(self._tap, world, shape, Errand(first))
        if first is not None:
            end = offspring(self._tap, world, shape, Errand(is_recovery=True))
        shutil.rmtree(world.path)
        return end.journal

    def tried(self, point: Point) -> Found:
        """Fail there, recover, and judge."""
        shape = SHAPES[point.shape]
        expected = self.expected(shape)
        world = self._world()
        try:
            found = self._tried(point, shape, world, expected)
        except Exception as error:  # noqa: BLE001 - one point must not end the others; it is a finding
            said = f"{type(error).__name__}: {error}"
            found = Found(point, [Breach("dishonest", said)], [])
        if not (found.breaches and self._keeps):
            shutil.rmtree(world.path)
        return found

    def _tried(self, point: Point, shape: Shape, world: World, expected: dict[str, Any]) -> Found:
        seen: list[Sight] = []
        breaches: list[Breach] = []
        struck: list[str] = []
        is_reached = True
        for errand in _errands(point):
            end = offspring(self._tap, world, shape, errand)
            struck += end.struck
            is_reached = bool(end.struck)
            # A power failure to come takes what this process had not synced: no one may count on it.
            is_all = point.fault != "double-lost" or not end.died
            now, wrong = sight(world, None if is_all or seen else end.durable)
            seen.append(now)
            breaches += wrong
            assert errand.fault is not None
            breaches += of_words(end) if end.died else of_end(errand.fault, end, now, expected)
            if not is_reached:
                break
        end = offspring(self._tap, world, shape, Errand(is_recovery=True))
        last, wrong = sight(world)
        faults = [errand.fault for errand in _errands(point) if errand.fault is not None]
        breaches += wrong + of_rest(end, seen, last, expected, faults)
        if last.run_id is not None and self._audit is not None:
            breaches += self._audit(world, last.run_id)
        breaches += [Breach("survivor", said) for said in survivors(world)]
        return Found(point, breaches, struck, is_reached)

    def _world(self) -> World:
        self._count += 1
        world = World(self._place / f"world-{self._count}")
        world.make()
        return world


def _errands(point: Point) -> list[Errand]:
    if point.fault in DOUBLE:
        assert point.second is not None
        name, again = DOUBLE[point.fault]
        first = Errand(Fault(name, point.number))
        return [
            first,
            Errand(
                Fault(again, point.second, point.kind), is_recovery=True, forgets=False, cuts=True
            ),
        ]
    return [Errand(single(point.fault, point.number, point.kind), cuts=True)]


def single(name: str, number: int, kind: Kind | None = None) -> Fault:
    """The fault of a name, of one process alone."""
    known: Any = name
    return Fault(known, number, kind)


def _auditor() -> Callable[[World, str], list[Breach]] | None:
    """The independent reader of logs, where this package has one."""
    name = "harness.auditor.audit"
    if importlib.util.find_spec(name) is None:
        return None
    audit = importlib.import_module(name).audit

    def audited(world: World, run_id: str) -> list[Breach]:
        run = api.open_run(run_id, state=world.state)
        log = (run.folder / "log.jsonl").read_bytes()
        blobs = store_of(world.work, world.state).blobs(run_id)
        found = audit(log, blobs=blobs.get, outcome=run.outcome.document())
        return [Breach("audit", str(breach)) for breach in found]

    return audited
