"""What a step costs, beside the baseline that is kept in `costs.json`: syncs, and calls of functions.

    python benchmarks/bench_costs.py           prints `ok` or `MISSED` beside each; `--strict` exits 1 where one is missed
    python benchmarks/bench_costs.py --keep    writes today's costs as the baseline

CPU is counted, not timed: the calls of Python's functions and of C's, on all threads of this process. Next to busy
neighbors one step took 3.4 to 6.5 times the CPU of a bare thread and sync; its calls differed by 0.3 %. What a call
takes is measured by `bench_engine`. Waiting only ever adds, so the least counts, and rounds go on while a cost looks grown.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Self

from bench_engine import chain, fan_out, measured
from figures import Promise, verdict

BASELINE = Path(__file__).with_name("costs.json")
SHAPES = {"chain": chain(200), "fan-out": fan_out(500)}
MOST_ROUNDS = 5
CALL_MARGIN = 1.05
SYNC_MARGIN = 0.1
"""Syncs of a fan-out depend on which steps end together."""


class Calls:
    """Number of functions called while a block runs, on this thread and on those that start in it."""

    count = 0

    def __enter__(self) -> Self:
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]  # typeshed does not know that it takes None

    def _note(self, _frame: FrameType, event: str, _argument: object) -> None:
        if event in {"call", "c_call"}:
            self.count += 1


def costs(folder: Path, kept: dict[str, float]) -> dict[str, float]:
    """Cost to its figure, of as many rounds as it takes."""
    now: dict[str, float] = {}
    with Calls() as calls:
        measured(chain(10), folder)  # the engine's thread and supervisor are started once a process
        for _ in range(MOST_ROUNDS):
            for name, spec in SHAPES.items():
                calls.count = 0
                syncs = measured(spec, folder).syncs
                figures = {"syncs": round(syncs, 2), "calls": calls.count // len(spec["steps"])}
                for what, figure in figures.items():
                    key = f"{name}: {what} a step"
                    now[key] = min(figure, now.get(key, figure))
            if all(now[name] <= most(name, kept) for name in now):
                break
    return now


def most(name: str, kept: dict[str, float]) -> float:
    """The most that a cost may be."""
    if name not in kept:
        return 0.0
    return kept[name] + SYNC_MARGIN if "syncs a step" in name else kept[name] * CALL_MARGIN


def main(words: list[str]) -> int:
    """Compare, or keep."""
    kept = {} if "--keep" in words else json.loads(BASELINE.read_text())
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as place:
        now = costs(Path(place), kept)
    if "--keep" in words:
        BASELINE.write_text(json.dumps(now, indent=1) + "\n")
        print(BASELINE.read_text(), end="")
        return 0
    held = [
        verdict(name, figure, Promise(round(most(name, kept), 2))) for name, figure in now.items()
    ]
    return 0 if all(held) or "--strict" not in words else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
