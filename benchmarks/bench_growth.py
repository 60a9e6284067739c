"""What a step of a chain costs as the chain grows: CPU and log, from 200 to 20,000 steps.

    python benchmarks/bench_growth.py [STEPS …]

The last may cost 1.2 times the first: what a step costs does not depend on how many came before it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from bench_engine import chain, measured
from figures import Promise, verdict

SIZES = [200, 1_000, 5_000, 20_000]
BAR = 40


def main(words: list[str]) -> int:
    """Measure each size; print a line and a bar for it."""
    sizes = [int(word) for word in words if word.isdigit()] or SIZES
    cpu: list[float] = []
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as place:
        folder = Path(place)
        measured(chain(10), folder)  # the engine's thread and supervisor are started once a process
        for size in sizes:
            rounds = [measured(chain(size), folder) for _ in range(3 if size < 1_000 else 1)]
            least = min(rounds, key=lambda reading: reading.cpu_us)
            cpu.append(least.cpu_us)
            bar = "█" * round(BAR * least.cpu_us / max(cpu))
            print(
                f"{size:>7} steps: {least.cpu_us:5.0f} µs, {least.log_bytes:.0f} bytes {bar}",
                flush=True,
            )
    held = verdict("last / first", cpu[-1] / cpu[0], Promise(1.2))
    return 0 if held or "--strict" not in words else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
