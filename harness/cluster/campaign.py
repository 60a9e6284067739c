"""Many worlds of clusters, lived through in several processes."""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field

from harness.cluster.trial import live
from harness.cluster.world import world

_PART = 10


@dataclass(slots=True)
class Tally:
    """What happened in all worlds, and the breaches by seed."""

    seeds: int = 0
    real_s: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    breaches: dict[int, list[str]] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        """Take another's worlds in."""
        self.seeds += other.seeds
        self.real_s += other.real_s
        self.counts.update(other.counts)
        self.breaches.update(other.breaches)


def lived(seeds: Iterable[int]) -> Tally:
    """Live through the worlds of seeds."""
    tally = Tally()
    for seed in seeds:
        began = time.perf_counter()
        truth = live(world(seed))
        tally.real_s += time.perf_counter() - began
        tally.seeds += 1
        tally.counts.update(truth.counts)
        if truth.breaches:
            tally.breaches[seed] = truth.breaches
    return tally


def in_parallel(seeds: Sequence[int], jobs: int) -> Iterator[Tally]:
    """Tallies of parts of the seeds, as they come in from `jobs` processes."""
    parts = [seeds[at : at + _PART] for at in range(0, len(seeds), _PART)]
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=jobs, mp_context=fresh) as pool:
        for done in as_completed([pool.submit(lived, part) for part in parts]):
            yield done.result()
