"""What a step costs, beside the baseline that is kept in `costs.json`: syncs, and CPU as a multiple of a bare thread and sync.

    python benchmarks/bench_costs.py           prints `ok` or `MISSED` beside each; `--strict` exits 1 where one is missed
    python benchmarks/bench_costs.py --keep    writes today's costs as the baseline

Never seconds: the bare thread and sync are measured in turns with the engine, so that a slower machine slows both.
Neighbors only ever add, so the least of each counts, and rounds go on while a cost looks grown.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from statistics import median

from bench_engine import bare, chain, fan_out, measured
from figures import Promise, verdict

BASELINE = Path(__file__).with_name("costs.json")
SHAPES = {"chain": chain(200), "fan-out": fan_out(500)}
LEAST_ROUNDS = 3
MOST_ROUNDS = 15
CPU_MARGIN = 1.2
SYNC_MARGIN = 0.1
"""Syncs of a fan-out depend on which steps end together."""


def costs(folder: Path, kept: dict[str, float]) -> dict[str, float]:
    """Cost to its figure, of as many rounds as it takes."""
    least: list[float] = []
    cpu: dict[str, list[float]] = {name: [] for name in SHAPES}
    syncs: dict[str, list[float]] = {name: [] for name in SHAPES}
    now: dict[str, float] = {}
    measured(chain(10), folder)  # the engine's thread and supervisor are started once a process
    for number in range(1, MOST_ROUNDS + 1):
        least.append(bare(folder, 200, 1200)[0])
        for name, spec in SHAPES.items():
            reading = measured(spec, folder)
            cpu[name].append(reading.cpu_us)
            syncs[name].append(reading.syncs)
        for name in SHAPES:
            now[f"{name}: syncs a step"] = round(median(syncs[name]), 2)
            now[f"{name}: CPU of bare threads and syncs"] = round(min(cpu[name]) / min(least), 2)
        if number >= LEAST_ROUNDS and all(now[name] <= most(name, kept) for name in now):
            break
    return now


def most(name: str, kept: dict[str, float]) -> float:
    """The most that a cost may be."""
    if name not in kept:
        return 0.0
    return kept[name] + SYNC_MARGIN if "syncs a step" in name else kept[name] * CPU_MARGIN


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
