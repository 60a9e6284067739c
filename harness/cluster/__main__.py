"""python -m harness.cluster: worlds of clusters lived through, and how many promises broke.

    --seeds N [--from K] [--jobs J]   N seeds
    --seed S                          one seed: its world, what happened, and what broke

Exit code 0 when every promise was kept, 1 otherwise.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from harness.cluster.campaign import Tally, in_parallel, lived
from harness.cluster.world import world

_SHOWN = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m harness.cluster")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--from", dest="start", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int)
    given = parser.parse_args(arguments)
    tally = Tally()
    if given.seed is not None:
        sys.stdout.write(f"{world(given.seed)}\n")
        tally = lived([given.seed])
    else:
        for part in in_parallel(range(given.start, given.start + given.seeds), given.jobs):
            tally.add(part)
    sys.stdout.write(_figures(tally))
    return 1 if tally.breaches else 0


def _figures(tally: Tally) -> str:
    happened = " · ".join(f"{name} {count:,}" for name, count in sorted(tally.counts.items()))
    breaches = sum(map(len, tally.breaches.values()))
    lines = [
        f"clusters: seeds {tally.seeds} · attempts begun {tally.counts['begun']:,}"
        f" · in {tally.real_s:.1f} s · breaches {breaches}",
        f"  {happened}",
    ]
    for seed, sentences in sorted(tally.breaches.items())[:_SHOWN]:
        lines.append(f"seed {seed}, again: python -m harness.cluster --seed {seed}")
        lines += [f"  {sentence:.300}" for sentence in sentences[:_SHOWN]]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
