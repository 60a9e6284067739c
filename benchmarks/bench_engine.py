"""What the engine costs a step: syncs, CPU and bytes, beside what the disk under it allows, in one run.

    python benchmarks/bench_engine.py [CHAIN FAN]

All workflows run through the API, with a real log on the disk of the current folder, and their steps do nothing at all:

* chain: 200 python steps, each waiting for the one before. One append carries the end of a step and the start of the
  next, so there is one sync a step.
* fan-out: one step, 500 that wait for it at concurrency 8, and one that waits for all (so FAN is at most 1,000, the
  limit of `depends_on`).
* layers: 1,000 steps, each after one to three of the two layers of 50 before it.

The rate of one `fdatasync` after another is taken before and after each run: what a chain could do if a step cost
nothing but its sync. Beside the CPU of a chain stands that of the least any engine must do for it: a thread a step, a
write with its sync on another thread, and a loop that waits for both. Medians of several rounds.
"""

from __future__ import annotations

import asyncio
import os
import queue
import random
import resource
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from figures import Promise, verdict

from pixirnb import api

ROUNDS = 3
SYNCS = 100


@dataclass(frozen=True, slots=True)
class Reading:
    """One run, per step where the name does not say otherwise."""

    syncs: float
    cpu_us: float
    log_bytes: float
    steps_per_second: float
    disk_syncs_per_second: float


def chain(count: int) -> dict[str, Any]:
    """Steps in a row."""
    steps = [
        {"id": f"s{n}", "call": "builtins:dict", "depends_on": [f"s{n - 1}"] if n else []}
        for n in range(count)
    ]
    return {"name": "chain", "steps": steps}


def fan_out(count: int) -> dict[str, Any]:
    """One step, `count` behind it, and one behind those."""
    middle = [f"m{n}" for n in range(count)]
    steps: list[dict[str, Any]] = [{"id": "first", "call": "builtins:dict"}]
    steps += [{"id": name, "call": "builtins:dict", "depends_on": ["first"]} for name in middle]
    steps.append({"id": "last", "call": "builtins:dict", "depends_on": middle})
    return {"name": "fan", "max_concurrency": 8, "steps": steps}


def layered(count: int) -> dict[str, Any]:
    """Steps that wait for one to three of the two layers of 50 before theirs."""
    dice = random.Random(7)
    steps = []
    for n in range(count):
        layer = n // 50 * 50
        before = dice.sample(range(max(0, layer - 100), layer), dice.randint(1, 3)) if layer else []
        earlier = [f"s{other}" for other in sorted(before)]
        steps.append({"id": f"s{n}", "call": "builtins:dict", "depends_on": earlier})
    return {"name": "layers", "max_concurrency": 8, "steps": steps}


def disk_rate(folder: Path, size: int) -> float:
    """Appends of `size` bytes with a sync each, a second."""
    sync = getattr(os, "fdatasync", os.fsync)  # macOS has only fsync
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        started = time.perf_counter()
        for _ in range(SYNCS):
            file.write(b"x" * size)
            sync(file.fileno())
        return SYNCS / (time.perf_counter() - started)


def bare(folder: Path, count: int, size: int) -> tuple[float, float]:
    """A chain whose steps are a thread and a synced write, and nothing else: µs of CPU a step, and steps a second."""
    sync = getattr(os, "fdatasync", os.fsync)
    orders: queue.SimpleQueue[asyncio.Future[None] | None] = queue.SimpleQueue()

    async def go(descriptor: int) -> None:
        loop = asyncio.get_running_loop()

        def settle(future: asyncio.Future[None]) -> None:
            loop.call_soon_threadsafe(future.set_result, None)

        def write() -> None:
            while (order := orders.get()) is not None:
                os.write(descriptor, b"x" * size)
                sync(descriptor)
                settle(order)

        threading.Thread(target=write, daemon=True).start()
        for _ in range(count):
            step = loop.create_future()
            threading.Thread(target=settle, args=(step,), daemon=True).start()
            await step
            written = loop.create_future()
            orders.put(written)
            await written
        orders.put(None)

    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        cpu, started = time.process_time(), time.perf_counter()
        asyncio.run(go(file.fileno()))
        wall, cpu = time.perf_counter() - started, time.process_time() - cpu
        return cpu / count * 1e6, count / wall


def measured(spec: dict[str, Any], folder: Path) -> Reading:
    """Run it once."""
    count = len(spec["steps"])
    before = disk_rate(folder, 1000)
    cpu, started = time.process_time(), time.perf_counter()
    run = api.start(spec, workspace=folder, state=folder / "state")
    assert run.live is not None
    outcome = run.wait()
    wall, cpu = time.perf_counter() - started, time.process_time() - cpu
    assert outcome.ok, outcome.summary
    disk = (before + disk_rate(folder, 1000)) / 2
    log = run.live.scheduler.log
    syncs = getattr(log, "syncs")  # noqa: B009 - the protocol of a log does not count them, the file's does
    size = (run.folder / "log.jsonl").stat().st_size
    return Reading(syncs / count, cpu / count * 1e6, size / count, count / wall, disk)


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a step of a workflow may cost."""

    syncs: float
    cpu_us: float | None = None
    log_bytes: float | None = None
    rate: float = 1.67
    """Of steps a second: those of bare threads and syncs for a chain, else the disk's own syncs, to ours."""


def held(name: str, spec: dict[str, Any], folder: Path, rounds: int, most: Limits) -> bool:
    """Print a workflow's figures; whether all are within their limits."""
    readings = [measured(spec, folder) for _ in range(rounds)]

    def mid(field: str) -> float:
        return float(median(getattr(reading, field) for reading in readings))

    print(f"{name}: {len(spec['steps'])} steps, {mid('steps_per_second'):.0f} a second")
    if name == "chain":
        barely = [bare(folder, len(spec["steps"]), 1200) for _ in range(rounds)]
        least, allowed = (median(values) for values in zip(*barely, strict=True))
        said = f"bare threads and syncs ({least:.0f} µs, {allowed:.0f} a second)"
    else:
        allowed = mid("disk_syncs_per_second")
        said = f"the disk's syncs ({allowed:.0f} a second)"
    kept = verdict(f"  {said} / steps", allowed / mid("steps_per_second"), Promise(most.rate))
    kept &= verdict("  syncs a step", mid("syncs"), Promise(most.syncs))
    if most.cpu_us is not None:
        kept &= verdict("  CPU a step", mid("cpu_us"), Promise(most.cpu_us, "µs"))
    if most.log_bytes is not None:
        kept &= verdict("  log a step", mid("log_bytes"), Promise(most.log_bytes, "bytes"))
    return kept


def main(arguments: list[str]) -> int:
    """Measure both shapes."""
    counts = [int(word) for word in arguments if word.isdigit()] or [200, 500]
    large = max(counts) > 1000
    rounds = 1 if large else ROUNDS
    kept = True
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as place:
        folder = Path(place)
        measured(chain(10), folder)  # the engine's thread and supervisor are started once a process
        of_chain = Limits(syncs=1.02, cpu_us=300, log_bytes=800)
        kept &= held("chain", chain(counts[0]), folder, rounds, of_chain)
        if len(counts) > 1:
            of_fan = Limits(syncs=0.3, cpu_us=220)
            kept &= held("fan-out", fan_out(counts[1]), folder, rounds, of_fan)
            kept &= held("layers", layered(1_000), folder, rounds, Limits(syncs=0.3))
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
    return 0 if kept or "--strict" not in arguments else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
