"""What a shell step costs, beside a loop that starts the same process and nothing else.

    python benchmarks/bench_shell.py [STEPS]

500 steps that run `true`, 8 at a time, through the API with a real log; beside them, in turns, `/bin/sh -c true` started by
`os.posix_spawn` and waited for, on 8 threads. CPU is that of this process: reapers and steps are processes of their own.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

from figures import Promise, verdict

from pixirnb import api

ROUNDS = 3
AT_A_TIME = 8


def shells(count: int) -> dict[str, Any]:
    """Shell steps side by side."""
    steps = [{"id": f"s{n}", "run": "true"} for n in range(count)]
    return {
        "name": "shells",
        "max_concurrency": AT_A_TIME,
        "undeclared_writers": "allow",
        "steps": steps,
    }


def ours(folder: Path, count: int) -> tuple[float, float]:
    """Steps a second, and µs of CPU a step."""
    cpu, began = time.process_time(), time.perf_counter()
    outcome = api.start(shells(count), workspace=folder, state=folder / "state").wait()
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    assert outcome.ok, outcome.summary
    return count / wall, cpu / count * 1e6


def bare(count: int) -> float:
    """Processes a second."""

    def one(_: int) -> None:
        pid = os.posix_spawn("/bin/sh", ["sh", "-c", "true"], os.environ)
        os.waitpid(pid, 0)

    began = time.perf_counter()
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        list(pool.map(one, range(count)))
    return count / (time.perf_counter() - began)


def main(words: list[str]) -> int:
    """Measure both in turns."""
    count = next((int(word) for word in words if word.isdigit()), 500)
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as place:
        folder = Path(place)
        ours(folder, 10)  # the engine's thread and supervisor are started once a process
        rounds = [(*ours(folder, count), bare(count)) for _ in range(ROUNDS)]
    rate, cpu, spawned = (median(values) for values in zip(*rounds, strict=True))
    print(f"{count} steps `true`, {AT_A_TIME} at a time: {rate:.0f} a second")
    print(f"  the same by posix_spawn: {spawned:.0f} a second")
    ratio = median(there / here for here, _, there in rounds)
    held = verdict("  posix_spawn / ours", ratio, Promise(1.25))
    held &= verdict("  CPU a step in the kernel", cpu, Promise(400, "µs"))
    return 0 if held or "--strict" not in words else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
